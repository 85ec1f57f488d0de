"""A disk that fails, a clock that jumps: libraries to preload. Writes to regular files fail from a number of bytes on;
the wall clock is put on or back at a time."""

import os
import shutil
import subprocess
from pathlib import Path

__all__ = ["CLOCK", "build", "environment", "jumping"]

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files below FAIL_BELOW take FAIL_AFTER bytes in all; then each write gives the error FAIL_WITH. */
static long left = -1;

static ssize_t allowed(int file, size_t *size)
{
    char name[64], path[4096];
    const char *below = getenv("FAIL_BELOW");
    struct stat about;
    if (below == NULL || fstat(file, &about) || !S_ISREG(about.st_mode))
        return 0;
    strcpy(name, "/proc/self/fd/");
    char digits[16];
    int n = 0;
    for (int f = file; f > 0 || n == 0; f /= 10)
        digits[n++] = (char)('0' + f % 10);
    size_t at = strlen(name);
    while (n > 0)
        name[at++] = digits[--n];
    name[at] = 0;
    ssize_t length = readlink(name, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    if (strncmp(path, below, strlen(below)))
        return 0;
    if (left < 0)
        left = atol(getenv("FAIL_AFTER"));
    if (left == 0) {
        errno = atoi(getenv("FAIL_WITH"));
        return -1;
    }
    if (*size > (size_t)left)
        *size = (size_t)left;
    left -= (long)*size;
    return 0;
}

#define CALL(name, arguments, ...) \
    static ssize_t (*real) arguments; \
    if (real == NULL) \
        real = (ssize_t (*) arguments)dlsym(RTLD_NEXT, name); \
    return allowed(file, &size) ? -1 : real(__VA_ARGS__);

ssize_t write(int file, const void *data, size_t size) { CALL("write", (int, const void *, size_t), file, data, size) }
ssize_t pwrite(int file, const void *data, size_t size, off_t at)
{
    CALL("pwrite", (int, const void *, size_t, off_t), file, data, size, at)
}
ssize_t pwrite64(int file, const void *data, size_t size, off_t at)
{
    CALL("pwrite64", (int, const void *, size_t, off_t), file, data, size, at)
}
"""

CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* The wall clock is off by JUMP seconds as soon as there is a file JUMP_WHEN. */
int clock_gettime(clockid_t id, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, t);
    if ((id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) && access(getenv("JUMP_WHEN"), F_OK) == 0)
        t->tv_sec += atol(getenv("JUMP"));
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec, t->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *t)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (t)
        *t = now.tv_sec;
    return now.tv_sec;
}
"""


def build(folder: Path, text: str = SOURCE) -> Path:
    """The library, compiled with the machine's compiler."""
    source, library = folder / "failing.c", folder / "failing.so"
    source.write_text(text)
    compiler = shutil.which("cc") or "cc"
    subprocess.run([compiler, "-O1", "-w", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    return library


def environment(library: Path, below: Path, after: int, number: int) -> dict[str, str]:
    """Variables of a process whose files in `below` take `after` bytes and then give the error `number`."""
    return os.environ | {
        "LD_PRELOAD": str(library), "FAIL_BELOW": str(below), "FAIL_AFTER": str(after), "FAIL_WITH": str(number)
    }  # fmt: skip


def jumping(library: Path, when: Path, seconds: int) -> dict[str, str]:
    """Variables of a process whose wall clock jumps by `seconds` once there is a file `when`."""
    return {"LD_PRELOAD": str(library), "JUMP_WHEN": str(when), "JUMP": str(seconds)}
