/* What the core needs to know of a unit. Its model.c defines the sizes N_P, N_DATA, N_U, N_X, N_Y, N_WORK, N_VARIABLES
   and N_PARAMETERS, STATUS_FAILED, MODEL_GUID, FMI_FACE, STEP_SIZE, its own step [s], INTERNAL_STEP, the largest step [s] of
   those that rt_step makes of a longer one, INFINITY if it cannot be cut into them, CLOCK_INTERVAL [s], 0 if there is no
   clock, and these tables:

   P_START     start values of the parameters
   DATA        constants that all instances share: sizes, places and tables
   VARIABLES   parameters, inputs, outputs, then states, then their derivatives, in FMI 3.0 time, clock and network; the
               index of a variable is its value reference */

#include <stdbool.h>

#ifdef __GNUC__
#define ALIGNED __attribute__((aligned(64))) /* begins where a cache line does: rows of tables are read faster */
#else
#define ALIGNED
#endif

typedef enum {
    PARAMETER, INPUT, OUTPUT, STATE, DERIVATIVE, INDEPENDENT, CLOCK,
    RX_CLOCK, RX_DATA, TX_CLOCK, TX_DATA, NOTIFICATIONS /* of a network, see bus.h */
} Kind;
typedef enum { REAL, BOOLEAN, INTEGER, TICK, BINARY } Type;

typedef struct {
    const char *name;
    const char *unit;
    Kind kind;
    Type type;
    size_t index;   /* in the buffer of its kind */
    size_t length;  /* 1; of the first element of an array their number, of the others 0 */
    double start;   /* of an input */
    double minimum; /* of a parameter */
    double maximum;
    double nominal; /* of a state */
    bool tunable;   /* a parameter */
    bool clocked;   /* an input that is there at ticks of the clock only */
    bool carried;   /* one that comes from the network */
    bool latched;   /* a Boolean output that stays true until the communication step ends */
} Variable;
