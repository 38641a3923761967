/*
 * The two processes of a governor that runs:
 *
 *   writer    the program's first process: gives back what an earlier one left, and then does what
 *             the decider asks for (write/writer.h); when that ends, however it does, gives back
 *             what is open
 *   decider   its child: all the rest, without any capability and without write access; it asks the
 *             exporter and has the HTTP server's processes (front.h)
 *
 * When the writer dies the decider goes with it, and the next start gives back.
 */
#ifndef IE_GOVERNOR_PAIR_H
#define IE_GOVERNOR_PAIR_H

#include <signal.h>
#include <sys/types.h>

#include "exporter/base/log.h"
#include "exporter/governor/act/restore.h"
#include "exporter/governor/config/config.h"
#include "exporter/governor/config/flags.h"

struct pair {
    int channel;
    pid_t decider; /* of the writer's; 0 in the decider */
};

/* For main, before the process holds anything worth stealing. 0 in the writer, 1 in the decider;
 * -errno. */
int pair_fork(struct pair *pair);
/* Waits for the end of a decider that was not allowed to begin. */
void pair_end(const struct pair *pair);

/* In the decider: waits until the writer has given back what an earlier governor left. False: the
 * decider may not begin. */
struct pair_begin {
    bool may_set_affinity;
    struct restore_counts restored;
};
bool pair_wait(const struct pair *pair, struct pair_begin *out);
/* Once everything is open: gives up what deciding does not need, for good. The process then reads
 * only cgroups, /proc, /sys and the folder of the configuration, and connects only to the
 * exporter's port, or to unix sockets. */
void pair_confine_decider(const struct log *log, const struct fsroot *fs, const char *config_file,
                          const struct client_address *exporter);

/* Whether both processes may do what 'config' asks for, with the rights that they took by the first
 * configuration; 'writes': the writer, too. -EINVAL with the reason in error, or -ENOMEM. */
int pair_may_change(const struct config *first, const struct config *config, bool writes,
                    char *error, size_t error_size);

/* In the writer, with the configuration: until the decider has ended and all is given back. 0;
 * -EAGAIN: something could not be put back; other -errno with the message in error, "" where the
 * decider has said it. */
int pair_write(const struct pair *pair, const struct flags *flags, const struct config *config,
               const struct fsroot *fs, const struct log *log, const sigset_t *signals, char *error,
               size_t error_size);

#endif
