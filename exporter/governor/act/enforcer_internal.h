/* What the files of the enforcer share: holdings.c keeps claims, watch.c looks at what others did,
 * enforcer.c makes changes. */
#ifndef IE_GOVERNOR_ENFORCER_INTERNAL_H
#define IE_GOVERNOR_ENFORCER_INTERNAL_H

#include "exporter/governor/act/enforcer.h"

/* Of this commit: what its value becomes, and what is written before. */
struct change {
    struct holding *holding;
    struct intent intent;
    double value;
};

struct enforcer {
    struct enforcer_config config;
    struct journal *journal;
    const struct actuators *actuators;
    struct guard guard;
    struct memories *memories;
    struct enforcer_counts counts;
    struct holding *holdings; /* CLAIMS_MAX: they do not move within a tick */
    size_t n;
    struct change *changes; /* CLAIMS_MAX */
    size_t n_changes;
    size_t left_out; /* in this tick, for want of room */
    bool said_left_out;
    uint64_t tick; /* the exporter's, which may leave some out */
    uint64_t rounds, now_ns, wall_ns, seq, failing_since_ns;
};

const struct actuator *holding_actuator(const struct enforcer *enforcer,
                                        const struct holding *holding);
/* What the file has as far as we know; of a dry run what it would have. */
void holding_text(const struct enforcer *enforcer, const struct holding *holding,
                  char out[CLAIM_TEXT_MAX]);
bool holding_is_held(const struct enforcer *enforcer, const struct holding *holding);
/* A quota, or a thread's CPUs, that is not held is read before it is changed, and not each tick. */
bool holding_is_lazy(const struct holding *holding);
/* Reads its limits anew; a virtual value stays, within them. */
void holding_read(struct enforcer *enforcer, struct holding *holding);
/* The original back. 0 or -errno; -EAGAIN: it failed a moment ago, and is not tried yet, but at a
 * stop. */
int holding_put_back(struct enforcer *enforcer, struct holding *holding,
                     enum release_reason reason);

/* After a change that failed: decides by the file's text whether it happened nevertheless. */
void holding_settle(struct holding *holding, const char *now);

void enforcer_count_error(struct enforcer *enforcer, const struct holding *holding,
                          enum error_op op, int err);
/* The same of what no decision tells of: a line of the log, with limits. */
void enforcer_warn(struct enforcer *enforcer, const struct holding *holding, enum error_op op,
                   int err);
void enforcer_tell(struct enforcer *enforcer, const struct holding *holding, enum action action,
                   enum outcome outcome, const char *from, const char *to, const char *why);

#endif
