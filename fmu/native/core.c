/* A model whose functions work on buffers of fixed size, as instances that are initialised, stepped and saved. It knows
   no version of FMI: fmi2.c and fmi3.c are its two faces. A face defines its type Status and the type Host,
   which the functions report, allocate and release get, and includes this file.

   What the model is stands in model.c (sizes, start values, the table VARIABLES, whose index is the value reference)
   and kernels.c (rt_initialise, rt_derivative, rt_output, rt_step and their exact derivatives rt_..._tangent).

   Rules that hold throughout:
   - A call that is refused (ERROR: a wrong argument or a wrong moment; DISCARD: no finite result) changes nothing. The
     caller may go on as if it had not made it.
   - All memory is taken when an instance or a saved state is created. There are no variables outside instances, so
     instances may live in different threads.
   - Until initialisation is over, the start state follows parameters and inputs; it is computed when it is asked for.
   - Inputs keep their rates, at first 0, until these are set again. During a step they move on with them, and are where
     they have come to when it ends.
   - Co-simulation: outputs are those of the last step. Model exchange: outputs follow time, inputs and states; those
     that are discrete do so in event mode only, and a completed integrator step asks for it when one is due.
   - Co-simulation with event mode: discrete outputs take the values of a step in the event mode that has to follow it.
     Other outputs follow inputs there.
   - Inputs with a clock are set while it ticks, in event mode, and held until it does so again.
   - Between the internal steps of a communication step a host may read outputs, and the step may end. If the next one
     ends where that one was to end, it makes the internal steps that are left, so that all bits are those of one step.
     */

#include <float.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define OK ((Status)0) /* the numbers of FMI 2.0 and 3.0 */
#define DISCARD ((Status)2)
#define ERROR ((Status)3)

typedef enum { MODEL_EXCHANGE = 0, CO_SIMULATION = 1 } Interface;

/* Where an instance stands; sets of modes are sums. */
typedef enum {
    INSTANTIATED = 1,
    INITIALIZATION = 2,
    STEP_COMPLETE = 4,
    EVENT = 8,
    CONTINUOUS_TIME = 16,
    TERMINATED = 32,
    INTERMEDIATE = 64 /* within a step */
} Mode;

enum {
    BEFORE_RUN = INSTANTIATED | INITIALIZATION,
    RUNNING = STEP_COMPLETE | EVENT | CONTINUOUS_TIME,
    READABLE = INITIALIZATION | RUNNING | TERMINATED,
    ANY_MODE = INSTANTIATED | READABLE
};

/* The clock in event mode, in which it ticks once at most. */
typedef enum { INACTIVE = 0, ACTIVE = 1, TICKED = 2 } Clock;

/* Categories of messages. */
enum { LOG_ERROR = 1, LOG_DISCARD = 2, LOG_ALL = LOG_ERROR | LOG_DISCARD };

enum { SNAPSHOT_MAGIC = 0x72746376, SNAPSHOT_FORMAT = 6 };

#ifndef BUS /* see bus.h */
typedef struct {
    int64_t none;
} Bus;
#endif

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
    int64_t y_pending;
    int64_t event_pending;
    int64_t clock;
    int64_t bus_clock[2];
    int64_t has_stop;
    int64_t cut_done;
    double cut_begin;
    double cut_length;
    double t;
    double stop;
    double h;
    double parameters[N_PARAMETERS + 1]; /* those of the table, in its order */
    double u[N_U + 1];
    double u_rate[N_U + 1];
    double x[N_X + 1];
    double y[N_Y + 1];
    double y_past[N_Y + 1];
    double y_due[N_Y + 1];
#ifdef N_GUESTS
    union {
        void *state; /* of an FMU; none before it runs */
        uint64_t size;
    } guests[N_GUESTS];
    int64_t guest_steps[N_GUESTS];
    double guest_start;
    double held[N_P + 1];
#endif
    Bus bus;
} Snapshot;

typedef struct {
    Host host;
    Interface type;
    Mode mode;
    unsigned log;       /* categories that are on */
    bool has_events;    /* co-simulation with event mode */
    bool may_return;    /* a step may end before its time */
    bool has_updates;   /* the host is called after each internal step */
    bool has_stop;
    bool start_pending; /* start state and outputs are not those of the parameters and inputs */
    bool y_pending;     /* outputs are not those of time, inputs and states (model exchange, event mode) */
    bool event_pending; /* a discrete output is not what it should be, which only event mode may change */
    Clock clock;
    Clock bus_clock[2];  /* of reception and sending */
    int64_t cut_done;   /* internal steps made of a communication step that ended before its time; 0 if it did not */
    double cut_begin;   /* [s] of it */
    double cut_length;  /* [s] that it was to have */
    double t;           /* [s] */
    double stop;        /* [s] */
    double h;           /* [s] of the last step; 0 before the first */
    double p[N_P + 1];
    double u[N_U + 1];
    double u_rate[N_U + 1]; /* of change of the inputs, in co-simulation */
    double x[N_X + 1];
    double y[N_Y + 1];
    double y_past[N_Y + 1]; /* outputs where the last step began */
    double y_due[N_Y + 1];  /* of these the discrete ones are those of the pending event, in co-simulation */
    double work[N_WORK + 1];
    Bus bus;
    bool intermediate[N_VARIABLES]; /* outputs that the host wants to read within steps, inputs that it wants to set */
    bool takes_inputs;              /* within a step: these can be set now */
    double p_scratch[N_P + 1]; /* from here on */
    double dx[N_X + 1];
    double u_scratch[N_U + 1];
    double t_tangent;
    double p_tangent[N_P + 1];
    double u_tangent[N_U + 1];
    double x_tangent[N_X + 1];
    double y_tangent[N_Y + 1];
    double dx_tangent[N_X + 1];
    double x_scratch[N_X + 1];
    double y_scratch[N_Y + 1];
    double y_end[N_Y + 1];
    double y_kept[N_Y + 1];
    double y_past_kept[N_Y + 1];
    double work_scratch[N_WORK + 1];
    double work_tangent[N_WORK + 1];
#ifdef N_GUESTS
    void *guests[N_GUESTS];        /* running FMUs */
    int64_t guest_steps[N_GUESTS]; /* that they have made */
    double guest_start;            /* [s] */
    double guest_u[N_Y + N_U + 1]; /* inputs of one */
    double held[N_P + 1];          /* parameters in their units, at their places in p */
#endif
    const char *resources; /* after the name */
    char name[];           /* of the instance */
} Instance;

/* What a face does for the core. The text is plain, not a format. */
static void report(Host host, const char *name, Status status, const char *text);
static void *allocate(Host host, size_t size);
static void release(Host host, void *block);

/* An internal step has ended at the time of the instance, whose mode is INTERMEDIATE: let the host look, and set inputs
   for those that follow. Returns whether the host wants the communication step to end, which `can_return` says is
   possible, and when, in `end` [s]. */
static bool update(Instance *I, bool can_return, double *end);

#ifdef MEMORY_ACCESS
/* What tools measure and calibrate in memory (FMI-LS-XCP): parameters, inputs and outputs of the one instance that there
   may be then. A parameter that is written counts from the next step on, if it may have that value. */
__attribute__((visibility("default"))) double memory_access[N_P + N_U + N_Y + 1];
static double memory_shown[N_P + 1];
static void exchange_memory(Instance *I, bool take);
#else
#define exchange_memory(I, take) ((void)0)
#endif

#ifdef BUS
static void bus_start(Instance *I);
static bool bus_whole(const Bus *bus);
#define HAS_BUS true
#else
#define HAS_BUS false
#define bus_start(I) ((void)0)
#define bus_whole(bus) true
#endif

/* --- messages and checks ------------------------------------------------------------------------------------------ */

/* Say why a call is refused; returns the status for the caller. */
static Status refuse(const Instance *I, Status status, const char *format, ...)
{
    if (I->log & (status == DISCARD ? LOG_DISCARD : LOG_ERROR)) {
        char text[512];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        report(I->host, I->name, status, text);
    }
    return status;
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
    case INTERMEDIATE: return "during an intermediate update";
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
    refuse(I, ERROR, "%s is not allowed %s", function, mode_name(I->mode));
    return false;
}

/* Begin a function of a face: the instance is I, and the call is refused outside these modes. */
#define ENTER(instance, modes) \
    Instance *I = (Instance *)(instance); \
    if (!allowed(I, (modes), __func__)) { \
        return ERROR; \
    }

/* Refuse a null pointer to n > 0 values. */
#define REQUIRE(pointer, n) \
    if (!(pointer) && (n) > 0) { \
        return refuse(I, ERROR, "%s: %s is a null pointer", __func__, #pointer); \
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
    memset(I->y_past, 0, sizeof I->y_past);
    memset(I->y_due, 0, sizeof I->y_due);
    memset(I->work, 0, sizeof I->work);
    for (size_t k = 0; k < N_VARIABLES; k++) {
        if (VARIABLES[k].kind == INPUT) {
            I->u[VARIABLES[k].index] = VARIABLES[k].start;
        }
    }
    I->mode = INSTANTIATED;
    I->t = 0.0;
    I->stop = 0.0;
    I->h = 0.0;
    I->has_stop = false;
    I->start_pending = true;
    I->y_pending = false;
    I->event_pending = false;
    I->clock = I->bus_clock[0] = I->bus_clock[1] = INACTIVE;
    bus_start(I);
    I->cut_done = 0;
    I->cut_begin = 0.0;
    I->cut_length = 0.0;
}

/* Start state and outputs; false if parameters and inputs give none. */
static bool start_state(Instance *I)
{
    if (rt_initialise(I->p, DATA, I->u, I->x, I->work) == STATUS_FAILED) {
        refuse(I, ERROR, "these parameters and inputs give no finite start state");
        return false;
    }
    rt_output(I->t, I->x, I->u, I->p, DATA, I->y_scratch, I->work);
    if (!all_finite(I->y_scratch, N_Y)) {
        refuse(I, ERROR, "these parameters and inputs give no finite outputs at the start");
        return false;
    }
    memcpy(I->y, I->y_scratch, sizeof I->y);
    return true;
}

#ifdef N_GUESTS
static uint64_t checksum(const Snapshot *s);
static bool inputs_move(const Instance *I);
static bool step_with_moving_inputs(Instance *I, double t, double h);
static Status refuse_step(const Instance *I, double t, double h);
#include "guests.c"
#else
#define end_guests(I) ((void)0)
#define start_guests(I) true
#define save_guests(I, s, kept) true
#define restore_guests(I, s) true
#define free_guests(I, s) ((void)0)
#define REQUIRE_OWN_STATE
#endif

/* Bring the start state up to date; false if there is none. */
static bool start(Instance *I)
{
    if (I->start_pending) {
        end_guests(I);
        if (!start_state(I) || !start_guests(I)) {
            return false;
        }
        I->start_pending = false;
    }
    return true;
}

/* Bring all that can be read up to date. */
static Status refresh(Instance *I)
{
    if (!start(I)) {
        return ERROR;
    }
    if (I->y_pending) {
        rt_output(I->t, I->x, I->u, I->p, DATA, I->y_scratch, I->work);
        if (!all_finite(I->y_scratch, N_Y)) {
            return refuse(I, DISCARD, "no finite outputs at t = %g s", I->t);
        }
        bool exchanged = I->type == MODEL_EXCHANGE; /* in co-simulation discrete outputs are those of steps */
        I->event_pending = I->event_pending && !exchanged;
        for (size_t k = 0; k < N_VARIABLES; k++) {
            const Variable *v = VARIABLES + k;
            if (v->kind == OUTPUT && (v->type == REAL || (exchanged && I->mode == EVENT))) { /* others at events */
                I->y[v->index] = I->y_scratch[v->index];
            } else if (v->kind == OUTPUT && exchanged && I->y[v->index] != I->y_scratch[v->index]) {
                I->event_pending = true;
            }
        }
        I->y_pending = false;
    }
    return OK;
}

/* Time, inputs or states have changed while the model runs. */
static void outdate(Instance *I)
{
    if (I->mode & BEFORE_RUN) {
        I->start_pending = true;
    } else if (I->type == MODEL_EXCHANGE || I->mode == EVENT) {
        I->y_pending = true;
    }
}

/* --- life of an instance ------------------------------------------------------------------------------------------ */

/* A new instance, or NULL with a message. The unit's guid is given under the name `what`. */
static Instance *new_instance(Host host, Interface type, const char *name, const char *what, const char *guid,
                              const char *resources, bool log)
{
    if (!name || !name[0]) {
        report(host, "", ERROR, "an instance needs a name");
        return NULL;
    }
    if (!guid || strcmp(guid, MODEL_GUID) != 0) {
        char text[512];
        snprintf(text, sizeof text, "%s = %.200s: %s, that of this unit", what, guid ? guid : "", MODEL_GUID);
        report(host, name, ERROR, text);
        return NULL;
    }
    size_t length = strlen(name) + 1, more = resources ? strlen(resources) : 0;
    Instance *I = allocate(host, sizeof(Instance) + length + more + 1);
    if (!I) {
        report(host, name, ERROR, "out of memory");
        return NULL;
    }
    memset(I, 0, sizeof(Instance));
    memcpy(I->name, name, length);
    memcpy(I->name + length, resources ? resources : "", more + 1);
    I->resources = I->name + length;
    I->host = host;
    I->type = type;
    I->log = log ? LOG_ALL : LOG_ERROR;
    start_values(I);
    return I;
}

/* Turn categories of messages on or off: those of these names, or all if there are none. */
static Status set_logging(Instance *I, bool on, const char *const categories[], size_t n)
{
    unsigned chosen = n == 0 ? LOG_ALL : 0;
    for (size_t i = 0; i < n; i++) {
        const char *name = categories[i] ? categories[i] : "";
        if (strcmp(name, "logAll") == 0) {
            chosen |= LOG_ALL;
        } else if (strcmp(name, "logStatusError") == 0) {
            chosen |= LOG_ERROR;
        } else if (strcmp(name, "logStatusDiscard") == 0) {
            chosen |= LOG_DISCARD;
        } else {
            return refuse(I, ERROR, "category = %s: logAll, logStatusError or logStatusDiscard", name);
        }
    }
    I->log = on ? I->log | chosen : I->log & ~chosen;
    return OK;
}

static Status set_experiment(Instance *I, double start_time, bool has_stop, double stop_time)
{
    if (!is_finite(start_time)) {
        return refuse(I, ERROR, "startTime = %g: a finite time", start_time);
    }
    if (has_stop && !(is_finite(stop_time) && stop_time >= start_time)) {
        return refuse(I, ERROR, "stopTime = %g: a finite time from %g s on", stop_time, start_time);
    }
    I->t = start_time;
    I->has_stop = has_stop;
    I->stop = has_stop ? stop_time : 0.0;
    return OK;
}

static void enter_initialization(Instance *I)
{
    I->mode = INITIALIZATION;
    I->start_pending = true;
}

static Status exit_initialization(Instance *I)
{
    if (!start(I)) {
        return ERROR;
    }
    I->mode = I->type == CO_SIMULATION && !I->has_events ? STEP_COMPLETE : EVENT;
    exchange_memory(I, false);
    return OK;
}

static void terminate(Instance *I)
{
    (void)refresh(I); /* see leave_event */
    I->clock = I->bus_clock[0] = I->bus_clock[1] = INACTIVE;
    I->mode = TERMINATED;
}

/* --- values of variables ------------------------------------------------------------------------------------------ */

/* The variable of a value reference, the first one of an array. */
static const Variable *variable(const Instance *I, uint32_t reference, Type type, const char *function)
{
    const Variable *v = reference < N_VARIABLES ? VARIABLES + reference : NULL;
    if (!v || v->length == 0 || v->type != type) {
        refuse(I, ERROR, "%s: value reference %u is none of a variable of this type", function, (unsigned)reference);
        return NULL;
    }
    return v;
}

/* Whether a variable may be read or set now: within a step those that were named before, with a clock when it ticks and
   before the run. */
static bool accessible(const Instance *I, uint32_t reference, const char *function)
{
    if (I->mode == INTERMEDIATE && !I->intermediate[reference]) {
        refuse(I, ERROR, "%s: %s is not one of the required intermediate variables", function,
               VARIABLES[reference].name);
        return false;
    }
    if (VARIABLES[reference].clocked && !(I->mode & BEFORE_RUN) && I->clock != ACTIVE) {
        refuse(I, ERROR, "%s: the clock of %s is not active", function, VARIABLES[reference].name);
        return false;
    }
    return true;
}

/* Number of values of variables whose references are right. */
static size_t count(const uint32_t vr[], size_t n)
{
    size_t values = 0;
    for (size_t i = 0; i < n; i++) {
        values += VARIABLES[vr[i]].length;
    }
    return values;
}

/* Whether there are as many values as these variables have. */
static bool fits(const Instance *I, const uint32_t vr[], size_t n, size_t n_values, const char *function)
{
    if (count(vr, n) != n_values) {
        refuse(I, ERROR, "%s: %lu values, not %lu", function, (unsigned long)count(vr, n), (unsigned long)n_values);
        return false;
    }
    return true;
}

static Status no_variables(const Instance *I, size_t n, const char *function)
{
    return n == 0 ? OK : refuse(I, ERROR, "%s: there are no variables of this type", function);
}

/* Whether any of these is a derivative, which is then computed. */
static Status refresh_derivatives(Instance *I, const uint32_t vr[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (VARIABLES[vr[i]].kind == DERIVATIVE) {
            rt_derivative(I->t, I->x, I->u, I->p, DATA, I->dx, I->work);
            return all_finite(I->dx, N_X) ? OK : refuse(I, DISCARD, "no finite derivatives at t = %g s", I->t);
        }
    }
    return OK;
}

static double *place(Instance *I, const Variable *v)
{
    switch (v->kind) {
    case PARAMETER: return I->p + v->index;
    case INPUT: return I->u + v->index;
    case OUTPUT: return I->y + v->index;
    case STATE: return I->x + v->index;
    case DERIVATIVE: return I->dx + v->index;
    case INDEPENDENT: return &I->t;
#ifdef BUS
    case NOTIFICATIONS: return &I->bus.notifications;
#endif
    default: break; /* has no value of this sort */
    }
    return NULL;
}

/* Check all references and bring their values up to date. */
static Status prepare_get(Instance *I, const uint32_t vr[], size_t n, size_t n_values, Type type, const char *function)
{
    for (size_t i = 0; i < n; i++) {
        if (!variable(I, vr[i], type, function) || !accessible(I, vr[i], function)) {
            return ERROR;
        }
    }
    if (!fits(I, vr, n, n_values, function)) {
        return ERROR;
    }
    Status status = refresh(I);
    return status == OK ? refresh_derivatives(I, vr, n) : status;
}

/* Whether a variable may be set to a value now. */
static bool settable(const Instance *I, const Variable *v, double value)
{
    if (v->carried && !(I->mode & BEFORE_RUN)) {
        refuse(I, ERROR, "%s comes from the network", v->name);
        return false;
    }
    if (v->kind == INPUT && (I->mode != INTERMEDIATE || I->takes_inputs)) {
        return true; /* a step with inputs that are not finite is refused */
    }
    if (v->kind == INPUT) {
        refuse(I, ERROR, "%s: at the end of a step inputs are set after it", v->name);
        return false;
    }
    if (v->kind != PARAMETER && v->kind != NOTIFICATIONS) {
        refuse(I, ERROR, "%s is computed: parameters and inputs can be set", v->name);
        return false;
    }
    if (!(I->mode & BEFORE_RUN) && !(v->tunable && I->mode & (STEP_COMPLETE | EVENT))) {
        refuse(I, ERROR, "%s = %g %s: a parameter is fixed %s", v->name, value, v->unit,
               v->tunable ? "outside of event mode" : "when initialisation is over");
        return false;
    }
    if (!(is_finite(value) && value >= v->minimum && value <= v->maximum)) {
        refuse(I, ERROR, "%s = %g %s: a number from %g to %g %s", v->name, value, v->unit, v->minimum, v->maximum,
               v->unit);
        return false;
    }
    if (v->type == INTEGER && value != (double)(int)value) {
        refuse(I, ERROR, "%s = %g: a whole number from %g to %g", v->name, value, v->minimum, v->maximum);
        return false;
    }
    return true;
}

/* Let parameters that were changed while the unit runs count from now on; states stay. If there is no finite start with
   them, the call is refused and those of before, in p_scratch, stay. */
static Status tune(Instance *I)
{
    bool changed = false;
    for (size_t i = 0; i <= N_P; i++) {
        changed |= I->p[i] != I->p_scratch[i];
    }
    if (!changed || rt_initialise(I->p, DATA, I->u, I->x_scratch, I->work) != STATUS_FAILED) { /* prepares `work` */
        return OK;
    }
    memcpy(I->p, I->p_scratch, sizeof I->p);
    rt_initialise(I->p, DATA, I->u, I->x_scratch, I->work);
    return refuse(I, ERROR, "with these parameters there is no finite start state; they stay as they were");
}

#ifdef MEMORY_ACCESS
static void exchange_memory(Instance *I, bool take)
{
    memcpy(I->p_scratch, I->p, sizeof I->p);
    for (size_t k = 0; k < N_PARAMETERS && take; k++) {
        const Variable *v = VARIABLES + k;
        double written = memory_access[v->index];
        if (written != memory_shown[v->index] && settable(I, v, written)) {
            I->p[v->index] = written;
        }
    }
    if (take) {
        (void)tune(I);
    }
    memcpy(memory_shown, I->p, sizeof memory_shown);
    memcpy(memory_access, I->p, N_P * sizeof(double));
    memcpy(memory_access + N_P, I->u, N_U * sizeof(double));
    memcpy(memory_access + N_P + N_U, I->y, N_Y * sizeof(double));
}
#endif

/* A function `name` that reads the values of variables of a type; `as` is what becomes of a double `value`. */
#define DEFINE_GET(name, type, value_t, as) \
    static Status name(Instance *I, const uint32_t vr[], size_t n, value_t values[], size_t n_values, \
                       const char *function) \
    { \
        Status status = prepare_get(I, vr, n, n_values, type, function); \
        for (size_t i = 0; i < n && status == OK; i++) { \
            const Variable *v = VARIABLES + vr[i]; \
            for (size_t k = 0; k < v->length; k++) { \
                double value = *place(I, v + k); \
                *values++ = as; \
            } \
        } \
        return status; \
    }

/* A function `name` that sets them; `as` is the double of a `value`. */
#define DEFINE_SET(name, type, value_t, as) \
    static Status name(Instance *I, const uint32_t vr[], size_t n, const value_t values[], size_t n_values, \
                       const char *function) \
    { \
        bool tunes = false; \
        for (size_t i = 0; i < n; i++) { \
            if (!variable(I, vr[i], type, function) || !accessible(I, vr[i], function)) { \
                return ERROR; \
            } \
        } \
        if (!fits(I, vr, n, n_values, function)) { \
            return ERROR; \
        } \
        const value_t *next = values; \
        for (size_t i = 0; i < n; i++) { \
            const Variable *v = VARIABLES + vr[i]; \
            for (size_t k = 0; k < v->length; k++) { \
                value_t value = *next++; \
                if (!settable(I, v + k, as)) { \
                    return ERROR; \
                } \
            } \
            tunes |= v->kind == PARAMETER && !(I->mode & BEFORE_RUN); \
        } \
        if (tunes) { \
            memcpy(I->p_scratch, I->p, sizeof I->p); \
        } \
        for (size_t i = 0; i < n; i++) { \
            const Variable *v = VARIABLES + vr[i]; \
            for (size_t k = 0; k < v->length; k++) { \
                value_t value = *values++; \
                *place(I, v + k) = as; \
            } \
        } \
        outdate(I); \
        return tunes ? tune(I) : OK; \
    }

DEFINE_GET(get_reals, REAL, double, value)
DEFINE_SET(set_reals, REAL, double, value)

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
    s->y_pending = I->y_pending;
    s->event_pending = I->event_pending;
    s->clock = (int64_t)I->clock;
    s->bus_clock[0] = (int64_t)I->bus_clock[0];
    s->bus_clock[1] = (int64_t)I->bus_clock[1];
    s->has_stop = I->has_stop;
    s->cut_done = I->cut_done;
    s->cut_begin = I->cut_begin;
    s->cut_length = I->cut_length;
    s->t = I->t;
    s->stop = I->stop;
    s->h = I->h;
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
    memcpy(s->y_past, I->y_past, sizeof s->y_past);
    memcpy(s->y_due, I->y_due, sizeof s->y_due);
    s->bus = I->bus;
    s->checksum = checksum(s);
}

/* Whether a snapshot is one of this unit, whole, and of an instance of this type. */
static bool valid(const Instance *I, const Snapshot *s)
{
    if (s->magic != SNAPSHOT_MAGIC + ((uint64_t)SNAPSHOT_FORMAT << 32) || s->size != sizeof *s) {
        refuse(I, ERROR, "the state is not one of a unit of this format");
        return false;
    }
    if (s->guid != hash(MODEL_GUID, strlen(MODEL_GUID))) {
        refuse(I, ERROR, "the state is one of another unit");
        return false;
    }
    bool whole = s->checksum == checksum(s) && is_finite(s->t) && is_finite(s->stop);
    whole = whole && is_finite(s->h) && s->h >= 0.0 && all_finite(s->y_past, N_Y);
    int64_t modes = INSTANTIATED | INITIALIZATION | TERMINATED;
    modes |= s->type == (int64_t)CO_SIMULATION ? STEP_COMPLETE | EVENT : EVENT | CONTINUOUS_TIME;
    whole = whole && (s->mode & modes) == s->mode && s->mode != 0 && (s->mode & (s->mode - 1)) == 0;
    whole = whole && (s->start_pending | 1) == 1 && (s->has_stop | 1) == 1;
    whole = whole && (s->y_pending | 1) == 1 && (s->event_pending | 1) == 1 && all_finite(s->y_due, N_Y);
    whole = whole && (s->clock == INACTIVE || s->clock == ACTIVE || s->clock == TICKED);
    whole = whole && (s->clock == INACTIVE || (CLOCK_INTERVAL > 0.0 && s->mode == (int64_t)EVENT));
    bool can_tick = HAS_BUS && s->mode == (int64_t)EVENT;
    for (int k = 0; k < 2; k++) {
        int64_t clock = s->bus_clock[k];
        whole = whole && (clock == INACTIVE || (can_tick && (clock == ACTIVE || clock == TICKED)));
    }
    whole = whole && bus_whole(&s->bus);
    whole = whole && s->cut_done >= 0 && s->cut_done < (int64_t)MOST_PIECES && is_finite(s->cut_begin);
    whole = whole && is_finite(s->cut_length) && s->cut_length >= 0.0;
    whole = whole && (s->start_pending != 0 || (all_finite(s->x, N_X) && all_finite(s->y, N_Y)));
    size_t n = 0;
    for (size_t k = 0; k < N_VARIABLES && whole; k++) {
        if (VARIABLES[k].kind == PARAMETER) {
            double value = s->parameters[n++];
            whole = is_finite(value) && value >= VARIABLES[k].minimum && value <= VARIABLES[k].maximum;
        }
    }
    if (!whole) {
        refuse(I, ERROR, "the state is damaged");
        return false;
    }
    if (s->type != (int64_t)I->type) {
        refuse(I, ERROR, "the state is one of the other interface of this unit");
        return false;
    }
    if (I->type == CO_SIMULATION && !I->has_events && (s->mode == (int64_t)EVENT || s->event_pending != 0)) {
        refuse(I, ERROR, "the state is one at an event, and this instance has no event mode");
        return false;
    }
    return true;
}

/* Keep a snapshot in a block that is taken if there is none. */
static Status store(Instance *I, const Snapshot *s, void **state)
{
    if (!*state) {
        *state = allocate(I->host, sizeof *s);
        if (!*state) {
            return refuse(I, ERROR, "out of memory");
        }
    }
    memcpy(*state, s, sizeof *s);
    return OK;
}

static Status get_state(Instance *I, void **state)
{
    Snapshot s;
    save(I, &s);
    if (!save_guests(I, &s, *state)) {
        return ERROR;
    }
    return store(I, &s, state);
}

static Status set_state(Instance *I, const Snapshot *s)
{
    if (!valid(I, s) || !restore_guests(I, s)) {
        return ERROR;
    }
    size_t n = 0;
    for (size_t k = 0; k < N_VARIABLES; k++) {
        if (VARIABLES[k].kind == PARAMETER) {
            I->p[VARIABLES[k].index] = s->parameters[n++];
        }
    }
    memcpy(I->u, s->u, sizeof s->u);
    memcpy(I->u_rate, s->u_rate, sizeof s->u_rate);
    rt_initialise(I->p, DATA, I->u, I->x, I->work); /* prepares `work` for the parameters */
    memcpy(I->x, s->x, sizeof s->x);
    memcpy(I->y, s->y, sizeof s->y);
    memcpy(I->y_past, s->y_past, sizeof s->y_past);
    memcpy(I->y_due, s->y_due, sizeof s->y_due);
    I->mode = (Mode)s->mode;
    I->start_pending = s->start_pending != 0;
    I->has_stop = s->has_stop != 0;
    I->t = s->t;
    I->stop = s->stop;
    I->h = s->h;
    I->cut_done = s->cut_done;
    I->cut_begin = s->cut_begin;
    I->cut_length = s->cut_length;
    I->y_pending = I->type == MODEL_EXCHANGE ? !(I->mode & BEFORE_RUN) : s->y_pending != 0;
    I->event_pending = s->event_pending != 0;
    I->clock = (Clock)s->clock;
    I->bus_clock[0] = (Clock)s->bus_clock[0];
    I->bus_clock[1] = (Clock)s->bus_clock[1];
    I->bus = s->bus;
    return OK;
}

static Status free_state(Instance *I, void **state)
{
    if (state && *state) {
        free_guests(I, *state);
        release(I->host, *state);
        *state = NULL;
    }
    return OK;
}

static Status serialize(const Instance *I, const void *state, void *bytes, size_t size)
{
    REQUIRE_OWN_STATE
    if (size < sizeof(Snapshot)) {
        return refuse(I, ERROR, "size = %lu: at least %lu bytes", (unsigned long)size, (unsigned long)sizeof(Snapshot));
    }
    memcpy(bytes, state, sizeof(Snapshot));
    return OK;
}

static Status deserialize(Instance *I, const void *bytes, size_t size, void **state)
{
    Snapshot s;
    REQUIRE_OWN_STATE
    if (size != sizeof s) {
        return refuse(I, ERROR, "size = %lu: %lu bytes", (unsigned long)size, (unsigned long)sizeof s);
    }
    memcpy(&s, bytes, sizeof s);
    return valid(I, &s) ? store(I, &s, state) : ERROR;
}

/* --- derivatives -------------------------------------------------------------------------------------------------- */

/* Prepare `work_scratch` and how it follows the parameters along `p_tangent`; while the unit initialises, also in
   `x_tangent` how the start state follows them and the inputs. */
static void start_tangents(Instance *I)
{
    double none[N_U + 1];
    bool starts = I->mode == INITIALIZATION;
    memset(none, 0, sizeof none);
    memset(I->work_tangent, 0, sizeof I->work_tangent);
    rt_initialise_tangent(I->p, I->p_tangent, DATA, I->u, starts ? I->u_tangent : none, I->x_scratch,
                          starts ? I->x_tangent : I->dx_tangent, I->work_scratch, I->work_tangent);
}

/* Whether these are unknowns (outputs, derivatives of states and, during initialisation, states) and knowns (inputs,
   parameters, time and, after it, states). */
static bool are_unknowns_and_knowns(const Instance *I, const uint32_t unknowns[], size_t n_unknowns,
                                    const uint32_t knowns[], size_t n_knowns, const char *function)
{
    bool running = I->mode != INITIALIZATION;
    for (size_t i = 0; i < n_unknowns; i++) {
        const Variable *v = variable(I, unknowns[i], REAL, function);
        if (v && v->kind != OUTPUT && v->kind != DERIVATIVE && (v->kind != STATE || running)) {
            refuse(I, ERROR, "%s is no unknown: outputs and derivatives of states are", v->name);
            return false;
        }
        if (!v) {
            return false;
        }
    }
    for (size_t i = 0; i < n_knowns; i++) {
        const Variable *v = variable(I, knowns[i], REAL, function);
        if (v && v->kind != INPUT && v->kind != PARAMETER && v->kind != INDEPENDENT && (v->kind != STATE || !running)) {
            refuse(I, ERROR, "%s is no known: inputs and parameters are, and states while the unit runs", v->name);
            return false;
        }
        if (!v) {
            return false;
        }
    }
    return true;
}

/* The entry of the tangents of knowns or of unknowns that belongs to a variable. */
static double *tangent(Instance *I, const Variable *v)
{
    switch (v->kind) {
    case PARAMETER: return I->p_tangent + v->index;
    case INPUT: return I->u_tangent + v->index;
    case STATE: return I->x_tangent + v->index;
    case INDEPENDENT: return &I->t_tangent;
    case OUTPUT: return I->y_tangent + v->index;
    case DERIVATIVE: return I->dx_tangent + v->index;
    default: break;
    }
    return NULL;
}

static void clear_tangents(Instance *I)
{
    memset(I->p_tangent, 0, sizeof I->p_tangent);
    memset(I->u_tangent, 0, sizeof I->u_tangent);
    memset(I->x_tangent, 0, sizeof I->x_tangent);
    I->t_tangent = 0.0;
}

/* From the tangents of knowns those of unknowns. */
static Status propagate(Instance *I)
{
#ifdef OPAQUE
    return refuse(I, ERROR, "no directional derivatives: there is code in the unit that has none");
#endif
    start_tangents(I);
    rt_output_tangent(I->t, I->t_tangent, I->x, I->x_tangent, I->u, I->u_tangent, I->p, I->p_tangent, DATA,
                      I->y_scratch, I->y_tangent, I->work_scratch, I->work_tangent);
    rt_derivative_tangent(I->t, I->t_tangent, I->x, I->x_tangent, I->u, I->u_tangent, I->p, I->p_tangent, DATA, I->dx,
                          I->dx_tangent, I->work_scratch, I->work_tangent);
    if (!all_finite(I->y_tangent, N_Y) || !all_finite(I->dx_tangent, N_X)) {
        return refuse(I, DISCARD, "no finite directional derivatives at t = %g s", I->t);
    }
    return OK;
}

/* dz = (dz/dv) dv by the tangents of the kernels, so exact to round-off; z are unknowns and v knowns. It
   is the derivative of the equations at the present point, as FMI defines it, not that of a step. */
static Status directional_derivative(Instance *I, const uint32_t unknowns[], size_t n_unknowns, const uint32_t knowns[],
                                     size_t n_knowns, const double dv[], double dz[])
{
    if (!start(I)) {
        return ERROR;
    }
    clear_tangents(I);
    for (size_t i = 0; i < n_knowns; i++) {
        for (size_t k = 0; k < VARIABLES[knowns[i]].length; k++) {
            *tangent(I, VARIABLES + knowns[i] + k) += *dv++;
        }
    }
    Status status = propagate(I);
    for (size_t i = 0; i < n_unknowns && status == OK; i++) {
        for (size_t k = 0; k < VARIABLES[unknowns[i]].length; k++) {
            *dz++ = *tangent(I, VARIABLES + unknowns[i] + k);
        }
    }
    return status;
}

/* --- co-simulation ------------------------------------------------------------------------------------------------ */

/* Say which inputs a step was refused with. */
static Status refuse_step(const Instance *I, double t, double h)
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
    return refuse(I, DISCARD, "no finite step of %g s from t = %g s%s; the state is as it was", h, t, inputs);
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

/* Latched flags that the steps before have raised in `past` are raised in `y` too: what `rt_step` does in its own steps. */
static void latch(double *y, const double *past)
{
    for (size_t k = N_PARAMETERS + N_U; k < N_PARAMETERS + N_U + N_Y; k++) {
        if (VARIABLES[k].latched && past[VARIABLES[k].index] != 0.0) {
            y[VARIABLES[k].index] = 1.0;
        }
    }
}

/* rt_step while inputs move at their rates. The step is cut into the fewest equal pieces that are not above the unit's
   own step; in each the inputs are held where they are in its middle, which is exact to second order. Outputs belong to
   states and inputs at the end; those that are discrete are those of the last piece, or latched. */
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
        memcpy(I->y_end, I->y_scratch, sizeof I->y);
        good = rt_step(t + (double)k * piece, piece, I->x, I->u_scratch, I->p, DATA, I->y_scratch, I->work)
               != STATUS_FAILED;
        if (good && k > 0) {
            latch(I->y_scratch, I->y_end);
        }
    }
    if (good) {
        move_inputs(I, h);
        rt_output(t + h, I->x, I->u_scratch, I->p, DATA, I->y_end, I->work);
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

/* Hold discrete outputs where they were before a step, in `y_kept`, until event mode; whether one has changed. */
static bool postpone(Instance *I)
{
    I->event_pending = false;
    for (size_t k = 0; k < N_Y; k++) {
        const Variable *v = VARIABLES + N_PARAMETERS + N_U + k;
        if (v->type != REAL) {
            I->y_due[v->index] = I->y[v->index];
            I->y[v->index] = I->y_kept[v->index];
            I->event_pending |= I->y_due[v->index] != I->y[v->index];
        }
    }
    return I->event_pending;
}

/* Call the host after an internal step; returns when the communication step is to end at the latest [s]. */
static double intermediate_update(Instance *I, bool last, double end)
{
    double asked = I->t;
    I->mode = INTERMEDIATE;
    I->takes_inputs = !last;
    bool wanted = update(I, I->may_return && !last, &asked);
    I->mode = STEP_COMPLETE;
    return wanted && I->may_return ? asked : end;
}

/* The communication step in internal steps, those that rt_step makes of it, so that the host can look after each and the
   step can end before its time: at an event, or where the host wants it. It goes on with one that did. */
static bool step_in_parts(Instance *I, double t, double h)
{
    double slack = 1e-6 * STEP_SIZE + 1e-12 * fabs(t);
    double t_kept = I->t, h_kept = I->h;
    bool pending_kept = I->y_pending;
    double begin = t, length = h;
    int64_t done = 0;
    if (I->cut_done > 0 && fabs(t + h - (I->cut_begin + I->cut_length)) <= slack) {
        begin = I->cut_begin;
        length = I->cut_length;
        done = I->cut_done;
    }
    double parts = fmax(ceil(length / INTERNAL_STEP * (1.0 - 1e-9)), 1.0); /* as `enter` of rtcvt/model/stepping.py */
    if (!(parts <= MOST_PIECES && (double)done < parts)) {
        return false;
    }
    double part = length / parts, end = INFINITY;
    bool good = true, last = false, ends = false;
    I->y_pending = false;
    memcpy(I->x_scratch, I->x, sizeof I->x);
    memcpy(I->u_scratch, I->u, sizeof I->u);
    memcpy(I->y_past_kept, I->y_past, sizeof I->y);
    memcpy(I->y_past, I->y_kept, sizeof I->y);
    while (good && !ends) {
        memcpy(I->y_scratch, I->event_pending ? I->y_due : I->y, sizeof I->y);
        good = rt_step(begin + (double)done * part, part, I->x, I->u, I->p, DATA, I->y, I->work) != STATUS_FAILED;
        if (good) {
            if (done > 0) {
                latch(I->y, I->y_scratch);
            }
            last = (double)++done >= parts;
            I->t = last ? begin + length : begin + (double)done * part;
            I->h = I->t - t_kept;
            ends = (I->has_events && postpone(I) && I->may_return) || last;
            if (I->has_updates) {
                end = intermediate_update(I, last, end);
            }
            ends = ends || !(I->t + part <= end + 1e-6 * part);
        }
    }
    if (!good) {
        memcpy(I->x, I->x_scratch, sizeof I->x);
        memcpy(I->u, I->u_scratch, sizeof I->u);
        memcpy(I->y, I->y_kept, sizeof I->y);
        memcpy(I->y_past, I->y_past_kept, sizeof I->y);
        I->t = t_kept;
        I->h = h_kept;
        I->y_pending = pending_kept;
        I->event_pending = false; /* or there was no step */
        return false;
    }
    I->cut_done = last ? 0 : done;
    I->cut_begin = begin;
    I->cut_length = length;
    return true;
}

/* One communication step of length h [s] from t [s]. */
static Status step(Instance *I, double t, double h)
{
    if (I->event_pending) {
        return refuse(I, ERROR, "a step from %.17g s: an event is due there, event mode comes first", t);
    }
    if (!(is_finite(h) && h > 0.0)) {
        return refuse(I, ERROR, "communicationStepSize = %g: a finite time above 0 s", h);
    }
    double slack = 1e-3 * h + 1e-9 * fabs(I->t); /* the caller may add up or multiply its steps */
    if (!(fabs(t - I->t) <= slack)) {
        return refuse(I, ERROR, "currentCommunicationPoint = %.17g: %.17g s, where the last step ended", t,
                      I->t);
    }
    if (I->has_stop && t + h > I->stop + slack) {
        return refuse(I, ERROR, "a step to %.17g s: the experiment ends at %.17g s", t + h, I->stop);
    }
    exchange_memory(I, true);
    memcpy(I->y_kept, I->y, sizeof I->y);
#ifdef N_GUESTS
    Status status = step_with_guests(I, t, h);
    if (status != OK) {
        return status;
    }
    if (I->has_events) {
        (void)postpone(I);
    }
    memcpy(I->y_past, I->y_kept, sizeof I->y);
    I->h = h;
#else
    if (I->has_updates || (I->has_events && I->may_return)) {
        if (!step_in_parts(I, t, h)) {
            return refuse_step(I, t, h);
        }
    } else {
        bool made = inputs_move(I) ? step_with_moving_inputs(I, t, h)
                                   : rt_step(t, h, I->x, I->u, I->p, DATA, I->y, I->work) != STATUS_FAILED;
        if (!made) {
            return refuse_step(I, t, h);
        }
        if (I->has_events) {
            (void)postpone(I);
        }
        memcpy(I->y_past, I->y_kept, sizeof I->y);
        I->t = t + h;
        I->h = h;
        I->cut_done = 0;
    }
#endif
    I->y_pending = false;
    exchange_memory(I, false);
    return OK;
}

/* Whether these are derivatives of order 1, of variables of this kind, in co-simulation. */
static bool first_derivatives(const Instance *I, const uint32_t vr[], const int order[], size_t n,
                              Kind kind, const char *function)
{
    if (I->type != CO_SIMULATION) {
        refuse(I, ERROR, "%s is one of co-simulation", function);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const Variable *v = variable(I, vr[i], REAL, function);
        if (!v || !accessible(I, vr[i], function)) {
            return false;
        }
        if (v->kind != kind) {
            refuse(I, ERROR, "%s: %s is no %s", function, v->name, kind == INPUT ? "input" : "output");
            return false;
        }
        if (order[i] != 1) {
            refuse(I, ERROR, "%s: order = %d of %s: 1", function, order[i], v->name);
            return false;
        }
    }
    return true;
}

/* Mean slopes over the last step, (y(t) - y(t - h))/h, within one since its beginning; 0 before the first. The exact slope at its end is that of what
   decays within the next step, where a model is stiff, and says nothing of where the output goes. */
static Status output_derivatives(Instance *I, const uint32_t vr[], size_t n, double values[])
{
    for (size_t i = 0; i < N_Y; i++) {
        I->y_scratch[i] = I->h > 0.0 ? (I->y[i] - I->y_past[i]) / I->h : 0.0;
    }
    if (!all_finite(I->y_scratch, N_Y)) {
        return refuse(I, DISCARD, "no finite slopes of outputs over a step of %g s", I->h);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < VARIABLES[vr[i]].length; k++) {
            *values++ = I->y_scratch[VARIABLES[vr[i]].index + k];
        }
    }
    return OK;
}

/* --- events ------------------------------------------------------------------------------------------------------- */

static void enter_event(Instance *I)
{
    I->mode = EVENT;
    if (I->type == MODEL_EXCHANGE) {
        outdate(I); /* discrete outputs may change now */
        return;
    }
    for (size_t k = 0; k < N_Y && I->event_pending; k++) {
        const Variable *v = VARIABLES + N_PARAMETERS + N_U + k;
        if (v->type != REAL) {
            I->y[v->index] = I->y_due[v->index];
        }
    }
    I->event_pending = false;
}

static void leave_event(Instance *I)
{
    (void)refresh(I); /* outputs that change at events only are those of this one, read or not */
    I->clock = I->bus_clock[0] = I->bus_clock[1] = INACTIVE;
    I->mode = I->type == MODEL_EXCHANGE ? CONTINUOUS_TIME : STEP_COMPLETE;
}

/* --- model exchange ----------------------------------------------------------------------------------------------- */

static Status complete_step(Instance *I, bool *needs_event)
{
    Status status = refresh(I);
    *needs_event = I->event_pending;
    return status;
}

static Status set_time(Instance *I, double time)
{
    if (!is_finite(time)) {
        return refuse(I, ERROR, "time = %g: a finite time", time);
    }
    I->t = time;
    outdate(I);
    return OK;
}

/* Refuse another number of states than there are. */
#define REQUIRE_STATES(n) \
    if ((n) != N_X) { \
        return refuse(I, ERROR, "%s: %lu states, not %lu", __func__, (unsigned long)N_X, (unsigned long)(n)); \
    }

static Status set_states(Instance *I, const double x[])
{
    if (!all_finite(x, N_X)) {
        return refuse(I, DISCARD, "states that are not finite at t = %g s", I->t);
    }
    memcpy(I->x, x, N_X * sizeof(double));
    outdate(I);
    return OK;
}

static Status get_states(Instance *I, double x[])
{
    if (!start(I)) {
        return ERROR;
    }
    memcpy(x, I->x, N_X * sizeof(double));
    return OK;
}

static Status get_derivatives(Instance *I, double dx[])
{
    if (!start(I)) {
        return ERROR;
    }
    rt_derivative(I->t, I->x, I->u, I->p, DATA, I->dx, I->work);
    if (!all_finite(I->dx, N_X)) {
        return refuse(I, DISCARD, "no finite derivatives at t = %g s", I->t);
    }
    memcpy(dx, I->dx, N_X * sizeof(double));
    return OK;
}

static void get_nominals(double nominals[])
{
    for (size_t i = 0; i < N_X; i++) {
        nominals[i] = VARIABLES[N_PARAMETERS + N_U + N_Y + i].nominal;
    }
}
