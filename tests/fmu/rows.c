/* All forms of a kernel of rows, and the choice between them: how many differ, and whether vectors are wide. */
#include "kernels.c"
#include <stdio.h>
#include <string.h>

int main(void)
{
    static double w[41 * 37], a[41], out[4][37];
    unsigned long long seed = 1;
    int differ = 0, wide = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 41 * 37 + 41; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            (i < 41 ? a : w)[i < 41 ? i : i - 41] = ((double)(seed >> 11) * 0x1p-53 - 0.5) * (i % 7 ? 1.0 : 1e9);
        }
        int n = round % 42, m = round % 38;
        memset(out, 0, sizeof out);
        rt_add_rows_any(n, m, a, w, out[0]);
        rt_add_rows(n, m, a, w, out[1]);
        memcpy(out[2], out[0], sizeof out[0]);
        memcpy(out[3], out[0], sizeof out[0]);
#ifndef ONE_FOR_ALL
        memset(out[2], 0, 2 * sizeof out[0]);
        rt_add_rows_narrow(n, m, a, w, out[2]);
        wide = wide_vectors();
        (wide == 2 ? rt_add_rows_widest : wide ? rt_add_rows_wide : rt_add_rows_narrow)(n, m, a, w, out[3]);
#endif
        for (int k = 1; k < 4; k++) {
            differ += memcmp(out[0], out[k], sizeof out[0]) != 0;
        }
    }
    printf("%d %d", differ, wide);
    return 0;
}
