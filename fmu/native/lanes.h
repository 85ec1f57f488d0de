/* Numbers of LANES instances as one; see rtcvt.fmu.native.lanes, whose text follows, and batch.h. */

#define INLINE static inline __attribute__((always_inline))
#define MEMBER inline __attribute__((always_inline))
#pragma STDC FP_CONTRACT OFF
typedef __INT64_TYPE__ int64_t;
typedef float __attribute__((may_alias)) single; /* two of which are packed in the place of a double */
#define INFINITY __builtin_inf()
#define NAN __builtin_nan("")

INLINE double sqrt(double a) { return __builtin_sqrt(a); }
INLINE double fabs(double a) { return __builtin_fabs(a); }
INLINE double floor(double a) { return __builtin_floor(a); }
INLINE double ceil(double a) { return __builtin_ceil(a); }

#if LANES == 1
typedef double RtNumber;
#define lane(a, k) (a)
#else
typedef double Numbers __attribute__((vector_size(8 * LANES)));
typedef int64_t Bits __attribute__((vector_size(8 * LANES)));

#ifdef __ELF__
#define OWN static thread_local __attribute__((tls_model("initial-exec")))
#else
#define OWN static thread_local
#endif
OWN bool diverged; /* lanes want different ways */

/* A condition of each lane: all bits, or none. */
struct RtMask {
    Bits m;
    MEMBER RtMask(Bits bits) : m(bits) {}
    MEMBER RtMask(bool b) : m(Bits{} - (int64_t)b) {}
    MEMBER operator bool() const;
};

INLINE int64_t any_bit(Bits b)
{
    int64_t sum = 0;
    for (int k = 0; k < LANES; k++) {
        sum |= b[k];
    }
    return sum;
}

INLINE bool some(RtMask a) { return any_bit(a.m) != 0; }
INLINE bool some(bool a) { return a; }
INLINE RtMask operator!(RtMask a) { return RtMask(~a.m); }
INLINE RtMask operator&(RtMask a, RtMask b) { return RtMask(a.m & b.m); }
INLINE RtMask operator|(RtMask a, RtMask b) { return RtMask(a.m | b.m); }

MEMBER RtMask::operator bool() const
{
    bool first = m[0] != 0;
    diverged |= any_bit(m ^ RtMask(first).m) != 0;
    return first;
}

struct RtNumber {
    Numbers v;
    MEMBER RtNumber() {}
    MEMBER RtNumber(Numbers numbers) : v(numbers) {}
    MEMBER RtNumber(double d) : v(d - Numbers{}) {} /* also -0.0 */
    MEMBER RtNumber(int64_t i) : RtNumber((double)i) {}
    MEMBER RtNumber(int i) : RtNumber((double)i) {}
    MEMBER RtNumber operator-() const { return RtNumber(-v); }
    MEMBER RtNumber &operator+=(RtNumber b) { v += b.v; return *this; }
    MEMBER RtNumber &operator-=(RtNumber b) { v -= b.v; return *this; }
    MEMBER RtNumber &operator*=(RtNumber b) { v *= b.v; return *this; }
    MEMBER RtNumber &operator/=(RtNumber b) { v /= b.v; return *this; }
};

INLINE RtNumber operator+(RtNumber a, RtNumber b) { return RtNumber(a.v + b.v); }
INLINE RtNumber operator-(RtNumber a, RtNumber b) { return RtNumber(a.v - b.v); }
INLINE RtNumber operator*(RtNumber a, RtNumber b) { return RtNumber(a.v * b.v); }
INLINE RtNumber operator/(RtNumber a, RtNumber b) { return RtNumber(a.v / b.v); }
INLINE RtMask operator<(RtNumber a, RtNumber b) { return RtMask((Bits)(a.v < b.v)); }
INLINE RtMask operator>(RtNumber a, RtNumber b) { return RtMask((Bits)(a.v > b.v)); }
INLINE RtMask operator<=(RtNumber a, RtNumber b) { return RtMask((Bits)(a.v <= b.v)); }
INLINE RtMask operator>=(RtNumber a, RtNumber b) { return RtMask((Bits)(a.v >= b.v)); }
INLINE RtMask operator==(RtNumber a, RtNumber b) { return RtMask((Bits)(a.v == b.v)); }
INLINE RtMask operator!=(RtNumber a, RtNumber b) { return RtMask((Bits)(a.v != b.v)); }
INLINE RtNumber sqrt(RtNumber a) { return RtNumber(__builtin_elementwise_sqrt(a.v)); }
INLINE RtNumber fabs(RtNumber a) { return RtNumber(__builtin_elementwise_abs(a.v)); }
INLINE RtNumber floor(RtNumber a) { return RtNumber(__builtin_elementwise_floor(a.v)); }
INLINE RtNumber ceil(RtNumber a) { return RtNumber(__builtin_elementwise_ceil(a.v)); }
INLINE RtNumber whole(RtNumber a) { return RtNumber(__builtin_elementwise_trunc(a.v) + 0.0); } /* as an integer, whose 0 has no sign */
INLINE RtNumber choose(RtMask c, RtNumber a, RtNumber b) { return RtNumber((Numbers)((c.m & (Bits)a.v) | (~c.m & (Bits)b.v))); }

#define BOTH(a, b) ({ RtMask a_ = (a); some(a_) ? a_ & RtMask(b) : a_; })
#define EITHER(a, b) ({ RtMask a_ = (a); some(!a_) ? a_ | RtMask(b) : a_; })
#define PICK(test, a, b) ({ RtMask c_ = (test); some(c_) ? some(!c_) ? choose(c_, RtNumber(a), RtNumber(b)) : RtNumber(a) : RtNumber(b); })

INLINE int64_t same_int(double a) { return (int64_t)a; }
INLINE int64_t same_int(RtNumber a)
{
    diverged |= any_bit((Bits)(__builtin_elementwise_trunc(a.v) != __builtin_trunc(a.v[0]))) != 0;
    return (int64_t)a.v[0];
}

/* An array of one lane. */
struct RtLane {
    double *a;
    MEMBER double &operator[](int64_t i) const { return a[i * LANES]; }
    MEMBER RtLane operator+(int64_t i) const { return RtLane{a + i * LANES}; }
};

INLINE double lane(RtNumber a, int k) { return a.v[k]; }
INLINE int64_t lane(int64_t a, int k) { return a; }
INLINE bool lane(bool a, int k) { return a; }
INLINE const double *lane(const double *a, int k) { return a; }
INLINE RtLane lane(RtNumber *a, int k) { return RtLane{(double *)a + k}; }

/* Notes for the next calls of a kernel that its lanes went different ways. */
struct Tried {
    int &apart;
    bool before;
    MEMBER Tried(int &calls) : apart(calls), before(diverged) { diverged = false; }
    MEMBER ~Tried() { if (diverged) { apart = 1023; } diverged |= before; }
};

/* A kernel in all lanes together, and in each alone if these want different ways, or wanted them in a call before. */
#define TOGETHER(call) OWN int apart_; if (apart_ > 0) { apart_--; } else { \
    bool before_ = diverged; diverged = false; auto all_ = call; \
    if (__builtin_expect(!diverged, 1)) { diverged = before_; return all_; } diverged = before_; apart_ = 15; }
#define PERHAPS(call) OWN int apart_; if (apart_ > 0) { apart_--; } else { Tried tried_(apart_); return call; }
#define EACH for (int lane_ = 0; lane_ < LANES; lane_++)
#define ALONE(call) EACH { call; }
#define ALONE_NUMBER(call) RtNumber found_; EACH { found_.v[lane_] = call; } return found_;
#define ALONE_SAME(call) int lane_ = 0; auto found_ = call; \
    for (lane_ = 1; lane_ < LANES; lane_++) { diverged |= call != found_; } return found_;
#endif
