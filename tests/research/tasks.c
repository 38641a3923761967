/* Runs by several processes at a time: each leaves its result in the folder. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/research/reproduce.h"

static _Noreturn void work(_Atomic unsigned *next, unsigned n, reproduction_task *task,
                           const void *context)
{
    for (unsigned i; (i = atomic_fetch_add(next, 1)) < n;)
        if (task(context, i) != 0)
            _exit(1);
    _exit(0);
}

int run_tasks(unsigned jobs, unsigned n, reproduction_task *task, const void *context)
{
    _Atomic unsigned *next =
        mmap(NULL, sizeof(*next), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned started = 0;
    int err = 0;

    if (next == MAP_FAILED)
        return -errno;
    fflush(NULL);
    for (; started < jobs && !err; started++) {
        pid_t pid = fork();

        if (pid == 0)
            work(next, n, task, context);
        if (pid < 0) {
            err = -errno;
            break;
        }
    }
    while (started-- > 0) {
        int status;

        if ((wait(&status) < 0 || status != 0) && !err)
            err = -EIO;
    }
    munmap(next, sizeof(*next));
    return err;
}
