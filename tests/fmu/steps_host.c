/* Many steps of a unit in machine code: outputs, how many were refused, and the first after which the processor says
   that a floating-point operation was invalid, divided by zero or overflowed. */

#include <fenv.h>

#include "fmi2FunctionTypes.h"

enum { RAISED = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

typedef struct {
    fmi2SetRealTYPE *set;
    fmi2SetBooleanTYPE *set_boolean;
    fmi2GetRealTYPE *get;
    fmi2DoStepTYPE *step;
    fmi2EnterInitializationModeTYPE *enter;
    fmi2ExitInitializationModeTYPE *exit;
    fmi2Component unit;
    const char *boolean;   /* of each input: 1 if it is one */
    double t;              /* [s] */
    long refused, raised;  /* steps; the first that raised a flag, counted from the start, or -1 */
    long made;             /* with those that were refused */
    int flags;             /* that were raised */
} Host;

static void note(Host *h)
{
    int flags = fetestexcept(RAISED);
    if (flags && h->raised < 0) {
        h->raised = h->made;
    }
    h->flags |= flags;
    feclearexcept(FE_ALL_EXCEPT);
}

static int inputs(Host *h, unsigned first, long n_u, const double *u)
{
    int status = 0;
    for (long i = 0; i < n_u; i++) {
        unsigned reference = first + (unsigned)i;
        fmi2Boolean truth = u[i] > 0.5;
        status |= h->boolean[i] ? h->set_boolean(h->unit, &reference, 1, &truth) : h->set(h->unit, &reference, 1, u + i);
    }
    return status;
}

/* Initialise with inputs u, whose references begin at `first`. */
int host_start(Host *h, unsigned first, long n_u, const double *u)
{
    feclearexcept(FE_ALL_EXCEPT);
    int status = h->enter(h->unit);
    status |= inputs(h, first, n_u, u);
    status |= h->exit(h->unit);
    note(h);
    return status;
}

/* Hold each of n rows of inputs for `inner` steps [s]; `y` gets a row of outputs after each step. Returns whether any
   value could not be set or got. */
int host_run(Host *h, double step, long inner, long n, unsigned first, long n_u, const double *u, long n_y,
             const unsigned *references, double *y)
{
    int bad = 0;
    for (long k = 0; k < n; k++) {
        bad |= inputs(h, first, n_u, u + k * n_u);
        for (long j = 0; j < inner; j++) {
            if (h->step(h->unit, h->t, step, fmi2True) == fmi2OK) {
                h->t += step;
            } else {
                h->refused++;
            }
            bad |= n_y > 0 && h->get(h->unit, references, (size_t)n_y, y) != fmi2OK;
            y += n_y;
            note(h);
            h->made++;
        }
    }
    return bad;
}
