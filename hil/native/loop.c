/* A unit stepped against the clock: absolute deadlines, no lock, no allocation and no system call but sleeping.

   Step k has a deadline t_0 + d_k h; d_k = k as long as none is skipped. The thread sleeps with clock_nanosleep until
   `spin` before it and then watches the clock. What happens in step k, in this order:

     commands   of the other side take effect: values from a bus or a page, faults on or off
     parameters those that change now, by the scenario or by the other side
     inputs     row k of the supplied ones, or the bus's if young enough and its fall-back if not; live values; faults;
                what is not finite becomes its fall-back
     unit       setters, fmi2DoStep, getters; if it needs event mode (FMI 3.0), parameters and inputs are set in it,
                and the step is made in as many parts as it has events
     outputs    faults; the fall-back if the unit failed
     record     one row into the ring, the present values into `latest`

   All memory is the other side's, taken and touched before the start. Each process has its own copy of the loop itself,
   with all addresses and sizes; rings, values and what is told (`Told`) are shared. Rings have one producer and one consumer: each
   side writes its own counter with release and reads the other's with acquire order, and never waits. A row that finds
   the ring full is lost and counted; a step that finds no supplied row holds the inputs, and is counted.

   A miss is `late` if the steps themselves were fast enough: had each begun at its deadline, or when the one before
   ended, and taken as long as it did, this one would have been in time. Then the machine kept the thread waiting. The
   longest gap between two readings of the clock while the thread watches it shows the same where no step is made, the
   longest time by which it woke later than it asked for where it slept. Of the largest lateness `by_steps` is what the
   steps before had caused if each had begun in time.

   The memory may be shared with another process that keeps watch. A crash or exit of the unit then takes the outputs to
   their fall-back and ends the loop from the handler of the signal, before the process is gone; of a process that was
   killed, or that is in a step for too long, the other one does it (`loop_abandon`). */

#define _GNU_SOURCE
#include <errno.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { BINS = 640, HEAD = 5, MESSAGE = 512, MESSAGES = 20, COMMANDS = 4096, STACK = 1 << 20, GUARD = 1 << 16 };
enum { SIGNALS = 3, CRASHES = 5, READS = 10000, LEFT = 99, NAP = 100000000 };
enum { CATCH_UP, SKIP, STOP };
enum { REAL, INTEGER, BOOLEAN };                            /* of FMI 2.0; those of FMI 3.0 follow */
enum { FLOAT64 = BOOLEAN + 1, FLOAT32, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64, BOOL, CLOCK };
enum { SUPPLIED, BUS, LIVE };
enum { STUCK, NOISE, NOT_A_NUMBER, OVERLOAD, UNIT_ERROR, MESSAGES_OF_BUS }; /* the last: only flagged here */
enum { RUNNING, DONE, STOPPED, FAILED, OVERRUN, CRASHED, TERMINATED };
enum { FLAG_MISS = 1, FLAG_FALLBACK = 2, FLAG_FAULT = 4, FLAG_UNIT = 8, FLAG_STARVED = 16 };
enum { OK, WARNING, DISCARD };                             /* of fmi2Status and fmi3Status */
enum { EARLY = 100, NO_STEP, ENDLESS };                     /* what fmi3DoStep says by its flags */
enum { IN_EVENT_MODE = 200 };                               /* added to the status of a call there */
enum { MOST_EVENTS = 1000 };                                /* in a step, and iterations of one */
enum { LAST_SUCCESSFUL_TIME = 2, FMI_TERMINATED = 3 };      /* of fmi2StatusKind */
enum { SET_BUS, SET_LIVE, RELEASE_LIVE, FAULT_ON, FAULT_OFF, TUNE };

typedef struct {
    int32_t type;           /* REAL ... BOOL */
    int32_t call;           /* for messages */
    void *function;         /* a setter or getter of FMI */
    const uint32_t *references;
    const int32_t *columns; /* places among all inputs or outputs */
    void *values;           /* of the type */
    int64_t count, n_references; /* fewer than values if there are arrays */
    int64_t first, every;   /* of a clock: the step before which it ticks first, and steps between; every 0: before each */
} Transfer;

typedef struct {
    int32_t from_bus, hold; /* the bus gives it; its fall-back is its last value */
    double fallback;
    int64_t timeout;        /* [ns] */
    double bus, live;
    int64_t stamp;          /* when the bus's value came [ns]; 0: never */
    int32_t is_live, unused;
} Input;

typedef struct {
    int32_t kind, index;    /* inputs count from 0, outputs from n_u */
    int64_t first, last;    /* steps first <= k < last */
    double value;           /* NOISE: standard deviation; OVERLOAD: [ns] */
    double held;
    int32_t on, unused;
} Fault;

typedef struct {
    int64_t step, index;
    double value;
} Change;                   /* of a parameter before a step */

typedef struct {
    int64_t kind, index, stamp;
    double value;
} Command;

typedef struct {
    _Atomic int64_t count;
    _Atomic int64_t kept[2]; /* of status OK, and of others, which those never displace */
    int64_t order[2 * MESSAGES];
    int32_t status[2 * MESSAGES];
    char text[2 * MESSAGES][MESSAGE];
} Log;

/* All that the two sides tell each other. The other side may find anything here if the unit writes where it should not:
   nothing in it is a pointer, size or index that is not bounded by what each side has for itself. */
typedef struct {
    /* counters of the two sides */
    _Atomic int64_t supplied, taken, recorded, consumed, ordered, obeyed, sequence, asked_to_stop;
    /* results */
    _Atomic int64_t state, made, misses, late, skipped, lost, starved, fallbacks, warnings;
    _Atomic int64_t entered; /* when the unit was called that has not returned [ns], or 0 */
    int64_t status, failed_call, failed_output, signal_number, crash;
    double terminated_at;   /* when the unit ended the simulation [s], or NaN */
    int64_t first_began, last_ended, max_step_time, max_lateness, latest_step, by_steps, max_gap, max_oversleep;
    int64_t scheduler_error, affinity_error;
} Told;

typedef struct {
    void *component;
    void *do_step;
    int (*get_boolean_status)(void *, int, int *);
    int (*get_real_status)(void *, int, double *);
    int (*enter_event_mode)(void *); /* NULL: event mode is not used */
    int (*update_discrete_states)(void *, bool *, bool *, bool *, bool *, bool *, double *);
    int (*enter_step_mode)(void *);
    double next_event;      /* [s], or infinity */
    Transfer *sets, *gets;
    int64_t n_sets, n_gets, n_u, n_y;
    double step, period;    /* [s], [ns] */
    double start;           /* the unit's time at the start [s] */
    int64_t n_checked;      /* outputs that have to be finite, the first ones */
    int64_t n_steps, spin;
    int32_t policy, priority, cpu, wake;  /* wake: an eventfd to write to after each step, or -1 */
    int32_t fmi, unused;    /* version of FMI: 2 or 3 */
    Input *inputs;
    const double *y_fallback; /* NaN: hold */
    Fault *faults;
    int64_t n_faults;
    Transfer *tunes;        /* one for each parameter that may change */
    int64_t n_p;
    double *p, *p_wanted;   /* p_wanted: NaN if nothing is wanted */
    const Change *changes;  /* in their order */
    int64_t n_changes, changed;
    double *supply;         /* supply_rows rows of n_u */
    int64_t supply_rows;
    double *records;        /* record_rows rows of HEAD + n_u + n_y + n_p */
    int64_t record_rows;
    double *u, *y, *before, *y_before, *latest; /* latest: k, then u, y, p */
    Command *commands;      /* COMMANDS of them */
    int64_t *step_times, *latenesses; /* BINS each */
    pthread_t thread;
    void *stack;
    uint64_t random;
    Told *told;
} Loop;

static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
static const int crashes[CRASHES] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
static struct sigaction before[SIGNALS];
static int always;              /* all signals are noted, not only the first */
static volatile sig_atomic_t noted;
static Loop *_Atomic watched;   /* whom signals end */
static Loop *_Atomic guarded;   /* whom crashes end */

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* 16 bins per octave: bin b < 16 holds b ns; the others (16 + b % 16) 2^(b / 16 - 1) ns and up */
static void count(int64_t *histogram, int64_t ns)
{
    int64_t b = ns > 0 ? ns : 0;
    if (b >= 16) {
        int e = 63 - __builtin_clzll((unsigned long long)b);
        b = (e - 3) * 16 + ((b >> (e - 4)) & 15);
    }
    histogram[b < BINS ? b : BINS - 1]++;
}

static double normal(Loop *s)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        s->random ^= s->random << 13;
        s->random ^= s->random >> 7;
        s->random ^= s->random << 17;
        sum += (double)(s->random >> 11) * 0x1p-53;
    }
    return sum;
}

/* An integer that the type holds; beyond 2^53 a double has no fractions, nor all integers. */
static double whole(double v, double least, double most)
{
    return rint(fmin(fmax(v, least), most));
}

#define ALL(Type, expression) \
    for (int64_t i = 0; i < t->count; i++) { \
        double v = from[t->columns[i]]; \
        ((Type *)t->values)[i] = (Type)(expression); \
    } \
    break;
#define ALL_OF(n) n(INT8, int8_t, -0x1p7, 0x1p7 - 1.0) n(UINT8, uint8_t, 0.0, 0x1p8 - 1.0) \
    n(INT16, int16_t, -0x1p15, 0x1p15 - 1.0) n(UINT16, uint16_t, 0.0, 0x1p16 - 1.0) \
    n(INT32, int32_t, -0x1p31, 0x1p31 - 1.0) n(UINT32, uint32_t, 0.0, 0x1p32 - 1.0) \
    n(INT64, int64_t, -0x1p53, 0x1p53) n(UINT64, uint64_t, 0.0, 0x1p53) \
    n(INTEGER, int32_t, -0x1p31, 0x1p31 - 1.0)
#define PUT(NAME, Type, least, most) case NAME: ALL(Type, whole(v, least, most))
#define TAKE(NAME, Type, least, most) case NAME: return (double)((const Type *)values)[i];

static int transfer(Loop *s, const Transfer *t)
{
    if (s->fmi == 3 && t->type != CLOCK)
        return ((int (*)(void *, const uint32_t *, size_t, void *, size_t))t->function)(
            s->component, t->references, (size_t)t->n_references, t->values, (size_t)t->count);
    return ((int (*)(void *, const uint32_t *, size_t, void *))t->function)(
        s->component, t->references, (size_t)t->n_references, t->values);
}

/* Before step k; the tick at the start is behind the initialisation. */
static int set(Loop *s, int64_t k, const Transfer *t, const double *from)
{
    if (t->every > 0 && (k < 1 || k < t->first || (k - t->first) % t->every))
        return OK;
    switch (t->type) {
    case REAL:
    case FLOAT64: ALL(double, v)
    case FLOAT32: ALL(float, v)
    case BOOLEAN: ALL(int32_t, v >= 0.5)
    case BOOL: ALL(bool, v >= 0.5)
    ALL_OF(PUT)
    }
    return transfer(s, t);
}

static double value(int type, const void *values, int64_t i)
{
    switch (type) {
    case FLOAT32: return ((const float *)values)[i];
    case BOOLEAN: return ((const int32_t *)values)[i];
    case BOOL: return ((const bool *)values)[i];
    ALL_OF(TAKE)
    }
    return ((const double *)values)[i];
}

static int get(Loop *s, const Transfer *t)
{
    int status = transfer(s, t);
    for (int64_t i = 0; i < t->count && (status == OK || status == WARNING); i++)
        s->y[t->columns[i]] = value(t->type, t->values, i);
    return status;
}

static void obey(Loop *s, int64_t k)
{
    int64_t obeyed = atomic_load_explicit(&s->told->obeyed, memory_order_relaxed);
    int64_t ordered = atomic_load_explicit(&s->told->ordered, memory_order_acquire);
    for (; obeyed < ordered; obeyed++) {
        const Command *c = &s->commands[(uint64_t)obeyed % COMMANDS];
        if (c->kind == SET_BUS) {
            s->inputs[c->index].bus = c->value;
            s->inputs[c->index].stamp = c->stamp;
        } else if (c->kind == SET_LIVE) {
            s->inputs[c->index].live = c->value;
            s->inputs[c->index].is_live = 1;
        } else if (c->kind == RELEASE_LIVE) {
            s->inputs[c->index].is_live = 0;
        } else if (c->kind == TUNE) {
            s->p_wanted[c->index] = c->value;
        } else if (c->kind == FAULT_ON) {
            s->faults[c->index].first = k;
            s->faults[c->index].last = INT64_MAX;
        } else {
            s->faults[c->index].last = k;
        }
    }
    atomic_store_explicit(&s->told->obeyed, obeyed, memory_order_release);
}

static int active(Fault *f, int64_t k, double value)
{
    int on = f->first <= k && k < f->last;
    if (on && !f->on)
        f->held = value;
    f->on = on;
    return on;
}

/* The faults of the signals of one side, `offset` of whose first is its place among all. */
static int disturb(Loop *s, int64_t k, double *values, int64_t offset, int64_t n)
{
    int any = 0;
    for (int64_t i = 0; i < s->n_faults; i++) {
        Fault *f = &s->faults[i];
        int64_t at = f->index - offset;
        if (f->kind == MESSAGES_OF_BUS && active(f, k, 0.0))
            any = FLAG_FAULT;
        if (f->kind > NOT_A_NUMBER || at < 0 || at >= n || !active(f, k, values[at]))
            continue;
        any = FLAG_FAULT;
        values[at] = f->kind == STUCK ? f->held : f->kind == NOISE ? values[at] + f->value * normal(s) : NAN;
    }
    return any;
}

static int prepare(Loop *s, int64_t k, int64_t at)
{
    int flags = 0;
    int64_t taken = atomic_load_explicit(&s->told->taken, memory_order_relaxed);
    const double *row = NULL;
    if (taken < atomic_load_explicit(&s->told->supplied, memory_order_acquire)) {
        row = &s->supply[((uint64_t)taken % (uint64_t)s->supply_rows) * (uint64_t)s->n_u];
    } else if (s->n_u > 0) {
        flags |= FLAG_STARVED;
        atomic_fetch_add_explicit(&s->told->starved, 1, memory_order_relaxed);
    }
    for (int64_t i = 0; i < s->n_u; i++) {
        Input *in = &s->inputs[i];
        s->before[i] = s->u[i];
        if (in->is_live) {
            s->u[i] = in->live;
        } else if (in->from_bus) {
            if (in->stamp > 0 && at - in->stamp < in->timeout) {
                s->u[i] = in->bus;
            } else {
                s->u[i] = in->hold ? s->u[i] : in->fallback;
                flags |= FLAG_FALLBACK;
            }
        } else if (row != NULL) {
            s->u[i] = row[i];
        }
    }
    if (row != NULL)
        atomic_store_explicit(&s->told->taken, taken + 1, memory_order_release);
    flags |= disturb(s, k, s->u, 0, s->n_u);
    for (int64_t i = 0; i < s->n_u; i++) {
        if (!isfinite(s->u[i])) {
            s->u[i] = s->inputs[i].hold ? s->before[i] : s->inputs[i].fallback;
            flags |= FLAG_FALLBACK;
        }
    }
    if (flags & FLAG_FALLBACK)
        atomic_fetch_add_explicit(&s->told->fallbacks, 1, memory_order_relaxed);
    return flags;
}

/* Whether a step that was discarded is the end of the simulation: the unit asked for it, and got on until then. (One of
   pythonfmu says that it is terminated whenever it refuses a step.) */
static int terminated(Loop *s, int status, double t)
{
    int is_terminated = 0;
    double end = t;
    if (s->fmi != 2 || status != DISCARD || s->get_boolean_status == NULL || s->get_real_status == NULL
        || s->get_boolean_status(s->component, FMI_TERMINATED, &is_terminated) != OK || !is_terminated)
        return 0;
    s->get_real_status(s->component, LAST_SUCCESSFUL_TIME, &end);
    if (!(end > t))
        return 0;
    s->told->terminated_at = fmin(end, t + s->step) - s->start;
    return 1;
}

static int begin_event(Loop *s)
{
    int status = s->enter_event_mode(s->component);
    return status > WARNING ? IN_EVENT_MODE + status : status;
}

/* Update until nothing changes any more, note the next event in time, and leave event mode, unless the unit ends. */
static int end_event(Loop *s, bool *ends)
{
    bool again = true, nominals, values, defined = false;
    double next = INFINITY;
    for (int k = 0; again && !*ends; k++) {
        if (k == MOST_EVENTS)
            return ENDLESS;
        again = false;
        int status = s->update_discrete_states(s->component, &again, ends, &nominals, &values, &defined, &next);
        if (status > WARNING)
            return IN_EVENT_MODE + status;
    }
    s->next_event = defined ? next : INFINITY;
    int status = *ends ? OK : s->enter_step_mode(s->component);
    return status > WARNING ? IN_EVENT_MODE + status : status;
}

/* Note that the unit ends the simulation at a time within the step from t, or fail if it made none. */
static int end_at(Loop *s, double end, double t, int status)
{
    if (!(end > t))
        return NO_STEP;
    s->told->terminated_at = fmin(end, t + s->step) - s->start;
    return status;
}

/* The status of a step by FMI 3.0. It may end the simulation. Without event mode an early return is a failure, as it was
   not allowed; with it events end parts of the step. See `Slave` in hil/cosimulation.py, which does the same. */
static int step_of_fmi3(Loop *s, double t)
{
    double begin = t, stop = t + s->step, slack = 1e-9 * s->step;
    bool ends = false;
    int worst = s->enter_event_mode ? end_event(s, &ends) : OK;
    if (worst > WARNING || ends)
        return ends ? NO_STEP : worst;
    for (int k = 0; k < MOST_EVENTS; k++) {
        bool event = false, early = false;
        double end = begin, until = s->next_event < stop - slack ? s->next_event : stop;
        double length = begin == t && until == stop ? s->step : until - begin;
        int status = ((int (*)(void *, double, double, bool, bool *, bool *, bool *, double *))s->do_step)(
            s->component, begin, length, true, &event, &ends, &early, &end);
        if (status > WARNING)
            return status;
        worst = status > worst ? status : worst;
        if (ends)
            return end_at(s, end, t, worst);
        if (!s->enter_event_mode)
            return early ? EARLY : worst;
        if (event || s->next_event <= end + slack) {
            status = begin_event(s);
            status = status > WARNING ? status : end_event(s, &ends);
            if (status > WARNING)
                return status;
            if (ends)
                return end_at(s, end, t, worst);
        }
        if (end >= stop - slack || (!early && until == stop))
            return worst;
        begin = end;
    }
    return ENDLESS;
}

static int step(Loop *s, double t)
{
    if (s->fmi == 3)
        return step_of_fmi3(s, t);
    return ((int (*)(void *, double, double, int))s->do_step)(s->component, t, s->step, 1);
}

static int call(Loop *s, int status, int name)
{
    if (status == WARNING)
        atomic_fetch_add_explicit(&s->told->warnings, 1, memory_order_relaxed);
    if (status == OK || status == WARNING)
        return 1;
    s->told->status = status;
    s->told->failed_call = name;
    return 0;
}

/* Set the parameters that are to change before step k; what a unit refuses stays as it was, and wanted. */
static int tune(Loop *s, int64_t k)
{
    for (; s->changed < s->n_changes && s->changes[s->changed].step <= k; s->changed++)
        s->p_wanted[s->changes[s->changed].index] = s->changes[s->changed].value;
    for (int64_t i = 0; i < s->n_p; i++) {
        double before = s->p[i];
        if (isnan(s->p_wanted[i]))
            continue;
        s->p[i] = s->p_wanted[i];
        s->p_wanted[i] = NAN;
        if (!call(s, set(s, k, &s->tunes[i], s->p), s->tunes[i].call)) {
            s->p_wanted[i] = s->p[i];
            s->p[i] = before;
            return 0;
        }
    }
    return 1;
}

/* The first output that is not finite counts from 1; 0 if all are. */
static int64_t not_finite(const Loop *s)
{
    int bad = 0;
    for (int64_t i = 0; i < s->n_checked; i++)
        bad |= !(fabs(s->y[i]) <= DBL_MAX);
    for (int64_t i = 0; bad && i < s->n_checked; i++)
        if (!isfinite(s->y[i]))
            return i + 1;
    return 0;
}

/* What was half fetched does not count: outputs that hold keep the value before the step. */
static void fall_back(Loop *s, int failed)
{
    if (failed)
        memcpy(s->y, s->y_before, (size_t)s->n_y * sizeof(double));
    for (int64_t i = 0; i < s->n_y; i++)
        if (!isnan(s->y_fallback[i]))
            s->y[i] = s->y_fallback[i];
}

static int64_t ended_by(Loop *s)
{
    return atomic_load_explicit(&s->told->asked_to_stop, memory_order_acquire) ? STOPPED : RUNNING;
}

static int advance(Loop *s, int64_t k, int64_t entered, int *flags)
{
    for (int64_t i = 0; i < s->n_faults; i++) {
        Fault *f = &s->faults[i];
        if (f->kind == OVERLOAD && active(f, k, 0.0)) {
            int64_t until = now() + (int64_t)f->value;
            while ((entered = now()) < until && ended_by(s) == RUNNING)
                ;
            *flags |= FLAG_FAULT;
        }
        if (f->kind == UNIT_ERROR && active(f, k, 0.0)) {
            *flags |= FLAG_FAULT | FLAG_UNIT;
            fall_back(s, 0);
            return 1;
        }
    }
    atomic_store_explicit(&s->told->entered, entered, memory_order_relaxed);
    int64_t made = atomic_load_explicit(&s->told->made, memory_order_relaxed);
    int well = !s->enter_event_mode || call(s, begin_event(s), 0);
    well = well && tune(s, k);
    for (int64_t i = 0; i < s->n_sets && well; i++)
        well = call(s, set(s, made, &s->sets[i], s->u), s->sets[i].call);
    if (well) {
        double t = s->start + (double)made * s->step;
        int status = step(s, t);
        well = terminated(s, status, t) || call(s, status, 0);
    }
    for (int64_t i = 0; i < s->n_gets && well; i++)
        well = call(s, get(s, &s->gets[i]), s->gets[i].call);
    atomic_store_explicit(&s->told->entered, 0, memory_order_relaxed);
    if (!well || (s->told->failed_output = not_finite(s))) {
        *flags |= FLAG_UNIT;
        fall_back(s, 1);
        return 0;
    }
    atomic_store_explicit(&s->told->made, made + 1, memory_order_relaxed);
    *flags |= disturb(s, k, s->y, s->n_u, s->n_y);
    return 1;
}

static void record(Loop *s, int64_t k, double t, const double *y, double step_time, double lateness, int flags)
{
    int64_t recorded = atomic_load_explicit(&s->told->recorded, memory_order_relaxed);
    if (recorded - atomic_load_explicit(&s->told->consumed, memory_order_acquire) >= s->record_rows) {
        atomic_fetch_add_explicit(&s->told->lost, 1, memory_order_relaxed);
        return;
    }
    double *row = &s->records[((uint64_t)recorded % (uint64_t)s->record_rows) * (uint64_t) (HEAD + s->n_u + s->n_y + s->n_p)];
    row[0] = (double)k;
    row[1] = t;
    row[2] = step_time;
    row[3] = lateness;
    row[4] = flags;
    memcpy(row + HEAD, s->u, (size_t)s->n_u * sizeof(double));
    memcpy(row + HEAD + s->n_u, y, (size_t)s->n_y * sizeof(double));
    memcpy(row + HEAD + s->n_u + s->n_y, s->p, (size_t)s->n_p * sizeof(double));
    atomic_store_explicit(&s->told->recorded, recorded + 1, memory_order_release);
}

static void wake(const Loop *s)
{
    if (s->wake >= 0) {
        uint64_t one = 1;
        ssize_t written = write(s->wake, &one, sizeof one);
        (void)written;
    }
}

static void publish(Loop *s, int64_t k)
{
    int64_t sequence = atomic_load_explicit(&s->told->sequence, memory_order_relaxed);
    atomic_store_explicit(&s->told->sequence, sequence + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    s->latest[0] = (double)k;
    memcpy(s->latest + 1, s->u, (size_t)s->n_u * sizeof(double));
    memcpy(s->latest + 1 + s->n_u, s->y, (size_t)s->n_y * sizeof(double));
    memcpy(s->latest + 1 + s->n_u + s->n_y, s->p, (size_t)s->n_p * sizeof(double));
    atomic_store_explicit(&s->told->sequence, sequence + 2, memory_order_release);
    wake(s);
}

static void sleep_until(int64_t time)
{
    struct timespec t = {time / 1000000000, time % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL); /* a signal may end it early: then the clock decides */
}

/* A loop that is behind does not wait for deadlines. It naps now and then, since the system ends a real-time thread that
   never sleeps (RLIMIT_RTTIME, see hil/host.py). Returns when it last slept. */
static int64_t nap(int64_t slept)
{
    int64_t t = now();
    if (t - slept < 500000000)
        return slept;
    struct timespec shortly = {0, 50000}; /* from now on: a time of the clock may have passed, and the thread not slept */
    clock_nanosleep(CLOCK_MONOTONIC, 0, &shortly, NULL);
    return t;
}

static void *run(void *argument)
{
    Loop *s = argument;
    double *y_before = s->y_before;
    int64_t state = DONE, due_number = 0, k = 0;
    int64_t t_0 = now() + (int64_t)llround(s->period), busy_until = 0, slept = now();
    for (; k < s->n_steps; k++, due_number++) {
        int64_t due = t_0 + llround((double)due_number * s->period);
        int64_t end = ended_by(s);
        while (end == RUNNING && now() < due - s->spin) {
            int64_t until = due - s->spin < now() + NAP ? due - s->spin : now() + NAP;
            sleep_until(until);
            slept = now();
            if (slept - until > s->told->max_oversleep)
                s->told->max_oversleep = slept - until;
            end = ended_by(s);
        }
        for (int64_t read = now(), before; end == RUNNING && read < due;) {
            end = ended_by(s);
            before = read;
            read = now();
            if (read - before > s->told->max_gap)
                s->told->max_gap = read - before;
        }
        if (end != RUNNING) {
            state = end;
            break;
        }
        slept = nap(slept);
        int64_t began = now();
        memcpy(y_before, s->y, (size_t)s->n_y * sizeof(double));
        obey(s, k);
        int flags = prepare(s, k, began);
        int well = advance(s, k, began, &flags);
        int64_t ended = now();
        int64_t next_due = t_0 + llround((double)(due_number + 1) * s->period);
        int missed = ended > next_due;
        int64_t by_steps = busy_until > due ? busy_until - due : 0;
        busy_until = due + by_steps + ended - began;
        if (well) {
            if (k == 0)
                s->told->first_began = began;
            s->told->last_ended = ended;
            if (ended - began > s->told->max_step_time)
                s->told->max_step_time = ended - began;
            if (began - due > s->told->max_lateness) {
                s->told->max_lateness = began - due;
                s->told->latest_step = k;
                s->told->by_steps = by_steps;
            }
            count(s->step_times, ended - began);
            count(s->latenesses, began - due);
            record(s, k, (double)k * s->step, y_before, 1e-9 * (double)(ended - began), 1e-9 * (double)(began - due), flags | missed);
        }
        publish(s, k + 1);
        if (!well) {
            state = FAILED;
            break;
        }
        if (!isnan(s->told->terminated_at)) {
            k++;
            state = TERMINATED;
            break;
        }
        if (missed) {
            atomic_fetch_add_explicit(&s->told->misses, 1, memory_order_relaxed);
            if (busy_until <= next_due)
                atomic_fetch_add_explicit(&s->told->late, 1, memory_order_relaxed);
            if (s->policy == STOP) {
                k++;
                state = OVERRUN;
                break;
            }
            while (s->policy == SKIP && t_0 + llround((double)(due_number + 1) * s->period) < ended) {
                due_number++;
                atomic_fetch_add_explicit(&s->told->skipped, 1, memory_order_relaxed);
            }
        }
    }
    if (state != FAILED)
        prepare(s, k, now());
    record(s, k, state == TERMINATED ? s->told->terminated_at : (double)k * s->step, state == FAILED ? y_before : s->y, NAN,
           NAN, state == FAILED ? FLAG_UNIT : 0);
    fall_back(s, 0);
    publish(s, k);
    atomic_store_explicit(&s->told->state, state, memory_order_release);
    wake(s);
    return NULL;
}

/* End a loop whose thread makes no more steps: fall-back outputs, a last record, state CRASHED. */
void loop_abandon(Loop *s, int64_t crash)
{
    int64_t state = atomic_load(&s->told->state), sequence = atomic_load(&s->told->sequence), k = (int64_t)s->latest[0];
    if (state > RUNNING && state <= TERMINATED && state != CRASHED)
        return;
    fall_back(s, 1);
    if (sequence % 2)
        atomic_store(&s->told->sequence, sequence + 1); /* it ended while it published */
    if (state != CRASHED) {
        s->told->crash = crash;
        record(s, k, (double)k * s->step, s->y_before, NAN, NAN, FLAG_UNIT);
    }
    publish(s, k);
    atomic_store_explicit(&s->told->state, CRASHED, memory_order_release);
    wake(s);
}

static void crash(int number)
{
    Loop *s = atomic_exchange(&guarded, NULL);
    if (s != NULL)
        loop_abandon(s, number);
    signal(number, SIG_DFL);
    raise(number);
}

/* The unit called exit(): what else would run now is not for this process, which is a copy of another. */
static void leave(void)
{
    Loop *s = atomic_exchange(&guarded, NULL);
    if (s != NULL)
        loop_abandon(s, 0);
    _exit(LEFT);
}

/* Take care of crashes and of exit() in this process. */
void loop_guard(Loop *s)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = crash;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    atomic_store(&guarded, s);
    always = 1;
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i], &action, NULL);
    atexit(leave);
}

static void *run_guarded(void *argument)
{
    static char room[1 << 14]; /* for handlers, since the stack may be what is used up */
    stack_t other = {.ss_sp = room, .ss_size = sizeof room};
    sigaltstack(&other, NULL);
    return run(argument);
}

/* SIGINT, SIGTERM and SIGHUP end the loop after its step, unless they were ignored; a second one acts as usual. */
static void note(int number)
{
    Loop *s = atomic_load(&watched);
    noted = number;
    if (s != NULL) {
        s->told->signal_number = number;
        atomic_store_explicit(&s->told->asked_to_stop, 1, memory_order_release);
    }
    for (int i = 0; i < SIGNALS && !always; i++)
        sigaction(signals[i], &before[i], NULL);
}

void loop_watch_signals(Loop *s)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = note;
    noted = 0;
    atomic_store(&watched, s);
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], &action, &before[i]);
        if (before[i].sa_handler == SIG_IGN) /* as nohup has it */
            sigaction(signals[i], &before[i], NULL);
    }
}

/* Put the handlers back; returns the signal that came, or 0. */
int loop_leave_signals(void)
{
    for (int i = 0; i < SIGNALS && !noted; i++)
        sigaction(signals[i], &before[i], NULL);
    atomic_store(&watched, NULL);
    return noted;
}

/* Start the thread; returns 0 or why it could not. Scheduler and affinity are taken if permitted, and errors noted. */
int loop_start(Loop *s)
{
    pthread_attr_t attributes;
    cpu_set_t cpus;
    s->stack = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (s->stack == MAP_FAILED)
        return errno;
    mprotect(s->stack, GUARD, PROT_NONE);
    char *stack = (char *)s->stack + GUARD;
    mlock(stack, STACK);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    int error = 0;
    if (s->priority > 0) {
        struct sched_param parameter = {.sched_priority = s->priority};
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        pthread_attr_setschedparam(&attributes, &parameter);
        error = pthread_create(&s->thread, &attributes, run_guarded, s);
        s->told->scheduler_error = error;
    }
    if (s->priority <= 0 || error) {
        pthread_attr_setinheritsched(&attributes, PTHREAD_INHERIT_SCHED);
        error = pthread_create(&s->thread, &attributes, run_guarded, s);
    }
    pthread_attr_destroy(&attributes);
    if (!error && s->cpu >= 0) {
        CPU_ZERO(&cpus);
        CPU_SET(s->cpu, &cpus);
        s->told->affinity_error = pthread_setaffinity_np(s->thread, sizeof cpus, &cpus);
    }
    if (error)
        munmap(s->stack, GUARD + STACK);
    return error;
}

/* Wait for the end of the thread. */
void loop_join(Loop *s)
{
    pthread_join(s->thread, NULL);
    munmap(s->stack, GUARD + STACK);
}

void loop_stop(Loop *s) { atomic_store_explicit(&s->told->asked_to_stop, 1, memory_order_release); }
int64_t loop_state(Loop *s) { return atomic_load_explicit(&s->told->state, memory_order_acquire); }
int64_t loop_entered(Loop *s) { return atomic_load_explicit(&s->told->entered, memory_order_relaxed); }
int64_t loop_recorded(Loop *s) { return atomic_load_explicit(&s->told->recorded, memory_order_acquire); }
void loop_consume(Loop *s, int64_t n) { atomic_fetch_add_explicit(&s->told->consumed, n, memory_order_release); }
int64_t loop_taken(Loop *s) { return atomic_load_explicit(&s->told->taken, memory_order_acquire); }
void loop_supply(Loop *s, int64_t n) { atomic_fetch_add_explicit(&s->told->supplied, n, memory_order_release); }

/* One command; 0 if the ring is full. */
int loop_command(Loop *s, int64_t kind, int64_t index, double value, int64_t stamp)
{
    int64_t ordered = atomic_load_explicit(&s->told->ordered, memory_order_relaxed);
    if (ordered - atomic_load_explicit(&s->told->obeyed, memory_order_acquire) >= COMMANDS)
        return 0;
    s->commands[(uint64_t)ordered % COMMANDS] = (Command){kind, index, stamp, value};
    atomic_store_explicit(&s->told->ordered, ordered + 1, memory_order_release);
    return 1;
}

/* Copy the newest k, inputs, outputs and parameters, all of one step. A thread that stands still while it publishes, as one that was
   killed does, is not waited for: then they may be of two steps. */
void loop_latest(Loop *s, double *row)
{
    int64_t first, last, reads = 0;
    do {
        first = atomic_load_explicit(&s->told->sequence, memory_order_acquire);
        memcpy(row, s->latest, (size_t)(1 + s->n_u + s->n_y + s->n_p) * sizeof(double));
        atomic_thread_fence(memory_order_acquire);
        last = atomic_load_explicit(&s->told->sequence, memory_order_relaxed);
    } while ((first != last || first % 2) && ++reads < READS);
}

/* Whether this is text in UTF-8 without control characters; its last character may be cut off. */
static int printable(const char *text)
{
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        int more = *at < 0x80 ? 0 : *at >> 5 == 6 ? 1 : *at >> 4 == 14 ? 2 : *at >> 3 == 30 ? 3 : -1;
        if (more < 0)
            return 0;
        uint32_t code = more ? *at & (0x3fu >> more) : *at;
        at++;
        for (int k = 0; k < more; k++, at++) {
            if (*at == '\0')
                return 1;
            if (*at >> 6 != 2)
                return 0;
            code = code << 6 | (*at & 0x3f);
        }
        if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (code >= 0x7f && code < 0xa0) ||
            (code < ' ' && strchr("\t\n\r", (int)code) == NULL))
            return 0;
    }
    return 1;
}

/* A text at an address that may be none, up to `room` bytes with its end: its length, or -1 where there is none that can be
   read and printed. The system copies, never beyond a line of the cache at a time, so an address that is none does no harm. */
static int text_at(const char *from, char *to, int room)
{
    int n = 0;
    while (n < room) {
        int left = (int)(64 - (uintptr_t)(from + n) % 64), size = left < room - n ? left : room - n;
        struct iovec own = {to + n, (size_t)size}, other = {(void *)(uintptr_t)(from + n), (size_t)size};
        if (process_vm_readv(getpid(), &own, 1, &other, 1, 0) != size)
            return -1;
        if (memchr(to + n, '\0', (size_t)size) != NULL)
            break;
        n += size;
    }
    to[room - 1] = '\0';
    return printable(to) ? (int)strlen(to) : -1;
}

/* One conversion of printf at `at`, behind its per cent sign, with its argument; what follows it, or NULL if it is none
   of numbers and texts: then it stays as it is. Each argument is fetched as the type that is named, also one that is not
   shown: that of %n, and a text of wide characters. */
static const char *converted(const char *at, va_list *values, char *out, size_t room)
{
    char form[16] = "%", text[MESSAGE];
    size_t n = 1;
    int sizes[2] = {-1, -1}, longs = 0, extended = 0;
    while (*at != '\0' && strchr("-+#0", *at) != NULL && n < 5)
        form[n++] = *at++;
    for (int k = 0; k < 2; k++) { /* width and precision */
        if (k == 1 && *at++ != '.') {
            at--;
            break;
        }
        if (*at == '*') {
            sizes[k] = va_arg(*values, int);
            at++;
        } else if (k == 1 || (*at >= '1' && *at <= '9')) {
            sizes[k] = 0;
            for (; *at >= '0' && *at <= '9'; at++)
                sizes[k] = sizes[k] < MESSAGE ? 10 * sizes[k] + *at - '0' : MESSAGE;
        }
        sizes[k] = sizes[k] < -1 ? -1 : sizes[k] >= MESSAGE ? MESSAGE - 1 : sizes[k];
    }
    for (; *at != '\0' && strchr("hlzjtqL", *at) != NULL; at++)
        longs += *at == 'h' ? 0 : 1, extended |= *at == 'L';
    if (sizes[0] >= 0)
        n += (size_t)snprintf(form + n, 5, "%d", sizes[0]);
    if (sizes[1] >= 0)
        n += (size_t)snprintf(form + n, 5, ".%d", sizes[1]);
    if (*at == 'n' || (longs && *at == 's'))
        (void)va_arg(*values, void *);
    if (*at == '\0' || strchr("diuxXocsfFeEgGaAp", *at) == NULL || (longs && *at == 's'))
        return NULL;
    if (strchr("diuxXo", *at) != NULL) {
        long long value = longs ? va_arg(*values, long long) : *at == 'd' || *at == 'i' ? (long long)va_arg(*values, int)
                                                                         : (long long)va_arg(*values, unsigned);
        snprintf(form + n, sizeof form - n, "ll%c", *at);
        snprintf(out, room, form, value);
    } else if (strchr("fFeEgGaA", *at) != NULL) {
        snprintf(form + n, sizeof form - n, "%c", *at);
        snprintf(out, room, form, extended ? (double)va_arg(*values, long double) : va_arg(*values, double));
    } else if (*at == 'c') {
        int value = va_arg(*values, int);
        snprintf(out, room, "%c", value >= ' ' && value < 127 ? value : '?');
    } else if (*at == 'p') {
        snprintf(out, room, "%p", va_arg(*values, void *));
    } else {
        int most = sizes[1] >= 0 && sizes[1] < MESSAGE - 1 ? sizes[1] + 1 : MESSAGE;
        if (text_at(va_arg(*values, const char *), text, most) < 0)
            return NULL;
        snprintf(form + n, sizeof form - n, "s");
        snprintf(out, room, form, text);
    }
    return at + 1;
}

static char *place_of(Log *log, int status)
{
    int64_t ring = status != OK, place = (int64_t)((uint64_t)atomic_fetch_add(&log->kept[ring], 1) % MESSAGES);
    place += ring * MESSAGES;
    log->order[place] = atomic_fetch_add(&log->count, 1);
    log->status[place] = status;
    return log->text[place];
}

/* Logger of FMI. By the standard a message is a format for printf, but some units pass plain text: so a per cent sign
   that begins no conversion, or one to what is no text, stays, and nothing is ever written by one. Of what is
   no failure only MESSAGES in a millisecond are written out, the others stay formats: a unit that logs thousands of lines
   in a step shall not be slowed down. Without an environment nothing is noted. */
void loop_log(void *environment, const char *instance, int status, const char *category, const char *message, ...)
{
    Log *log = environment;
    (void)instance;
    (void)category;
    if (log == NULL)
        return;
    static _Thread_local int64_t window, written;
    int64_t instant = now() / 1000000;
    char *out = place_of(log, status), *end = out + MESSAGE - 1;
    written = instant == window ? written + 1 : 0;
    window = instant;
    if (written >= MESSAGES && status <= WARNING) {
        strncpy(out, message != NULL ? message : "", MESSAGE - 1);
        *end = '\0';
        return;
    }
    va_list values;
    va_start(values, message);
    for (const char *at = message != NULL ? message : ""; *at != '\0' && out < end;) {
        const char *next = NULL;
        if (at[0] == '%' && at[1] == '%')
            at++;
        else if (*at == '%')
            next = converted(at + 1, &values, out, (size_t)(end - out) + 1);
        if (next == NULL) {
            *out++ = *at++;
        } else {
            out += strnlen(out, (size_t)(end - out));
            at = next;
        }
    }
    va_end(values);
    *out = '\0';
}

void loop_log_of_fmi3(void *environment, int status, const char *category, const char *message)
{
    Log *log = environment;
    (void)category;
    if (log == NULL)
        return;
    strncpy(place_of(log, status), message != NULL ? message : "", MESSAGE - 1);
}

int64_t loop_size(void) { return (int64_t)(sizeof(Loop) + sizeof(Told)); }
