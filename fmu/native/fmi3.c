/* FMI 3.0 for co-simulation and model exchange: a face of core.c. A unit may have one clock, a constant input clock, and
   those of a network (bus.c), of which that for sending is constant, that of reception triggered.
   Structural parameters and scheduled execution are not offered. */

#include "fmi3Functions.h"

typedef fmi3Status Status;
typedef struct {
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
    fmi3IntermediateUpdateCallback update;
} Host;

#include "core.c"

#ifdef BUS
#include "bus.c"
#endif

#define HAS_CLOCKS (HAS_BUS || CLOCK_INTERVAL > 0.0)

DEFINE_GET(get_booleans, BOOLEAN, fmi3Boolean, value != 0.0)
DEFINE_SET(set_booleans, BOOLEAN, fmi3Boolean, value ? 1.0 : 0.0)
DEFINE_GET(get_integers, INTEGER, fmi3Int64, (fmi3Int64)value)
DEFINE_SET(set_integers, INTEGER, fmi3Int64, (double)value)

static void report(Host host, const char *name, Status status, const char *text)
{
    (void)name;
    if (host.log) {
        host.log(host.environment, status, status == DISCARD ? "logStatusDiscard" : "logStatusError", text);
    }
}

static void *allocate(Host host, size_t size)
{
    (void)host;
    return calloc(1, size);
}

static void release(Host host, void *block)
{
    (void)host;
    free(block);
}

static bool update(Instance *I, bool can_return, double *end)
{
    fmi3Boolean wanted = fmi3False, inputs = fmi3False;
    for (size_t k = N_U; k-- > 0;) {
        inputs = inputs || (I->takes_inputs && I->intermediate[N_PARAMETERS + k]);
    }
    I->host.update(I->host.environment, I->t, inputs, fmi3True, fmi3True, can_return, &wanted, end);
    return wanted;
}

/* --- life of an instance ------------------------------------------------------------------------------------------ */

const char *fmi3GetVersion(void)
{
    return fmi3Version;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken,
                                          fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                          fmi3InstanceEnvironment instanceEnvironment,
                                          fmi3LogMessageCallback logMessage)
{
    Host host = {instanceEnvironment, logMessage, NULL};
    (void)visible;
    return new_instance(host, MODEL_EXCHANGE, instanceName, "instantiationToken", instantiationToken, resourcePath,
                        loggingOn);
}

/* Whether there is something for event mode: a clock, or outputs that change at events. */
static bool has_event_mode(void)
{
    if (HAS_CLOCKS) {
        return true;
    }
    for (size_t k = 0; k < N_VARIABLES; k++) {
        if (VARIABLES[k].kind == OUTPUT && VARIABLES[k].type != REAL) {
            return true;
        }
    }
    return false;
}

/* Note which variables the host wants to read or set within steps. */
static Status require_intermediate(Instance *I, const fmi3ValueReference vr[], size_t n)
{
    if (n > 0 && !is_finite(INTERNAL_STEP)) {
        return refuse(I, ERROR, "requiredIntermediateVariables: this unit has no intermediate updates");
    }
    for (size_t i = 0; i < n; i++) {
        const Variable *v = vr ? variable(I, vr[i], REAL, "requiredIntermediateVariables") : NULL;
        if (!v || (v->kind != OUTPUT && v->kind != INPUT) || v->clocked) {
            return refuse(I, ERROR, "requiredIntermediateVariables: %s is no continuous input or output",
                          v ? v->name : "one");
        }
        I->intermediate[vr[i]] = true;
    }
    return OK;
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String instanceName, fmi3String instantiationToken,
                                         fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                         fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
                                         const fmi3ValueReference requiredIntermediateVariables[],
                                         size_t nRequiredIntermediateVariables,
                                         fmi3InstanceEnvironment instanceEnvironment,
                                         fmi3LogMessageCallback logMessage,
                                         fmi3IntermediateUpdateCallback intermediateUpdate)
{
    Host host = {instanceEnvironment, logMessage, intermediateUpdate};
    (void)visible;
    if (eventModeUsed && !has_event_mode()) {
        report(host, "", ERROR, "eventModeUsed = true: false, no output of this unit changes at events");
        return NULL;
    }
    if (!eventModeUsed && HAS_CLOCKS) {
        report(host, "", ERROR, "eventModeUsed = false: true, this unit has a clock");
        return NULL;
    }
    Instance *I =
        new_instance(host, CO_SIMULATION, instanceName, "instantiationToken", instantiationToken, resourcePath,
                     loggingOn);
    if (I && require_intermediate(I, requiredIntermediateVariables, nRequiredIntermediateVariables) != OK) {
        free(I);
        return NULL;
    }
    if (I) {
        I->has_events = eventModeUsed;
        I->may_return = earlyReturnAllowed;
        I->has_updates = intermediateUpdate && is_finite(INTERNAL_STEP);
    }
    return I;
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String instanceName, fmi3String instantiationToken,
                                               fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                               fmi3InstanceEnvironment instanceEnvironment,
                                               fmi3LogMessageCallback logMessage, fmi3ClockUpdateCallback clockUpdate,
                                               fmi3LockPreemptionCallback lockPreemption,
                                               fmi3UnlockPreemptionCallback unlockPreemption)
{
    Host host = {instanceEnvironment, logMessage, NULL};
    (void)instanceName;
    (void)instantiationToken;
    (void)resourcePath;
    (void)visible;
    (void)loggingOn;
    (void)clockUpdate;
    (void)lockPreemption;
    (void)unlockPreemption;
    report(host, "", ERROR, "this unit is one for co-simulation and model exchange");
    return NULL;
}

void fmi3FreeInstance(fmi3Instance instance)
{
    if (allowed(instance, ANY_MODE, __func__)) { /* not within a step, which goes on after the callback */
        end_guests((Instance *)instance);
        free(instance);
    }
}

fmi3Status fmi3SetDebugLogging(fmi3Instance instance, fmi3Boolean loggingOn, size_t nCategories,
                               const fmi3String categories[])
{
    ENTER(instance, ANY_MODE)
    REQUIRE(categories, nCategories)
    return set_logging(I, loggingOn, categories, nCategories);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                                       fmi3Float64 startTime, fmi3Boolean stopTimeDefined, fmi3Float64 stopTime)
{
    ENTER(instance, INSTANTIATED)
    (void)toleranceDefined; /* the step is fixed */
    (void)tolerance;
    fmi3Status status = set_experiment(I, startTime, stopTimeDefined, stopTime);
    if (status == fmi3OK) {
        enter_initialization(I);
    }
    return status;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    ENTER(instance, INITIALIZATION)
    return exit_initialization(I);
}

fmi3Status fmi3Terminate(fmi3Instance instance)
{
    ENTER(instance, RUNNING)
    terminate(I);
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance instance)
{
    ENTER(instance, ANY_MODE)
    end_guests(I);
    start_values(I);
    return fmi3OK;
}

/* --- values of variables ------------------------------------------------------------------------------------------ */

/* The functions that get and set variables of a type that has some. */
#define TRANSFERS(Type, get, set) \
    fmi3Status fmi3Get##Type(fmi3Instance instance, const fmi3ValueReference valueReferences[], \
                             size_t nValueReferences, fmi3##Type values[], size_t nValues) \
    { \
        ENTER(instance, READABLE | INTERMEDIATE) \
        REQUIRE(valueReferences, nValueReferences) \
        REQUIRE(values, nValues) \
        return get(I, valueReferences, nValueReferences, values, nValues, __func__); \
    } \
    fmi3Status fmi3Set##Type(fmi3Instance instance, const fmi3ValueReference valueReferences[], \
                             size_t nValueReferences, const fmi3##Type values[], size_t nValues) \
    { \
        ENTER(instance, BEFORE_RUN | RUNNING | INTERMEDIATE) \
        REQUIRE(valueReferences, nValueReferences) \
        REQUIRE(values, nValues) \
        return set(I, valueReferences, nValueReferences, values, nValues, __func__); \
    }

/* Those of a type that has none. */
#define NO_TRANSFERS(Type) \
    fmi3Status fmi3Get##Type(fmi3Instance instance, const fmi3ValueReference valueReferences[], \
                             size_t nValueReferences, fmi3##Type values[], size_t nValues) \
    { \
        ENTER(instance, READABLE) \
        (void)valueReferences; \
        (void)values; \
        return no_variables(I, nValueReferences + nValues, __func__); \
    } \
    fmi3Status fmi3Set##Type(fmi3Instance instance, const fmi3ValueReference valueReferences[], \
                             size_t nValueReferences, const fmi3##Type values[], size_t nValues) \
    { \
        ENTER(instance, BEFORE_RUN | RUNNING) \
        (void)valueReferences; \
        (void)values; \
        return no_variables(I, nValueReferences + nValues, __func__); \
    }

TRANSFERS(Float64, get_reals, set_reals)
TRANSFERS(Boolean, get_booleans, set_booleans)
TRANSFERS(Int64, get_integers, set_integers) /* enumerations */
NO_TRANSFERS(Float32)
NO_TRANSFERS(Int8)
NO_TRANSFERS(UInt8)
NO_TRANSFERS(Int16)
NO_TRANSFERS(UInt16)
NO_TRANSFERS(Int32)
NO_TRANSFERS(UInt32)
NO_TRANSFERS(UInt64)
NO_TRANSFERS(String)

/* Get or set binaries one by one; without a network there are none. */
#ifdef BUS
#define TRANSFER_BINARIES(function, size, value) \
    REQUIRE(valueReferences, nValueReferences) \
    REQUIRE(valueSizes, nValues) \
    REQUIRE(values, nValues) \
    if (nValues != nValueReferences) { \
        return refuse(I, ERROR, "%s: %lu values, not %lu", __func__, (unsigned long)nValueReferences, \
                      (unsigned long)nValues); \
    } \
    fmi3Status status = OK; \
    for (size_t i = 0; i < nValues && status == OK; i++) { \
        const Variable *v = variable(I, valueReferences[i], BINARY, __func__); \
        status = v ? function(I, v, size, value) : ERROR; \
    } \
    return status;
#else
#define TRANSFER_BINARIES(function, size, value) \
    (void)valueReferences; \
    (void)valueSizes; \
    (void)values; \
    return no_variables(I, nValueReferences + nValues, __func__);
#endif

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         size_t valueSizes[], fmi3Binary values[], size_t nValues)
{
    ENTER(instance, READABLE)
    TRANSFER_BINARIES(bus_get, valueSizes + i, values + i)
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         const size_t valueSizes[], const fmi3Binary values[], size_t nValues)
{
    ENTER(instance, BEFORE_RUN | EVENT)
    TRANSFER_BINARIES(bus_set, valueSizes[i], values[i])
}

/* Refuse a call that is about what no unit has. */
#define NOT_OFFERED(what) \
    Instance *I = (Instance *)instance; \
    return I ? refuse(I, ERROR, "%s: there are no %s", __func__, what) : fmi3Error;

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance, fmi3ValueReference valueReference,
                                               size_t *nDependencies)
{
    (void)valueReference;
    (void)nDependencies;
    NOT_OFFERED("dependencies of elements")
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance instance, fmi3ValueReference dependent,
                                       size_t elementIndicesOfDependent[], fmi3ValueReference independents[],
                                       size_t elementIndicesOfIndependents[], fmi3DependencyKind dependencyKinds[],
                                       size_t nDependencies)
{
    (void)dependent;
    (void)elementIndicesOfDependent;
    (void)independents;
    (void)elementIndicesOfIndependents;
    (void)dependencyKinds;
    (void)nDependencies;
    NOT_OFFERED("dependencies of elements")
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance)
{
    NOT_OFFERED("structural parameters")
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance)
{
    NOT_OFFERED("structural parameters")
}

/* --- saved states ------------------------------------------------------------------------------------------------- */

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *FMUState)
{
    ENTER(instance, ANY_MODE)
    REQUIRE(FMUState, 1)
    return get_state(I, FMUState);
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState FMUState)
{
    ENTER(instance, ANY_MODE)
    REQUIRE(FMUState, 1)
    return set_state(I, FMUState);
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *FMUState)
{
    ENTER(instance, ANY_MODE)
    return free_state(I, FMUState);
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance, fmi3FMUState FMUState, size_t *size)
{
    ENTER(instance, ANY_MODE)
    REQUIRE(FMUState, 1)
    REQUIRE(size, 1)
    *size = sizeof(Snapshot);
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance, fmi3FMUState FMUState, fmi3Byte serializedState[], size_t size)
{
    ENTER(instance, ANY_MODE)
    REQUIRE(FMUState, 1)
    REQUIRE(serializedState, 1)
    return serialize(I, FMUState, serializedState, size);
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance, const fmi3Byte serializedState[], size_t size,
                                   fmi3FMUState *FMUState)
{
    ENTER(instance, ANY_MODE)
    REQUIRE(serializedState, 1)
    REQUIRE(FMUState, 1)
    return deserialize(I, serializedState, size, FMUState);
}

/* --- derivatives -------------------------------------------------------------------------------------------------- */

/* Check the arguments of a derivative; the seed is one of these variables, the sensitivity of those. */
#define REQUIRE_DERIVATIVE(of_seed, n_of_seed, of_sensitivity, n_of_sensitivity) \
    ENTER(instance, INITIALIZATION | RUNNING) \
    REQUIRE(unknowns, nUnknowns) \
    REQUIRE(knowns, nKnowns) \
    REQUIRE(seed, nSeed) \
    REQUIRE(sensitivity, nSensitivity) \
    if (!are_unknowns_and_knowns(I, unknowns, nUnknowns, knowns, nKnowns, __func__) \
        || !fits(I, of_seed, n_of_seed, nSeed, __func__) \
        || !fits(I, of_sensitivity, n_of_sensitivity, nSensitivity, __func__)) { \
        return fmi3Error; \
    }

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                        const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                        size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity)
{
    REQUIRE_DERIVATIVE(knowns, nKnowns, unknowns, nUnknowns)
    return directional_derivative(I, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity);
}

/* The scalar product of the seed with a column of the Jacobian, that of one known. */
static Status adjoint(Instance *I, const uint32_t unknowns[], size_t n, const double seed[], const Variable *known,
                      double *sensitivity)
{
    if (!start(I)) {
        return ERROR;
    }
    clear_tangents(I);
    *tangent(I, known) = 1.0;
    Status status = propagate(I);
    double sum = 0.0;
    for (size_t i = 0; i < n && status == OK; i++) {
        for (size_t k = 0; k < VARIABLES[unknowns[i]].length; k++) {
            sum += *seed++ * *tangent(I, VARIABLES + unknowns[i] + k);
        }
    }
    if (status == OK) {
        *sensitivity = sum;
    }
    return status;
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                    const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                    size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity)
{
    REQUIRE_DERIVATIVE(unknowns, nUnknowns, knowns, nKnowns)
    for (size_t i = 0; i < nKnowns; i++) {
        for (size_t k = 0; k < VARIABLES[knowns[i]].length; k++) {
            fmi3Status status = adjoint(I, unknowns, nUnknowns, seed, VARIABLES + knowns[i] + k, sensitivity);
            if (status != fmi3OK) {
                return status;
            }
            sensitivity++;
        }
    }
    return fmi3OK;
}

fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                    size_t nValueReferences, const fmi3Int32 orders[], fmi3Float64 values[],
                                    size_t nValues)
{
    ENTER(instance, STEP_COMPLETE | INTERMEDIATE | TERMINATED)
    REQUIRE(valueReferences, nValueReferences)
    REQUIRE(orders, nValueReferences)
    REQUIRE(values, nValues)
    if (!first_derivatives(I, valueReferences, orders, nValueReferences, OUTPUT, __func__)
        || !fits(I, valueReferences, nValueReferences, nValues, __func__)) {
        return fmi3Error;
    }
    return output_derivatives(I, valueReferences, nValueReferences, values);
}

/* --- co-simulation ------------------------------------------------------------------------------------------------ */

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 currentCommunicationPoint, fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint, fmi3Boolean *eventHandlingNeeded,
                      fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime)
{
    ENTER(instance, STEP_COMPLETE)
    REQUIRE(eventHandlingNeeded, 1)
    REQUIRE(terminateSimulation, 1)
    REQUIRE(earlyReturn, 1)
    REQUIRE(lastSuccessfulTime, 1)
    (void)noSetFMUStatePriorToCurrentPoint;
    fmi3Status status = step(I, currentCommunicationPoint, communicationStepSize);
    *eventHandlingNeeded = I->event_pending;
    *terminateSimulation = fmi3False;
    *earlyReturn = status == fmi3OK && I->cut_done > 0;
    *lastSuccessfulTime = I->t;
    return status;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    ENTER(instance, STEP_COMPLETE | EVENT | CONTINUOUS_TIME)
    if (I->type == CO_SIMULATION && !I->has_events) {
        return refuse(I, ERROR, "%s: the instance was made with eventModeUsed = false", __func__);
    }
    enter_event(I);
    return fmi3OK;
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance)
{
    ENTER(instance, EVENT)
    return fmi3OK; /* there are none */
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *discreteStatesNeedUpdate,
                                    fmi3Boolean *terminateSimulation, fmi3Boolean *nominalsOfContinuousStatesChanged,
                                    fmi3Boolean *valuesOfContinuousStatesChanged, fmi3Boolean *nextEventTimeDefined,
                                    fmi3Float64 *nextEventTime)
{
    ENTER(instance, EVENT)
    REQUIRE(discreteStatesNeedUpdate, 1)
    REQUIRE(terminateSimulation, 1)
    REQUIRE(nominalsOfContinuousStatesChanged, 1)
    REQUIRE(valuesOfContinuousStatesChanged, 1)
    REQUIRE(nextEventTimeDefined, 1)
    REQUIRE(nextEventTime, 1)
    *discreteStatesNeedUpdate = fmi3False;
    *terminateSimulation = fmi3False;
    *nominalsOfContinuousStatesChanged = fmi3False;
    *valuesOfContinuousStatesChanged = fmi3False;
    *nextEventTimeDefined = fmi3False;
    *nextEventTime = 0.0;
    I->clock = I->clock == ACTIVE ? TICKED : I->clock;
#ifdef BUS
    return bus_update(I);
#else
    return fmi3OK;
#endif
}

/* Refuse what is not of the interface of the instance. */
#define REQUIRE_TYPE(wanted) \
    if (I->type != (wanted)) { \
        return refuse(I, ERROR, "%s is one of %s", __func__, \
                      (wanted) == MODEL_EXCHANGE ? "model exchange" : "co-simulation"); \
    }

fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    ENTER(instance, EVENT)
    REQUIRE_TYPE(CO_SIMULATION)
    leave_event(I);
    return fmi3OK;
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance)
{
    ENTER(instance, EVENT)
    REQUIRE_TYPE(MODEL_EXCHANGE)
    leave_event(I);
    return fmi3OK;
}

/* --- model exchange ----------------------------------------------------------------------------------------------- */

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation)
{
    ENTER(instance, CONTINUOUS_TIME)
    REQUIRE(enterEventMode, 1)
    REQUIRE(terminateSimulation, 1)
    (void)noSetFMUStatePriorToCurrentPoint;
    *terminateSimulation = fmi3False;
    return complete_step(I, enterEventMode);
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 time)
{
    ENTER(instance, EVENT | CONTINUOUS_TIME)
    REQUIRE_TYPE(MODEL_EXCHANGE)
    return set_time(I, time);
}

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 continuousStates[],
                                   size_t nContinuousStates)
{
    ENTER(instance, CONTINUOUS_TIME)
    REQUIRE_STATES(nContinuousStates)
    REQUIRE(continuousStates, nContinuousStates)
    return set_states(I, continuousStates);
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 derivatives[],
                                             size_t nContinuousStates)
{
    ENTER(instance, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    REQUIRE_TYPE(MODEL_EXCHANGE)
    REQUIRE_STATES(nContinuousStates)
    REQUIRE(derivatives, nContinuousStates)
    return get_derivatives(I, derivatives);
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 eventIndicators[], size_t nEventIndicators)
{
    ENTER(instance, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    REQUIRE_TYPE(MODEL_EXCHANGE)
    (void)eventIndicators;
    return nEventIndicators == 0 ? OK : refuse(I, ERROR, "%s: there are no event indicators", __func__);
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 continuousStates[], size_t nContinuousStates)
{
    ENTER(instance, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    REQUIRE_TYPE(MODEL_EXCHANGE)
    REQUIRE_STATES(nContinuousStates)
    REQUIRE(continuousStates, nContinuousStates)
    return get_states(I, continuousStates);
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[], size_t nContinuousStates)
{
    ENTER(instance, ANY_MODE)
    REQUIRE_STATES(nContinuousStates)
    REQUIRE(nominals, nContinuousStates)
    get_nominals(nominals);
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *nEventIndicators)
{
    ENTER(instance, ANY_MODE)
    REQUIRE(nEventIndicators, 1)
    *nEventIndicators = 0;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *nContinuousStates)
{
    ENTER(instance, ANY_MODE)
    REQUIRE(nContinuousStates, 1)
    *nContinuousStates = N_X;
    return fmi3OK;
}

/* --- clocks ------------------------------------------------------------------------------------------------------- */

/* Whether these are clocks. */
static bool are_clocks(const Instance *I, const uint32_t vr[], size_t n, const char *function)
{
    if (!HAS_CLOCKS) {
        refuse(I, ERROR, "%s: there are no clocks", function);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!variable(I, vr[i], TICK, function)) {
            return false;
        }
    }
    return true;
}

static Clock *clock_of(Instance *I, uint32_t reference)
{
    Kind kind = VARIABLES[reference].kind;
    return kind == CLOCK ? &I->clock : I->bus_clock + (kind == TX_CLOCK);
}

/* Begin a function of clocks, with an array of values for each of them. */
#define ENTER_CLOCKS(modes, values) \
    ENTER(instance, modes) \
    REQUIRE(valueReferences, nValueReferences) \
    REQUIRE(values, nValueReferences) \
    if (!are_clocks(I, valueReferences, nValueReferences, __func__)) { \
        return fmi3Error; \
    }

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        fmi3Clock values[])
{
    ENTER_CLOCKS(EVENT, values)
    for (size_t i = 0; i < nValueReferences; i++) {
        values[i] = *clock_of(I, valueReferences[i]) == ACTIVE;
    }
    return fmi3OK;
}

fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                        const fmi3Clock values[])
{
    ENTER_CLOCKS(EVENT, values)
    for (size_t i = 0; i < nValueReferences; i++) {
        if (values[i] && *clock_of(I, valueReferences[i]) == TICKED) {
            return refuse(I, ERROR, "%s: the clock has ticked in this event mode", __func__);
        }
        if (!values[i] && *clock_of(I, valueReferences[i]) == ACTIVE) {
            return refuse(I, ERROR, "%s: the clock cannot be deactivated", __func__);
        }
    }
    for (size_t i = 0; i < nValueReferences; i++) {
        Clock *clock = clock_of(I, valueReferences[i]);
        *clock = values[i] ? ACTIVE : *clock;
    }
    return fmi3OK;
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[])
{
    ENTER_CLOCKS(INITIALIZATION | EVENT, intervals)
    REQUIRE(qualifiers, nValueReferences)
    for (size_t i = 0; i < nValueReferences; i++) {
        if (!(VARIABLES[valueReferences[i]].start > 0.0)) {
            return refuse(I, ERROR, "%s: %s is triggered", __func__, VARIABLES[valueReferences[i]].name);
        }
        intervals[i] = VARIABLES[valueReferences[i]].start;
        qualifiers[i] = fmi3IntervalUnchanged;
    }
    return fmi3OK;
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, fmi3Float64 shifts[])
{
    ENTER_CLOCKS(INITIALIZATION, shifts)
    for (size_t i = 0; i < nValueReferences; i++) {
        shifts[i] = 0.0;
    }
    return fmi3OK;
}

/* Refuse to change a clock, or what needs supportsFraction. */
#define NOT_OF_CLOCKS(why) \
    ENTER(instance, ANY_MODE) \
    REQUIRE(valueReferences, nValueReferences) \
    if (!are_clocks(I, valueReferences, nValueReferences, __func__)) { \
        return fmi3Error; \
    } \
    return refuse(I, ERROR, "%s: %s", __func__, why);

fmi3Status fmi3SetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                  size_t nValueReferences, const fmi3Float64 intervals[])
{
    (void)intervals;
    NOT_OF_CLOCKS("the interval of the clock is constant")
}

fmi3Status fmi3SetShiftDecimal(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                               size_t nValueReferences, const fmi3Float64 shifts[])
{
    (void)shifts;
    NOT_OF_CLOCKS("the clock begins to tick at the start")
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                   fmi3IntervalQualifier qualifiers[])
{
    (void)counters;
    (void)resolutions;
    (void)qualifiers;
    NOT_OF_CLOCKS("supportsFraction is false")
}

fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[])
{
    (void)counters;
    (void)resolutions;
    NOT_OF_CLOCKS("supportsFraction is false")
}

fmi3Status fmi3SetIntervalFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)counters;
    (void)resolutions;
    NOT_OF_CLOCKS("supportsFraction is false")
}

fmi3Status fmi3SetShiftFraction(fmi3Instance instance, const fmi3ValueReference valueReferences[],
                                size_t nValueReferences, const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])
{
    (void)counters;
    (void)resolutions;
    NOT_OF_CLOCKS("supportsFraction is false")
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance instance, fmi3ValueReference clockReference,
                                      fmi3Float64 activationTime)
{
    (void)clockReference;
    (void)activationTime;
    NOT_OFFERED("model partitions of scheduled execution")
}
