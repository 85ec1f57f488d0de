/* Cost of a unit from a host in C, on stdout as JSON: instantiation, reset, fmi2DoStep alone, and the whole cycle of setting
   the inputs, stepping and getting the outputs. These are timed call by call, so they include readings of the clock;
   loop_ns is the cycle of the same steps once more, in processor time that is read once in BATCH cycles, over which inputs
   are constant in both: a mean of loop_ns above that of cycle_ns is the machine's doing. Counts allocations of the process
   while it steps: the functions of the C library are replaced by counting ones here, for the unit as well (glibc).

   usage: native_driver LIBRARY GUID STEPS STEP_SIZE N_INPUTS REFERENCE AMPLITUDE ... N_OUTPUTS REFERENCE ...
          [RESOURCES [INSTANCES]] */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fmi2FunctionTypes.h"

static unsigned long allocations;

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    allocations++;
    return __libc_realloc(p, n);
}

static double read_clock(clockid_t clock) /* [ns] */
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static int order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *name, double *ns, long n)
{
    double sum = 0.0;
    qsort(ns, (size_t)n, sizeof *ns, order);
    for (long k = 0; k < n * 99 / 100; k++) {
        sum += ns[k];
    }
    printf("\"%s\": {\"min\": %.1f, \"mean of 99 %%\": %.1f, \"median\": %.1f, \"p99\": %.1f, \"p999\": %.1f, \"max\": %.1f}, ",
           name, ns[0], sum / (double)(n * 99 / 100 + (n < 2)), ns[n / 2], ns[n * 99 / 100], ns[n * 999 / 1000], ns[n - 1]);
}

static void log_message(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                        fmi2String message, ...)
{
    (void)environment;
    fprintf(stderr, "%s %d %s: %s\n", name, (int)status, category, message);
}

static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "no %s\n", name);
        exit(2);
    }
    return found;
}

#define LOAD(name) name##TYPE *name = (name##TYPE *)function(library, #name)

int main(int argc, char **argv)
{
    void *library = argc > 6 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "%s\n", argc > 6 ? dlerror() : "too few arguments");
        return 2;
    }
    LOAD(fmi2Instantiate);
    LOAD(fmi2SetupExperiment);
    LOAD(fmi2EnterInitializationMode);
    LOAD(fmi2ExitInitializationMode);
    LOAD(fmi2SetReal);
    LOAD(fmi2GetReal);
    LOAD(fmi2DoStep);
    LOAD(fmi2Reset);
    LOAD(fmi2Terminate);
    LOAD(fmi2FreeInstance);
    const char *guid = argv[2];
    long steps = atol(argv[3]);
    double h = atof(argv[4]);
    char **next = argv + 5;
    size_t n_u = (size_t)atol(*next++);
    fmi2ValueReference *u_ref = calloc(n_u + 1, sizeof *u_ref);
    double *amplitude = calloc(n_u + 1, sizeof *amplitude);
    double *start = calloc(n_u + 1, sizeof *start);
    double *u = calloc(n_u + 1, sizeof *u);
    for (size_t i = 0; i < n_u; i++) {
        u_ref[i] = (fmi2ValueReference)atol(*next++);
        amplitude[i] = atof(*next++);
    }
    size_t n_y = (size_t)atol(*next++);
    fmi2ValueReference *y_ref = calloc(n_y + 1, sizeof *y_ref);
    double *y = calloc(n_y + 1, sizeof *y);
    for (size_t i = 0; i < n_y; i++) {
        y_ref[i] = (fmi2ValueReference)atol(*next++);
    }
    double *alone = calloc((size_t)steps, sizeof *alone);
    double *cycle = calloc((size_t)steps, sizeof *cycle);
    double *calls = calloc((size_t)steps, sizeof *calls);
    const char *resources = next < argv + argc ? *next++ : "";
    long instances = next < argv + argc ? atol(*next++) : 200;
    fmi2CallbackFunctions callbacks = {log_message, calloc, free, NULL, NULL};

    double *creation = calloc((size_t)instances, sizeof *creation);
    double *reset = calloc((size_t)instances, sizeof *reset);
    for (long i = 0; i < instances; i++) {
        double before = now();
        fmi2Component c = fmi2Instantiate("unit", fmi2CoSimulation, guid, resources, &callbacks, fmi2False, fmi2False);
        creation[i] = now() - before;
        if (!c) {
            return 3;
        }
        before = now();
        fmi2Reset(c);
        reset[i] = now() - before;
        fmi2FreeInstance(c);
    }
    fmi2Component c = fmi2Instantiate("unit", fmi2CoSimulation, guid, resources, &callbacks, fmi2False, fmi2False);
    int status = fmi2SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0);
    status |= fmi2EnterInitializationMode(c);
    status |= fmi2GetReal(c, u_ref, n_u, start);
    status |= fmi2ExitInitializationMode(c);

    unsigned long counted = allocations;
    enum { BATCH = 1000 };
    for (long k = 0; k < steps; k++) {
        for (size_t i = 0; i < n_u; i++) {
            u[i] = start[i] + amplitude[i] * sin(7.0 * h * (double)(k - k % BATCH));
        }
        double a = now();
        status |= fmi2SetReal(c, u_ref, n_u, u);
        double b = now();
        status |= fmi2DoStep(c, h * (double)k, h, fmi2True);
        double d = now();
        status |= fmi2GetReal(c, y_ref, n_y, y);
        double e = now();
        alone[k] = d - b;
        cycle[k] = e - a;
        calls[k] = (b - a) + (e - d);
    }
    long batches = steps / BATCH;
    double *loop = calloc((size_t)batches + 1, sizeof *loop);
    status |= fmi2Reset(c);
    status |= fmi2SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0);
    status |= fmi2EnterInitializationMode(c);
    status |= fmi2ExitInitializationMode(c);
    for (long k = 0; k < batches; k++) {
        for (size_t i = 0; i < n_u; i++) {
            u[i] = start[i] + amplitude[i] * sin(7.0 * h * (double)(k * BATCH));
        }
        double a = read_clock(CLOCK_PROCESS_CPUTIME_ID);
        for (long i = 0; i < BATCH; i++) {
            status |= fmi2SetReal(c, u_ref, n_u, u);
            status |= fmi2DoStep(c, h * (double)(k * BATCH + i), h, fmi2True);
            status |= fmi2GetReal(c, y_ref, n_y, y);
        }
        loop[k] = (read_clock(CLOCK_PROCESS_CPUTIME_ID) - a) / BATCH;
    }
    unsigned long before = counted;
    counted = allocations - 1 - counted; /* one is the driver's */
    double clock = now();
    for (int i = 0; i < 1000; i++) {
        now();
    }
    clock = (now() - clock) / 1000.0;
    fmi2Terminate(c);
    fmi2FreeInstance(c);
    printf("{");
    print_times("instantiate_ns", creation, instances);
    print_times("reset_ns", reset, instances);
    print_times("do_step_ns", alone, steps);
    print_times("set_and_get_ns", calls, steps);
    print_times("cycle_ns", cycle, steps);
    if (batches > 0) {
        print_times("loop_ns", loop, batches);
    }
    printf("\"clock_ns\": %.1f, \"steps\": %ld, \"status\": %d, ", clock, steps, status);
    printf("\"allocations\": %lu, \"allocations_before\": %lu}\n", counted, before);
    return 0;
}
