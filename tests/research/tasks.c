/* Runs by several processes at a time, and the folder in which each leaves its result. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/research/reproduce.h"
#include "tests/simnode/model/rng.h"

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

static void path_of(const char *folder, const char *what, const char *json, char *out, size_t size)
{
    uint64_t hash = 1;

    for (const char *c = json; *c; c++)
        hash = mix64(hash ^ (unsigned char)*c);
    snprintf(out, size, "%s/%s-%016" PRIx64, folder, what, hash);
}

int load_run(const char *folder, const char *what, const char *json, void *out, size_t size)
{
    char path[4096];

    path_of(folder, what, json, path, sizeof(path));
    FILE *file = fopen(path, "rb");
    if (!file)
        return -ENOENT;

    /* Not one of another size, which another version left. */
    bool whole = fread(out, size, 1, file) == 1 && fgetc(file) == EOF;

    fclose(file);
    return whole ? 0 : -ENOENT;
}

int save_run(const char *folder, const char *what, const char *json, const void *run, size_t size)
{
    char path[4096], temporary[4200];

    path_of(folder, what, json, path, sizeof(path));
    snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid());
    FILE *file = fopen(temporary, "wb");
    if (!file)
        return -errno;

    bool whole = fwrite(run, size, 1, file) == 1;

    if (fclose(file) != 0 || !whole || rename(temporary, path) != 0) {
        unlink(temporary);
        return -EIO;
    }
    return 0;
}
