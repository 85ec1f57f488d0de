/* A native unit on a network that gets random operations, for a build with sanitizers: whole ones with random arguments
   and ones that are cut or have a wrong length. What it sends are whole operations.

   usage: bus_buffers SEED TICKS */

#include <stdlib.h>

#include "all.c"
#include "random_calls.h"

int main(int n, char **arguments)
{
    CHECK(n == 3);
    seed = (uint64_t)atoi(arguments[1]);
    static const uint32_t codes[] = {0x01, 0x10, 0x11, 0x12, 0x20, 0x30, 0x31, 0x40, 0x41, 0x42, 0x43};
    static const uint32_t lengths[] = {12, 16, 17, 22, 12, 12, 15, 13, 9, 8, 9};
    long answers = 0, sent = 0, status = 0, off = 0;
    fmi3Instance c = fmi3InstantiateCoSimulation("unit", MODEL_GUID, NULL, false, false, true, false, NULL, 0, NULL, NULL, NULL);
    CHECK(c);
    Instance *I = c;
    I->log = 0;
    const uint32_t on = N_VARIABLES - 1, rx_clock = on - 4, rx = on - 3, tx_clock = on - 2, tx = on - 1;
    const fmi3Boolean yes = true;
    CHECK(fmi3SetBoolean(c, &on, 1, &yes, 1) == fmi3OK);
    CHECK(fmi3EnterInitializationMode(c, false, 0, 0, false, 0) == fmi3OK && fmi3ExitInitializationMode(c) == fmi3OK);
    for (long k = 0; k < atol(arguments[2]); k++) {
        uint8_t *data = malloc(4000); /* of its own, so that no read beyond it goes unseen */
        int64_t size = 0;
        for (unsigned left = any(12); left-- > 0;) {
            unsigned kind = any(11), more = kind >= 1 && kind <= 3 ? any(70) : any(4);
            if (kind == 6 && any(8)) {
                more = 0;
            }
            uint32_t length = lengths[kind] + more;
            uint32_t told = any(8) ? length : any(3) ? any(40) : any(UINT32_MAX);
            int64_t start = size;
            append(data, &size, codes[kind], 4);
            append(data, &size, told, 4);
            for (uint32_t at = 8; at < length; at++) {
                append(data, &size, any(2) ? any(3) : any(256), 1);
            }
            if (kind == 6 && any(4)) { /* a right error of a frame that was sent */
                int64_t at = start + 12;
                append(data, &at, 1 + any(6), 1);
                append(data, &at, 1 + any(2), 1);
                append(data, &at, any(4) > 0, 1);
            }
            if (kind <= 3 && any(4)) { /* often a right length of data and a known frame */
                int64_t at = start + (kind == 0 ? 8 : lengths[kind] - 2);
                append(data, &at, kind == 0 ? length - 10 : more, 2);
                const Frame *f = RECEIVED + any(N_RECEIVED);
                at = start + 8;
                if (kind != 0 && any(2)) {
                    append(data, &at, f->id, 4);
                    append(data, &at, f->extended, 1);
                }
            }
        }
        size -= size && !any(5) ? 1 + (int64_t)any((unsigned)(size < 9 ? size : 9)) : 0;
        uint8_t *exact = malloc((size_t)size + 1);
        memcpy(exact, data, (size_t)size);
        free(data);
        fmi3Binary bytes = exact;
        size_t bytes_size = (size_t)size;
        const fmi3Clock active = fmi3ClockActive;
        CHECK(fmi3SetClock(c, &rx_clock, 1, &active) == fmi3OK);
        CHECK(fmi3SetBinary(c, &rx, 1, &bytes_size, &bytes, 1) == fmi3OK);
        free(exact);
        fmi3Boolean flag;
        double t;
        CHECK(fmi3UpdateDiscreteStates(c, &flag, &flag, &flag, &flag, &flag, &t) == fmi3OK);
        CHECK(fmi3SetClock(c, &tx_clock, 1, &active) == fmi3OK);
        CHECK(fmi3GetBinary(c, &tx, 1, &bytes_size, &bytes, 1) == fmi3OK);
        bool silent = true;
        for (size_t at = 0; at < bytes_size;) {
            CHECK(bytes_size - at >= 8);
            uint32_t code = number(bytes + at, 4), length = number(bytes + at + 4, 4);
            CHECK(length >= 8 && length <= bytes_size - at);
            CHECK(code == FORMAT_ERROR ? length - 10 == number(bytes + at + 8, 2) : is_well_formed(bytes + at, code, length));
            answers += code == FORMAT_ERROR;
            sent += code == TRANSMIT || code == FD_TRANSMIT;
            status += code == STATUS;
            silent = silent && code != TRANSMIT && code != FD_TRANSMIT;
            at += length;
        }
        off += silent;
        CHECK(fmi3UpdateDiscreteStates(c, &flag, &flag, &flag, &flag, &flag, &t) == fmi3OK);
        fmi3FMUState state = NULL;
        CHECK(any(50) || (fmi3GetFMUState(c, &state) == fmi3OK && fmi3SetFMUState(c, state) == fmi3OK
                          && fmi3FreeFMUState(c, &state) == fmi3OK));
        CHECK(fmi3EnterStepMode(c) == fmi3OK);
        CHECK(fmi3DoStep(c, I->t, 2e-3, false, &flag, &flag, &flag, &t) == fmi3OK);
        CHECK(fmi3EnterEventMode(c) == fmi3OK);
    }
    fmi3FreeInstance(c);
    printf("{\"answers\": %ld, \"frames\": %ld, \"status\": %ld, \"off\": %ld}\n", answers, sent, status, off);
    return 0;
}
