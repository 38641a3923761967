/*
 * The writer's process while a decider runs: takes its orders, passes signals on to it, and tells
 * whoever started the program that both go on.
 */
#ifndef IE_GOVERNOR_ORDERS_H
#define IE_GOVERNOR_ORDERS_H

#include <sys/types.h>

#include "exporter/base/log.h"
#include "exporter/governor/write/writer.h"

struct orders {
    int channel;
    pid_t decider;     /* a child */
    int signals;       /* a signalfd; SIGUSR1 becomes SIGUSR2, for it may reach both processes */
    int notify;        /* to systemd, connected; -1: nobody is told */
    const char *ready; /* what it is told when all is up */
    struct writer *writer; /* NULL: nothing is to be written */
    const struct log *log;
};

/* What this process gives up, for good, but for writing below the n directories (descriptors,
 * borrowed) and signals to the decider. Bits of enum confined. */
unsigned orders_confine(pid_t decider, const int *directories, size_t n);

/* Until the decider has ended; one that has gone silent is ended. Its exit status; -1: a signal
 * ended it. */
int orders_take(const struct orders *orders);

#endif
