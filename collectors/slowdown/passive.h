/*
 * Model passive of one container: what its windows of the core group teach about it, and what can
 * then be said of each (FORMULAS.md section 3; formulas/slowdown.h).
 *
 * On Arm's cores that count stalls (GROUP_MISSES) these are of all reads that leave the core. How
 * many leave is nobody's doing but its own, so what each stalls more than in calm windows is what
 * its neighbours cost, in the cache and in memory together: the form of memory_excess, with stalls
 * in place of active and of occupancy, and such reads in place of misses.
 *
 * Embedded in the container's lane. Loop thread only.
 */
#ifndef IE_COLLECTORS_SLOWDOWN_PASSIVE_H
#define IE_COLLECTORS_SLOWDOWN_PASSIVE_H

#include "collectors/contract/collector.h"
#include "collectors/formulas/slowdown.h"
#include "collectors/learned/unloaded.h"
#include "collectors/slowdown/series.h"
#include "exporter/source/window.h"

struct passive {
    /* The window just read. */
    bool window;  /* counts are valid; otherwise all are 0 */
    bool counted; /* so are accesses and active */
    bool stalls;  /* active and the occupancy are stalled cycles, of all accesses */
    uint64_t enabled_ns;
    struct passive_counts {
        uint64_t cycles, ref_cycles, misses, accesses, active;
        double reference_occupancy; /* each CPU's by its own frequency, as window.h has it */
    } counts;
    struct slowdown_passive estimate; /* valid with GAP_NONE */
    enum slowdown_gap gap;

    struct unloaded unloaded;
    enum basis basis[ALONES]; /* of the last window that there was something to say of */
    bool cache_known;         /* so was the cache's part; false: its total is not all */
    uint64_t observed_cycles; /* totals, like the next two */
    double memory_cycles, cache_cycles;
};

void passive_init(struct passive *passive);

/* What a window's surroundings are. */
struct passive_tick {
    uint64_t mono_ns;
    double length_seconds; /* of the window */
    bool calm;             /* as core_lane_calm() says */
    bool corunners_known;  /* so are the next */
    enum traffic_measure measure;
    double corunner_rate; /* per second, of everybody else */
};

/* A tick begins: there is no window in it yet. */
void passive_begin(struct passive *passive);
/* The tick's window. */
/* 'group': GROUP_CORE or GROUP_MISSES. */
void passive_take(struct passive *passive, enum group group, const struct window_sum *sum,
                  enum window_status status);

/*
 * Learns from the window, if there is one, estimates, adds to the totals, and says in 'gap' why
 * there is no estimate; the reasons that are to be counted are counted in the status. 'opened': the
 * container was counted once.
 */
void passive_estimate(struct passive *passive, bool opened, const struct passive_tick *tick,
                      const struct facts *facts, struct collector_status *status);

/* Whether the facts tell what a hit costs; without it only the memory's part is estimated. */
bool passive_knows_hits(const struct facts *facts);

/* The counters and the notes of what is known of the container; 'possible': this machine can have
 * estimates. */
void passive_show(const struct passive *passive, struct slowdown_set *set, bool possible,
                  bool knows_hits);
/* Estimates of this tick, or why there is none. 'ending': no gauges any more. */
void passive_publish(const struct passive *passive, struct slowdown_set *set, bool ending);

#endif
