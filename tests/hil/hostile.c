/* An FMU that does what no unit should, in the step and the way that its parameters say (hostile.py). */

#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NOTHING, SEGFAULT, ABORT, BUS_ERROR, OVERFLOW, DIVIDE, ILLEGAL, EXIT, EXIT_AT_ONCE, KILLED, MEMORY, HANG, SLEEP,
       NOT_A_NUMBER, INFINITE, STATUS_7, STATUS_MINUS_1, AT_START, AT_END, HANG_AT_END, TERMINATES,
       ONES, ZEROS, THREES, RANDOM, FORKS, LEAVES, STOPPED };

static struct { int mode, is_over; double at, u, y, t; size_t length; } unit;
static volatile double sink;
static volatile int zero;

static double deeper(volatile char *above)
{
    volatile char room[4096];
    room[0] = above ? above[0] : 1;
    return deeper(room) + room[0];
}

/* Write over all memory that is shared with other processes. */
static int scribble(void)
{
    unsigned long first, last;
    char line[512], rights[8];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &first, &last, rights) == 3 && rights[1] == 'w' && rights[3] == 's')
            for (unsigned long p = first; p < last; p += 8)
                *(long *)p = unit.mode == ONES ? -1 : unit.mode == ZEROS ? 0 : unit.mode == THREES ? 3
                             : ((long)rand() << 33) ^ rand();
    fclose(maps);
    return 0;
}

/* Processes that want to stay: in sessions of their own, some of them grandchildren. */
static int leave_some(void)
{
    for (int i = 0; i < 6; i++)
        if (fork() == 0) {
            setsid();
            if (i % 2 && fork() != 0)
                _exit(0);
            for (;;)
                sleep(1000);
        }
    return 0;
}

static int misbehave(void)
{
    switch (unit.mode) {
    case ONES: case ZEROS: case THREES: case RANDOM: return scribble();
    case FORKS: unit.mode = NOTHING; return leave_some();
    case LEAVES: leave_some(); _exit(0);
    case SEGFAULT: *(volatile int *)8 = 1; break;
    case ABORT: abort();
    case BUS_ERROR: {
        FILE *file = tmpfile();
        volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
        page[0] = 1; /* beyond the end of the file */
        break;
    }
    case OVERFLOW: sink = deeper(NULL); break;
    case DIVIDE: sink = 7 / zero; break;
    case ILLEGAL: __builtin_trap();
    case EXIT: exit(0);
    case EXIT_AT_ONCE: _exit(0);
    case KILLED: raise(SIGKILL); break;
    case STOPPED: raise(SIGSTOP); break;
    case MEMORY:
        for (;;) {
            char *more = malloc(1 << 26);
            memset(more, 1, 1 << 26);
        }
    case HANG: for (;;) sink += 1; break;
    case SLEEP: for (;;) sleep(1000); break;
    case NOT_A_NUMBER: unit.y = NAN; break;
    case INFINITE: unit.y = INFINITY; break;
    case TERMINATES: unit.is_over = 1; return 2;
    case STATUS_7: return 7;
    case STATUS_MINUS_1: return -1;
    }
    return 0;
}

typedef void *C;
typedef const unsigned *R;
const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
C fmi2Instantiate(const char *n, int t, const char *g, const char *r, const void *f, int v, int l) { return &unit; }
void fmi2FreeInstance(C c) {}
int fmi2SetDebugLogging(C c, int on, size_t n, const char *const k[]) { return 0; }
int fmi2SetupExperiment(C c, int a, double b, double s, int d, double e) { return 0; }
int fmi2EnterInitializationMode(C c) { return 0; }
int fmi2ExitInitializationMode(C c)
{
    if (unit.mode == AT_START) { unit.mode = SEGFAULT; return misbehave(); }
    return 0;
}
int fmi2Terminate(C c)
{
    if (unit.mode == AT_END) { unit.mode = SEGFAULT; return misbehave(); }
    if (unit.mode == HANG_AT_END) { unit.mode = HANG; return misbehave(); }
    return 0;
}
int fmi2Reset(C c) { return 0; }
int fmi2SetReal(C c, R r, size_t n, const double v[])
{
    for (size_t i = 0; i < n; i++)
        if (r[i] == 0) unit.u = v[i]; else unit.at = v[i];
    return 0;
}
int fmi2GetReal(C c, R r, size_t n, double v[]) { for (size_t i = 0; i < n; i++) v[i] = unit.y; return 0; }
int fmi2SetInteger(C c, R r, size_t n, const int v[]) { unit.mode = v[0]; return 0; }
int fmi2GetInteger(C c, R r, size_t n, int v[]) { return 0; }
int fmi2SetBoolean(C c, R r, size_t n, const int v[]) { return 0; }
int fmi2GetBoolean(C c, R r, size_t n, int v[]) { return 0; }
int fmi2SetString(C c, R r, size_t n, const char *const v[]) { unit.length = strlen(v[0]); return 0; }
int fmi2GetString(C c, R r, size_t n, const char *v[]) { return 0; }
int fmi2GetFMUstate(C c, void **s) { return 3; }
int fmi2SetFMUstate(C c, void *s) { return 3; }
int fmi2FreeFMUstate(C c, void **s) { return 3; }
int fmi2SerializedFMUstateSize(C c, void *s, size_t *n) { return 3; }
int fmi2SerializeFMUstate(C c, void *s, char b[], size_t n) { return 3; }
int fmi2DeSerializeFMUstate(C c, const char b[], size_t n, void **s) { return 3; }
int fmi2GetDirectionalDerivative(C c, R u, size_t n, R k, size_t m, const double d[], double e[]) { return 3; }
int fmi2SetRealInputDerivatives(C c, R r, size_t n, const int o[], const double v[]) { return 0; }
int fmi2GetRealOutputDerivatives(C c, R r, size_t n, const int o[], double v[]) { return 0; }
int fmi2CancelStep(C c) { return 0; }
int fmi2GetStatus(C c, int k, int *v) { return 2; }
int fmi2GetRealStatus(C c, int k, double *v) { *v = unit.t; return unit.is_over ? 0 : 2; }
int fmi2GetIntegerStatus(C c, int k, int *v) { return 2; }
int fmi2GetBooleanStatus(C c, int k, int *v) { *v = unit.is_over; return unit.is_over ? 0 : 2; }
int fmi2GetStringStatus(C c, int k, const char **v) { return 2; }
int fmi2DoStep(C c, double t, double h, int go)
{
    unit.y = 7.0 + unit.length;
    unit.t = t + 0.4 * h;
    return t >= unit.at - 0.5 * h ? misbehave() : 0;
}
