/* Random runs of a native FMI 3.0 unit with a clock, for a build with sanitizers. Its inputs with a clock are set and read
   while the clock ticks; whatever the standard does not allow is asked for too, and refused. The kernels, called without
   any of this, make the same steps with inputs that are held between ticks: all bits are the same there.

   usage: clock_sequences SEED STEPS */

#include <stdlib.h>

#include "all.c"
#include "random_calls.h"

static long ticks, refused, restored;
static const fmi3ValueReference TICKS = N_VARIABLES - 1; /* the clock is the last variable */

static void listen(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String message)
{
    (void)environment;
    CHECK(category && message && message[0] && (status == fmi3Error || status == fmi3Discard));
}

static fmi3ValueReference an_input(bool clocked)
{
    for (;;) {
        fmi3ValueReference k = N_PARAMETERS + any(N_U);
        if (VARIABLES[k].clocked == clocked) {
            return k;
        }
    }
}

/* One call that is not allowed where the instance stands; the clock and the variables stay as they are. */
static void misuse(fmi3Instance c)
{
    const Instance *I = c;
    bool on = true, off = false, initial = I->mode == INITIALIZATION, event = I->mode == EVENT;
    double d = 0.5;
    uint64_t n[2];
    fmi3IntervalQualifier q;
    fmi3ValueReference clocked = an_input(true), free = an_input(false);
    fmi3Status s = fmi3Error;
    Clock before = I->clock;
    switch (any(14)) {
    case 0: s = event && I->clock != TICKED ? s : fmi3SetClock(c, &TICKS, 1, &on); break;
    case 1: s = event && I->clock != ACTIVE ? s : fmi3SetClock(c, &TICKS, 1, &off); break;
    case 2: s = event ? fmi3SetClock(c, &clocked, 1, &on) : fmi3GetClock(c, &TICKS, 1, &off); break;
    case 3: s = initial || I->clock == ACTIVE ? s : fmi3SetFloat64(c, &clocked, 1, &d, 1); break;
    case 4: s = initial || I->clock == ACTIVE ? s : fmi3GetFloat64(c, &clocked, 1, &d, 1); break;
    case 5: s = fmi3SetIntervalDecimal(c, &TICKS, 1, &d); break;
    case 6: s = fmi3SetShiftDecimal(c, &TICKS, 1, &d); break;
    case 7: s = fmi3GetIntervalFraction(c, &TICKS, 1, n, n + 1, &q); break;
    case 8: s = fmi3GetShiftFraction(c, &TICKS, 1, n, n + 1); break;
    case 9: s = fmi3SetIntervalFraction(c, &TICKS, 1, n, n); break;
    case 10: s = initial || event ? s : fmi3GetIntervalDecimal(c, &TICKS, 1, &d, &q); break;
    case 11: s = initial ? s : fmi3GetShiftDecimal(c, &TICKS, 1, &d); break;
    case 12: s = fmi3SetClock(c, NULL, 1, &on); break;
    default: s = fmi3ActivateModelPartition(c, TICKS, d); break;
    }
    CHECK(s == fmi3Error && I->clock == before);
    CHECK(fmi3SetFloat64(c, &free, 1, I->u + VARIABLES[free].index, 1) == fmi3OK);
    refused++;
}

/* Take the state away and back, or give one whose clock is where it cannot be. */
static void save_and_restore(fmi3Instance c)
{
    const Instance *I = c;
    fmi3FMUState state = NULL;
    Clock clock = I->clock;
    Mode mode = I->mode;
    CHECK(fmi3GetFMUState(c, &state) == fmi3OK);
    if (any(3) == 0) {
        Snapshot s;
        memcpy(&s, state, sizeof s);
        s.clock = any(2) ? 3 + (int64_t)any(100) : -1;
        s.clock = mode != EVENT && any(2) ? ACTIVE : s.clock;
        s.checksum = checksum(&s);
        memcpy(state, &s, sizeof s);
        CHECK(fmi3SetFMUState(c, state) == fmi3Error);
    } else {
        CHECK(fmi3Reset(c) == fmi3OK && I->clock == INACTIVE);
        CHECK(fmi3SetFMUState(c, state) == fmi3OK);
        restored++;
    }
    CHECK(I->clock == clock && I->mode == mode);
    CHECK(fmi3FreeFMUState(c, &state) == fmi3OK);
}

static void end_event(fmi3Instance c)
{
    bool b[5];
    double next;
    CHECK(fmi3UpdateDiscreteStates(c, b, b + 1, b + 2, b + 3, b + 4, &next) == fmi3OK && !b[0]);
}

/* An event mode, whose end is not here; `u` is set as far as the clock allows it. */
static void event(fmi3Instance c, double u[])
{
    const Instance *I = c;
    bool tick = any(3) > 0, active;
    CHECK(I->mode == EVENT && I->clock == INACTIVE);
    if (any(4) == 0) { /* another event before it, at the same time */
        end_event(c);
    }
    misuse(c);
    if (tick) {
        bool on = true;
        CHECK(fmi3SetClock(c, &TICKS, 1, &on) == fmi3OK && (any(2) || fmi3SetClock(c, &TICKS, 1, &on) == fmi3OK));
        ticks++;
        misuse(c);
    }
    CHECK(fmi3GetClock(c, &TICKS, 1, &active) == fmi3OK && active == tick);
    if (any(3) == 0) {
        save_and_restore(c);
    }
    for (fmi3ValueReference k = N_PARAMETERS; k < N_PARAMETERS + N_U; k++) {
        if (tick || !VARIABLES[k].clocked) {
            double start = VARIABLES[k].start, read;
            u[k - N_PARAMETERS] = (start != 0.0 ? start : 20.0) * (0.7 + 0.003 * (double)any(200));
            CHECK(fmi3SetFloat64(c, &k, 1, u + k - N_PARAMETERS, 1) == fmi3OK);
            CHECK(fmi3GetFloat64(c, &k, 1, &read, 1) == fmi3OK && read == u[k - N_PARAMETERS]);
        }
    }
    end_event(c);
    CHECK(fmi3GetClock(c, &TICKS, 1, &active) == fmi3OK && !active && I->clock == (tick ? TICKED : INACTIVE));
    misuse(c);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    seed = (uint64_t)atol(argv[1]);
    long steps = atol(argv[2]), made = 0;
    CHECK(!fmi3InstantiateCoSimulation("unit", MODEL_GUID, "", false, true, false, false, NULL, 0, NULL, listen, NULL));
    fmi3ValueReference required = an_input(true);
    CHECK(!fmi3InstantiateCoSimulation("unit", MODEL_GUID, "", false, true, true, true, &required, 1, NULL, listen,
                                       NULL));
    fmi3Instance c = NULL;
    double u[N_U + 1], p[N_P + 1], x[N_X + 1], y[N_Y + 1], work[N_WORK + 1], t = 0.0;
    memcpy(p, P_START, sizeof p); /* kernels get the parameters in an array of the instance */
    for (long k = 0; k < steps; k++) {
        if (k % 100 == 0) {
            fmi3FreeInstance(c);
            c = fmi3InstantiateCoSimulation("unit", MODEL_GUID, "", false, true, true, false, NULL, 0, NULL, listen, NULL);
            CHECK(c && fmi3EnterInitializationMode(c, false, 0.0, 0.0, false, 0.0) == fmi3OK);
            misuse(c);
            double interval, shift;
            fmi3IntervalQualifier q;
            CHECK(fmi3GetIntervalDecimal(c, &TICKS, 1, &interval, &q) == fmi3OK && interval == CLOCK_INTERVAL);
            CHECK(fmi3GetShiftDecimal(c, &TICKS, 1, &shift) == fmi3OK && shift == 0.0 && q == fmi3IntervalUnchanged);
            CHECK(fmi3ExitInitializationMode(c) == fmi3OK);
            memcpy(u, ((Instance *)c)->u, sizeof u);
            memcpy(x, ((Instance *)c)->x, sizeof x);
            memset(work, 0, sizeof work);
            CHECK(rt_initialise(p, DATA, u, x, work) != STATUS_FAILED);
            t = 0.0;
        } else {
            misuse(c);
            CHECK(fmi3EnterEventMode(c) == fmi3OK);
        }
        event(c, u);
        CHECK(fmi3EnterStepMode(c) == fmi3OK);
        double h = STEP_SIZE * (double)(1 + any(3)), last;
        bool b[3];
        fmi3Status s = fmi3DoStep(c, t, h, false, b, b + 1, b + 2, &last);
        CHECK(s == fmi3OK || s == fmi3Discard);
        bool well = rt_step(t, h, x, u, p, DATA, y, work) != STATUS_FAILED;
        CHECK((s == fmi3OK) == well && memcmp(x, ((Instance *)c)->x, N_X * sizeof(double)) == 0);
        t = ((Instance *)c)->t;
        made += well;
        if (any(5) == 0) {
            save_and_restore(c);
        }
    }
    fmi3FreeInstance(c);
    printf("{\"made\": %ld, \"ticks\": %ld, \"refused\": %ld, \"restored\": %ld}\n", made, ticks, refused, restored);
    return 0;
}
