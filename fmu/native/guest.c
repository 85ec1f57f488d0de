/* Calls of an FMU within this one. The file that includes this one defines FMI, its version, OF(name), the name of its
   function, NAME, TOKEN, START and STEP [s], KEEPS_STATE, and how values are set and got. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    Say *say;
    void *environment;
    Component c;
#if FMI == 2
    fmi2CallbackFunctions callbacks;
#endif
} Own;

#if FMI == 2
static void log_message(void *environment, fmi2String name, fmi2Status status, fmi2String category, fmi2String format,
                        ...)
{
    char text[512];
    va_list arguments;
    (void)name;
    (void)category;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ((Own *)environment)->say(((Own *)environment)->environment, NAME, (int)status, text);
}
#else
static void log_message(void *environment, fmi3Status status, fmi3String category, fmi3String text)
{
    (void)category;
    ((Own *)environment)->say(((Own *)environment)->environment, NAME, (int)status, text);
}
#endif

static void *make(Say *say, void *environment, const char *resources)
{
    char place[4096]; /* a URI in FMI 2.0, a path in FMI 3.0 */
    const char *path = strncmp(resources, "file://", 7) == 0 ? resources + 7 : resources;
    const char *slash = path[0] && path[strlen(path) - 1] != '/' ? "/" : "";
    Own *own = calloc(1, sizeof *own);
    if (!own) {
        return NULL;
    }
    own->say = say;
    own->environment = environment;
    snprintf(place, sizeof place, "%s%s%s%s%s", FMI == 2 ? "file://" : "", path, slash, NAME, FMI == 2 ? "" : "/");
#if FMI == 2
    fmi2CallbackFunctions callbacks = {log_message, calloc, free, NULL, own};
    memcpy(&own->callbacks, &callbacks, sizeof callbacks);
    own->c = OF(fmi2Instantiate)(NAME, fmi2CoSimulation, TOKEN, place, &own->callbacks, fmi2False, fmi2False);
#else
    own->c = OF(fmi3InstantiateCoSimulation)(NAME, TOKEN, place, false, false, false, false, NULL, 0, own, log_message,
                                             NULL);
#endif
    if (!own->c || !set_texts(own->c)) {
        free(own);
        return NULL;
    }
    return own;
}

static bool tune_own(void *own, const double *p, double *held)
{
    return tune(((Own *)own)->c, p, held);
}

static bool set_own(void *own, const double *u)
{
    return set(((Own *)own)->c, u);
}

static bool get_own(void *own, double *y)
{
    return get(((Own *)own)->c, y);
}

static bool initialise(void *own, const double *u)
{
    Component c = ((Own *)own)->c;
#if FMI == 2
    return OF(fmi2SetupExperiment)(c, fmi2False, 0.0, START, fmi2False, 0.0) <= 1
           && OF(fmi2EnterInitializationMode)(c) <= 1 && set(c, u) && OF(fmi2ExitInitializationMode)(c) <= 1;
#else
    return OF(fmi3EnterInitializationMode)(c, false, 0.0, START, false, 0.0) <= 1 && set(c, u)
           && OF(fmi3ExitInitializationMode)(c) <= 1;
#endif
}

static bool step_to(void *own, long k)
{
    Component c = ((Own *)own)->c;
    double t = START + (double)k * STEP;
#if FMI == 2
    return OF(fmi2DoStep)(c, t, STEP, !KEEPS_STATE) <= 1;
#else
    bool event = false, ends = false, early = false;
    double last = t;
    return OF(fmi3DoStep)(c, t, STEP, !KEEPS_STATE, &event, &ends, &early, &last) <= 1 && !ends && !early;
#endif
}

static bool state(void *own, int what, void **state)
{
    Component c = ((Own *)own)->c;
    (void)c;
    (void)what;
    (void)state;
#if !KEEPS_STATE
    return false;
#elif FMI == 2
    return (what == GET_STATE   ? OF(fmi2GetFMUstate)(c, state)
            : what == SET_STATE ? OF(fmi2SetFMUstate)(c, *state)
                                : OF(fmi2FreeFMUstate)(c, state)) <= 1;
#else
    return (what == GET_STATE   ? OF(fmi3GetFMUState)(c, state)
            : what == SET_STATE ? OF(fmi3SetFMUState)(c, *state)
                                : OF(fmi3FreeFMUState)(c, state)) <= 1;
#endif
}

static void end(void *own, bool failed)
{
    Component c = ((Own *)own)->c;
#if FMI == 2
    if (!failed) {
        OF(fmi2Terminate)(c);
    }
    OF(fmi2FreeInstance)(c);
#else
    if (!failed) {
        OF(fmi3Terminate)(c);
    }
    OF(fmi3FreeInstance)(c);
#endif
    free(own);
}
