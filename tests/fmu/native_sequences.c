/* Random sequences of FMI calls on a native unit, right and wrong ones alike, for a build with sanitizers. Whatever the
   order and the arguments, the unit answers with a status, leaks nothing, and takes memory at the moments it may.

   usage: native_sequences SEED CALLS */

#include <stdlib.h>

#include "all.c"

static long live;   /* blocks */
static long taken;  /* so far */
static unsigned seed;

static void *take(size_t n, size_t size)
{
    live++;
    taken++;
    return calloc(n, size);
}

static void give(void *p)
{
    live -= p != NULL;
    free(p);
}

static unsigned any(unsigned n) /* 0 to n - 1 */
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static double number(void)
{
    static const double odd[] = {0.0, -1.0, 1e-3, 0.5, 1e13, -1e300, NAN, INFINITY, -INFINITY, 1e-320};
    return any(4) ? (double)any(2001) - 1000.0 : odd[any(10)];
}

static void listen(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                   fmi2String message, ...)
{
    (void)environment;
    if (!name || !category || !message || !message[0] || status == fmi2OK) {
        abort();
    }
}

enum { MANY = 64 };

int main(int argc, char **argv)
{
    fmi2CallbackFunctions callbacks = {listen, take, give, NULL, NULL};
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1u;
    long calls = argc > 2 ? atol(argv[2]) : 10000;
    long done[7] = {0};
    fmi2Component instances[2];
    fmi2FMUstate states[2] = {NULL, NULL};
    if (fmi2Instantiate("x", fmi2CoSimulation, "other", "", &callbacks, 0, 1)
        || fmi2Instantiate("x", 7, MODEL_GUID, "", &callbacks, 0, 1)
        || fmi2Instantiate("", fmi2CoSimulation, MODEL_GUID, "", &callbacks, 0, 1)
        || fmi2Instantiate("x", fmi2CoSimulation, MODEL_GUID, "", NULL, 0, 1)) {
        abort();
    }
    instances[0] = fmi2Instantiate("stepped", fmi2CoSimulation, MODEL_GUID, "", &callbacks, 0, 1);
    instances[1] = fmi2Instantiate("100 % exchanged", fmi2ModelExchange, MODEL_GUID, "", &callbacks, 0, 1);
    double times[2] = {0.0, 0.0};
    for (long k = 0; k < calls; k++) {
        unsigned w = any(2);
        fmi2Component c = instances[w];
        fmi2ValueReference refs[MANY];
        double values[MANY], directions[MANY], results[MANY];
        int integers[MANY];
        size_t n = any(5);
        for (size_t i = 0; i < MANY; i++) {
            refs[i] = any(20) ? any(N_VARIABLES) : any(1u << 20);
            values[i] = number();
            directions[i] = number();
            integers[i] = (int)any(2);
        }
        if (any(3) == 0) { /* inputs that a run survives */
            n = 0;
            for (size_t i = 0; i < N_VARIABLES && n < MANY; i++) {
                if (VARIABLES[i].kind == INPUT) {
                    refs[n] = (fmi2ValueReference)i;
                    values[n++] = VARIABLES[i].start * (0.9 + 0.01 * any(20));
                }
            }
        }
        fmi2Status s = fmi2OK;
        fmi2EventInfo info;
        fmi2Boolean flags[2];
        fmi2String text = "";
        fmi2Status status;
        size_t size = 0;
        long before = taken;
        unsigned call = any(46);
        switch (call) {
        case 0: s = fmi2SetupExperiment(c, 0, 0.0, any(4) ? 0.0 : number(), any(8) == 0, number()); break;
        case 1: case 2: s = fmi2EnterInitializationMode(c); break;
        case 3: case 4: s = fmi2ExitInitializationMode(c); break;
        case 5: s = any(20) ? fmi2OK : fmi2Terminate(c); break;
        case 6: s = any(10) ? fmi2OK : fmi2Reset(c); break;
        case 7: case 8: case 9: s = fmi2SetReal(c, refs, n, values); break;
        case 10: case 11: s = fmi2GetReal(c, refs, n, results); break;
        case 12: s = fmi2GetBoolean(c, refs, n, integers); break;
        case 13: s = fmi2SetBoolean(c, refs, n, integers); break;
        case 14: s = fmi2GetInteger(c, refs, n, integers); break;
        case 15: s = fmi2SetInteger(c, refs, n, integers); break;
        case 16: s = fmi2GetString(c, refs, n, &text); break;
        case 17: s = fmi2SetString(c, refs, n, &text); break;
        case 18: s = fmi2GetFMUstate(c, &states[w]); break;
        case 19: s = fmi2SetFMUstate(c, states[any(2)]); break;
        case 20: s = any(5) ? fmi2OK : fmi2FreeFMUstate(c, &states[w]); break;
        case 21: case 22:
            s = fmi2SerializedFMUstateSize(c, states[w], &size);
            if (s == fmi2OK) {
                fmi2Byte *bytes = malloc(size);
                s = fmi2SerializeFMUstate(c, states[w], bytes, any(8) ? size : size / 2);
                if (s == fmi2OK) {
                    if (call == 22) {
                        for (unsigned i = 1 + any(3); i > 0; i--) {
                            bytes[any((unsigned)size)] ^= (fmi2Byte)(1u << any(8));
                        }
                    }
                    fmi2FMUstate copy = NULL;
                    s = fmi2DeSerializeFMUstate(c, bytes, any(10) ? size : size - any(9), &copy);
                    if (s == fmi2OK) {
                        s = fmi2SetFMUstate(c, copy);
                        fmi2FreeFMUstate(c, &copy);
                    }
                }
                free(bytes);
            }
            break;
        case 23: s = fmi2GetDirectionalDerivative(c, refs, n, refs + 10, any(4), directions, results); break;
        case 24:
            text = any(2) ? "logAll" : "other";
            s = fmi2SetDebugLogging(c, (fmi2Boolean)any(2), any(2), &text);
            break;
        case 25: s = fmi2EnterEventMode(c); break;
        case 26: s = fmi2NewDiscreteStates(c, any(9) ? &info : NULL); break;
        case 27: case 28: s = fmi2EnterContinuousTimeMode(c); break;
        case 29: s = fmi2CompletedIntegratorStep(c, 1, &flags[0], &flags[1]); break;
        case 30: s = fmi2SetTime(c, number()); break;
        case 31: s = fmi2SetContinuousStates(c, values, any(9) ? N_X : any(MANY)); break;
        case 32: s = fmi2GetContinuousStates(c, results, any(9) ? N_X : any(MANY)); break;
        case 33: s = fmi2GetDerivatives(c, results, any(9) ? N_X : any(MANY)); break;
        case 34: s = fmi2GetEventIndicators(c, results, any(2)); break;
        case 35: s = fmi2GetNominalsOfContinuousStates(c, results, N_X); break;
        case 36: s = fmi2CancelStep(c); break;
        case 37:
            for (size_t i = 0; i < n; i++) { /* mostly such as a run survives, and mostly of order 1 */
                values[i] = any(20) ? (any(3) ? 0.0 : 0.1 * any(100)) : values[i];
                integers[i] = any(10) ? 1 : integers[i];
            }
            s = fmi2SetRealInputDerivatives(c, refs, n, integers, values);
            break;
        case 38:
            for (size_t i = 0; i < n; i++) {
                integers[i] = any(10) ? 1 : integers[i];
            }
            s = fmi2GetRealOutputDerivatives(c, refs, n, integers, results);
            break;
        case 39: s = fmi2GetRealStatus(c, any(3) ? fmi2LastSuccessfulTime : fmi2Terminated, &times[w]); break;
        case 40: s = fmi2GetBooleanStatus(c, any(2) ? fmi2Terminated : fmi2PendingStatus, &flags[0]); break;
        case 41: s = fmi2GetStatus(c, fmi2DoStepStatus, &status); break;
        default:
            (void)fmi2GetRealStatus(c, fmi2LastSuccessfulTime, &times[w]);
            s = fmi2DoStep(c, any(30) ? times[w] : number(), any(5) ? 1e-3 * (1 + any(5)) : number() * 1e-3, 1);
        }
        if (taken != before && call != 18 && call != 21 && call != 22) {
            abort(); /* memory for anything but a saved state */
        }
        done[s]++;
    }
    for (int w = 0; w < 2; w++) {
        fmi2FreeFMUstate(instances[w], &states[w]);
        fmi2FreeInstance(instances[w]);
    }
    fmi2FreeInstance(NULL);
    printf("{\"ok\": %ld, \"discard\": %ld, \"error\": %ld, \"live\": %ld}\n", done[fmi2OK], done[fmi2Discard],
           done[fmi2Error], live);
    return 0;
}
