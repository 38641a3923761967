/*
 * A NUMA node whose memory is watched: its estimator and its ledger, its calm latency, its series,
 * a column for every workload, and a seat for every container. Loop thread only.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_NODE_NODE_H
#define IE_COLLECTORS_ATTRIBUTION_NODE_NODE_H

#include "collectors/attribution/node/findings.h"
#include "collectors/attribution/node/metrics.h"
#include "collectors/attribution/node/traffic.h"
#include "collectors/attribution/node/waits.h"
#include "collectors/attribution/regression/estimator.h"
#include "collectors/attribution/regression/gate.h"
#include "collectors/learned/hour.h"
#include "exporter/state/state.h"

/* Gauges without a new reading for this many ticks are stale, as the probe's; so is what is said of
 * a workload whose activity is not read. */
enum { ATTRIBUTION_STALE_TICKS = 60 };

/* What the node keeps of a workload. All zero: nothing. */
struct attribution_column {
    struct attribution_member member;
    bool used;       /* some container of it was counted */
    bool recalled;   /* what the state had of it was asked for */
    bool unread;     /* some container's activity was not read in this tick */
    unsigned lost;   /* readings in a row in which it was not */
    unsigned streak; /* readings in a row in which the regression would name it */
    double activity; /* of its containers together, in this tick */
    struct attribution_finding finding;
    /* See doubts.h. Readings. */
    uint64_t constant, constant_since;
    double reads; /* of its containers in this tick; NaN: not counted */
    double reads_mean, reads_square, reads_with_latency;
    uint64_t reads_known;
    uint64_t named_since, named_last;
    double square,
        with_host; /* sums, as the estimator's G, with a memory of a quarter of an hour */
    enum attribution_group_kind doubted; /* GROUP_KINDS: it is not */
};

/* What the node keeps of the container with this slot. All zero but the workload: nothing. */
struct attribution_seat {
    int32_t workload; /* its column; -1: none */
    bool counted;     /* its activity is read as a rule */
    double rate;      /* its own in this tick; NaN: not known */
    double share;     /* of what its workload did in the last reading; 0: it did nothing */
    double usual;     /* its mean rate; 0: not known yet */
    double reads;     /* of memory in this tick; NaN: not counted */
    bool suspected;   /* once */
    struct series *series[A_CONTAINER_METRICS]; /* all NULL until it was suspected and is named */
};

/* Lines a second of a tick; NaN: not known. */
struct attribution_total {
    double all;  /* what moves the latency: everybody's, or where nobody counts it, containers' */
    double host; /* what of it no container has */
    /* Everybody's is counted; so it is from the first tick in which the host's part was known. */
    bool counted;
    double last_host; /* that was known */
};

struct attribution_node {
    int number;
    struct attribution_domain domain;
    struct ledger ledger;
    struct pooled *pooled; /* owned; NULL: activity is CPU time, not traffic */
    struct waits waits;    /* where activity is traffic */
    struct hour_percentile hour;
    struct attribution_node_set series;
    struct attribution_seat *seats;
    size_t n_seats;
    struct attribution_column *columns; /* by the workload's number */
    size_t n_columns;
    struct state *past;             /* borrowed; may be NULL */
    struct attribution_total total; /* where activity is traffic */
    double host_square, latency_square;
    double busy_share;  /* of its CPUs beside the probe's, in this tick; NaN: not known */
    uint64_t last_tick; /* with a reading, or the first one; 0: none yet */
    uint64_t stood;     /* the last reading in which somebody was named; 0: none */

    /* Of the last reading. */
    bool known; /* there was one, and it is not stale */
    enum gate_domain_state state;
    struct attribution_findings findings;
    double calm_kept_ns;             /* 0: not known yet */
    bool settled;                    /* that is known well: it rises slowly */
    double calm_ns, excess_ns;       /* NaN until what is calm is known */
    double by_ns[ATTRIBUTION_PARTS]; /* likewise; add up to excess_ns */
};

/* Begins with the calm latency, and the pooled slope, that 'state' has of this node; state may be
 * NULL. */
int attribution_node_new(int number, bool traffic, const struct attribution_families *families,
                         struct state *state, struct attribution_node **out);
/* Replaces it by one for the other kind of activity. The calm latency, which is the same for both,
 * stays. 0; -ENOMEM with NULL in *node. */
int attribution_node_renew(struct attribution_node **node, bool traffic,
                           const struct attribution_families *families, struct state *state);
/* Accepts NULL. */
void attribution_node_free(struct attribution_node *node);

/* Writes what a node that is made later begins with. Allocates nothing. */
void attribution_node_save(struct attribution_node *node, struct state_writer *out);

/* Seats for slots below 'seats', columns for workloads below 'columns'; before a tick. 0 or
 * -ENOMEM. */
int attribution_node_reserve(struct attribution_node *node, size_t seats, size_t columns);
/* The workload has this name from now on: begins with what the state has of it. Once. */
void attribution_node_recall(struct attribution_node *node, size_t workload, const char *key);
/* How likely it is to make memory slow by what other nodes found; see ledger_expect. */
void attribution_node_expect(struct attribution_node *node, size_t workload, double probability);
/* Writes what a node that is made later begins with of the workload. */
void attribution_node_save_column(struct attribution_node *node, size_t workload, const char *key,
                                  struct state_writer *out);
/* The workload is forgotten: its number is free. */
void attribution_node_drop(struct attribution_node *node, size_t workload);
/* NULL: there is nothing about the container's workload. */
const struct attribution_column *attribution_node_column(const struct attribution_node *node,
                                                         size_t slot);

/* A reading, with the rates of all seats, in CPU seconds or cache lines a second; host: of CPU
 * time, NaN where it is not known; of traffic it is what was measured. True: somebody is suspected
 * for the first time, and should get series. */
bool attribution_node_take(struct attribution_node *node, const struct tick *tick,
                           double latency_seconds, double host,
                           struct attribution_scratch *scratch);
/* A tick without one: after many of them the last one is no longer the present. */
void attribution_node_miss(struct attribution_node *node, const struct tick *tick);

/* The container's activity was read for the last time: no gauges. Its counter stays, and what is
 * known of its workload. */
void attribution_node_end(struct attribution_node *node, size_t slot);
/* Forgets the container and frees its seat. */
void attribution_node_forget(struct attribution_node *node, size_t slot);

#endif
