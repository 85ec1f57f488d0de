/* A unit as a node of a CAN network by FMI-LS-BUS 1.0.0 (network abstraction). model.c defines BUS, the sizes N_SENT,
   N_RECEIVED, N_MESSAGES, MOST_RECEIVED, MOST_SENT and MOST_REPLIES [bytes], BITRATE, BITRATE_FD [bit/s], 0 if there is
   none, TX_INTERVAL [s] and these tables:

   SENT, RECEIVED  frames, one for each setting of a message's multiplexers
   CARRIED         their signals that are variables
   NUMBERS         for received signals: raw values that are no numbers, or the items of an enumeration */

#include <stdint.h>

/* Bits of a frame: those of byte k are 8 k to 8 k + 7 from its least significant one on. A number of Motorola's order
   begins with its most significant bit, one of Intel's with its least. */
typedef struct {
    int start;
    int length; /* 0: there is none */
    bool motorola;
} Bits;

typedef struct {
    Bits bits;
    bool is_signed;
    bool is_float;
    double scale; /* signal = scale raw + offset */
    double offset;
    double factor; /* variable = factor signal + shift */
    double shift;
    double low; /* sent: of the signal; received: of the variable */
    double high;
    double margin; /* received: by which a rounded value may miss its range */
    size_t variable; /* index in VARIABLES; N_VARIABLES: the heartbeat, one more: the state of the node */
    size_t first;  /* in NUMBERS */
    size_t n;
    bool items; /* these are all that there are */
} Carried;

typedef struct {
    uint32_t id;
    bool extended;
    bool fd;
    int size;     /* [bytes] on the network */
    int length;   /* [bytes] of the message, without padding */
    int message;  /* whose counter it has */
    int every;    /* ticks between two that are sent */
    int crc;      /* its byte, -1: there is none */
    Bits alive;
    Bits echo;
    size_t first; /* in CARRIED */
    size_t n;
    uint8_t mask[64]; /* received: bits that have to be those of `data` */
    uint8_t data[64]; /* sent: what no variable changes */
} Frame;

/* What a node remembers; entries of 8 bytes only. */
typedef struct {
    double notifications; /* are expected */
    int64_t ticks;    /* of the clock of sending */
    int64_t built;    /* `tx` is that of this tick */
    int64_t tec;      /* errors of sending and of reception (CAN 2.0, fault confinement) */
    int64_t rec;
    int64_t told;     /* status that the network knows */
    int64_t pause;    /* ticks left of bus-off */
    int64_t echo;
    int64_t next[N_MESSAGES + 1];   /* counter of a message that is sent */
    int64_t last[N_MESSAGES + 1];   /* and of one that was received, -1 before the first */
    int64_t again[N_SENT + 1];      /* lost its arbitration */
    int64_t n_rx;
    int64_t n_tx;
    int64_t n_replies;
    uint8_t rx[MOST_RECEIVED];
    uint8_t tx[MOST_SENT];
    uint8_t replies[MOST_REPLIES];
} Bus;
