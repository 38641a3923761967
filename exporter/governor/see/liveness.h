/*
 * The dead man's switch: whether the exporter's data may be acted on now. Pure.
 *
 * Only a tick that is new, of counters that are counted now, may lead to a change. When none comes
 * for a while, everything is to be let go; then, and at the start, so many fresh ticks in a row
 * must come before anything is done again.
 */
#ifndef IE_GOVERNOR_LIVENESS_H
#define IE_GOVERNOR_LIVENESS_H

#include "exporter/governor/see/view.h"

enum { LIVENESS_FRESH_TICKS = 5 };

enum dead_reason {
    DEAD_STALE,      /* its last tick is too long ago, or it does not say when that was */
    DEAD_DOWN,       /* it does not answer, or no document that can be read */
    DEAD_TICK_RESET, /* its ticks begin anew: it was restarted */
    DEAD_REPLAY,     /* its counts are of a recording */
    DEAD_REASONS
};
extern const char *const dead_reason_names[DEAD_REASONS];

struct liveness_config {
    uint64_t stale_ns; /* or 3.5 of the exporter's intervals, at least 1 s, if that is shorter */
    uint64_t dead_ns;  /* or 3.5 of the exporter's intervals, if that is longer */
    bool allow_replay; /* for tests and simulations, whose cgroups are no machine's */
};

struct liveness {
    uint64_t tick;        /* the last one seen; 0: none */
    uint64_t tick_ns;     /* CLOCK_MONOTONIC of the last fresh tick; at first: of the start */
    uint64_t interval_ns; /* the exporter's, as it said last; 0: never */
    unsigned fresh;       /* ticks in a row */
    bool dead;            /* everything is to be let go */
    enum dead_reason reason;
};

enum liveness_verdict {
    LIVENESS_ACT,  /* a fresh tick */
    LIVENESS_WAIT, /* nothing new, or not enough yet: no change */
    LIVENESS_DIED, /* now: let everything go */
    LIVENESS_DEAD  /* still: nothing may be held */
};

/* Dead until the first ticks have come. */
void liveness_init(struct liveness *liveness, uint64_t now_ns);

/* NULL: there was no answer. */
enum liveness_verdict liveness_judge(struct liveness *liveness,
                                     const struct liveness_config *config, const struct view *view,
                                     uint64_t now_ns);

/* When to look next: right behind the exporter's next tick, or soon when that is not known, or may
 * have been a moment ago; within a second, for others wait for a sign of life. 'interval_ns': the
 * exporter's as far as it is known. */
uint64_t liveness_next_look(const struct view *view, uint64_t interval_ns, uint64_t now_ns);

/* Since the last fresh tick, or the start. */
double liveness_age_seconds(const struct liveness *liveness, uint64_t now_ns);

#endif
