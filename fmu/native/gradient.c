/* Steps of a model with the derivatives of its state and outputs along LANES directions; `rtcvt.fmu.gradient` calls it.
   kernels.c stands before this text, in which the parameters are active too. */

#define EXPORTED __attribute__((visibility("default")))

/* Buffers of a run and, in the second half, their derivatives, a row of LANES numbers for each entry. */
typedef struct {
    double *p, *u, *x, *y, *work;
    dot *p_dot, *u_dot, *x_dot, *y_dot, *work_dot;
    const double *data;
    int64_t n_u, n_chosen;
    const int64_t *chosen; /* outputs that are kept */
} Run;

/* The start state into `x`; returns the status. */
EXPORTED int64_t run_initialise(Run *r, double *x, dot *x_dot)
{
    return rt_initialise_tangent(r->p, r->p_dot, r->data, r->u, r->u_dot, x, x_dot, r->work, r->work_dot);
}

EXPORTED void run_output(Run *r, double t)
{
    dot none = {0.0};
    rt_output_tangent(t, none, r->x, r->x_dot, r->u, r->u_dot, r->p, r->p_dot, r->data, r->y, r->y_dot, r->work,
                      r->work_dot);
}

/* At most `n` steps of `h` [s] with rows of inputs; rows of chosen outputs and their derivatives. Returns the number of
   steps before one that failed. */
EXPORTED int64_t run_steps(Run *r, int64_t n, double t, double h, const double *inputs, double *rows, dot *rows_dot,
                           signed char *status)
{
    dot none = {0.0};
    for (int64_t k = 0; k < n; k++) {
        for (int64_t i = 0; i < r->n_u; i++) {
            r->u[i] = inputs[k * r->n_u + i];
        }
        status[k] = (signed char)rt_step_tangent(t, none, h, none, r->x, r->x_dot, r->u, r->u_dot, r->p, r->p_dot,
                                                 r->data, r->y, r->y_dot, r->work, r->work_dot);
        if (status[k] == 2) {
            return k;
        }
        t += h;
        for (int64_t i = 0; i < r->n_chosen; i++) {
            rows[k * r->n_chosen + i] = r->y[r->chosen[i]];
            rows_dot[k * r->n_chosen + i] = r->y_dot[r->chosen[i]];
        }
    }
    return n;
}
