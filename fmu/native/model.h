/* What the core needs to know of a unit. Its model.c defines the sizes N_P, N_U, N_X, N_Y, N_WORK, N_VARIABLES and
   N_PARAMETERS, STATUS_FAILED, MODEL_GUID, STEP_SIZE, its own step [s], and these two tables:

   P_START     the parameter vector: structure of the unit and start values of its parameters
   VARIABLES   parameters, inputs, outputs, then states, then their derivatives; the index of a variable is its value
               reference */

typedef enum { PARAMETER, INPUT, OUTPUT, STATE, DERIVATIVE } Kind;
typedef enum { REAL, BOOLEAN } Type;

typedef struct {
    const char *name;
    const char *unit;
    Kind kind;
    Type type;
    size_t index;   /* in the buffer of its kind */
    double start;   /* of an input */
    double minimum; /* of a parameter */
    double maximum;
} Variable;
