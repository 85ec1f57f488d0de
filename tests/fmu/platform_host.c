/* Runs a unit from a host without arithmetic of its own: inputs and results are doubles in files, bit by bit.

   usage: platform_host LIBRARY GUID STEPS INPUTS RESULTS N_INPUTS REFERENCE ... N_RESULTS REFERENCE ...

   INPUTS holds the step size, then for each step the values of the inputs; RESULTS gets for each step the values of the
   variables whose references are given, a boolean one as bREFERENCE. With UNIT_SOURCES defined, the unit's sources are
   compiled in and LIBRARY is not read. */

#include <stdio.h>
#include <stdlib.h>

#ifdef UNIT_SOURCES
#include "all.c"
#define LOAD(name)
#else
#include "fmi2FunctionTypes.h"
#ifdef _WIN32
#include <windows.h>
#define OPEN(path) ((void *)LoadLibraryA(path))
#define FIND(library, name) ((void *)GetProcAddress((HMODULE)(library), name))
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW | RTLD_LOCAL)
#define FIND(library, name) dlsym(library, name)
#endif
#define LOAD(name) name##TYPE *name = (name##TYPE *)require(FIND(library, #name), #name)
#endif

static void *require(void *found, const char *what)
{
    if (!found) {
        fprintf(stderr, "no %s\n", what);
        exit(2);
    }
    return found;
}

static void log_message(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                        fmi2String message, ...)
{
    (void)environment;
    fprintf(stderr, "%s %d %s: %s\n", name, (int)status, category, message);
}

int main(int argc, char **argv)
{
    if (argc < 8) {
        fprintf(stderr, "too few arguments\n");
        return 2;
    }
#ifndef UNIT_SOURCES
    void *library = require(OPEN(argv[1]), argv[1]);
#endif
    LOAD(fmi2Instantiate);
    LOAD(fmi2SetupExperiment);
    LOAD(fmi2EnterInitializationMode);
    LOAD(fmi2ExitInitializationMode);
    LOAD(fmi2SetReal);
    LOAD(fmi2GetReal);
    LOAD(fmi2GetBoolean);
    LOAD(fmi2DoStep);
    LOAD(fmi2FreeInstance);
    long steps = atol(argv[3]);
    FILE *inputs = require(fopen(argv[4], "rb"), argv[4]);
    FILE *results = require(fopen(argv[5], "wb"), argv[5]);
    char **next = argv + 6;
    size_t n_u = (size_t)atol(*next++);
    fmi2ValueReference *u_ref = calloc(n_u + 1, sizeof *u_ref);
    double *u = calloc(n_u + 1, sizeof *u);
    for (size_t i = 0; i < n_u; i++) {
        u_ref[i] = (fmi2ValueReference)atol(*next++);
    }
    size_t n_y = (size_t)atol(*next++);
    double *y = calloc(n_y + 1, sizeof *y);

    fmi2CallbackFunctions callbacks = {log_message, calloc, free, NULL, NULL};
    fmi2Component c = fmi2Instantiate("unit", fmi2CoSimulation, argv[2], "", &callbacks, fmi2False, fmi2True);
    if (!c) {
        return 3;
    }
    int status = fmi2SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0);
    status |= fmi2EnterInitializationMode(c);
    status |= fmi2ExitInitializationMode(c);
    double t = 0.0, h = 0.0;
    int complete = fread(&h, sizeof h, 1, inputs) == 1;
    for (long k = 0; k < steps; k++) {
        complete = complete && fread(u, sizeof *u, n_u, inputs) == n_u;
        status |= fmi2SetReal(c, u_ref, n_u, u);
        status |= fmi2DoStep(c, t, h, fmi2True);
        for (size_t i = 0; i < n_y; i++) {
            int boolean = next[i][0] == 'b';
            fmi2ValueReference reference = (fmi2ValueReference)atol(next[i] + boolean);
            if (boolean) {
                fmi2Boolean value = fmi2False;
                status |= fmi2GetBoolean(c, &reference, 1, &value);
                y[i] = value ? 1.0 : 0.0;
            } else {
                status |= fmi2GetReal(c, &reference, 1, &y[i]);
            }
        }
        complete = complete && fwrite(y, sizeof *y, n_y, results) == n_y;
        t += h;
    }
    fmi2FreeInstance(c);
    complete = !fclose(results) && complete;
    return !complete ? 4 : status ? 5 : 0;
}
