/*
 * The ledger of onsets: whose beginnings and endings the latency of a NUMA node's memory went with
 * (ONSETS.md L3 to L7), beside the regression (estimator.h), which needs several of them.
 *
 * A workload whose activity jumps opens an episode. What the latency did around it is held against
 * four explanations: this workload, another one that jumped about then, everybody together, and
 * nobody: this node's latency steps by itself, as often as was seen (lambda). The logarithms of
 * these ratios add up to the probability that the workload makes memory slow. It does not fade
 * while the workload goes on as it does: who starts once and stays is not forgotten.
 *
 * Beside ONSETS.md: evidence is bounded to -6 and 8, so that a change of habits is seen within a
 * few episodes; each is judged by a latency without what others cause who are named; one
 * coincidence of who did not come with it needs 0.965 for a name, not 0.95; a group has up to
 * eight members of at least 0.08 each that sum up to 0.8, and lasts until it is known which one it
 * was, or none of them goes on; whose activity goes on to move without the latency is refuted
 * (findings.c); a fall from outside, back to what was before it began, counts against it
 * (outside.h); in its first minute a name is shown only while the latency is higher than before
 * its start; a gap in the readings belongs to no episode.
 *
 *     ledger_set(ledger, workload, activity) for every workload whose activity was read;
 *     ledger_take(ledger, log_latency);
 *
 * Activities are in CPUs, or in what the caller converts with ledger_rescale. Constants are per
 * reading, at one reading a second. Nothing allocates but ledger_reserve. One thread at a time.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LEDGER_LEDGER_H
#define IE_COLLECTORS_ATTRIBUTION_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/attribution/ledger/onset.h"
#include "collectors/learned/hour.h"
#include "exporter/state/fields.h"

enum {
    LEDGER_LEARNING = 300, /* readings in which nobody is named */
    LEDGER_EPISODES = 64,  /* within the last minute, of all workloads */
    LEDGER_JUMPS = 8,      /* of an episode */
    LEDGER_PARTNERS = 3,
    LEDGER_HOST = 0,  /* the number of what is no container's: may be the cause, is never named */
    LEDGER_FIRST,     /* the first workload's */
    LEDGER_TOLD = 16, /* who is named at once, at most */
    LEDGER_RISES = 8,
    LEDGER_DAY = 86400, /* readings */
    LEDGER_GROUPS = 4,
    LEDGER_MEMBERS = 8, /* of a group at most */
};

/* Who keeps jumping at the same time. */
struct ledger_partner {
    uint32_t workload, times;
};

struct ledger_workload {
    /* Activity by reading, at [reading % ONSET_WINDOW]: the upper half of a float, so within 0.4 %.
     * See ledger_x. */
    uint16_t x[ONSET_WINDOW];
    double now;        /* of the reading that comes; the last one's until it is set */
    double sum_before; /* of its activity before reading `summed`; see episodes.c */
    uint64_t summed;
    bool known;      /* has an activity */
    bool met;        /* had one once */
    bool started;    /* did nothing before its first jump */
    uint64_t since;  /* the reading before that */
    float scale;     /* median distance of its activity from what it was just before */
    float largest;   /* jump of its own, in size */
    float before;    /* x0: what it was before it jumped upwards */
    float evidence;  /* sum of ln Bayes factors of committed episodes, bounded */
    float elsewhere; /* ln odds by what other nodes found, above what is usual; see ledger_expect */
    float moved;     /* the same of the latency having moved with it, whoever did it */
    float provisional; /* of the open one */
    float slope;       /* log latency per unit of activity, from committed episodes */
    float slope_weight;
    float slope_now; /* with the open one; what effect is made of */
    float slope_se;
    uint32_t episodes, agreed; /* committed; of these, with evidence for it */
    uint64_t last_jump;        /* reading; 0: never */
    uint64_t last_start;       /* the same of jumps upwards */
    float level;               /* log latency just before that; 0: not known */
    struct ledger_partner partner[LEDGER_PARTNERS];

    /* The answer. */
    float probability;
    float effect; /* now: log latency */
    bool named;
    uint8_t group; /* index in groups, plus 1; 0: none */
};

/* Who is named, by whatever estimator, and what for: the others are judged by what is left. */
struct ledger_told {
    uint32_t workload;
    double slope, before; /* its effect is slope * (activity - before), where that is above 0 */
};

struct ledger_jump {
    uint64_t at; /* the first reading behind it */
    bool up;
};

struct ledger_episode {
    bool open;      /* not committed yet */
    uint8_t judged; /* how often so far */
    bool waits;     /* as far as was seen: its activity grows no more than the latency */
    uint32_t workload;
    unsigned n_jumps;
    struct ledger_jump jump[LEDGER_JUMPS]; /* ascending */
    float before, size;                    /* x0; J, with its sign */
    float factor;                          /* what it added to the evidence; 0 while it is open */
};

/* "One of these": they began together, and the latency with them. */
struct ledger_group {
    unsigned n;
    uint32_t workload[LEDGER_MEMBERS];
    float share[LEDGER_MEMBERS];  /* probability that it is this one */
    float active[LEDGER_MEMBERS]; /* activity when the group was made, above what it was before */
    float effect, se;             /* of the one, log latency */
    float effect_now;
    float level;   /* log latency before it began; 0: not known */
    uint64_t made; /* reading */
};

struct ledger {
    size_t n; /* workloads */
    struct ledger_workload *at;
    double least_jump; /* units of activity */
    bool waiting_grows;
    uint64_t readings;
    uint64_t from; /* the first reading behind the last gap; what was before is another window */
    double raw[3];
    float y[ONSET_WINDOW];         /* log latency, single outliers cut */
    float all[ONSET_WINDOW];       /* activity of everybody */
    struct hour_percentile spread; /* |D|, see ledger.c */
    double sigma;
    bool restored; /* what it learns at first was known before a restart */

    /* Steps that nobody here made. */
    double outside, watched; /* how many, in how many readings */
    uint64_t last_outside;
    unsigned n_rises;
    float rise[LEDGER_RISES]; /* of them, those that have not ended; the oldest first */

    unsigned n_told;
    struct ledger_told told[LEDGER_TOLD];

    unsigned n_episodes;
    struct ledger_episode episode[LEDGER_EPISODES];
    unsigned n_groups;
    struct ledger_group group[LEDGER_GROUPS];
    uint64_t steps_outside; /* ever, for the counter */
};

/* 'waiting_grows': activity is time, of which who waits for memory needs more. */
void ledger_init(struct ledger *ledger, double least_jump, bool waiting_grows);
void ledger_release(struct ledger *ledger);
/* Room for workloads below n; 0 or -ENOMEM. */
int ledger_reserve(struct ledger *ledger, size_t n);
/* Drops all that is known of the workload: its number is another one's from now on. */
void ledger_forget(struct ledger *ledger, size_t workload);
/* Its activity is not known for a while. When it is known again, that does not count as a start. */
void ledger_lose(struct ledger *ledger, size_t workload);
/* Drops the evidence of all its episodes: the latency goes with something else. */
void ledger_refute(struct ledger *ledger, size_t workload);
/* How likely it is that it makes memory slow, before anything was seen of it here: by what other
 * nodes found, above 0 and below 1; NaN: as of anybody. It names nobody who has not begun here. */
void ledger_expect(struct ledger *ledger, size_t workload, double probability);
/* Converts all activities to another unit, as attribution_rescale() does. */
void ledger_rescale(struct ledger *ledger, double factor);

void ledger_set(struct ledger *ledger, size_t workload, double activity);
void ledger_take(struct ledger *ledger, double log_latency);
/* There were no readings for a while: nothing tells whether a workload that began meanwhile and a
 * change of the latency came at the same time. */
void ledger_gap(struct ledger *ledger);

/* How they outlive a restart (collectors/learned/serialise.h): what it knows of the node; and of a
 * workload, with the activity that it had last. */
void ledger_serialise(struct ledger *ledger, struct state_fields *fields);
void ledger_workload_serialise(struct ledger *ledger, size_t workload, struct state_fields *fields);

/* After a reading: who is named from now on. Between ledger_tell_nobody and the next reading. */
void ledger_tell_nobody(struct ledger *ledger);
/* No effect on a workload that has just begun and was not named before: its start is still weighed
 * against those of others. */
void ledger_tell(struct ledger *ledger, size_t workload, double slope, double before);

#endif
