/*
 * Everything that the governor changes goes through here: control files, the journal, and the CPUs
 * of threads.
 *
 * An ops struct, so that tests can fail each step, and tests/architecture.py can say that nothing
 * else of the tree opens a file for writing. Each call returns 0 or -errno.
 */
#ifndef IE_GOVERNOR_FSWRITE_H
#define IE_GOVERNOR_FSWRITE_H

#include <sched.h>
#include <stddef.h>

struct fswrite {
    void *context;
    /* The whole text in one write(2) to an existing file of the directory, or of a group in it,
     * "ig_7_50/tasks", whose content it becomes: the kernel's control files take a value as a
     * whole. */
    int (*write_at)(void *context, int directory, const char *name, const char *text, size_t len);
    /* This, append and rename_at are for the journal; NULL in a process that does not write it. A
     * file to append to, made if it is not there, mode 0600; emptied if so asked. Returns the
     * descriptor, which the caller closes. */
    int (*open_at)(void *context, int directory, const char *name, int empty);
    /* All of the bytes in one write(2). After an error a part of them may be there: -ENOSPC too
     * when the kernel takes only some. */
    int (*append)(void *context, int fd, const char *bytes, size_t len);
    int (*make_dir)(void *context, int directory, const char *name); /* mode 0700 */
    int (*remove_dir)(void *context, int directory, const char *name);
    int (*rename_at)(void *context, int directory, const char *from, const char *to);
    /* CPUs that a thread may run on; the kernel gives it those of them that its cgroup allows.
     * -ESRCH: there is no such thread. */
    int (*get_affinity)(void *context, int tid, cpu_set_t *out);
    int (*set_affinity)(void *context, int tid, const cpu_set_t *cpus);
    /* 0, or -EPERM: threads of others cannot be moved. NULL: as this process's own privileges
     * say. */
    int (*may_set_affinity)(void *context);
};

/* The real one: system calls, no context. */
extern const struct fswrite fswrite_real;

#endif
