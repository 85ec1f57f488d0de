/* Outputs change in event mode only, each event takes two iterations, inputs and parameters are set in event mode. Its
   time moves in steps of 0.1 ms; `u` counts whenever it is set to another value. */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NOTHING, ENDLESS, FAILS, ENDS, NO_EVENT, NO_STEP };
static struct {
    double u, set, mode, at, t, next, y[4]; /* ticks, crossings, jumps of the input, events */
    int crossed, rounds;
    bool in_events;
} unit;

void *fmi3InstantiateCoSimulation(const char *n, const char *token, const char *r, bool v, bool l, bool events,
                                  bool early, const uint32_t *needed, size_t n_needed, void *e, void *log, void *update)
{
    static const double none[4];
    if (!events || !early)
        return NULL;
    unit.u = unit.set = unit.mode = unit.t = 0.0;
    unit.next = 0.013;
    unit.at = 0.05;
    unit.crossed = unit.rounds = 0;
    for (int i = 0; i < 4; i++)
        unit.y[i] = none[i];
    unit.in_events = true; /* until initialisation is over anything may be set */
    return &unit;
}
void fmi3FreeInstance(void *c) {}
int fmi3EnterInitializationMode(void *c, bool d, double e, double t, bool s, double f) { return 0; }
int fmi3ExitInitializationMode(void *c) { return 0; }
int fmi3Terminate(void *c) { return 0; }
int fmi3SetFloat64(void *c, const uint32_t *r, size_t n, const double *v, size_t m)
{
    for (size_t i = 0; i < n; i++)
        *(r[i] == 1 ? &unit.set : r[i] == 2 ? &unit.mode : &unit.at) = v[i];
    return unit.in_events ? 0 : 3;
}
int fmi3GetFloat64(void *c, const uint32_t *r, size_t n, double *v, size_t m)
{
    for (size_t i = 0; i < n; i++)
        v[i] = unit.y[r[i] - 10];
    return 0;
}
int fmi3EnterEventMode(void *c)
{
    bool late = unit.t >= unit.at - 1e-6;
    if (unit.in_events || (late && unit.mode == NO_EVENT))
        return 3;
    unit.in_events = true;
    unit.rounds = 0;
    unit.y[3] += 1.0;
    return 0;
}
int fmi3UpdateDiscreteStates(void *c, bool *again, bool *ends, bool *nominals, bool *values, bool *defined,
                             double *next)
{
    bool late = unit.t >= unit.at - 1e-6;
    if (!unit.in_events || (late && unit.mode == FAILS))
        return 3;
    *ends = late && unit.mode == ENDS;
    *again = unit.rounds++ == 0 || (late && unit.mode == ENDLESS);
    if (unit.rounds == 2) {
        if (unit.y[0] < 5.0 && unit.t >= unit.next - 1e-9) {
            unit.y[0] += 1.0;
            unit.next = 0.013 * (unit.y[0] + 1.0);
        }
        unit.y[1] = unit.crossed;
        unit.y[2] += unit.set != unit.u;
        unit.u = unit.set;
    }
    *nominals = *values = false;
    *defined = unit.y[0] < 5.0;
    *next = *defined ? unit.next : 0.0;
    return 0;
}
int fmi3EnterStepMode(void *c)
{
    if (!unit.in_events || (unit.t >= unit.at - 1e-6 && unit.mode == NO_STEP))
        return 3;
    unit.in_events = false;
    return 0;
}
int fmi3DoStep(void *c, double t, double h, bool never, bool *event, bool *terminate, bool *early, double *end)
{
    double stop = t + h;
    if (unit.in_events || fabs(t - unit.t) > 1e-9 || (unit.y[0] < 5.0 && stop > unit.next + 1e-9))
        return 3; /* a step beyond an event that was announced */
    *event = *terminate = *early = false;
    double crossing = 0.0171 * (unit.crossed + 1);
    if (crossing <= stop + 1e-9) {
        *event = true;
        *early = crossing < stop - 1e-9;
        unit.crossed++;
        stop = fmin(stop, crossing);
    }
    *end = unit.t = stop;
    return 0;
}
