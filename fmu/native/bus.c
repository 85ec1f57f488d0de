/* The node of a CAN network, see bus.h: operations of FMI-LS-BUS 1.0.0 in binary variables.

   Received operations count from the end of an iteration of event mode on. An operation of a wrong format changes
   nothing and is answered with a Format Error. Frames are guarded as those of rtcvt.hil.bus: CRC-8 SAE J1850 and a
   counter, where the database has them. At each tick of its clock a node sends the messages that are due; at the first it
   configures the network. With BusNotifications it counts errors: it repeats frames that lost the arbitration, tells its
   state, and is silent for 128 times 11 bits when it is off the bus. */

enum { FORMAT_ERROR = 0x01, TRANSMIT = 0x10, FD_TRANSMIT = 0x11, XL_TRANSMIT = 0x12, CONFIRM = 0x20,
       ARBITRATION_LOST = 0x30, BUS_ERROR = 0x31, CONFIGURATION = 0x40, STATUS = 0x41, WAKEUP = 0x42 };
enum { ERROR_ACTIVE = 1, ERROR_PASSIVE = 2, BUS_OFF = 3 };
enum { HEAD = 8, NEVER_SENT = 15, LEAP = 3 };

static void bus_start(Instance *I)
{
    Bus *b = &I->bus;
    memset(b, 0, sizeof *b);
    b->echo = NEVER_SENT;
    b->told = ERROR_ACTIVE;
    for (size_t k = 0; k <= N_MESSAGES; k++) {
        b->last[k] = -1;
    }
}

static bool bus_whole(const Bus *b)
{
    bool whole = (b->notifications == 0.0 || b->notifications == 1.0) && (b->built | 1) == 1 && b->ticks >= 0 && b->tec >= 0 && b->rec >= 0;
    whole = whole && b->told >= ERROR_ACTIVE && b->told <= BUS_OFF && b->pause >= 0 && (b->echo & 15) == b->echo;
    whole = whole && b->n_rx >= 0 && b->n_rx <= MOST_RECEIVED && b->n_tx >= 0 && b->n_tx <= MOST_SENT;
    whole = whole && b->n_replies >= 0 && b->n_replies <= MOST_REPLIES;
    for (size_t k = 0; k <= N_MESSAGES; k++) {
        whole = whole && b->next[k] >= 0 && b->next[k] < NEVER_SENT && b->last[k] >= -1 && b->last[k] < NEVER_SENT;
    }
    for (size_t k = 0; k <= N_SENT; k++) {
        whole = whole && (b->again[k] | 1) == 1;
    }
    return whole;
}

/* --- bits and bytes ----------------------------------------------------------------------------------------------- */

/* Bit k of a number, counted from its least significant one. */
static int place_of(Bits bits, int k)
{
    if (!bits.motorola) {
        return bits.start + k;
    }
    int n = 8 * (bits.start / 8) + 7 - bits.start % 8 + bits.length - 1 - k; /* from the first byte's top on */
    return 8 * (n / 8) + 7 - n % 8;
}

static uint64_t unpack(const uint8_t *data, Bits bits)
{
    uint64_t raw = 0;
    for (int k = 0; k < bits.length; k++) {
        int at = place_of(bits, k);
        raw |= (uint64_t)(data[at / 8] >> at % 8 & 1) << k;
    }
    return raw;
}

static void pack(uint8_t *data, Bits bits, uint64_t raw)
{
    for (int k = 0; k < bits.length; k++) {
        int at = place_of(bits, k);
        data[at / 8] = (uint8_t)((data[at / 8] & ~(1u << at % 8)) | (unsigned)(raw >> k & 1) << at % 8);
    }
}

/* Floats of 16 bits have no type in C. */
static double half(uint64_t raw)
{
    int exponent = (int)(raw >> 10 & 31), mantissa = (int)(raw & 1023);
    double value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                   : exponent     ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return raw >> 15 ? -value : value;
}

static uint64_t to_half(double value)
{
    uint64_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    int exponent;
    (void)frexp(size, &exponent);
    exponent = exponent < -13 || size == 0.0 ? -13 : exponent; /* size = mantissa 2^(exponent - 11) */
    uint64_t mantissa = (uint64_t)nearbyint(ldexp(size, 11 - exponent));
    return sign | (((uint64_t)(exponent + 13) << 10) + mantissa); /* the first bit of a normal one counts up */
}

static double decoded(const Carried *c, const uint8_t *data)
{
    uint64_t raw = unpack(data, c->bits);
    float narrow;
    double value;
    if (c->is_float && c->bits.length == 16) {
        return half(raw);
    }
    if (c->is_float && c->bits.length == 32) {
        uint32_t word = (uint32_t)raw;
        memcpy(&narrow, &word, sizeof narrow);
        return narrow;
    }
    if (c->is_float) {
        memcpy(&value, &raw, sizeof value);
        return value;
    }
    int top = c->bits.length - 1;
    if (c->is_signed && raw >> top & 1) {
        return -(double)((~raw & (((uint64_t)1 << top) - 1)) + 1);
    }
    return (double)raw;
}

static uint64_t encoded(const Carried *c, double value)
{
    uint64_t raw;
    if (!c->is_float) {
        value = nearbyint(value);
        return value < 0.0 ? ~(uint64_t)(-value) + 1 : (uint64_t)value;
    }
    if (c->bits.length == 16) {
        return to_half(value);
    }
    if (c->bits.length == 32) {
        float narrow = (float)value;
        uint32_t word;
        memcpy(&word, &narrow, sizeof word);
        return word;
    }
    memcpy(&raw, &value, sizeof raw);
    return raw;
}

/* CRC-8 SAE J1850 of identifier and data without the byte of the CRC. */
static uint8_t crc8(uint32_t id, const uint8_t *data, int size, int without)
{
    uint8_t crc = 0xFF;
    for (int k = -2; k < size; k++) {
        if (k == without) {
            continue;
        }
        crc ^= k < 0 ? (uint8_t)(id >> 8 * (k + 2)) : data[k];
        for (int bit = 0; bit < 8; bit++) {
            crc = (uint8_t)(crc & 0x80 ? crc << 1 ^ 0x1D : crc << 1);
        }
    }
    return crc ^ 0xFF;
}

static uint32_t number(const uint8_t *bytes, int n)
{
    uint32_t value = 0;
    for (int k = 0; k < n; k++) {
        value |= (uint32_t)bytes[k] << 8 * k;
    }
    return value;
}

/* Append a number of n bytes; the caller has looked for room. */
static void append(uint8_t *bytes, int64_t *end, uint32_t value, int n)
{
    for (int k = 0; k < n; k++) {
        bytes[(*end)++] = (uint8_t)(value >> 8 * k);
    }
}

static void operation(Bus *b, uint32_t code, uint32_t length)
{
    append(b->tx, &b->n_tx, code, 4);
    append(b->tx, &b->n_tx, length, 4);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static int64_t status_of(const Bus *b)
{
    return b->pause > 0 ? BUS_OFF : b->tec > 127 || b->rec > 127 ? ERROR_PASSIVE : ERROR_ACTIVE;
}

/* One frame with the values of now; none if one of these is not finite. */
static void transmit(Instance *I, const Frame *f)
{
    Bus *b = &I->bus;
    uint8_t data[64];
    memcpy(data, f->data, sizeof data);
    for (size_t k = f->first; k < f->first + f->n; k++) {
        const Carried *c = CARRIED + k;
        double value = c->variable == N_VARIABLES ? (double)(b->ticks & 0xFFFF) : 1.0;
        if (c->variable < N_VARIABLES) {
            value = (*place(I, VARIABLES + c->variable) - c->shift) / c->factor;
        }
        if (!is_finite(value)) {
            return;
        }
        pack(data, c->bits, encoded(c, (fmin(fmax(value, c->low), c->high) - c->offset) / c->scale));
    }
    pack(data, f->alive, (uint64_t)b->next[f->message]);
    b->next[f->message] = (b->next[f->message] + 1) % NEVER_SENT;
    pack(data, f->echo, (uint64_t)b->echo);
    if (f->crc >= 0) {
        data[f->crc] = crc8(f->id, data, f->length, f->crc);
    }
    operation(b, f->fd ? FD_TRANSMIT : TRANSMIT, (f->fd ? 17u : 16u) + (uint32_t)f->size);
    append(b->tx, &b->n_tx, f->id, 4);
    append(b->tx, &b->n_tx, f->extended, 1);
    append(b->tx, &b->n_tx, 0, f->fd ? 2 : 1); /* no remote frame; one bit rate, no error state */
    append(b->tx, &b->n_tx, (uint32_t)f->size, 2);
    memcpy(b->tx + b->n_tx, data, (size_t)f->size);
    b->n_tx += f->size;
}

static void configure(Bus *b)
{
    uint32_t rates[2] = {BITRATE, BITRATE_FD};
    for (unsigned k = 0; k < 2; k++) {
        if (rates[k]) {
            operation(b, CONFIGURATION, 13);
            append(b->tx, &b->n_tx, k + 1, 1);
            append(b->tx, &b->n_tx, rates[k], 4);
        }
    }
    operation(b, CONFIGURATION, 10);
    append(b->tx, &b->n_tx, 0x0104, 2); /* of lost arbitrations: buffer and retransmit */
}

/* Make the operations of a tick. */
static Status bus_build(Instance *I)
{
    Bus *b = &I->bus;
    if (b->built) {
        return OK;
    }
    Status status = refresh(I);
    if (status != OK) {
        return status;
    }
    b->n_tx = 0;
    if (b->ticks == 0) {
        configure(b);
    }
    memcpy(b->tx + b->n_tx, b->replies, (size_t)b->n_replies);
    b->n_tx += b->n_replies;
    b->n_replies = 0;
    if (b->pause > 0 && --b->pause == 0) {
        b->tec = b->rec = 0;
    }
    int64_t now = status_of(b);
    if (now != b->told) {
        operation(b, STATUS, 9);
        append(b->tx, &b->n_tx, (uint32_t)now, 1);
        b->told = now;
    }
    for (size_t k = 0; k < N_SENT && now != BUS_OFF; k++) {
        if (b->ticks % SENT[k].every == 0 || b->again[k]) {
            transmit(I, SENT + k);
        }
        b->again[k] = 0;
    }
    b->built = 1;
    return OK;
}

/* --- reception ---------------------------------------------------------------------------------------------------- */

/* Whether a received value is a number, and which one of its variable. */
static bool is_number(const Carried *c, double raw, double *value)
{
    *value = c->factor * (c->scale * raw + c->offset) + c->shift;
    if (!is_finite(*value)) {
        return false;
    }
    bool listed = false;
    for (size_t k = c->first; k < c->first + c->n; k++) {
        listed = listed || NUMBERS[k] == (c->items ? *value : raw);
    }
    if (c->items || listed) {
        return c->items && listed;
    }
    bool beyond = !(*value >= c->low - c->margin && *value <= c->high + c->margin);
    if (beyond && !c->is_float && !c->is_signed && c->bits.length >= 2) { /* numbers that SAE J1939 reserves */
        double kept = c->bits.length < 8 ? ldexp(1.0, c->bits.length) - 2.0 : 254.0 * ldexp(1.0, c->bits.length - 8);
        if (raw >= kept) {
            return false;
        }
    }
    *value = fmin(fmax(*value, c->low), c->high);
    return true;
}

static void take_values(Instance *I, const Frame *f, const uint8_t *data)
{
    memcpy(I->p_scratch, I->p, sizeof I->p);
    bool tunes = false;
    for (size_t k = f->first; k < f->first + f->n; k++) {
        const Carried *c = CARRIED + k;
        const Variable *v = VARIABLES + c->variable;
        double value;
        if (!is_number(c, decoded(c, data), &value)) {
            continue;
        }
        if (v->kind == INPUT) {
            I->u[v->index] = value;
        } else if (settable(I, v, value)) {
            I->p[v->index] = value;
            tunes = true;
        }
    }
    if (tunes) {
        (void)tune(I);
    }
    outdate(I);
}

/* A frame of the network: of those that are known the one with its multiplexers, if its guards are right. */
static void take_frame(Instance *I, uint32_t id, bool extended, const uint8_t *data, int size)
{
    Bus *b = &I->bus;
    bool counted = false;
    for (size_t k = 0; k < N_RECEIVED; k++) {
        const Frame *f = RECEIVED + k;
        if (f->id != id || f->extended != extended || size < f->length) {
            continue;
        }
        if (f->crc >= 0 && crc8(id, data, f->length, f->crc) != data[f->crc]) {
            return;
        }
        bool same = true;
        for (int at = 0; at < f->length; at++) {
            same = same && ((data[at] ^ f->data[at]) & f->mask[at]) == 0;
        }
        if (!same) {
            continue;
        }
        if (f->alive.length && !counted) {
            int64_t alive = (int64_t)unpack(data, f->alive), before = b->last[f->message];
            if (alive == NEVER_SENT) {
                return;
            }
            int64_t ahead = before < 0 ? 1 : (alive - before + NEVER_SENT) % NEVER_SENT;
            b->last[f->message] = alive;
            if (ahead == 0 || ahead > LEAP) {
                return;
            }
            b->echo = f->message == RECEIVED[0].message ? alive : b->echo;
        }
        counted = true;
        take_values(I, f, data);
    }
}

/* Whether the arguments of an operation are what it needs. */
static bool is_well_formed(const uint8_t *op, uint32_t code, uint32_t length)
{
    uint32_t head = code == TRANSMIT ? 16 : code == FD_TRANSMIT ? 17 : code == XL_TRANSMIT ? 22 : 10;
    switch (code) {
    case FORMAT_ERROR:
    case TRANSMIT:
    case FD_TRANSMIT:
    case XL_TRANSMIT: {
        if (length < head || length - head != number(op + head - 2, 2)) {
            return false;
        }
        uint32_t most = code == TRANSMIT ? 8 : code == FD_TRANSMIT ? 64 : code == XL_TRANSMIT ? 2048 : UINT32_MAX;
        bool flags = code == FORMAT_ERROR || (op[12] <= 1 && op[13] <= 1 && (code != FD_TRANSMIT || op[14] <= 1));
        return length - head <= most && flags
               && (code == FORMAT_ERROR || number(op + 8, 4) <= (op[12] ? 0x1FFFFFFFu : 0x7FFu));
    }
    case CONFIRM:
    case ARBITRATION_LOST: return length == 12;
    case BUS_ERROR: return length == 15 && op[12] >= 1 && op[12] <= 6 && op[13] >= 1 && op[13] <= 2 && op[14] <= 1;
    case CONFIGURATION: return length >= 9 && op[8] >= 1 && op[8] <= 4 && length == (op[8] == 4 ? 10u : 13u);
    case STATUS: return length == 9 && op[8] >= ERROR_ACTIVE && op[8] <= BUS_OFF;
    case WAKEUP: return length == HEAD;
    default: return false;
    }
}

/* A notification of a network whose errors are simulated. */
static void take_notification(Bus *b, const uint8_t *op, uint32_t code)
{
    uint32_t id = number(op + 8, 4);
    if (code == CONFIRM) {
        b->tec -= b->tec > 0;
    } else if (code == ARBITRATION_LOST) {
        for (size_t k = 0; k < N_SENT; k++) {
            b->again[k] |= SENT[k].id == id;
        }
    } else if (op[14]) {
        b->tec += 8;
    } else {
        b->rec += op[13] == 1 ? 8 : 1;
        b->rec = b->rec > 255 ? 255 : b->rec;
    }
    if (b->tec > 255 && b->pause == 0) {
        b->pause = 1 + (int64_t)ceil(128 * 11 / (double)BITRATE / TX_INTERVAL);
    }
}

static void reply(Instance *I, const uint8_t *op, uint32_t length)
{
    Bus *b = &I->bus;
    if (length > 0xFFFF || b->n_replies + 10 + (int64_t)length > MOST_REPLIES) {
        refuse(I, DISCARD, "no room to answer an operation of %lu bytes whose format is wrong", (unsigned long)length);
        return;
    }
    append(b->replies, &b->n_replies, FORMAT_ERROR, 4);
    append(b->replies, &b->n_replies, 10 + length, 4);
    append(b->replies, &b->n_replies, length, 2);
    memcpy(b->replies + b->n_replies, op, length);
    b->n_replies += length;
}

static void bus_receive(Instance *I)
{
    Bus *b = &I->bus;
    uint32_t left = (uint32_t)b->n_rx;
    for (const uint8_t *op = b->rx; left > 0;) {
        uint32_t code = left >= 4 ? number(op, 4) : 0, length = left >= HEAD ? number(op + 4, 4) : 0;
        if (length < HEAD || length > left) { /* where the next one begins nobody knows */
            length = left;
            reply(I, op, length);
        } else if (!is_well_formed(op, code, length)) {
            if (code != FORMAT_ERROR) {
                reply(I, op, length);
            }
        } else if (code == FORMAT_ERROR) {
            refuse(I, DISCARD, "the network could not read an operation of this node (code 0x%02lX)",
                   (unsigned long)(length > 10 ? op[10] : 0));
        } else if ((code == TRANSMIT && !op[13]) || code == FD_TRANSMIT) {
            int head = code == TRANSMIT ? 16 : 17;
            b->rec -= b->rec > 0;
            take_frame(I, number(op + 8, 4), op[12], op + head, (int)length - head);
        } else if ((code == CONFIRM || code == ARBITRATION_LOST || code == BUS_ERROR) && b->notifications != 0.0) {
            take_notification(b, op, code);
        }
        op += length;
        left -= length;
    }
    b->n_rx = 0;
}

/* --- clocks ------------------------------------------------------------------------------------------------------- */

/* The end of an iteration of event mode. */
static Status bus_update(Instance *I)
{
    Bus *b = &I->bus;
    Status status = OK;
    if (I->bus_clock[1] == ACTIVE) {
        status = bus_build(I);
        b->ticks += status == OK;
        b->built = 0;
        I->bus_clock[1] = TICKED;
    }
    if (I->bus_clock[0] == ACTIVE) {
        bus_receive(I);
        I->bus_clock[0] = INACTIVE; /* it may tick once more */
    }
    return status;
}

static Status bus_get(Instance *I, const Variable *v, size_t *size, fmi3Binary *bytes)
{
    Bus *b = &I->bus;
    bool sent = v->kind == TX_DATA;
    if (sent && I->bus_clock[1] == ACTIVE) {
        Status status = bus_build(I);
        if (status != OK) {
            return status;
        }
    }
    bool there = sent ? I->bus_clock[1] == ACTIVE : I->bus_clock[0] == ACTIVE;
    *bytes = sent ? b->tx : b->rx;
    *size = there ? (size_t)(sent ? b->n_tx : b->n_rx) : 0;
    return OK;
}

static Status bus_set(Instance *I, const Variable *v, size_t size, fmi3Binary bytes)
{
    Bus *b = &I->bus;
    if (v->kind != RX_DATA) {
        return refuse(I, ERROR, "%s is computed", v->name);
    }
    if (!(I->mode & BEFORE_RUN) && I->bus_clock[0] != ACTIVE) {
        return refuse(I, ERROR, "the clock of %s is not active", v->name);
    }
    if (size > MOST_RECEIVED || (size > 0 && !bytes)) {
        return refuse(I, ERROR, "%s: at most %lu bytes", v->name, (unsigned long)MOST_RECEIVED);
    }
    if (size > 0) {
        memcpy(b->rx, bytes, size);
    }
    b->n_rx = I->mode & BEFORE_RUN ? 0 : (int64_t)size; /* a start value is none of a tick */
    return OK;
}
