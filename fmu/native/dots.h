#ifdef LANES
typedef double dot __attribute__((vector_size(8 * LANES), aligned(8))); /* along so many directions */
#define LANE(a, k) (a)[k]
#else
typedef double dot;
#define LANES 1
#define LANE(a, k) (a)
#endif

static inline bool dots_equal(dot a, dot b)
{
    bool equal = true;
    for (int k = 0; k < LANES; k++) {
        equal &= LANE(a, k) == LANE(b, k);
    }
    return equal;
}

/* Of the first that differ; else what is given. */
static inline bool dots_below(bool given, dot a, dot b)
{
    for (int k = 0; k < LANES; k++) {
        if (LANE(a, k) < LANE(b, k) || LANE(a, k) > LANE(b, k)) {
            return LANE(a, k) < LANE(b, k);
        }
    }
    return given;
}
