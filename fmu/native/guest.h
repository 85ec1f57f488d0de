/* An FMU within this one, as guest.c and `rtcvt.fmu.native.guests` make it. Values are in SI units. */

#include <stdbool.h>
#include <stddef.h>

typedef void Say(void *environment, const char *guest, int status, const char *text); /* pass its messages on */

enum { GET_STATE, SET_STATE, FREE_STATE };

typedef struct {
    const char *name;    /* of the component */
    double step;         /* [s] between its communication points */
    size_t n_u;          /* numbers of its inputs, parameters and outputs */
    size_t n_p;
    size_t n_y;
    size_t x;            /* places of its first output among the states and outputs, of its first parameter */
    size_t y;
    size_t p;
    const size_t *u;     /* places of its inputs among the outputs of the unit, then the unit's inputs */
    const double *held;  /* start values of its parameters in its own units */
    void *(*make)(Say *say, void *environment, const char *resources); /* a new instance, NULL if it refuses */
    bool (*tune)(void *own, const double *p, double *held); /* set parameters that are not as `held` in its own units */
    bool (*initialise)(void *own, const double *u);
    bool (*set)(void *own, const double *u);
    bool (*step_to)(void *own, long k);                     /* its step number k, from 0 */
    bool (*get)(void *own, double *y);
    bool (*state)(void *own, int what, void **state);
    void (*end)(void *own, bool failed);
} Guest;
