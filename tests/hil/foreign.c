/* A unit of FMI 3.0 with arrays, all types, and flags that a step sets. Each type T has an input T (reference 2 i) and
   an output T_out (2 i + 1) that follows it, which test_importing_fmi3.py adds; Float64 has arrays instead, of 2 x 2
   (u, y = p u) and 2 (parameter p), and the scalars `mode` and `at`. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { NOTHING, EARLY, EARLY_END, ENDS, STUCK, ERROR, EVENT };
static struct { double u[4], y[4], p[2], mode, at; size_t length; } unit;
typedef void (*Log)(void *, int, const char *, const char *);
static void *environment;
static Log report;

void *fmi3InstantiateCoSimulation(const char *n, const char *token, const char *r, bool v, bool l, bool events,
                                  bool early, const uint32_t *needed, size_t n_needed, void *e, Log log, void *update)
{
    environment = e;
    report = log;
    if (strcmp(token, "{right}") || events || early || n_needed || r[strlen(r) - 1] != '/') {
        log(e, 3, "logStatusError", "100%s wrong");
        return NULL;
    }
    unit.p[0] = unit.p[1] = 1.0;
    unit.at = 0.05;
    return &unit;
}
void fmi3FreeInstance(void *c) {}
int fmi3EnterInitializationMode(void *c, bool d, double e, double t, bool s, double f) { return t == 0.0 ? 0 : 3; }
int fmi3ExitInitializationMode(void *c) { return 0; }
int fmi3Terminate(void *c) { return 0; }
int fmi3SetString(void *c, const uint32_t *r, size_t n, const char *const v[], size_t m)
{
    unit.length = strlen(v[0]);
    return n == 1 && m == 1 ? 0 : 3;
}
static double *place(uint32_t r, size_t *n)
{
    *n = r < 102 ? 4 : r == 102 ? 2 : 1;
    return r == 100 ? unit.u : r == 101 ? unit.y : r == 102 ? unit.p : r == 103 ? &unit.mode : &unit.at;
}
int fmi3SetFloat64(void *c, const uint32_t *r, size_t n, const double *v, size_t m)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++, v += size, m -= size) {
        double *to = place(r[i], &size);
        memcpy(to, v, size * sizeof(double));
    }
    return m == 0 ? 0 : 3;
}
int fmi3GetFloat64(void *c, const uint32_t *r, size_t n, double *v, size_t m)
{
    size_t size = 0;
    for (size_t i = 0; i < n; i++, v += size, m -= size) {
        double *from = place(r[i], &size);
        memcpy(v, from, size * sizeof(double));
    }
    return m == 0 ? 0 : 3;
}
int fmi3DoStep(void *c, double t, double h, bool never, bool *event, bool *terminate, bool *early, double *end)
{
    int mode = t >= unit.at - 0.5 * h ? (int)unit.mode : NOTHING;
    for (int i = 0; i < 4; i++)
        unit.y[i] = unit.p[i / 2] * unit.u[i] + unit.length;
    *event = mode == EVENT;
    *terminate = mode == ENDS || mode == EARLY_END || mode == STUCK;
    *early = mode == EARLY || mode == EARLY_END;
    *end = mode == STUCK ? t : mode == NOTHING || mode == EVENT || mode == ENDS ? t + h : t + 0.4 * h;
    if (mode == ERROR)
        report(environment, 3, "logStatusError", "lost 100%s of it");
    return mode == ERROR ? 3 : 0;
}
