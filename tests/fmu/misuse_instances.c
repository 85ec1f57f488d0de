/* Many instances of a native unit, and many steps: instances that are stepped in turn and in threads give the bits of
   those that are stepped alone, all results are finite, and all memory comes back.

   usage: misuse_instances STEPS INSTANCES THREADS */

#include <pthread.h>
#include <stdlib.h>

#include "all.c"
#include "random_calls.h"

enum { PATTERNS = 8, MOST_THREADS = 64 }; /* PATTERNS of inputs */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long live, taken, limited; /* blocks of memory; steps with a true flag */

typedef struct {
    fmi2Component c;
    int pattern;
    long steps;
    uint64_t bits; /* hash of all results so far */
} Run;

static void *take(size_t n, size_t size)
{
    pthread_mutex_lock(&lock);
    live++;
    taken++;
    pthread_mutex_unlock(&lock);
    return calloc(n, size);
}

static void give(void *p)
{
    pthread_mutex_lock(&lock);
    live -= p != NULL;
    pthread_mutex_unlock(&lock);
    free(p);
}

static void listen(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                   fmi2String message, ...)
{
    (void)environment;
    fprintf(stderr, "%s, status %d, %s: %s\n", name, (int)status, category, message);
}

static const fmi2CallbackFunctions CALLBACKS = {listen, take, give, NULL, NULL};

static Run begin(int pattern)
{
    Run run = {NULL, pattern, 0, 0};
    run.c = fmi2Instantiate("unit", fmi2CoSimulation, MODEL_GUID, "", &CALLBACKS, fmi2False, fmi2False);
    CHECK(run.c);
    CHECK(fmi2SetupExperiment(run.c, fmi2False, 0.0, 0.0, fmi2False, 0.0) == fmi2OK);
    CHECK(fmi2EnterInitializationMode(run.c) == fmi2OK && fmi2ExitInitializationMode(run.c) == fmi2OK);
    return run;
}

/* One step with inputs that move around their start values. */
static void advance(Run *run)
{
    double t = (double)run->steps * 1e-3;
    fmi2Boolean any = fmi2False, flag;
    for (fmi2ValueReference k = 0; k < N_VARIABLES; k++) {
        const Variable *v = VARIABLES + k;
        if (v->kind == INPUT && v->type == REAL) {
            double size = v->start != 0.0 ? 0.02 * v->start : 5.0;
            double value = v->start + size * sin((1.0 + run->pattern + (double)v->index) * t);
            CHECK(fmi2SetReal(run->c, &k, 1, &value) == fmi2OK);
        }
    }
    CHECK(fmi2DoStep(run->c, t, 1e-3, fmi2True) == fmi2OK);
    run->steps++;
    for (fmi2ValueReference k = 0; k < N_VARIABLES; k++) {
        const Variable *v = VARIABLES + k;
        if (v->kind != OUTPUT) {
            continue;
        }
        if (v->type == REAL) {
            double value;
            CHECK(fmi2GetReal(run->c, &k, 1, &value) == fmi2OK && is_finite(value));
            run->bits = (run->bits ^ hash(&value, sizeof value)) * UINT64_C(1099511628211);
        } else {
            CHECK(fmi2GetBoolean(run->c, &k, 1, &flag) == fmi2OK);
            any = any || flag;
        }
    }
    if (any) {
        pthread_mutex_lock(&lock);
        limited++;
        pthread_mutex_unlock(&lock);
    }
}

static void end(Run *run)
{
    CHECK(fmi2Terminate(run->c) == fmi2OK);
    fmi2FreeInstance(run->c);
}

static void *in_thread(void *argument)
{
    Run *run = argument;
    long steps = run->steps;
    *run = begin(run->pattern);
    while (run->steps < steps) {
        advance(run);
    }
    end(run);
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    long steps = atol(argv[1]), instances = atol(argv[2]);
    int threads = atoi(argv[3]);
    CHECK(threads <= MOST_THREADS);
    uint64_t alone[PATTERNS] = {0};
    int patterns = instances > 0 || threads > 0 ? PATTERNS : 1;
    for (int k = 0; k < patterns; k++) {
        Run run = begin(k);
        long before = taken;
        while (run.steps < steps) {
            advance(&run);
        }
        CHECK(taken == before);
        alone[k] = run.bits;
        end(&run);
        CHECK(k == 0 || alone[k] != alone[k - 1]);
    }
    CHECK(live == 0);

    Run *many = calloc((size_t)instances + 1, sizeof(Run));
    for (long k = 0; k < instances; k++) {
        many[k] = begin((int)(k % PATTERNS));
    }
    CHECK(live == instances);
    uint64_t random = 1;
    for (long left = instances * steps; left > 0; left--) { /* any instance that is not there yet */
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        long k = (long)((random >> 33) % (uint64_t)instances);
        while (many[k].steps == steps) {
            k = (k + 1) % instances;
        }
        advance(&many[k]);
    }
    for (long k = 0; k < instances; k++) {
        CHECK(many[k].bits == alone[many[k].pattern]);
        end(&many[k]);
    }
    free(many);
    CHECK(live == 0);

    pthread_t ids[MOST_THREADS];
    Run runs[MOST_THREADS];
    for (int k = 0; k < threads; k++) {
        runs[k].pattern = k % PATTERNS;
        runs[k].steps = steps;
        CHECK(pthread_create(&ids[k], NULL, in_thread, &runs[k]) == 0);
    }
    for (int k = 0; k < threads; k++) {
        CHECK(pthread_join(ids[k], NULL) == 0);
        CHECK(runs[k].bits == alone[runs[k].pattern]);
    }
    CHECK(live == 0);
    printf("{\"taken\": %ld, \"limited\": %ld}\n", taken, limited);
    return 0;
}
