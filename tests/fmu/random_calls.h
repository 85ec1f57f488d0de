/* For programs that call a unit at random: a check that aborts, and numbers that follow from a seed. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(truth) \
    do { \
        if (!(truth)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #truth); \
            abort(); \
        } \
    } while (0)

static uint64_t seed;

static inline unsigned any(unsigned n) /* 0 to n - 1 */
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(seed >> 33) % n;
}
