/* Saved states from hostile hands: bytes that are no state, damaged ones, and forged ones with a right checksum.
   Whatever is accepted is used: it gives finite results or none, and what is saved then is accepted again.

   usage: misuse_states SEED RUNS */

#include <stdlib.h>

#include "all.c"
#include "random_calls.h"

static long live; /* blocks of memory */
static long accepted, refused, results, withheld;

static void *take(size_t n, size_t size)
{
    live++;
    return calloc(n, size);
}

static void give(void *p)
{
    live -= p != NULL;
    free(p);
}

static void listen(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                   fmi2String message, ...)
{
    (void)environment;
    CHECK(name && category && message && message[0] && (status == fmi2Error || status == fmi2Discard));
}

static const fmi2CallbackFunctions CALLBACKS = {listen, take, give, NULL, NULL};

/* What a call returned with numbers is finite, or is not returned. */
static void judge(fmi2Status status, const double *values, size_t n)
{
    CHECK(status == fmi2OK || status == fmi2Error || status == fmi2Discard);
    if (status == fmi2OK) {
        CHECK(all_finite(values, n));
        results++;
    } else {
        withheld++;
    }
}

static void read_all(fmi2Component c)
{
    double values[N_X + 1];
    for (fmi2ValueReference k = 0; k < N_VARIABLES; k++) {
        int flag;
        if (VARIABLES[k].kind == INPUT) {
            continue; /* they may be whatever they were set to */
        }
        if (VARIABLES[k].type == REAL) {
            judge(fmi2GetReal(c, &k, 1, values), values, 1);
        } else {
            CHECK(fmi2GetBoolean(c, &k, 1, &flag) != fmi2OK || flag == fmi2True || flag == fmi2False);
        }
    }
    judge(fmi2GetDerivatives(c, values, N_X), values, N_X);
    judge(fmi2GetContinuousStates(c, values, N_X), values, N_X);
}

static fmi2Component instantiate(fmi2Type type)
{
    fmi2Component c = fmi2Instantiate("unit", type, MODEL_GUID, "", &CALLBACKS, fmi2False, fmi2True);
    CHECK(c);
    return c;
}

/* A state of a unit that runs. */
static void sample(fmi2Type type, Snapshot *s)
{
    fmi2Component c = instantiate(type);
    fmi2FMUstate state = NULL;
    CHECK(fmi2SetupExperiment(c, fmi2False, 0.0, 0.0, fmi2False, 0.0) == fmi2OK);
    CHECK(fmi2EnterInitializationMode(c) == fmi2OK && fmi2ExitInitializationMode(c) == fmi2OK);
    if (type == fmi2CoSimulation) {
        CHECK(fmi2DoStep(c, 0.0, 1e-3, fmi2True) == fmi2OK);
    }
    CHECK(fmi2GetFMUstate(c, &state) == fmi2OK);
    CHECK(fmi2SerializeFMUstate(c, state, (fmi2Byte *)s, sizeof *s) == fmi2OK);
    CHECK(fmi2FreeFMUstate(c, &state) == fmi2OK);
    fmi2FreeInstance(c);
}

/* Use bytes as a state, as far as the unit takes them; returns whether it did. */
static bool use(fmi2Type type, const void *bytes, size_t size)
{
    fmi2Component c = instantiate(type);
    fmi2FMUstate state = NULL;
    fmi2Status status = fmi2DeSerializeFMUstate(c, bytes, size, &state);
    CHECK(status == fmi2OK ? state != NULL : status == fmi2Error && state == NULL);
    if (state) {
        accepted++;
        CHECK(fmi2SetFMUstate(c, state) == fmi2OK);
        for (int round = 0; round < 3; round++) {
            double t = 0.0;
            Snapshot again;
            fmi2EventInfo info;
            read_all(c);
            CHECK(fmi2GetFMUstate(c, &state) == fmi2OK);
            CHECK(fmi2SerializeFMUstate(c, state, (fmi2Byte *)&again, sizeof again) == fmi2OK);
            CHECK(fmi2DeSerializeFMUstate(c, (fmi2Byte *)&again, sizeof again, &state) == fmi2OK);
            (void)fmi2EnterInitializationMode(c); /* whichever of these it is the moment for */
            (void)fmi2ExitInitializationMode(c);
            (void)fmi2NewDiscreteStates(c, &info);
            (void)fmi2EnterContinuousTimeMode(c);
            (void)fmi2GetRealStatus(c, fmi2LastSuccessfulTime, &t);
            CHECK(fmi2DoStep(c, t, 1e-3, fmi2True) <= fmi2Error);
        }
        CHECK(fmi2FreeFMUstate(c, &state) == fmi2OK);
    } else {
        refused++;
    }
    bool taken = status == fmi2OK;
    fmi2FreeInstance(c);
    CHECK(live == 0);
    return taken;
}

/* The first byte says how to read the rest: as a state, or as places and contents to overwrite in a good one. */
static void try_state(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return;
    }
    fmi2Type type = data[0] & 1 ? fmi2CoSimulation : fmi2ModelExchange;
    Snapshot s;
    const uint8_t *rest = data + 1;
    size_t n = size - 1;
    if (data[0] & 2) {
        (void)use(type, rest, n);
        return;
    }
    sample(data[0] & 4 ? fmi2CoSimulation : fmi2ModelExchange, &s);
    for (; n >= 10; rest += 10, n -= 10) { /* entries have 8 bytes */
        size_t place = ((size_t)rest[0] + 256u * rest[1]) % (sizeof s / 8);
        memcpy((char *)&s + 8 * place, rest + 2, 8);
    }
    if (data[0] & 8) {
        s.checksum = checksum(&s);
    }
    (void)use(type, &s, data[0] & 16 && n > 0 ? rest[0] % sizeof s : sizeof s);
}

static void put_any(uint8_t *entry)
{
    static const double odd[] = {0.0, -1.0, 1e-320, 1e300, -1e13, NAN, INFINITY, -INFINITY};
    double number = any(3) ? (double)any(2001) - 1000.0 : odd[any(8)];
    uint64_t whole = any(2) ? any(64) : UINT64_C(1) << any(64);
    if (any(4)) {
        memcpy(entry, &number, 8);
    } else {
        memcpy(entry, &whole, 8);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    seed = (uint64_t)atol(argv[1]);
    long runs = atol(argv[2]);
    for (int type = fmi2ModelExchange; type <= fmi2CoSimulation; type++) {
        Snapshot s;
        sample((fmi2Type)type, &s);
        CHECK(use((fmi2Type)type, &s, sizeof s));
        for (size_t n = 0; n < sizeof s; n++) {
            CHECK(!use((fmi2Type)type, &s, n));
        }
        for (size_t bit = 0; bit < 8 * sizeof s; bit++) { /* none goes unnoticed */
            ((uint8_t *)&s)[bit / 8] ^= (uint8_t)(1u << bit % 8);
            CHECK(!use((fmi2Type)type, &s, sizeof s));
            ((uint8_t *)&s)[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        s.type = type == fmi2ModelExchange ? fmi2CoSimulation : fmi2ModelExchange;
        s.checksum = checksum(&s);
        CHECK(!use((fmi2Type)type, &s, sizeof s));
    }
    for (long k = 0; k < runs; k++) {
        uint8_t data[64];
        size_t n = 1 + any(sizeof data);
        bool same = any(2); /* a state of the interface that it is for */
        for (size_t i = 0; i < n; i++) {
            data[i] = (uint8_t)any(256);
        }
        for (size_t i = 3; i + 8 <= n; i += 10) {
            put_any(data + i);
        }
        if (any(4)) { /* forged */
            data[0] = (uint8_t)(8u | any(2));
            data[0] |= (uint8_t)(same == (data[0] & 1) ? 4u : 0u);
        }
        try_state(data, n);
    }
    printf("{\"accepted\": %ld, \"refused\": %ld, \"results\": %ld, \"withheld\": %ld}\n", accepted, refused, results,
           withheld);
    return 0;
}
