/* A disk that fails: a library to preload (faults.py). */

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
