/*
 * Putting back what a journal has open: at start, at stop, and by --restore.
 *
 * Idempotent: what ends in the middle is done again by the next one.
 */
#ifndef IE_GOVERNOR_RESTORE_H
#define IE_GOVERNOR_RESTORE_H

#include "exporter/base/log.h"
#include "exporter/governor/act/actuators/actuator.h"
#include "exporter/governor/act/journal/journal.h"

/* An actuator that was opened; ops NULL: it cannot work here. */
struct actuator {
    const struct actuator_ops *ops;
    void *self;
};

/* One for each knob. */
struct actuators {
    struct actuator of[KNOB_COUNT];
};

/* Opens those that can work here, each failure with its words in the log. Returns how many. */
size_t actuators_open(struct actuators *actuators, const struct actuator_env *env,
                      const struct log *log);
void actuators_close(struct actuators *actuators);

struct restore_counts {
    size_t outcomes[RESTORED_OUTCOMES];
    size_t failed; /* still open in the journal */
};

/* One claim. 0, or -errno with the claim still open. put: the original, or where it is clamped what
 * is there instead. */
int restore_claim(struct journal *journal, const struct actuators *actuators, uint64_t id,
                  const struct log *log, struct restore_counts *counts, char put[CLAIM_TEXT_MAX]);

/* Removes what actuators have made for themselves and no longer need. */
void actuators_tidy(const struct actuators *actuators);

/* All open claims, the newest first; then actuators_tidy(). */
void restore_all(struct journal *journal, const struct actuators *actuators, const struct log *log,
                 struct restore_counts *counts);

#endif
