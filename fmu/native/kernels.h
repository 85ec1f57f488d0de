#if defined(__FAST_MATH__)
#error "the kernels need exact floating-point arithmetic: compile without -ffast-math"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __GNUC__
typedef float __attribute__((may_alias)) single; /* two of which are packed in the place of a double */
#else
typedef float single;
#endif
