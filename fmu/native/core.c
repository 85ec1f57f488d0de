/* FMI 2.0 around a model whose functions work on buffers of fixed size: co-simulation and model exchange in one.

   What the model is stands in model.c (sizes, start values, the table VARIABLES, whose index is the value reference)
   and kernels.c (rt_initialise, rt_derivative, rt_output, rt_step and their exact derivatives rt_..._tangent).

   Rules that hold throughout:
   - A call that is refused (fmi2Error: a wrong argument or a wrong moment; fmi2Discard: no finite result) changes
     nothing. The caller may go on as if it had not made it.
   - All memory is taken when an instance or a saved state is created. There are no variables outside instances, so
     instances may live in different threads.
   - Until initialisation is over, the start state follows parameters and inputs; it is computed when it is asked for.
   - Inputs keep the rates of fmi2SetRealInputDerivatives, at first 0, until these are set again. During a step they
     move on with them, and are where they have come to when it ends.
   - Co-simulation: outputs are those of the last step. Model exchange: outputs follow time, inputs and states; those
     that are discrete do so in event mode only. */

#include <float.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "fmi2Functions.h"

#if defined(FMI2_FUNCTION_PREFIX) && !defined(FMI2_OVERRIDE_FUNCTION_PREFIX)
#undef fmi2FullName
#define RT_PASTE(a, b) a##b
#define RT_JOIN(a, b) RT_PASTE(a, b)
#define fmi2FullName(name) RT_JOIN(FMI2_FUNCTION_PREFIX, name)
#endif

/* Where an instance stands; sets of modes are sums. */
typedef enum {
    INSTANTIATED = 1,
    INITIALIZATION = 2,
    STEP_COMPLETE = 4,
    EVENT = 8,
    CONTINUOUS_TIME = 16,
    TERMINATED = 32
} Mode;

enum {
    BEFORE_RUN = INSTANTIATED | INITIALIZATION,
    RUNNING = STEP_COMPLETE | EVENT | CONTINUOUS_TIME,
    READABLE = INITIALIZATION | RUNNING | TERMINATED,
    ANY_MODE = INSTANTIATED | READABLE
};

/* Categories of messages. */
enum { LOG_ERROR = 1, LOG_DISCARD = 2, LOG_ALL = LOG_ERROR | LOG_DISCARD };

enum { SNAPSHOT_MAGIC = 0x72746376, SNAPSHOT_FORMAT = 2 };

#define MOST_PIECES 1e6 /* of a step */

/* A saved state: what cannot be computed from the rest. Entries of 8 bytes only, so there are no gaps. One entry more
   than needed in each buffer, because C has no empty arrays. */
typedef struct {
    uint64_t magic;
    uint64_t size;
    uint64_t guid;     /* hash of the unit's guid */
    uint64_t checksum; /* hash of all that follows */
    int64_t type;
    int64_t mode;
    int64_t start_pending;
    int64_t has_stop;
    double t;
    double stop;
    double parameters[N_PARAMETERS + 1]; /* those of the table, in its order */
    double u[N_U + 1];
    double u_rate[N_U + 1];
    double x[N_X + 1];
    double y[N_Y + 1];
} Snapshot;

typedef struct {
    const fmi2CallbackFunctions *callbacks;
    fmi2Type type;
    Mode mode;
    unsigned log;       /* categories that are on */
    bool has_stop;
    bool start_pending; /* start state and outputs are not those of the parameters and inputs */
    bool y_pending;     /* outputs are not those of time, inputs and states (model exchange) */
    double t;           /* [s] */
    double stop;        /* [s] */
    double p[N_P + 1];
    double u[N_U + 1];
    double u_rate[N_U + 1]; /* of change of the inputs, in co-simulation */
    double x[N_X + 1];
    double y[N_Y + 1];
    double work[N_WORK + 1];
    double dx[N_X + 1]; /* scratch from here on */
    double u_scratch[N_U + 1];
    double u_tangent[N_U + 1];
    double x_tangent[N_X + 1];
    double y_tangent[N_Y + 1];
    double dx_tangent[N_X + 1];
    double x_scratch[N_X + 1];
    double y_scratch[N_Y + 1];
    double y_end[N_Y + 1];
    double work_scratch[N_WORK + 1];
    double work_tangent[N_WORK + 1];
    char name[]; /* of the instance */
} Instance;

/* --- messages and checks ------------------------------------------------------------------------------------------ */

static void emit(const fmi2CallbackFunctions *callbacks, const char *name, fmi2Status status, const char *format,
                 va_list arguments)
{
    char text[512];
    char escaped[2 * sizeof text]; /* the text is a format for the logger: each % twice */
    size_t n = 0;
    vsnprintf(text, sizeof text, format, arguments);
    for (const char *c = text; *c; c++) {
        escaped[n++] = *c;
        if (*c == '%') {
            escaped[n++] = '%';
        }
    }
    escaped[n] = '\0';
    callbacks->logger(callbacks->componentEnvironment, name, status,
                      status == fmi2Discard ? "logStatusDiscard" : "logStatusError", escaped);
}

/* Say why a call is refused; returns the status for the caller. */
static fmi2Status refuse(const Instance *I, fmi2Status status, const char *format, ...)
{
    if (I->log & (status == fmi2Discard ? LOG_DISCARD : LOG_ERROR)) {
        va_list arguments;
        va_start(arguments, format);
        emit(I->callbacks, I->name, status, format, arguments);
        va_end(arguments);
    }
    return status;
}

static void complain(const fmi2CallbackFunctions *callbacks, const char *name, const char *format, ...)
{
    if (callbacks && callbacks->logger) {
        va_list arguments;
        va_start(arguments, format);
        emit(callbacks, name ? name : "", fmi2Error, format, arguments);
        va_end(arguments);
    }
}

static const char *mode_name(Mode mode)
{
    switch (mode) {
    case INSTANTIATED: return "before initialisation";
    case INITIALIZATION: return "in initialisation mode";
    case STEP_COMPLETE: return "between steps";
    case EVENT: return "in event mode";
    case CONTINUOUS_TIME: return "in continuous-time mode";
    case TERMINATED: return "after termination";
    }
    return "in an unknown mode";
}

static bool allowed(const Instance *I, unsigned modes, const char *function)
{
    if (!I) {
        return false;
    }
    if (I->mode & modes) {
        return true;
    }
    refuse(I, fmi2Error, "%s is not allowed %s", function, mode_name(I->mode));
    return false;
}

/* Begin an FMI function: the instance is I, and the call is refused outside these modes. */
#define ENTER(modes) \
    Instance *I = (Instance *)c; \
    if (!allowed(I, (modes), __func__)) { \
        return fmi2Error; \
    }

/* Refuse a null pointer to n > 0 values. */
#define REQUIRE(pointer, n) \
    if (!(pointer) && (n) > 0) { \
        return refuse(I, fmi2Error, "%s: %s is a null pointer", __func__, #pointer); \
    }

static bool is_finite(double value)
{
    return fabs(value) <= DBL_MAX;
}

static bool all_finite(const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_finite(values[i])) {
            return false;
        }
    }
    return true;
}

/* --- start state and outputs -------------------------------------------------------------------------------------- */

static void start_values(Instance *I)
{
    memcpy(I->p, P_START, N_P * sizeof(double));
    memset(I->u, 0, sizeof I->u);
    memset(I->u_rate, 0, sizeof I->u_rate);
    memset(I->x, 0, sizeof I->x);
    memset(I->y, 0, sizeof I->y);
    memset(I->work, 0, sizeof I->work);
    for (size_t k = 0; k < N_VARIABLES; k++) {
        if (VARIABLES[k].kind == INPUT) {
            I->u[VARIABLES[k].index] = VARIABLES[k].start;
        }
    }
    I->mode = INSTANTIATED;
    I->t = 0.0;
    I->stop = 0.0;
    I->has_stop = false;
    I->start_pending = true;
    I->y_pending = false;
}

/* Bring the start state up to date; false if parameters and inputs give none. */
static bool start(Instance *I)
{
    if (I->start_pending) {
        if (rt_initialise(I->p, I->u, I->x, I->work) == STATUS_FAILED) {
            refuse(I, fmi2Error, "these parameters and inputs give no finite start state");
            return false;
        }
        rt_output(I->t, I->x, I->u, I->p, I->y_scratch, I->work);
        if (!all_finite(I->y_scratch, N_Y)) {
            refuse(I, fmi2Error, "these parameters and inputs give no finite outputs at the start");
            return false;
        }
        memcpy(I->y, I->y_scratch, sizeof I->y);
        I->start_pending = false;
    }
    return true;
}

/* Bring all that can be read up to date. */
static fmi2Status refresh(Instance *I)
{
    if (!start(I)) {
        return fmi2Error;
    }
    if (I->y_pending) {
        rt_output(I->t, I->x, I->u, I->p, I->y_scratch, I->work);
        if (!all_finite(I->y_scratch, N_Y)) {
            return refuse(I, fmi2Discard, "no finite outputs at t = %g s", I->t);
        }
        for (size_t k = 0; k < N_VARIABLES; k++) {
            const Variable *v = VARIABLES + k;
            if (v->kind == OUTPUT && (v->type == REAL || I->mode == EVENT)) { /* others change at events */
                I->y[v->index] = I->y_scratch[v->index];
            }
        }
        I->y_pending = false;
    }
    return fmi2OK;
}

/* Time, inputs or states have changed while the model runs. */
static void outdate(Instance *I)
{
    if (I->mode & BEFORE_RUN) {
        I->start_pending = true;
    } else if (I->type == fmi2ModelExchange) {
        I->y_pending = true;
    }
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
    (void)fmuResourceLocation;
    (void)visible;
    if (!functions || !functions->logger || !functions->allocateMemory || !functions->freeMemory) {
        complain(functions, instanceName, "the callbacks logger, allocateMemory and freeMemory are needed");
        return NULL;
    }
    if (!instanceName || !instanceName[0]) {
        complain(functions, instanceName, "an instance needs a name");
        return NULL;
    }
    if (!fmuGUID || strcmp(fmuGUID, MODEL_GUID) != 0) {
        complain(functions, instanceName, "guid = %s: %s, that of this unit", fmuGUID ? fmuGUID : "", MODEL_GUID);
        return NULL;
    }
    if (fmuType != fmi2CoSimulation && fmuType != fmi2ModelExchange) {
        complain(functions, instanceName, "fmuType = %d: co-simulation or model exchange", (int)fmuType);
        return NULL;
    }
    size_t length = strlen(instanceName) + 1;
    Instance *I = functions->allocateMemory(1, sizeof(Instance) + length);
    if (!I) {
        complain(functions, instanceName, "out of memory");
        return NULL;
    }
    memset(I, 0, sizeof(Instance));
    memcpy(I->name, instanceName, length);
    I->callbacks = functions;
    I->type = fmuType;
    I->log = loggingOn ? LOG_ALL : LOG_ERROR;
    start_values(I);
    return I;
}

void fmi2FreeInstance(fmi2Component c)
{
    Instance *I = (Instance *)c;
    if (I) {
        I->callbacks->freeMemory(I);
    }
}

fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[])
{
    ENTER(ANY_MODE)
    REQUIRE(categories, nCategories)
    unsigned chosen = nCategories == 0 ? LOG_ALL : 0;
    for (size_t i = 0; i < nCategories; i++) {
        const char *name = categories[i] ? categories[i] : "";
        if (strcmp(name, "logAll") == 0) {
            chosen |= LOG_ALL;
        } else if (strcmp(name, "logStatusError") == 0) {
            chosen |= LOG_ERROR;
        } else if (strcmp(name, "logStatusDiscard") == 0) {
            chosen |= LOG_DISCARD;
        } else {
            return refuse(I, fmi2Error, "category = %s: logAll, logStatusError or logStatusDiscard", name);
        }
    }
    I->log = loggingOn ? I->log | chosen : I->log & ~chosen;
    return fmi2OK;
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    ENTER(INSTANTIATED)
    (void)toleranceDefined; /* the step is fixed */
    (void)tolerance;
    if (!is_finite(startTime)) {
        return refuse(I, fmi2Error, "startTime = %g: a finite time", startTime);
    }
    if (stopTimeDefined && !(is_finite(stopTime) && stopTime >= startTime)) {
        return refuse(I, fmi2Error, "stopTime = %g: a finite time from %g s on", stopTime, startTime);
    }
    I->t = startTime;
    I->has_stop = stopTimeDefined != fmi2False;
    I->stop = I->has_stop ? stopTime : 0.0;
    return fmi2OK;
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    ENTER(INSTANTIATED)
    I->mode = INITIALIZATION;
    I->start_pending = true;
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    ENTER(INITIALIZATION)
    if (!start(I)) {
        return fmi2Error;
    }
    I->mode = I->type == fmi2CoSimulation ? STEP_COMPLETE : EVENT;
    return fmi2OK;
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    ENTER(RUNNING)
    (void)refresh(I); /* see fmi2EnterContinuousTimeMode */
    I->mode = TERMINATED;
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    ENTER(ANY_MODE)
    start_values(I);
    return fmi2OK;
}

/* --- values of variables ------------------------------------------------------------------------------------------ */

static const Variable *variable(const Instance *I, fmi2ValueReference reference, Type type, const char *function)
{
    if (reference >= N_VARIABLES || VARIABLES[reference].type != type) {
        refuse(I, fmi2Error, "%s: value reference %u is none of a variable of this type", function, reference);
        return NULL;
    }
    return VARIABLES + reference;
}

static fmi2Status no_variables(const Instance *I, size_t n, const char *function)
{
    return n == 0 ? fmi2OK : refuse(I, fmi2Error, "%s: there are no variables of this type", function);
}

/* Whether any of these is a derivative, which is then computed. */
static fmi2Status refresh_derivatives(Instance *I, const fmi2ValueReference vr[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (VARIABLES[vr[i]].kind == DERIVATIVE) {
            rt_derivative(I->t, I->x, I->u, I->p, I->dx, I->work);
            return all_finite(I->dx, N_X) ? fmi2OK
                                          : refuse(I, fmi2Discard, "no finite derivatives at t = %g s", I->t);
        }
    }
    return fmi2OK;
}

static double *place(Instance *I, const Variable *v)
{
    switch (v->kind) {
    case PARAMETER: return I->p + v->index;
    case INPUT: return I->u + v->index;
    case OUTPUT: return I->y + v->index;
    case STATE: return I->x + v->index;
    case DERIVATIVE: return I->dx + v->index;
    }
    return NULL;
}

/* Check all references and bring their values up to date. */
static fmi2Status prepare_get(Instance *I, const fmi2ValueReference vr[], size_t n, Type type, const char *function)
{
    for (size_t i = 0; i < n; i++) {
        if (!variable(I, vr[i], type, function)) {
            return fmi2Error;
        }
    }
    fmi2Status status = refresh(I);
    return status == fmi2OK ? refresh_derivatives(I, vr, n) : status;
}

/* Whether a variable may be set to a value now. */
static bool settable(const Instance *I, const Variable *v, double value)
{
    if (v->kind == INPUT) {
        return true; /* a step with inputs that are not finite is refused */
    }
    if (v->kind != PARAMETER) {
        refuse(I, fmi2Error, "%s is computed: parameters and inputs can be set", v->name);
        return false;
    }
    if (!(I->mode & BEFORE_RUN)) {
        refuse(I, fmi2Error, "%s = %g %s: a parameter is fixed when initialisation is over", v->name, value, v->unit);
        return false;
    }
    if (!(is_finite(value) && value >= v->minimum && value <= v->maximum)) {
        refuse(I, fmi2Error, "%s = %g %s: a number from %g to %g %s", v->name, value, v->unit, v->minimum, v->maximum,
               v->unit);
        return false;
    }
    return true;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[])
{
    ENTER(READABLE)
    REQUIRE(vr, nvr)
    REQUIRE(value, nvr)
    fmi2Status status = prepare_get(I, vr, nvr, REAL, __func__);
    if (status != fmi2OK) {
        return status;
    }
    for (size_t i = 0; i < nvr; i++) {
        value[i] = *place(I, VARIABLES + vr[i]);
    }
    return fmi2OK;
}

fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Boolean value[])
{
    ENTER(READABLE)
    REQUIRE(vr, nvr)
    REQUIRE(value, nvr)
    fmi2Status status = prepare_get(I, vr, nvr, BOOLEAN, __func__);
    if (status != fmi2OK) {
        return status;
    }
    for (size_t i = 0; i < nvr; i++) {
        value[i] = *place(I, VARIABLES + vr[i]) != 0.0 ? fmi2True : fmi2False;
    }
    return fmi2OK;
}

fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Integer value[])
{
    ENTER(READABLE)
    (void)vr;
    (void)value;
    return no_variables(I, nvr, __func__);
}

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2String value[])
{
    ENTER(READABLE)
    (void)vr;
    (void)value;
    return no_variables(I, nvr, __func__);
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[])
{
    ENTER(BEFORE_RUN | RUNNING)
    REQUIRE(vr, nvr)
    REQUIRE(value, nvr)
    for (size_t i = 0; i < nvr; i++) {
        const Variable *v = variable(I, vr[i], REAL, __func__);
        if (!v || !settable(I, v, value[i])) {
            return fmi2Error;
        }
    }
    for (size_t i = 0; i < nvr; i++) {
        *place(I, VARIABLES + vr[i]) = value[i];
    }
    outdate(I);
    return fmi2OK;
}

fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Boolean value[])
{
    ENTER(BEFORE_RUN | RUNNING)
    REQUIRE(vr, nvr)
    REQUIRE(value, nvr)
    for (size_t i = 0; i < nvr; i++) {
        const Variable *v = variable(I, vr[i], BOOLEAN, __func__);
        if (!v || !settable(I, v, value[i] ? 1.0 : 0.0)) {
            return fmi2Error;
        }
    }
    for (size_t i = 0; i < nvr; i++) {
        *place(I, VARIABLES + vr[i]) = value[i] ? 1.0 : 0.0;
    }
    outdate(I);
    return fmi2OK;
}

fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Integer value[])
{
    ENTER(BEFORE_RUN | RUNNING)
    (void)vr;
    (void)value;
    return no_variables(I, nvr, __func__);
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2String value[])
{
    ENTER(BEFORE_RUN | RUNNING)
    (void)vr;
    (void)value;
    return no_variables(I, nvr, __func__);
}

/* --- saved states ------------------------------------------------------------------------------------------------- */

/* FNV-1a, 64 bits. */
static uint64_t hash(const void *data, size_t n)
{
    const unsigned char *bytes = data;
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < n; i++) {
        h = (h ^ bytes[i]) * UINT64_C(1099511628211);
    }
    return h;
}

static uint64_t checksum(const Snapshot *s)
{
    size_t head = offsetof(Snapshot, type);
    return hash((const char *)s + head, sizeof *s - head);
}

static void save(const Instance *I, Snapshot *s)
{
    memset(s, 0, sizeof *s);
    s->magic = SNAPSHOT_MAGIC + ((uint64_t)SNAPSHOT_FORMAT << 32);
    s->size = sizeof *s;
    s->guid = hash(MODEL_GUID, strlen(MODEL_GUID));
    s->type = (int64_t)I->type;
    s->mode = (int64_t)I->mode;
    s->start_pending = I->start_pending;
    s->has_stop = I->has_stop;
    s->t = I->t;
    s->stop = I->stop;
    size_t n = 0;
    for (size_t k = 0; k < N_VARIABLES; k++) {
        if (VARIABLES[k].kind == PARAMETER) {
            s->parameters[n++] = I->p[VARIABLES[k].index];
        }
    }
    memcpy(s->u, I->u, sizeof s->u);
    memcpy(s->u_rate, I->u_rate, sizeof s->u_rate);
    memcpy(s->x, I->x, sizeof s->x);
    memcpy(s->y, I->y, sizeof s->y);
    s->checksum = checksum(s);
}

/* Whether a snapshot is one of this unit, whole, and of an instance of this type. */
static bool valid(const Instance *I, const Snapshot *s)
{
    if (s->magic != SNAPSHOT_MAGIC + ((uint64_t)SNAPSHOT_FORMAT << 32) || s->size != sizeof *s) {
        refuse(I, fmi2Error, "the state is not one of a unit of this format");
        return false;
    }
    if (s->guid != hash(MODEL_GUID, strlen(MODEL_GUID))) {
        refuse(I, fmi2Error, "the state is one of another unit");
        return false;
    }
    bool whole = s->checksum == checksum(s) && is_finite(s->t) && is_finite(s->stop);
    int64_t modes = INSTANTIATED | INITIALIZATION | TERMINATED;
    modes |= s->type == (int64_t)fmi2CoSimulation ? STEP_COMPLETE : EVENT | CONTINUOUS_TIME;
    whole = whole && (s->mode & modes) == s->mode && s->mode != 0 && (s->mode & (s->mode - 1)) == 0;
    whole = whole && (s->start_pending | 1) == 1 && (s->has_stop | 1) == 1;
    whole = whole && (s->start_pending != 0 || (all_finite(s->x, N_X) && all_finite(s->y, N_Y)));
    size_t n = 0;
    for (size_t k = 0; k < N_VARIABLES && whole; k++) {
        if (VARIABLES[k].kind == PARAMETER) {
            double value = s->parameters[n++];
            whole = is_finite(value) && value >= VARIABLES[k].minimum && value <= VARIABLES[k].maximum;
        }
    }
    if (!whole) {
        refuse(I, fmi2Error, "the state is damaged");
        return false;
    }
    if (s->type != (int64_t)I->type) {
        refuse(I, fmi2Error, "the state is one of the other interface of this unit");
        return false;
    }
    return true;
}

static fmi2Status store(Instance *I, const Snapshot *s, fmi2FMUstate *FMUstate)
{
    if (!*FMUstate) {
        *FMUstate = I->callbacks->allocateMemory(1, sizeof *s);
        if (!*FMUstate) {
            return refuse(I, fmi2Error, "out of memory");
        }
    }
    memcpy(*FMUstate, s, sizeof *s);
    return fmi2OK;
}

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    ENTER(ANY_MODE)
    REQUIRE(FMUstate, 1)
    Snapshot s;
    save(I, &s);
    return store(I, &s, FMUstate);
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate)
{
    ENTER(ANY_MODE)
    REQUIRE(FMUstate, 1)
    const Snapshot *s = FMUstate;
    if (!valid(I, s)) {
        return fmi2Error;
    }
    size_t n = 0;
    for (size_t k = 0; k < N_VARIABLES; k++) {
        if (VARIABLES[k].kind == PARAMETER) {
            I->p[VARIABLES[k].index] = s->parameters[n++];
        }
    }
    memcpy(I->u, s->u, sizeof s->u);
    memcpy(I->u_rate, s->u_rate, sizeof s->u_rate);
    rt_initialise(I->p, I->u, I->x, I->work); /* prepares `work` for the parameters */
    memcpy(I->x, s->x, sizeof s->x);
    memcpy(I->y, s->y, sizeof s->y);
    I->mode = (Mode)s->mode;
    I->start_pending = s->start_pending != 0;
    I->has_stop = s->has_stop != 0;
    I->t = s->t;
    I->stop = s->stop;
    I->y_pending = I->type == fmi2ModelExchange && !(I->mode & BEFORE_RUN);
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    ENTER(ANY_MODE)
    if (FMUstate && *FMUstate) {
        I->callbacks->freeMemory(*FMUstate);
        *FMUstate = NULL;
    }
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size)
{
    ENTER(ANY_MODE)
    REQUIRE(FMUstate, 1)
    REQUIRE(size, 1)
    *size = sizeof(Snapshot);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte serializedState[], size_t size)
{
    ENTER(ANY_MODE)
    REQUIRE(FMUstate, 1)
    REQUIRE(serializedState, 1)
    if (size < sizeof(Snapshot)) {
        return refuse(I, fmi2Error, "size = %lu: at least %lu bytes", (unsigned long)size,
                      (unsigned long)sizeof(Snapshot));
    }
    memcpy(serializedState, FMUstate, sizeof(Snapshot));
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte serializedState[], size_t size,
                                   fmi2FMUstate *FMUstate)
{
    ENTER(ANY_MODE)
    REQUIRE(serializedState, 1)
    REQUIRE(FMUstate, 1)
    Snapshot s;
    if (size != sizeof s) {
        return refuse(I, fmi2Error, "size = %lu: %lu bytes", (unsigned long)size, (unsigned long)sizeof s);
    }
    memcpy(&s, serializedState, sizeof s);
    return valid(I, &s) ? store(I, &s, FMUstate) : fmi2Error;
}

/* --- derivatives -------------------------------------------------------------------------------------------------- */

/* Prepare `work_scratch`, and in `x_tangent` how the start state follows the inputs along `u_tangent`. */
static void start_tangents(Instance *I)
{
    memset(I->x_tangent, 0, sizeof I->x_tangent);
    memset(I->work_tangent, 0, sizeof I->work_tangent);
    rt_initialise_tangent(I->p, I->u, I->u_tangent, I->x_scratch, I->x_tangent, I->work_scratch, I->work_tangent);
}

/* dz = (dz/dv) dv by the tangents of the kernels, so exact to round-off. Unknowns z are outputs and derivatives of
   states; knowns v are inputs and, once initialisation is over, states. */
fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[], size_t nUnknown,
                                        const fmi2ValueReference vKnown_ref[], size_t nKnown,
                                        const fmi2Real dvKnown[], fmi2Real dvUnknown[])
{
    ENTER(INITIALIZATION | RUNNING)
    REQUIRE(vUnknown_ref, nUnknown)
    REQUIRE(vKnown_ref, nKnown)
    REQUIRE(dvKnown, nKnown)
    REQUIRE(dvUnknown, nUnknown)
    bool running = I->mode != INITIALIZATION;
    for (size_t i = 0; i < nUnknown; i++) {
        const Variable *v = variable(I, vUnknown_ref[i], REAL, __func__);
        if (!v) {
            return fmi2Error;
        }
        if (v->kind != OUTPUT && v->kind != DERIVATIVE) {
            return refuse(I, fmi2Error, "%s is no unknown: outputs and derivatives of states are", v->name);
        }
    }
    for (size_t i = 0; i < nKnown; i++) {
        const Variable *v = variable(I, vKnown_ref[i], REAL, __func__);
        if (!v) {
            return fmi2Error;
        }
        if (v->kind != INPUT && !(v->kind == STATE && running)) {
            return refuse(I, fmi2Error, "%s is no known: inputs are, and states while the unit runs", v->name);
        }
    }
    if (!start(I)) {
        return fmi2Error;
    }
    memset(I->u_tangent, 0, sizeof I->u_tangent);
    for (size_t i = 0; i < nKnown && !running; i++) {
        I->u_tangent[VARIABLES[vKnown_ref[i]].index] += dvKnown[i];
    }
    start_tangents(I); /* while initialising, the start state follows the inputs */
    if (running) {
        memset(I->x_tangent, 0, sizeof I->x_tangent);
        for (size_t i = 0; i < nKnown; i++) {
            const Variable *v = VARIABLES + vKnown_ref[i];
            (v->kind == INPUT ? I->u_tangent : I->x_tangent)[v->index] += dvKnown[i];
        }
    }
    rt_output_tangent(I->t, 0.0, I->x, I->x_tangent, I->u, I->u_tangent, I->p, I->y_scratch, I->y_tangent,
                      I->work_scratch, I->work_tangent);
    rt_derivative_tangent(I->t, 0.0, I->x, I->x_tangent, I->u, I->u_tangent, I->p, I->dx, I->dx_tangent,
                          I->work_scratch, I->work_tangent);
    if (!all_finite(I->y_tangent, N_Y) || !all_finite(I->dx_tangent, N_X)) {
        return refuse(I, fmi2Discard, "no finite directional derivatives at t = %g s", I->t);
    }
    for (size_t i = 0; i < nUnknown; i++) {
        const Variable *v = VARIABLES + vUnknown_ref[i];
        dvUnknown[i] = (v->kind == OUTPUT ? I->y_tangent : I->dx_tangent)[v->index];
    }
    return fmi2OK;
}

/* --- co-simulation ------------------------------------------------------------------------------------------------ */

/* Say which inputs a step was refused with. */
static fmi2Status refuse_step(const Instance *I, double t, double h)
{
    char inputs[320] = "";
    size_t n = 0;
    for (size_t k = 0; k < N_VARIABLES; k++) {
        const Variable *v = VARIABLES + k;
        if (v->kind == INPUT && n + 1 < sizeof inputs) {
            double rate = I->u_rate[v->index];
            int written = snprintf(inputs + n, sizeof inputs - n, "%s%s = %g %s", n ? ", " : " with ", v->name,
                                   I->u[v->index], v->unit);
            n += written > 0 ? (size_t)written : 0;
            if (rate != 0.0 && n + 1 < sizeof inputs) {
                written = snprintf(inputs + n, sizeof inputs - n, " (rate %g)", rate);
                n += written > 0 ? (size_t)written : 0;
            }
        }
    }
    return refuse(I, fmi2Discard, "no finite step of %g s from t = %g s%s; the state is as it was", h, t, inputs);
}

static bool inputs_move(const Instance *I)
{
    for (size_t i = N_U; i-- > 0;) {
        if (I->u_rate[i] != 0.0) { /* NaN too */
            return true;
        }
    }
    return false;
}

/* Where inputs are a time `dt` after those of the instance, in `u_scratch`. */
static void move_inputs(Instance *I, double dt)
{
    for (size_t i = N_U; i-- > 0;) {
        I->u_scratch[i] = I->u[i] + dt * I->u_rate[i];
    }
}

/* rt_step while inputs move at their rates. The step is cut into the fewest equal pieces that are not above the unit's
   own step; in each the inputs are held where they are in its middle, which is exact to second order. Outputs belong to
   states and inputs at the end; those that are discrete are those of the last piece. */
static bool step_with_moving_inputs(Instance *I, double t, double h)
{
    double pieces = ceil(h / STEP_SIZE * (1.0 - 1e-9));
    if (!(pieces <= MOST_PIECES)) {
        return false;
    }
    double piece = h / pieces;
    bool good = true;
    memcpy(I->x_scratch, I->x, sizeof I->x);
    for (long k = 0; good && k < (long)pieces; k++) {
        move_inputs(I, ((double)k + 0.5) * piece);
        good = rt_step(t + (double)k * piece, piece, I->x, I->u_scratch, I->p, I->y_scratch, I->work) != STATUS_FAILED;
    }
    if (good) {
        move_inputs(I, h);
        rt_output(t + h, I->x, I->u_scratch, I->p, I->y_end, I->work);
        good = all_finite(I->u_scratch, N_U) && all_finite(I->y_end, N_Y);
    }
    if (!good) {
        memcpy(I->x, I->x_scratch, sizeof I->x);
        return false;
    }
    memcpy(I->u, I->u_scratch, sizeof I->u);
    for (size_t k = 0; k < N_VARIABLES; k++) {
        const Variable *v = VARIABLES + k;
        if (v->kind == OUTPUT) {
            I->y[v->index] = (v->type == REAL ? I->y_end : I->y_scratch)[v->index];
        }
    }
    return true;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    ENTER(STEP_COMPLETE)
    (void)noSetFMUStatePriorToCurrentPoint;
    double t = currentCommunicationPoint;
    double h = communicationStepSize;
    if (!(is_finite(h) && h > 0.0)) {
        return refuse(I, fmi2Error, "communicationStepSize = %g: a finite time above 0 s", h);
    }
    double slack = 1e-3 * h + 1e-9 * fabs(I->t); /* the caller may add up or multiply its steps */
    if (!(fabs(t - I->t) <= slack)) {
        return refuse(I, fmi2Error, "currentCommunicationPoint = %.17g: %.17g s, where the last step ended", t,
                      I->t);
    }
    if (I->has_stop && t + h > I->stop + slack) {
        return refuse(I, fmi2Error, "a step to %.17g s: the experiment ends at %.17g s", t + h, I->stop);
    }
    bool made = inputs_move(I) ? step_with_moving_inputs(I, t, h)
                               : rt_step(t, h, I->x, I->u, I->p, I->y, I->work) != STATUS_FAILED;
    if (!made) {
        return refuse_step(I, t, h);
    }
    I->t = t + h;
    return fmi2OK;
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    ENTER(0) /* no step ever runs in the background */
    return fmi2Error;
}

/* Whether the derivatives of these variables are of order 1 and of variables of this kind. */
static bool first_derivatives(const Instance *I, const fmi2ValueReference vr[], const fmi2Integer order[], size_t n,
                              Kind kind, const char *function)
{
    for (size_t i = 0; i < n; i++) {
        const Variable *v = variable(I, vr[i], REAL, function);
        if (!v) {
            return false;
        }
        if (v->kind != kind) {
            refuse(I, fmi2Error, "%s: %s is no %s", function, v->name, kind == INPUT ? "input" : "output");
            return false;
        }
        if (order[i] != 1) {
            refuse(I, fmi2Error, "%s: order = %d of %s: 1", function, order[i], v->name);
            return false;
        }
    }
    return true;
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    ENTER(BEFORE_RUN | STEP_COMPLETE)
    REQUIRE(vr, nvr)
    REQUIRE(order, nvr)
    REQUIRE(value, nvr)
    if (I->type != fmi2CoSimulation) {
        return refuse(I, fmi2Error, "%s is one of co-simulation", __func__);
    }
    if (!first_derivatives(I, vr, order, nvr, INPUT, __func__)) {
        return fmi2Error;
    }
    for (size_t i = 0; i < nvr; i++) {
        I->u_rate[VARIABLES[vr[i]].index] = value[i]; /* a step with rates that are not finite is refused */
    }
    return fmi2OK;
}

/* dy/dt = (dy/dx) f + (dy/du) du/dt + (partial dy/dt) where the last step ended, by the tangents of the kernels. */
fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[])
{
    ENTER(STEP_COMPLETE | TERMINATED)
    REQUIRE(vr, nvr)
    REQUIRE(order, nvr)
    REQUIRE(value, nvr)
    if (I->type != fmi2CoSimulation) {
        return refuse(I, fmi2Error, "%s is one of co-simulation", __func__);
    }
    if (!first_derivatives(I, vr, order, nvr, OUTPUT, __func__)) {
        return fmi2Error;
    }
    memset(I->u_tangent, 0, sizeof I->u_tangent);
    start_tangents(I);
    rt_derivative(I->t, I->x, I->u, I->p, I->dx, I->work);
    memcpy(I->x_tangent, I->dx, sizeof I->dx);
    memcpy(I->u_tangent, I->u_rate, sizeof I->u_rate);
    rt_output_tangent(I->t, 1.0, I->x, I->x_tangent, I->u, I->u_tangent, I->p, I->y_scratch, I->y_tangent,
                      I->work_scratch, I->work_tangent);
    if (!all_finite(I->y_tangent, N_Y)) {
        return refuse(I, fmi2Discard, "no finite derivatives of outputs at t = %g s", I->t);
    }
    for (size_t i = 0; i < nvr; i++) {
        value[i] = I->y_tangent[VARIABLES[vr[i]].index];
    }
    return fmi2OK;
}

/* Steps end before fmi2DoStep returns, so there is no pending step to ask about. */

fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value)
{
    ENTER(STEP_COMPLETE | TERMINATED)
    (void)value;
    return refuse(I, fmi2Discard, "%s: there is no status of kind %d", __func__, (int)s);
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value)
{
    ENTER(STEP_COMPLETE | TERMINATED)
    REQUIRE(value, 1)
    if (s != fmi2LastSuccessfulTime) {
        return refuse(I, fmi2Discard, "%s: there is no status of kind %d", __func__, (int)s);
    }
    *value = I->t;
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value)
{
    ENTER(STEP_COMPLETE | TERMINATED)
    (void)value;
    return refuse(I, fmi2Discard, "%s: there is no status of kind %d", __func__, (int)s);
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value)
{
    ENTER(STEP_COMPLETE | TERMINATED)
    REQUIRE(value, 1)
    if (s != fmi2Terminated) {
        return refuse(I, fmi2Discard, "%s: there is no status of kind %d", __func__, (int)s);
    }
    *value = fmi2False; /* a unit never wants to end a simulation */
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value)
{
    ENTER(STEP_COMPLETE | TERMINATED)
    (void)value;
    return refuse(I, fmi2Discard, "%s: there is no status of kind %d", __func__, (int)s);
}

/* --- model exchange ----------------------------------------------------------------------------------------------- */

fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    ENTER(EVENT | CONTINUOUS_TIME)
    I->mode = EVENT;
    outdate(I); /* discrete outputs may change now */
    return fmi2OK;
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *eventInfo)
{
    ENTER(EVENT)
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
    ENTER(EVENT)
    (void)refresh(I); /* outputs that change at events only are those of this one, read or not */
    I->mode = CONTINUOUS_TIME;
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation)
{
    ENTER(CONTINUOUS_TIME)
    REQUIRE(enterEventMode, 1)
    REQUIRE(terminateSimulation, 1)
    (void)noSetFMUStatePriorToCurrentPoint;
    *enterEventMode = fmi2False;
    *terminateSimulation = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    ENTER(EVENT | CONTINUOUS_TIME)
    if (!is_finite(time)) {
        return refuse(I, fmi2Error, "time = %g: a finite time", time);
    }
    I->t = time;
    outdate(I);
    return fmi2OK;
}

/* Refuse another number of states than there are. */
#define REQUIRE_STATES(n) \
    if ((n) != N_X) { \
        return refuse(I, fmi2Error, "%s: %lu states, not %lu", __func__, (unsigned long)N_X, (unsigned long)(n)); \
    }

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx)
{
    ENTER(CONTINUOUS_TIME)
    REQUIRE_STATES(nx)
    REQUIRE(x, nx)
    if (!all_finite(x, nx)) {
        return refuse(I, fmi2Discard, "states that are not finite at t = %g s", I->t);
    }
    memcpy(I->x, x, nx * sizeof(double));
    outdate(I);
    return fmi2OK;
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx)
{
    ENTER(INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    REQUIRE_STATES(nx)
    REQUIRE(derivatives, nx)
    if (!start(I)) {
        return fmi2Error;
    }
    rt_derivative(I->t, I->x, I->u, I->p, I->dx, I->work);
    if (!all_finite(I->dx, N_X)) {
        return refuse(I, fmi2Discard, "no finite derivatives at t = %g s", I->t);
    }
    memcpy(derivatives, I->dx, nx * sizeof(double));
    return fmi2OK;
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real eventIndicators[], size_t ni)
{
    ENTER(INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    (void)eventIndicators;
    return ni == 0 ? fmi2OK : refuse(I, fmi2Error, "%s: there are no event indicators", __func__);
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx)
{
    ENTER(INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED)
    REQUIRE_STATES(nx)
    REQUIRE(x, nx)
    if (!start(I)) {
        return fmi2Error;
    }
    memcpy(x, I->x, nx * sizeof(double));
    return fmi2OK;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x_nominal[], size_t nx)
{
    ENTER(ANY_MODE)
    REQUIRE_STATES(nx)
    REQUIRE(x_nominal, nx)
    for (size_t i = 0; i < nx; i++) {
        x_nominal[i] = 1.0;
    }
    return fmi2OK;
}
