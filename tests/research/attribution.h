/*
 * Who makes a container wait for memory: truth of mixes of containers, by runs of every subset of
 * the co-runners, and what estimators that see counters make of it (ATTRIBUTION.md section 7).
 *
 *   attribution_mixes.c       mixes, drawn from a seed
 *   attribution_run.c         v(S) of every subset, and the counters
 *   attribution_shapley.c     shares of an excess: the truth, and the estimators
 *   attribution_phases.c      co-runners that come and go: the slope over time
 *   attribution_tables.c      the page's tables of shares
 *   attribution_over_time.c   its tables of the slope, and of the targets
 */
#ifndef IE_RESEARCH_ATTRIBUTION_H
#define IE_RESEARCH_ATTRIBUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/research/reproduce.h"

enum { ATTR_MEMBERS = 6, ATTR_OTHERS = ATTR_MEMBERS - 1, ATTR_SUBSETS = 1 << ATTR_OTHERS };
enum { ATTR_SEEDS = 2 }; /* at most, for each subset */

enum attr_kind {
    ATTR_STREAM,
    ATTR_PREFETCHED, /* a stream whose prefetcher is on */
    ATTR_RANDOM,
    ATTR_CHASE,
    ATTR_WRITER,
    ATTR_LOOP, /* over and over a set that the last-level cache can hold */
    ATTR_HOT,  /* most accesses to such a set */
    ATTR_LIGHT,
    ATTR_PAST, /* stores past the caches */
    ATTR_KINDS
};
extern const char *const attr_kind_names[ATTR_KINDS];

enum attr_family {
    ATTR_READERS,
    ATTR_PREFETCH,
    ATTR_WRITERS,
    ATTR_CACHE,
    ATTR_SOCKETS,
    ATTR_ANY,
    ATTR_STORES_PAST, /* beyond what the group traffic counts; judged apart */
    ATTR_FAMILIES
};
extern const char *const attr_family_names[ATTR_FAMILIES];

struct attr_member {
    enum attr_kind kind;
    int socket, node; /* where it runs, where its memory is */
    char workload[192];
};

struct attr_mix {
    enum attr_family family;
    int n; /* members; the first is the victim, on socket 0 with memory of node 0 */
    int channels, sockets;
    struct attr_member members[ATTR_MEMBERS];
};

/* Mix number i of a seed. The first is always the same. */
struct attr_mix attr_mix_draw(unsigned seed, unsigned i);
/* JSON; 'phases' not NULL: each co-runner's pauses, a JSON list or NULL. Free it. */
char *attr_mix_scenario(const struct attr_mix *mix, unsigned seed, uint64_t tick_cycles,
                        char *const *pauses);

/* Of a container, totals or the difference of two: what counters show. */
struct attr_counts {
    double seconds, instructions;
    double demand; /* l3_miss_reads */
    double misses; /* llc_misses */
    double rfos;   /* rfo */
    /* What they do not show. */
    double rfo_misses, written_back, nt_lines, insertions, remote; /* see simnode_traffic */
};

/* The victim with one subset of the co-runners beside it. */
struct attr_state {
    double latency_ns;     /* mean over its demand loads that memory served */
    double cpi;            /* cycles per instruction */
    double reads_per_kilo; /* such loads per 1000 instructions */
    struct attr_counts counts[ATTR_MEMBERS];
};

struct attr_result {
    struct attr_mix mix;
    int seeds;
    struct attr_state states[ATTR_SEEDS][ATTR_SUBSETS]; /* bit i: co-runner i + 1 is there */
};

/* Runs all subsets, or takes the result from the folder of finished runs. 0 or -errno. */
int attr_run(const struct reproduction *reproduction, unsigned i, struct attr_result *out);
int attr_count(struct simnode *node, int n, struct attr_counts *out); /* totals up to now */
struct attr_counts attr_counts_between(const struct attr_counts *a, const struct attr_counts *b);

/* --- shares --- */

enum attr_value { ATTR_LATENCY, ATTR_CPI };

/* v(S), mean over seeds, or of one seed (>= 0). */
double attr_v(const struct attr_result *result, enum attr_value value, unsigned subset, int seed);
/* Of the subset's members against nobody; others get 0. Sums to v(subset) - v(empty). */
void attr_shapley(const struct attr_result *result, enum attr_value value, unsigned subset,
                  int seed, double out[ATTR_OTHERS]);

enum attr_estimator {
    ATTR_BY_DEMAND,   /* l3_miss_reads */
    ATTR_BY_MISSES,   /* reads, prefetches, RFOs */
    ATTR_BY_TWICE,    /* RFOs that missed twice */
    ATTR_BY_COUNTED,  /* llc_misses + rfo, but at most twice llc_misses: what counters can show */
    ATTR_BY_UNCAPPED, /* llc_misses + rfo */
    ATTR_BY_THRICE,
    ATTR_BY_LINES, /* every line, write-backs and stores past the caches: no counter has it */
    ATTR_BY_NODE,  /* as counted, on the memory node instead of the socket it runs on */
    ATTR_BY_INSERTIONS,
    ATTR_BY_LEAVE_ONE_OUT, /* v(N) - v(N without i), scaled to the excess */
    ATTR_BY_CHANNELS,      /* traffic and insertions, by the victim's own split */
    ATTR_ESTIMATORS
};
extern const char *const attr_estimator_names[ATTR_ESTIMATORS];

/* Lines a second that count as traffic of a container in the victim's domain. */
double attr_traffic(const struct attr_mix *mix, int member, const struct attr_counts *counts,
                    enum attr_estimator estimator);
/* Shares of the excess v(all) - v(nobody), in units of v. False: nothing to share by. */
bool attr_estimate(const struct attr_result *result, enum attr_value value,
                   enum attr_estimator estimator, double out[ATTR_OTHERS]);
/* Half the sum of differences, over the excess. */
double attr_misplaced(const double a[ATTR_OTHERS], const double b[ATTR_OTHERS], double excess);
/* The index of the largest. */
int attr_first(const double shares[ATTR_OTHERS], int n);
double attr_excess(const struct attr_result *result, enum attr_value value);
/* Of the victim's longer wait per instruction, the part of more misses, not slower ones; 0 to 1. */
double attr_cache_part(const struct attr_result *result);
/* Of all misses, those that their container has only because of the others. */
double attr_thrash(const struct attr_result *result);

/* Lines to and from the victim's memory, with all there, over the most that its channels move. */
double attr_utilization(const struct attr_result *result);

/* --- over time --- */

/* What traffic is measured by: the group traffic, on the socket where a container runs; or all
 * lines, on the node whose memory it is, as monitoring groups count. */
enum attr_measure { ATTR_COUNTERS, ATTR_GROUPS, ATTR_MEASURES };

/* What one of them makes of it, mean over the judged ticks. */
struct attr_parts {
    bool significant;
    double score;
    double by_slope[ATTR_OTHERS];  /* needs no baseline */
    double by_excess[ATTR_OTHERS]; /* the excess over the known baseline, by share of traffic */
};

struct attr_phases {
    struct attr_parts parts[ATTR_MEASURES];
    double excess;             /* true, mean over the judged ticks, ns */
    double seen_excess;        /* of the run itself, which has transitions: the same */
    double truth[ATTR_OTHERS]; /* Shapley of who was there, mean over the judged ticks */
};

/* 'stretch': how many times as long as usual the ticks are. */
int attr_run_phases(const struct reproduction *reproduction, unsigned i,
                    const struct attr_result *result, unsigned stretch, struct attr_phases *out);

/* --- the page --- */

struct attr_page {
    struct reproduction *r;
    unsigned n, n_phases;
    struct attr_result *results;
    struct attr_phases *phases;
    struct attr_phases *slow; /* the same with long ticks, of the family writers only */
};
enum { ATTR_STRETCH = 4 };

void attr_table_mixes(const struct attr_page *page);
void attr_table_families(const struct attr_page *page, enum attr_value value,
                         const enum attr_estimator *estimators, int n);
void attr_table_bias(const struct attr_page *page);
void attr_table_cache(const struct attr_page *page);
void attr_table_first(const struct attr_page *page, enum attr_estimator estimator); /* a row */
void attr_table_phases(const struct attr_page *page, bool slow);
void attr_table_targets(const struct attr_page *page);

/* A mix is judged if there is something to share out, and apart from those not countable. */
bool attr_judged(const struct attr_result *result);
bool attr_thrashed(const struct attr_result *result);

#endif
