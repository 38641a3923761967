/*
 * What people are shown of the node as it is now: numbers of every container, and the latency of
 * every NUMA node's memory with fifteen minutes of its history.
 *
 * Collectors put their numbers of the tick in, the daemon shows them to other threads after it, and
 * a reader takes a copy. The loop never waits for a reader: while one is copying, the tick is not
 * shown. Nothing here knows which collectors there are; what nobody put in is not known.
 *
 * All functions but live_copy() are for the loop's thread, and accept a NULL live: nobody is shown
 * anything then.
 */
#ifndef IE_LIVE_LIVE_H
#define IE_LIVE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/clock.h"
#include "exporter/base/loss.h"
#include "exporter/containers/container.h"
#include "exporter/state/state.h"

/*
 * Where a container's time went, as it is told to people: with the figures of the sentence.
 */

enum { LIVE_TAKERS = 3 };

/* NaN: not known; shares are of the time of the last windows. */
struct live_lost {
    bool told;                 /* somebody looks for it */
    bool judged;               /* for long enough, and enough of it is known, to say 'cause' */
    enum loss cause;           /* that costs most; LOSSES: none */
    double per_second[LOSSES]; /* seconds lost per second; 0: none */
    double cpus;               /* that it used in the last window */
    double quota_cpus;         /* its limit of CPU time */
    double throttled;          /* share of the limit's periods in which it was reached */
    double memory_bytes, memory_limit_bytes;
    double refaults_per_second; /* pages that it lost and read again */
    /* Who took CPUs beyond their share while it waited, the most first, and their shares of all
     * that was taken; or, if seen, who was seen to have its CPUs, and of all that was seen: the
     * rest had processes that are in no container. */
    bool takers_seen;
    size_t takers;
    uint64_t taker[LIVE_TAKERS]; /* container_tag() */
    double taker_share[LIVE_TAKERS];
    bool takes;         /* it uses more CPU time than its own share */
    const char *untold; /* what cannot be told here, and why: a sentence, constant; or NULL */
};

/* Of a container; NaN: not known. */
enum live_number {
    LIVE_READ_SECONDS,           /* mean latency of a read of memory in the last window */
    LIVE_NORMAL_SECONDS,         /* what is normal for it */
    LIVE_LIMIT_SECONDS,          /* above this it waits; only of windows that may be judged */
    LIVE_SLOWDOWN_RATIO,         /* times as long as its work would take alone */
    LIVE_SLOWDOWN_LIMIT,         /* above this it is slowed down; NaN: LIVE_SLOWDOWN_BOUND */
    LIVE_READS_PER_SECOND,       /* of memory */
    LIVE_LLC_READS_PER_SECOND,   /* of the last-level cache: those of memory, and hits */
    LIVE_CYCLES_PER_INSTRUCTION, /* of its cores */
    LIVE_CPUS,                   /* CPU seconds per second */
    LIVE_PARALLELISM,            /* reads of memory under way at once, while there is one */
    LIVE_CAUSED_SECONDS,         /* how much longer a read takes because of it */
    LIVE_CAUSED_SD_SECONDS,      /* one standard deviation of that */
    LIVE_NUMBERS
};

/* Whether it makes memory slow, in order of certainty. */
enum live_suspicion {
    LIVE_UNSUSPECTED,
    LIVE_DOUBTED,   /* it may only be waiting */
    LIVE_SUSPECTED, /* by few coincidences */
    LIVE_IN_GROUP,  /* one of several that work, or began, at the same times */
    LIVE_NAMED,
};

/* Why memory takes what it takes. */
enum live_cause {
    LIVE_CAUSE_NOT_SOUGHT, /* nobody looks for it */
    LIVE_CAUSE_LEARNING,
    LIVE_CAUSE_CALM, /* there is nothing to explain */
    LIVE_CAUSE_UNKNOWN,
    LIVE_CAUSE_SUSPECTED,
    LIVE_CAUSE_GROUP,
    LIVE_CAUSE_ONE_OF, /* a group that began within five seconds */
    LIVE_CAUSE_NAMED,
};

enum {
    LIVE_HISTORY = 900,       /* seconds */
    LIVE_DOMAINS = 16,        /* NUMA nodes; of more, the first that are told of */
    LIVE_SOCKETS = 8,         /* of a machine; of more, nothing is told by socket */
    LIVE_PATHS = 256,         /* from a node to a node, likewise */
    LIVE_HOLD_SECONDS = 15,   /* below its limit for as long, it waits no more */
    LIVE_LATEST_SECONDS = 60, /* a latency that is older is not the present one */
    LIVE_TARGETS = 20,        /* where memory could be, sixteen NUMA nodes and four tiers; of more,
                                 the first that are told of */
    LIVE_TARGET_BYTES = 17
};

/* What it would cost a container to have its memory elsewhere: CPU time there by CPU time now. */
struct live_elsewhere {
    double ratio;                  /* all of it; NaN: not known */
    double half_lower, half_upper; /* if half of its accesses went there, between these */
};

struct live_container {
    uint64_t tag; /* container_tag() */
    char namespace_[64], pod[254], name[254], id[13];
    uint64_t cgroup_id; /* the inode of its cgroup; 0 under replay */
    double number[LIVE_NUMBERS];
    bool socket_known;
    float socket_share[LIVE_SOCKETS];              /* of its reads, by the CPUs that it read on */
    struct live_elsewhere elsewhere[LIVE_TARGETS]; /* by the view's targets */
    enum live_suspicion suspicion;
    double probability;       /* that it does; NaN: not said */
    int caused_numa_node;     /* where it is suspected most; -1: nowhere */
    const char *normal_basis; /* what its normal is known from: a word, constant; or NULL */
    uint64_t normal_since_mono_ns;
    const char *why_no_normal;   /* likewise; NULL: it has one, or nobody says */
    const char *why_no_slowdown; /* likewise */
    bool waits;
    uint64_t waits_since_mono_ns; /* for durations: nobody sets this clock */
    struct live_lost lost;
};

struct live_domain {
    int numa_node;
    double latency_seconds; /* of its own CPUs' reads, the last that was measured; NaN: too old */
    double usual_seconds;   /* when it is calm; NaN: not known yet */
    enum live_cause cause;
    double host_seconds;   /* of what is above it: of processes outside of containers */
    double steps_per_hour; /* how often its latency steps by itself; NaN: not known */
    /* Of what is above usual, what came in such steps that have not ended, where this is a virtual
     * machine; NaN: it is none, or that is not known. */
    double outside_seconds;
    float history[LIVE_HISTORY]; /* seconds, the oldest first, the last is now; NaN: none */
};

/* From the CPUs of a NUMA node to the memory of one. */
struct live_path {
    int initiator, target;
    double latency_seconds; /* the last that was measured; NaN: too old */
};

/* Shares; NaN: not known. */
struct live_host {
    double cpu_pressure, memory_pressure, io_pressure; /* of ten seconds, as PSI has them */
    double steal;                /* of all CPUs' time, taken by the hypervisor */
    const char *why_no_pressure; /* in words, constant; NULL: it is known */
};

/* A copy, for live_view_release(). */
struct live_view {
    struct tick tick;
    size_t n, n_domains, n_paths;
    struct live_container *containers;     /* running ones that have names, by slot */
    const struct live_container *named[2]; /* by live_sort(): the first two that make memory slow
                                              for sure; NULL: there is none */
    struct live_domain *domains;           /* by number */
    struct live_path *paths;               /* by initiator, then target */
    bool host_known;                       /* somebody looks at it: not under replay */
    struct live_host host;
    char target[LIVE_TARGETS][LIVE_TARGET_BYTES]; /* names of where memory could be; "": no more */
};

struct live;

/* 0 or -ENOMEM. */
int live_new(struct live **out);
void live_free(struct live *live);

/* ---- what collectors say, between live_begin() and live_show() ---- */

void live_put(struct live *live, const struct container *container, enum live_number which,
              double value);
/* Shares of its reads by socket. */
void live_sockets(struct live *live, const struct container *container,
                  const double share[LIVE_SOCKETS]);
/* A constant; and since when it is this one, by the ticks' clock. */
void live_normal_basis(struct live *live, const struct container *container, const char *basis,
                       uint64_t since_mono_ns);
/* Constants; NULL: nothing is lacking. */
void live_lacks_normal(struct live *live, const struct container *container, const char *why);
void live_lacks_slowdown(struct live *live, const struct container *container, const char *why);
/* The strongest of a tick counts. probability: NaN where it is not said. */
void live_suspect(struct live *live, const struct container *container, int numa_node,
                  enum live_suspicion suspicion, double caused_seconds, double sd_seconds,
                  double probability);
void live_set_elsewhere(struct live *live, const struct container *container, const char *target,
                        const struct live_elsewhere *elsewhere);
/* 'untold' is borrowed for as long as it is shown. */
void live_lost(struct live *live, const struct container *container, const struct live_lost *lost);
/* Of the initiator's reads of the target's memory; to itself, it is the domain's. */
void live_latency(struct live *live, int initiator, int target, const struct tick *tick,
                  double seconds);
void live_explain(struct live *live, int numa_node, enum live_cause cause, double usual_seconds,
                  double host_seconds, double steps_per_hour);
/* What of it comes from outside this virtual machine. */
void live_outside(struct live *live, int numa_node, double seconds);

/* ---- what the daemon does at every tick ---- */

void live_host(struct live *live, const struct live_host *host);

/* Room for containers in slots below n, before collectors put something in: 0 or -ENOMEM; those
 * beyond are not shown. */
int live_reserve(struct live *live, size_t n);
/* The history, and since when who waits has waited, outlive a restart: an entry of its own. 'state'
 * may be NULL. */
void live_save(struct live *live, struct state_writer *out);
void live_restore(struct live *live, struct state *state);
/* A tick begins: forgets what collectors put in before. */
void live_begin(struct live *live);
/* Calls next() until it returns NULL; it walks over all containers. */
void live_show(struct live *live, const struct tick *tick,
               const struct container *(*next)(void *context), void *context);

/* What is not well, after live_show(). */
enum live_incident_kind {
    LIVE_INCIDENT_WAITS,   /* the container waits */
    LIVE_INCIDENT_NAMED,   /* it makes memory slow */
    LIVE_INCIDENT_UNNAMED, /* the NUMA node's memory is slow because of nobody that is known */
    LIVE_INCIDENT_LOSES,   /* the container loses time, other than by slow memory */
};

struct live_incident {
    enum live_incident_kind kind;
    uint64_t tag; /* container_tag(); 0: it is no container's */
    /* The NUMA node; of who loses time, the cause: it is another trouble when that changes. */
    uint64_t id;
};

/* Calls 'each' for each of them. */
void live_incidents(const struct live *live,
                    void (*each)(void *context, const struct live_incident *incident),
                    void *context);

/* ---- readers, any thread ---- */

/* 0, -ENODATA before the first tick was shown, or -ENOMEM. */
int live_copy(struct live *live, struct live_view *out);
void live_view_release(struct live_view *view);

#endif
