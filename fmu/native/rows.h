/* Functions NAME_any go through rows of numbers. NAME is one of three that are made of each: for any
   processor, and for those with vectors of 256 and 512 bits; which one is decided when the unit is loaded. The bits are
   the same, since no sum is reordered or contracted. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ONE_FOR_ALL
#endif
#endif
#if defined(ONE_FOR_ALL) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef ONE_FOR_ALL
#define ONE_FOR_ALL
#elif !(defined(__x86_64__) && defined(__ELF__) && defined(__GLIBC__) && defined(__GNUC__))
#define ONE_FOR_ALL
#endif
#ifdef ONE_FOR_ALL
#define ROWS
#define OF_ROWS(result, name, parameters, arguments, give) \
    static result name parameters { give name##_any arguments; }
#else
#include <cpuid.h>
#define ROWS inline __attribute__((always_inline))
#define OF_ROWS(result, name, parameters, arguments, give) \
    static result name##_narrow parameters { give name##_any arguments; } \
    static __attribute__((target("avx2"))) result name##_wide parameters { give name##_any arguments; } \
    static __attribute__((target("avx2,avx512f,avx512dq,avx512vl"))) result name##_widest parameters \
    { \
        give name##_any arguments; \
    } \
    static result (*name##_here(void)) parameters \
    { \
        int vectors = wide_vectors(); \
        return vectors == 2 ? name##_widest : vectors == 1 ? name##_wide : name##_narrow; \
    } \
    static result name parameters __attribute__((ifunc(#name "_here")));

static int wide_vectors(void) /* 1: 256 bits, 2: 512 bits */
{
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & 0x18000000u) != 0x18000000u) {
        return 0; /* AVX, and a system that saves its registers */
    }
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6u) != 6u || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 0x20u)) {
        return 0;
    }
    return (low & 0xe6u) == 0xe6u && (b & 0x80030000u) == 0x80030000u ? 2 : 1;
}
#endif
