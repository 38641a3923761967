/*
 * Preloaded into the governor: at a step that writes, kills it or makes the step fail.
 *
 *   FAULT_AT=n      the n-th step, from 1; each call is two: before it, and after it
 *   FAULT_ERRNO=e   instead of a kill, the call fails (steps before calls only)
 *   FAULT_COUNT=f   a file of 16 bytes, which gets the number of steps, and of calls that failed
 *
 * Steps are openat() for writing, write() to what that opened, mkdirat(), unlinkat(), renameat()
 * and sched_setaffinity(). Control files ("cpu.max") take a value as a whole, as the kernel's do:
 * they are emptied by the write, not when they are opened.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { FDS = 1024 };

struct counts {
    uint64_t steps, failed;
};

static struct counts own_counts, *counts = &own_counts;
static uint64_t fault_at;
static int fault_errno;
static bool watched[FDS], control[FDS];

__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("FAULT_AT"), *error = getenv("FAULT_ERRNO");
    const char *path = getenv("FAULT_COUNT");
    fault_at = at ? strtoull(at, NULL, 10) : 0;
    fault_errno = error ? atoi(error) : 0;
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *page =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED)
        counts = page;
    if (fd >= 0)
        close(fd);
}

/* Whether the call that comes is to fail. */
static bool step(bool before)
{
    if (++counts->steps != fault_at)
        return false;
    if (!fault_errno)
        raise(SIGKILL);
    counts->failed += before;
    errno = fault_errno;
    return before;
}

static int open_watched(int directory, const char *name, int flags, mode_t mode)
{
    int (*real)(int, const char *, int, ...) =
        (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    bool is_control = strncmp(name, "cpu.", 4) == 0;
    if (!writes)
        return real(directory, name, flags, mode);
    if (step(true))
        return -1;
    int fd = real(directory, name, is_control ? flags & ~O_TRUNC : flags, mode);
    if (fd >= 0 && fd < FDS) {
        watched[fd] = true;
        control[fd] = is_control;
    }
    int saved = errno;
    step(false);
    errno = saved;
    return fd;
}

int openat(int directory, const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_watched(directory, name, flags, mode);
}

int openat64(int directory, const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    return open_watched(directory, name, flags, mode);
}

int close(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
    if (fd >= 0 && fd < FDS)
        watched[fd] = control[fd] = false;
    return real(fd);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (fd < 0 || fd >= FDS || !watched[fd])
        return real(fd, bytes, len);
    if (step(true))
        return -1;
    if (control[fd] && ftruncate(fd, 0) != 0)
        return -1;
    ssize_t n = real(fd, bytes, len);
    int saved = errno;
    step(false);
    errno = saved;
    return n;
}

int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    int (*real)(int, const char *, int, const char *) =
        (int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat");
    if (step(true))
        return -1;
    int result = real(from_directory, from, to_directory, to);
    int saved = errno;
    step(false);
    errno = saved;
    return result;
}

int mkdirat(int directory, const char *name, mode_t mode)
{
    int (*real)(int, const char *, mode_t) =
        (int (*)(int, const char *, mode_t))dlsym(RTLD_NEXT, "mkdirat");
    if (step(true))
        return -1;
    int result = real(directory, name, mode);
    int saved = errno;
    step(false);
    errno = saved;
    return result;
}

int unlinkat(int directory, const char *name, int flags)
{
    int (*real)(int, const char *, int) =
        (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");
    if (step(true))
        return -1;
    int result = real(directory, name, flags);
    int saved = errno;
    step(false);
    errno = saved;
    return result;
}

int sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *cpus)
{
    int (*real)(pid_t, size_t, const cpu_set_t *) =
        (int (*)(pid_t, size_t, const cpu_set_t *))dlsym(RTLD_NEXT, "sched_setaffinity");
    if (step(true))
        return -1;
    int result = real(tid, size, cpus);
    int saved = errno;
    step(false);
    errno = saved;
    return result;
}
