/* A unit of FMI 2.0 with what a host needs of it; its messages have arguments of all kinds. */

#include <stdlib.h>
#include <string.h>
typedef void (*Log)(void *, const char *, int, const char *, const char *, ...);
typedef struct { Log logger; void *allocate, *release, *finished, *environment; } Callbacks;
static double r[16], start;
static int written;
static const Callbacks *host;
void *fmi2Instantiate(const char *n, int k, const char *g, const char *p, const Callbacks *c, int v, int l)
{ host = c; return r; }
void fmi2FreeInstance(void *c) {}
int fmi2SetupExperiment(void *c, int d, double tolerance, double t, int s, double end) { start = r[4] = t; return 0; }
int fmi2EnterInitializationMode(void *c) { return 0; }
static int say(int status, const char *text)
{ host->logger(host->environment, "unit", status, "log", text, r[9]); return status; }
int fmi2ExitInitializationMode(void *c) { return r[9] > 100.0 ? say(3, "##1: #r9# = %g, #b9#, #1#") : 0; }
int fmi2Terminate(void *c) { return 0; }
int fmi2SetReal(void *c, const unsigned *v, size_t n, const double *x)
{ while (n--) r[v[n]] = x[n]; return r[9] < 0.0 ? say(3, "#r9# below 0") : 0; }
int fmi2GetReal(void *c, const unsigned *v, size_t n, double *x) { while (n--) x[n] = r[v[n]]; return 0; }
int fmi2DoStep(void *c, double t, double h, int p)
{
    r[2] = r[0], r[3] = r[1], r[4] = t + h, r[5] = 2.0 * r[0], r[6] = 0.0 / (r[7] - r[7]);
    if (r[1] > 8.5)
        host->logger(host->environment, "unit", 0, "log",
                     "%-4s|%5.2f|%03d|%s|%s|%s|%s|%.2s|%lld%%|%n|%*d|%ls|%lc|%Lg|%a|%hhd|%zu|%7000d|%0", "ab", 3.14159, 7,
                     (const char *)8, "40 \xc2\xb0", "@\xef\x5b\x7f", "\xc0\xaf", "\xc2\xb0\xb0", 1234567890123LL,
                     &written, 4, 5, L"wide", 'c', 2.5L, 1.0, 6, (size_t)8, 7);
    if (r[9] == 8.0)
        return say(3, "#r9# is %g");
    if (r[9] == 7.0 && t < h) /* a warning, and then more than is kept of what is none */
        return say(1, "#r9# near a limit of #r0#");
    for (int i = 0; r[9] == 7.0 && i < 30; i++)
        say(0, "well");
    r[4] += written; /* nobody writes it */
    return r[1] > 8.5 ? 3 : 0;
}
