/*
 * The running governor: clocks, signals, the exporter's answers, and what is served.
 */
#ifndef IE_GOVERNOR_RUN_H
#define IE_GOVERNOR_RUN_H

#include <signal.h>

#include "exporter/front/front.h"
#include "exporter/governor/act/remote.h"
#include "exporter/governor/config/flags.h"
#include "exporter/governor/decide/governor.h"
#include "exporter/governor/pair.h"

/* In the decider: until SIGTERM or SIGINT, until nobody serves any more, or the writer is lost; all
 * of 'signals' are blocked; 'front' is the caller's to free. Everything is put back at the end.
 * SIGUSR2, which is the program's SIGUSR1, lets everything go, and the next one goes on; so does a
 * file "paused" in the state directory, and its removal. SIGHUP reads the configuration again, and
 * so does a file of it that has changed. 0, or -errno with the message in error; -EAGAIN: something
 * could not be put back. */
int run_governor(const struct flags *flags, struct config *config, const struct fsroot *fs,
                 const struct log *log, const sigset_t *signals, struct front *front,
                 const struct pair *pair, const struct pair_begin *begin, char *error,
                 size_t error_size);

/* --check: what could be restricted now, on 'out'. 0, or -errno with the message in error. */
int run_check(const struct flags *flags, const struct config *config, const struct fsroot *fs,
              const struct log *log, FILE *out, char *error, size_t error_size);

#endif
