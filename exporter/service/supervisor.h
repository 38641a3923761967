/*
 * A process that only keeps another one running.
 *
 *   parent       who has them: holds the other end of the channel
 *   supervisor   its child: gives up what it can, starts the worker, and another one in its place;
 *                one thread, no work
 *   worker       the supervisor's child, which inherits what that has given up
 *
 * When the supervisor dies the worker goes with it; when nobody is at the other end of the channel
 * any more, both end.
 */
#ifndef IE_SERVICE_SUPERVISOR_H
#define IE_SERVICE_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exporter/base/log.h"

/* Workers that nobody can end, at a time: then no further one is started. */
enum { SUPERVISOR_STUCK_MAX = 16 };

struct supervisor {
    const struct supervisor_ops *ops;
    const struct log *log;
    int control;     /* this end of the channel */
    int children;    /* a signalfd for SIGCHLD; -1: there is none, and supervisor_run() fails */
    pid_t worker;    /* 0: none runs */
    unsigned starts; /* of workers, so far */
    unsigned stuck;  /* that were left and have not ended */
    uint64_t started_ns, pause_ns; /* the last start; from that to the next one, at least */
};

struct supervisor_ops {
    const char *module, *name; /* of log lines; of the worker, in them */
    /* Doubled from the first to the last, while workers live for less than ten seconds. */
    uint64_t first_pause_ns, last_pause_ns;
    int patience_ms; /* for a worker to end by itself when all is over; 0: nor is it waited for when
                      * it is killed */
    int look_ms;     /* -1: never */
    void (*look)(struct supervisor *);              /* at the worker that runs */
    int (*work)(struct supervisor *);               /* in the worker; 0, or it has failed */
    void (*ended)(struct supervisor *, int status); /* the worker, as waitpid() has it */
    void (*heard)(struct supervisor *); /* the channel can be read; NULL: the parent says nothing */
};

/* For the parent, before there are threads: forks, with a channel between both. 0 there and 1 in
 * the child, each with its end; -errno. */
int supervisor_fork(int *end, pid_t *child);
/* In the parent, which has closed its end: whether the child ends within 'ms'. */
bool supervisor_wait(pid_t child, int ms);

/* In the supervisor, before it gives up anything. What the parent's signals mean is the parent's
 * business: this process ignores those of a terminal and of service managers, and of a closed pipe.
 */
void supervisor_init(struct supervisor *self, const struct supervisor_ops *ops,
                     const struct log *log, int control);
/* Until nobody is at the other end; in a worker, until that has done its work. Returns the
 * process's status, and leaves the descriptors to its end. */
int supervisor_run(struct supervisor *self);
/* The worker is killed and not waited for: it ends as soon as the kernel lets it. */
void supervisor_leave(struct supervisor *self);

#endif
