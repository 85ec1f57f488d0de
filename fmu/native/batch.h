/* Steps of LANES instances at once; rtcvt.fmu.batch calls it. Before this text: lanes.h, DATA, the kernels. */

/* Buffers, a row of LANES numbers for each entry; `prepared` is work as it was after initialisation. */
typedef struct {
    double *p, *u, *x, *y, *work, *prepared, *x_before, *y_before;
    double *kept; /* (numbers, chosen): see rt_tally */
    const double *chosen;
    const int64_t *moving; /* inputs that change in the run */
    int64_t n_x, n_y, n_work, n_chosen, n_moving, n_inputs, redone;
} Batch;

#define SIZE(n) ((__SIZE_TYPE__)(n) * LANES * sizeof(double))

/* `n` steps of `h` [s] with rows of inputs. `worst`: of each lane. `series`: chosen outputs after each `every`-th step,
   counted from `first`; 0: rt_tally. Returns the number of steps before one that failed in some lane. */
extern "C" __attribute__((visibility("default"))) int64_t batch_steps(
    Batch *b, int64_t first, int64_t n, double t, double h, const double *inputs, signed char *worst, int64_t every,
    double *series)
{
    RtNumber *u = (RtNumber *)b->u, *x = (RtNumber *)b->x, *y = (RtNumber *)b->y, *work = (RtNumber *)b->work, *p = (RtNumber *)b->p;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = 0; i < b->n_moving; i++) {
            u[b->moving[i]] = RtNumber(inputs[k * b->n_inputs + b->moving[i]]);
        }
#if LANES == 1
        int64_t status = one::rt_step(t, h, x, u, p, DATA, y, work);
        if (status == 2) {
            return k;
        }
        *worst |= status;
#else
        __builtin_memcpy(b->x_before, x, SIZE(b->n_x));
        __builtin_memcpy(b->y_before, y, SIZE(b->n_y));
        diverged = false;
        int64_t status = all::rt_step(RtNumber(t), RtNumber(h), x, u, p, DATA, y, work);
        bool alone = diverged || status == 2;
        if (alone) {
            b->redone++;
            __builtin_memcpy(x, b->x_before, SIZE(b->n_x));
            __builtin_memcpy(y, b->y_before, SIZE(b->n_y));
            __builtin_memcpy(work, b->prepared, SIZE(b->n_work));
        }
        for (int l = 0; l < LANES; l++) {
            if (alone) {
                status = one::rt_step(t, h, lane(x, l), lane(u, l), lane(p, l), DATA, lane(y, l), lane(work, l));
            }
            if (status == 2) {
                return k;
            }
            worst[l] |= status;
        }
#endif
        t += h;
        if (!every) {
            all::rt_tally(y, b->chosen, b->n_chosen, (RtNumber *)b->kept);
        } else if ((first + k + 1) % every == 0) {
            for (int64_t i = 0; i < b->n_chosen; i++) {
                ((RtNumber *)series)[i] = y[(int64_t)b->chosen[i]];
            }
            series += b->n_chosen * LANES;
        }
    }
    return n;
}
