/* An FMU of FMI 2.0 with all types: real u -> y, which lags, integer n, the steps made, Boolean up, parameter gain. */

#include "tiny.h"
#include <fmi2Functions.h>
#include <stdlib.h>
#include <string.h>

typedef struct { double u, y, gain; int n, up; const fmi2CallbackFunctions *host; } Unit;
int instances; /* a name that others may use */

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String place,
                              const fmi2CallbackFunctions *host, fmi2Boolean visible, fmi2Boolean logging)
{
    Unit *unit = host->allocateMemory(1, sizeof(Unit));
    instances++;
    unit->gain = 1.0;
    unit->host = host;
    return strcmp(guid, "{tiny}") == 0 && strncmp(place, "file:///", 8) == 0 ? unit : NULL;
}
void fmi2FreeInstance(fmi2Component c)
{
    instances--;
    ((Unit *)c)->host->freeMemory(c);
}
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean d, fmi2Real e, fmi2Real t, fmi2Boolean s, fmi2Real f)
{
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { return fmi2OK; }
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Real v[])
{
    for (size_t i = 0; i < n; i++)
        *(r[i] == 0 ? &((Unit *)c)->u : &((Unit *)c)->gain) = v[i];
    return fmi2OK;
}
fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Boolean v[])
{
    ((Unit *)c)->up = v[0];
    return fmi2OK;
}
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Real v[])
{
    v[0] = ((Unit *)c)->y;
    return fmi2OK;
}
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Integer v[])
{
    v[0] = ((Unit *)c)->n;
    return fmi2OK;
}
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean never)
{
    Unit *unit = c;
    unit->y = lagged(unit->y, (unit->up ? unit->gain : 1.0) * unit->u + 1e-3 * t, h);
    unit->n++;
    if (unit->u > LIMIT)
        unit->host->logger(unit->host->componentEnvironment, "tiny", fmi2Error, "", "u = %g is above %d", unit->u, LIMIT);
    return unit->u > LIMIT ? fmi2Error : fmi2OK;
}
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *s)
{
    *s = memcpy(*s ? *s : malloc(sizeof(Unit)), c, sizeof(Unit));
    return fmi2OK;
}
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate s)
{
    memcpy(c, s, sizeof(Unit));
    return fmi2OK;
}
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *s)
{
    free(*s);
    *s = NULL;
    return fmi2OK;
}
