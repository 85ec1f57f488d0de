/* The unit in a page: its functions of FMI 2.0 for co-simulation as four that a script calls with numbers only. A value
   reference is the index of a variable, see model.h. */

#include "all.c"

#include <stdlib.h>

static fmi2Component unit;
static double now;

static void told(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                 fmi2String message, ...) {
    (void)environment, (void)name, (void)status, (void)category, (void)message;
}

static const fmi2CallbackFunctions CALLBACKS = {told, calloc, free, NULL, NULL};

/* A new instance, then `set` for start values, then `initialise`. */
__attribute__((export_name("begin"))) int begin(void) {
    if (unit != NULL) fmi2FreeInstance(unit);
    now = 0.0;
    unit = fmi2Instantiate("unit", fmi2CoSimulation, MODEL_GUID, "", &CALLBACKS, fmi2False, fmi2False);
    return unit == NULL ? fmi2Fatal : fmi2SetupExperiment(unit, fmi2False, 0.0, 0.0, fmi2False, 0.0);
}

__attribute__((export_name("initialise"))) int initialise_unit(void) {
    const int entered = fmi2EnterInitializationMode(unit);
    return entered > fmi2Warning ? entered : (int)fmi2ExitInitializationMode(unit);
}

__attribute__((export_name("set"))) int set(unsigned reference, double value) {
    const fmi2Integer whole = (fmi2Integer)value;
    switch (VARIABLES[reference].type) {
    case REAL: return fmi2SetReal(unit, &reference, 1, &value);
    case BOOLEAN: return fmi2SetBoolean(unit, &reference, 1, &whole);
    default: return fmi2SetInteger(unit, &reference, 1, &whole);
    }
}

__attribute__((export_name("get"))) double get(unsigned reference) {
    double value = 0.0;
    fmi2Integer whole = 0;
    if (VARIABLES[reference].type == REAL) return fmi2GetReal(unit, &reference, 1, &value), value;
    if (VARIABLES[reference].type == BOOLEAN) fmi2GetBoolean(unit, &reference, 1, &whole);
    else fmi2GetInteger(unit, &reference, 1, &whole);
    return whole;
}

__attribute__((export_name("step"))) int step_unit(double h) {
    const int status = fmi2DoStep(unit, now, h, fmi2True);
    if (status <= fmi2Warning) now += h;
    return status;
}
