/* FMI 2.0 for co-simulation and model exchange: a face of core.c. */

#include "fmi2Functions.h"

#if defined(FMI2_FUNCTION_PREFIX) && !defined(FMI2_OVERRIDE_FUNCTION_PREFIX)
#undef fmi2FullName
#define RT_PASTE(a, b) a##b
#define RT_JOIN(a, b) RT_PASTE(a, b)
#define fmi2FullName(name) RT_JOIN(FMI2_FUNCTION_PREFIX, name)
#endif

typedef fmi2Status Status;
typedef const fmi2CallbackFunctions *Host;

#include "core.c"

DEFINE_GET(get_booleans, BOOLEAN, fmi2Boolean, value != 0.0 ? fmi2True : fmi2False)
DEFINE_SET(set_booleans, BOOLEAN, fmi2Boolean, value ? 1.0 : 0.0)
DEFINE_GET(get_integers, INTEGER, fmi2Integer, (fmi2Integer)value)
DEFINE_SET(set_integers, INTEGER, fmi2Integer, (double)value)

static void report(Host host, const char *name, Status status, const char *text)
{
    char escaped[1024]; /* the text becomes a format for the logger: each % twice */
    size_t n = 0;
    for (const char *c = text; *c && n + 2 < sizeof escaped; c++) {
        escaped[n++] = *c;
        if (*c == '%') {
            escaped[n++] = '%';
        }
    }
    escaped[n] = '\0';
    host->logger(host->componentEnvironment, name, status,
                 status == DISCARD ? "logStatusDiscard" : "logStatusError", escaped);
}

static void *allocate(Host host, size_t size)
{
    return host->allocateMemory(1, size);
}

static void release(Host host, void *block)
{
    host->freeMemory(block);
}

/* FMI 2.0 has no intermediate updates. */
static bool update(Instance *I, bool can_return, double *end)
{
    (void)I;
    (void)can_return;
    (void)end;
    return false;
}

/* --- life of an instance ------------------------------------------------------------------------------------------ */

const char *fmi2GetTypesPlatform(void)
{
    return fmi2TypesPlatform;
}

const char *fmi2GetVersion(void)
{
    return fmi2Version;
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation, const fmi2CallbackFunctions *functions,
                              fmi2Boolean visible, fmi2Boolean loggingOn)
{
    (void)visible;
    const char *name = instanceName ? instanceName : "";
    if (!functions || !functions->logger) {
        return NULL;
    }
    if (!functions->allocateMemory || !functions->freeMemory) {
        report(functions, name, ERROR, "the callbacks logger, allocateMemory and freeMemory are needed");
        return NULL;
    }
    if (fmuType != fmi2CoSimulation && fmuType != fmi2ModelExchange) {
        report(functions, name, ERROR, "fmuType: co-simulation or model exchange");
        return NULL;
    }
    Interface type = fmuType == fmi2CoSimulation ? CO_SIMULATION : MODEL_EXCHANGE;
    return new_instance(functions, type, name, "guid", fmuGUID, fmuResourceLocation, loggingOn != fmi2False);
}

void fmi2FreeInstance(fmi2Component c)
{
    if (c) {
        end_guests((Instance *)c);
        release(((Instance *)c)->host, c);
    }
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[])
{
    ENTER(c, ANY_MODE)
    REQUIRE(categories, nCategories)
    return set_logging(I, loggingOn != fmi2False, categories, nCategories);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    ENTER(c, INSTANTIATED)
    (void)toleranceDefined; /* the step is fixed */
    (void)tolerance;
    return set_experiment(I, startTime, stopTimeDefined != fmi2False, stopTime);
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    ENTER(c, INSTANTIATED)
    enter_initialization(I);
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    ENTER(c, INITIALIZATION)
    return exit_initialization(I);
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    ENTER(c, RUNNING)
    terminate(I);
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    ENTER(c, ANY_MODE)
    end_guests(I);
    start_values(I);
    return fmi2OK;
}

/* --- values of variables ------------------------------------------------------------------------------------------ */

/* Get or set variables of a type that has some. */
#define TRANSFER(modes, function) \
    ENTER(c, modes) \
    REQUIRE(vr, nvr) \
    REQUIRE(value, nvr) \
    return function(I, vr, nvr, value, nvr, __func__);

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[])
{
    TRANSFER(READABLE, get_reals)
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Boolean value[])
{
    TRANSFER(READABLE, get_booleans)
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Integer value[])
{
    TRANSFER(READABLE, get_integers)
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2String value[])
{
    ENTER(c, READABLE)
    (void)vr;
    (void)value;
    return no_variables(I, nvr, __func__);
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[])
{
    TRANSFER(BEFORE_RUN | RUNNING, set_reals)
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Boolean value[])
{
    TRANSFER(BEFORE_RUN | RUNNING, set_booleans)
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer value[])
{
    TRANSFER(BEFORE_RUN | RUNNING, set_integers)
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2String value[])
{
    ENTER(c, BEFORE_RUN | RUNNING)
    (void)vr;
    (void)value;
    return no_variables(I, nvr, __func__);
}

/* --- saved states ------------------------------------------------------------------------------------------------- */

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    ENTER(c, ANY_MODE)
    REQUIRE(FMUstate, 1)
    return get_state(I, FMUstate);
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate)
{
    ENTER(c, ANY_MODE)
    REQUIRE(FMUstate, 1)
    return set_state(I, FMUstate);
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    ENTER(c, ANY_MODE)
    return free_state(I, FMUstate);
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size)
{
    ENTER(c, ANY_MODE)
    REQUIRE(FMUstate, 1)
    REQUIRE(size, 1)
    *size = sizeof(Snapshot);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte serializedState[], size_t size)
{
    ENTER(c, ANY_MODE)
    REQUIRE(FMUstate, 1)
    REQUIRE(serializedState, 1)
    return serialize(I, FMUstate, serializedState, size);
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte serializedState[], size_t size,
                                   fmi2FMUstate *FMUstate)
{
    ENTER(c, ANY_MODE)
    REQUIRE(serializedState, 1)
    REQUIRE(FMUstate, 1)
    return deserialize(I, serializedState, size, FMUstate);
}

/* --- derivatives -------------------------------------------------------------------------------------------------- */

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[], size_t nUnknown,
                                        const fmi2ValueReference vKnown_ref[], size_t nKnown,
                                        const fmi2Real dvKnown[], fmi2Real dvUnknown[])
{
    ENTER(c, INITIALIZATION | RUNNING)
    REQUIRE(vUnknown_ref, nUnknown)
    REQUIRE(vKnown_ref, nKnown)
    REQUIRE(dvKnown, nKnown)
    REQUIRE(dvUnknown, nUnknown)
    if (!are_unknowns_and_knowns(I, vUnknown_ref, nUnknown, vKnown_ref, nKnown, __func__)) {
        return fmi2Error;
    }
    return directional_derivative(I, vUnknown_ref, nUnknown, vKnown_ref, nKnown, dvKnown, dvUnknown);
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    ENTER(c, BEFORE_RUN | STEP_COMPLETE)
    REQUIRE(vr, nvr)
    REQUIRE(order, nvr)
    REQUIRE(value, nvr)
    if (!first_derivatives(I, vr, order, nvr, INPUT, __func__)) {
        return fmi2Error;
    }
    for (size_t i = 0; i < nvr; i++) {
        I->u_rate[VARIABLES[vr[i]].index] = value[i]; /* a step with rates that are not finite is refused */
    }
    return fmi2OK;
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[])
{
    ENTER(c, STEP_COMPLETE | TERMINATED)
    REQUIRE(vr, nvr)
    REQUIRE(order, nvr)
    REQUIRE(value, nvr)
    return first_derivatives(I, vr, order, nvr, OUTPUT, __func__) ? output_derivatives(I, vr, nvr, value) : fmi2Error;
}

/* --- co-simulation ------------------------------------------------------------------------------------------------ */

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    ENTER(c, STEP_COMPLETE)
    (void)noSetFMUStatePriorToCurrentPoint;
    return step(I, currentCommunicationPoint, communicationStepSize);
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    ENTER(c, 0) /* no step ever runs in the background */
    return fmi2Error;
}

/* Steps end before fmi2DoStep returns, so there is no pending step to ask about. */

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value)
{
    ENTER(c, STEP_COMPLETE | TERMINATED)
    (void)value;
    return refuse(I, DISCARD, "%s: there is no status of kind %d", __func__, (int)s);
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value)
{
    ENTER(c, STEP_COMPLETE | TERMINATED)
    REQUIRE(value, 1)
    if (s != fmi2LastSuccessfulTime) {
        return refuse(I, DISCARD, "%s: there is no status of kind %d", __func__, (int)s);
    }
    *value = I->t;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value)
{
    ENTER(c, STEP_COMPLETE | TERMINATED)
    (void)value;
    return refuse(I, DISCARD, "%s: there is no status of kind %d", __func__, (int)s);
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value)
{
    ENTER(c, STEP_COMPLETE | TERMINATED)
    REQUIRE(value, 1)
    if (s != fmi2Terminated) {
        return refuse(I, DISCARD, "%s: there is no status of kind %d", __func__, (int)s);
    }
    *value = fmi2False; /* a unit never wants to end a simulation */
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value)
{
    ENTER(c, STEP_COMPLETE | TERMINATED)
    (void)value;
    return refuse(I, DISCARD, "%s: there is no status of kind %d", __func__, (int)s);
}

/* --- model exchange ----------------------------------------------------------------------------------------------- */

fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    ENTER(c, EVENT | CONTINUOUS_TIME)
    enter_event(I);
    return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *eventInfo)
{
    ENTER(c, EVENT)
    REQUIRE(eventInfo, 1)
    eventInfo->newDiscreteStatesNeeded = fmi2False;
    eventInfo->terminateSimulation = fmi2False;
    eventInfo->nominalsOfContinuousStatesChanged = fmi2False;
    eventInfo->valuesOfContinuousStatesChanged = fmi2False;
    eventInfo->nextEventTimeDefined = fmi2False;
    eventInfo->nextEventTime = 0.0;
    return fmi2OK;
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    ENTER(c, EVENT)
    leave_event(I);
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation)
{
    ENTER(c, CONTINUOUS_TIME)
    REQUIRE(enterEventMode, 1)
    REQUIRE(terminateSimulation, 1)
    (void)noSetFMUStatePriorToCurrentPoint;
    bool needs_event;
    fmi2Status status = complete_step(I, &needs_event);
    *enterEventMode = needs_event ? fmi2True : fmi2False;
    *terminateSimulation = fmi2False;
    return status;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ENTER(c, EVENT | CONTINUOUS_TIME)
    return set_time(I, time);
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx)
{
    ENTER(c, CONTINUOUS_TIME)
    REQUIRE_STATES(nx)
    REQUIRE(x, nx)
    return set_states(I, x);
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx)
{
    ENTER(c, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    REQUIRE_STATES(nx)
    REQUIRE(derivatives, nx)
    return get_derivatives(I, derivatives);
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real eventIndicators[], size_t ni)
{
    ENTER(c, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    (void)eventIndicators;
    return ni == 0 ? OK : refuse(I, ERROR, "%s: there are no event indicators", __func__);
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx)
{
    ENTER(c, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    REQUIRE_STATES(nx)
    REQUIRE(x, nx)
    return get_states(I, x);
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x_nominal[], size_t nx)
{
    ENTER(c, ANY_MODE)
    REQUIRE_STATES(nx)
    REQUIRE(x_nominal, nx)
    get_nominals(x_nominal);
    return fmi2OK;
}
