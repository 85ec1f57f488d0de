/* The instructions of a step, counted one by one: while the trap flag is set, the processor sends a signal after each. For
   Linux on x86-64; see sheet.py. */

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { INSTRUCTIONS, DIVISIONS, SQUARE_ROOTS, FRAME, STACK, COUNTS };

static int64_t counts[COUNTS];
static uintptr_t entry, top; /* top: of the stack when the step is called, or 0 */

static void raise_to(int place, int64_t value)
{
    if (value > counts[place])
        counts[place] = value;
}

/* The instruction that comes next. */
static void note(int number, siginfo_t *info, void *context)
{
    const greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = (const unsigned char *)registers[REG_RIP];
    uintptr_t stack = (uintptr_t)registers[REG_RSP];
    (void)number;
    (void)info;
    if ((uintptr_t)at == entry && top == 0)
        top = stack;
    if (top == 0 || stack > top) {
        entry = top == 0 ? entry : 0; /* it has returned */
        top = 0;
        return;
    }
    counts[INSTRUCTIONS]++;
    raise_to(STACK, (int64_t)(top - stack));
    while (*at == 0x66 || *at == 0xF2 || *at == 0xF3 || (*at & 0xF0) == 0x40)
        at++; /* prefixes */
    if (*at == 0x0F && at[1] == 0x5E)
        counts[DIVISIONS]++;
    else if (*at == 0xF7 && (at[1] >> 3 & 7) >= 6) /* of integers */
        counts[DIVISIONS]++;
    else if (*at == 0x0F && at[1] == 0x51)
        counts[SQUARE_ROOTS]++;
    else if (*at == 0x83 && at[1] == 0xEC) /* sub rsp */
        raise_to(FRAME, (int8_t)at[2]);
    else if (*at == 0x81 && at[1] == 0xEC) {
        int32_t size;
        memcpy(&size, at + 2, sizeof size);
        raise_to(FRAME, size);
    }
}

/* Make a step: fmi3DoStep, or fmi2DoStep, which takes the first four arguments only. */
__attribute__((visibility("default"), noinline)) int counted(void *function, void *component, double t, double h, int64_t *found)
{
    int flags[3];
    double end;
    struct sigaction action, before;
    memset(counts, 0, sizeof counts);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO;
    entry = (uintptr_t)function;
    top = 0;
    sigaction(SIGTRAP, &action, &before);
    __asm__ volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
    int status = ((int (*)(void *, double, double, int, void *, void *, void *, void *))function)(
        component, t, h, 1, &flags[0], &flags[1], &flags[2], &end);
    __asm__ volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
    sigaction(SIGTRAP, &before, NULL);
    memcpy(found, counts, sizeof counts);
    return status;
}
