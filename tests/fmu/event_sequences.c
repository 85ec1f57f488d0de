/* Random communication steps of a native FMI 3.0 unit with and without event mode, early return and intermediate
   updates, and between them calls at the wrong moment and forged states, for a build with sanitizers. A twin without all
   of these is stepped to the same points: all bits are the same there. What a moment does not allow is refused.

   usage: event_sequences SEED STEPS */

#include <stdlib.h>

#include "all.c"
#include "random_calls.h"

static long events, returns, updates, refused, accepted;

static void listen(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String message)
{
    (void)environment;
    CHECK(category && message && message[0] && (status == fmi3Error || status == fmi3Discard));
}

static void read_outputs(fmi3Instance c)
{
    for (fmi3ValueReference k = 0; k < N_VARIABLES; k++) {
        if (VARIABLES[k].kind == OUTPUT && VARIABLES[k].type == REAL && VARIABLES[k].length > 0) {
            double values[N_Y + 1];
            CHECK(fmi3GetFloat64(c, &k, 1, values, VARIABLES[k].length) == fmi3OK);
            CHECK(all_finite(values, VARIABLES[k].length));
        }
    }
}

static fmi3Status step_now(fmi3Instance c)
{
    bool b[3];
    double last;
    return fmi3DoStep(c, ((Instance *)c)->t, 1e-3, false, b, b + 1, b + 2, &last);
}

/* Calls that are not allowed within a step, or at the moment that `mode` says. */
static void misuse(fmi3Instance c, Mode mode)
{
    bool b[5];
    double d[N_X + 1] = {0.0};
    fmi3FMUState state = NULL;
    bool due = ((Instance *)c)->event_pending;
    fmi3Status s = fmi3Error;
    const fmi3ValueReference y = N_PARAMETERS + N_U, u = N_PARAMETERS;
    const fmi3Int32 order = 1;
    const Instance *I = c;
    switch (any(16)) {
    case 0: s = mode == STEP_COMPLETE && !due ? s : step_now(c); break;
    case 1: s = mode == EVENT ? s : fmi3EnterStepMode(c); break;
    case 2: s = mode == EVENT ? s : fmi3UpdateDiscreteStates(c, b, b + 1, b + 2, b + 3, b + 4, d); break;
    case 3: s = fmi3EnterContinuousTimeMode(c); break;
    case 4: s = fmi3SetTime(c, 0.0); break;
    case 5: s = fmi3SetContinuousStates(c, d, N_X); break;
    case 6: s = fmi3GetContinuousStates(c, d, N_X); break;
    case 7: s = fmi3CompletedIntegratorStep(c, false, b, b + 1); break;
    case 8: s = fmi3ExitInitializationMode(c); break;
    case 9: s = mode == INTERMEDIATE ? fmi3GetFMUState(c, &state) : s; break;
    case 10: s = mode == INTERMEDIATE ? fmi3Reset(c) : s; break;
    case 11: s = mode == INTERMEDIATE ? fmi3Terminate(c) : s; break;
    case 12: s = mode == INTERMEDIATE ? fmi3SetFloat64(c, &u, 1, d, 1) : s; break;
    case 13: s = mode == INTERMEDIATE ? fmi3GetDirectionalDerivative(c, &y, 1, &u, 1, d, 1, d, 1) : s; break;
    case 14: s = mode == INTERMEDIATE && !I->intermediate[y] ? fmi3GetOutputDerivatives(c, &y, 1, &order, d, 1) : s; break;
    default: s = mode == INTERMEDIATE || !((Instance *)c)->has_events ? fmi3EnterEventMode(c) : s; break;
    }
    CHECK(s == fmi3Error && !state);
    refused++;
}

static void look(fmi3InstanceEnvironment environment, fmi3Float64 t, fmi3Boolean set, fmi3Boolean get,
                 fmi3Boolean finished, fmi3Boolean can_return, fmi3Boolean *wanted, fmi3Float64 *until)
{
    fmi3Instance c = *(fmi3Instance *)environment;
    const Instance *I = c;
    CHECK(!set && get && finished && t == I->t && (I->may_return || !can_return));
    for (fmi3ValueReference k = 0; k < N_VARIABLES; k++) {
        double values[N_Y + 1];
        if (VARIABLES[k].type == REAL && VARIABLES[k].length > 0) {
            fmi3Status s = fmi3GetFloat64(c, &k, 1, values, VARIABLES[k].length);
            CHECK(s == (I->intermediate[k] ? fmi3OK : fmi3Error));
            CHECK(s != fmi3OK || all_finite(values, VARIABLES[k].length));
        }
    }
    misuse(c, INTERMEDIATE);
    updates++;
    if (any(6) == 0) {
        *wanted = true; /* whether it can or not */
        *until = any(2) ? t : t + 1e-4 * any(100);
    }
}

static fmi3Instance make(fmi3Instance *self, bool has_events, bool early, bool watched)
{
    fmi3ValueReference outputs[N_Y + 1];
    size_t n = 0;
    for (fmi3ValueReference k = 0; k < N_VARIABLES; k++) {
        if (VARIABLES[k].kind == OUTPUT && VARIABLES[k].type == REAL && VARIABLES[k].length > 0 && any(2)) {
            outputs[n++] = k;
        }
    }
    *self = fmi3InstantiateCoSimulation("unit", MODEL_GUID, "", false, true, has_events, early, outputs, n, self, listen,
                                        watched ? look : NULL);
    CHECK(*self);
    CHECK(fmi3EnterInitializationMode(*self, false, 0.0, 0.0, false, 0.0) == fmi3OK);
    CHECK(fmi3ExitInitializationMode(*self) == fmi3OK);
    if (has_events) {
        CHECK(fmi3EnterStepMode(*self) == fmi3OK);
    }
    return *self;
}

static void handle(fmi3Instance c)
{
    bool b[5];
    double next;
    misuse(c, STEP_COMPLETE);
    CHECK(fmi3EnterEventMode(c) == fmi3OK);
    misuse(c, EVENT);
    CHECK(fmi3UpdateDiscreteStates(c, b, b + 1, b + 2, b + 3, b + 4, &next) == fmi3OK && !b[0]);
    CHECK(fmi3EnterStepMode(c) == fmi3OK);
    events++;
}

/* Step to a time, with all that comes between; false if a step is discarded. */
static bool go_on(fmi3Instance c, double t, double h)
{
    double end = t + h;
    const Instance *I = c;
    for (int k = 0; k < 100000; k++) {
        bool event, terminate, early;
        double last;
        fmi3Status s = fmi3DoStep(c, t, k ? end - t : h, false, &event, &terminate, &early, &last);
        CHECK(s == fmi3OK || s == fmi3Discard);
        if (s == fmi3Discard) {
            CHECK(I->mode == STEP_COMPLETE && I->t == t && !I->event_pending);
            return false;
        }
        CHECK(!terminate && (!event || I->has_events) && (!early || I->may_return) && last > t);
        CHECK(early ? last < end : last == end);
        t = last;
        returns += early;
        if (event) {
            handle(c);
        } else if (any(10) == 0 && I->has_events) { /* no event is due, and none changes anything */
            handle(c);
            events--;
        }
        if (!early) {
            return true;
        }
        misuse(c, STEP_COMPLETE);
        if (any(3) == 0) { /* a state in the middle of a step goes into another instance and back */
            fmi3FMUState state = NULL;
            CHECK(fmi3GetFMUState(c, &state) == fmi3OK);
            CHECK(fmi3Reset(c) == fmi3OK && fmi3SetFMUState(c, state) == fmi3OK);
            CHECK(fmi3FreeFMUState(c, &state) == fmi3OK);
        }
    }
    CHECK(false);
    return false;
}

/* Give an instance a state with a right checksum and entries that are not; use it if it is taken; go back. */
static void forge(fmi3Instance c)
{
    fmi3FMUState kept = NULL, forged = NULL;
    Snapshot s;
    CHECK(fmi3GetFMUState(c, &kept) == fmi3OK && fmi3GetFMUState(c, &forged) == fmi3OK);
    memcpy(&s, forged, sizeof s);
    for (unsigned i = 1 + any(3); i > 0; i--) {
        static const double odd[] = {0.0, -1.0, 1e-320, 1e300, -1e13, NAN, INFINITY, 0.5};
        size_t head = offsetof(Snapshot, type) / 8;
        size_t place = head + (any(2) ? any(12) : any((unsigned)(sizeof s / 8 - head)));
        int64_t whole = any(2) ? (int64_t)any(70) : (int64_t)any(1000000) - 500000;
        double number = odd[any(8)];
        memcpy((char *)&s + 8 * place, any(2) ? (void *)&whole : (void *)&number, 8);
    }
    s.checksum = checksum(&s);
    memcpy(forged, &s, sizeof s);
    if (fmi3SetFMUState(c, forged) == fmi3OK) {
        const Instance *I = c;
        accepted++;
        for (int k = 0; k < 4; k++) {
            bool b[5];
            double last;
            fmi3ValueReference first = N_PARAMETERS + N_U;
            (void)fmi3EnterInitializationMode(c, false, 0.0, 0.0, false, 0.0);
            (void)fmi3ExitInitializationMode(c);
            (void)fmi3EnterEventMode(c);
            fmi3Status status = fmi3GetFloat64(c, &first, 1, &last, 1);
            CHECK(status != fmi3OK || is_finite(last));
            (void)fmi3EnterStepMode(c);
            status = fmi3DoStep(c, I->t, 1e-3 * (1 + any(5)), false, b, b + 1, b + 2, &last);
            CHECK(status != fmi3OK || (last == I->t && all_finite(I->y, N_Y) && all_finite(I->x, N_X)));
        }
    }
    CHECK(fmi3SetFMUState(c, kept) == fmi3OK);
    CHECK(fmi3FreeFMUState(c, &kept) == fmi3OK && fmi3FreeFMUState(c, &forged) == fmi3OK);
}

static void set_inputs(fmi3Instance c, const double *u)
{
    for (fmi3ValueReference k = N_PARAMETERS; k < N_PARAMETERS + N_U; k++) {
        CHECK(fmi3SetFloat64(c, &k, 1, u + k - N_PARAMETERS, 1) == fmi3OK);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    seed = (uint64_t)atol(argv[1]);
    long steps = atol(argv[2]), made = 0, discarded = 0;
    bool has_events = has_event_mode();
    fmi3Instance one = NULL, twin = NULL;
    fmi3FMUState state = NULL;
    double t = 0.0, u[N_U + 1];
    memset(u, 0, sizeof u);
    for (long k = 0; k < steps; k++) {
        if (k % 200 == 0) {
            fmi3FreeInstance(one);
            fmi3FreeInstance(twin);
            make(&one, has_events && any(4), any(4) > 0, any(3) > 0);
            twin = make(&twin, false, any(2), false);
            t = 0.0;
        }
        for (size_t i = 0; i < N_U; i++) {
            double start = VARIABLES[N_PARAMETERS + i].start;
            u[i] = any(3) ? u[i] : (start != 0.0 ? start : 100.0) * 0.01 * ((double)any(300) - 50.0);
            u[i] = any(2000) ? u[i] : NAN;
            u[i] = is_finite(u[i]) || any(2) ? u[i] : start;
        }
        double h = STEP_SIZE * (any(5) ? (double)(1 + any(12)) : 0.1 + 0.01 * any(900));
        set_inputs(one, u);
        set_inputs(twin, u);
        CHECK(fmi3GetFMUState(one, &state) == fmi3OK);
        bool event, terminate, early;
        double last;
        fmi3Status s = fmi3DoStep(twin, t, h, false, &event, &terminate, &early, &last);
        CHECK(s == fmi3OK ? !event && !early : s == fmi3Discard);
        if (!go_on(one, t, h) || s != fmi3OK) {
            CHECK(fmi3SetFMUState(one, state) == fmi3OK);
            discarded++;
            for (size_t i = 0; i < N_U; i++) {
                u[i] = VARIABLES[N_PARAMETERS + i].start;
            }
            if (s == fmi3OK) { /* something was not finite in between: begin again */
                k += 199 - k % 200;
            }
        } else {
            const Instance *a = one, *b = twin;
            CHECK(memcmp(a->x, b->x, sizeof a->x) == 0 && memcmp(a->y, b->y, N_Y * sizeof(double)) == 0);
            CHECK(a->t == b->t && a->cut_done == 0);
            made++;
            t = last;
            read_outputs(one);
        }
        if (any(20) == 0) {
            forge(one);
        }
    }
    CHECK(fmi3FreeFMUState(one, &state) == fmi3OK);
    fmi3FreeInstance(one);
    fmi3FreeInstance(twin);
    printf("{\"made\": %ld, \"discarded\": %ld, \"events\": %ld, \"returns\": %ld, \"updates\": %ld, \"refused\": %ld, "
           "\"accepted\": %ld}\n",
           made, discarded, events, returns, updates, refused, accepted);
    return 0;
}
