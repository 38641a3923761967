/*
 * What a container does when left alone: the latency of its memory reads and the share of its cache
 * accesses that miss (FORMULAS.md section 3, passive: lat0 and calm_ratio). Learned from its calm
 * windows (calm.h, usual_allows_calm()), or, on a node that is never calm, from how both follow its
 * co-runners' traffic (traffic_fit.h), as far as that can be trusted. Neighbours that hold a part
 * of the cache and read no memory are not seen by that; what they take away counts as the
 * container's own.
 *
 * One struct unloaded per container; pure, embedded, of bounded size. Sums over the calm windows,
 * so busy windows weigh more; after UNLOADED_MEMORY_WINDOWS calm windows the past fades with each
 * further one. Latency is kept in seconds: at another core frequency the same memory takes other
 * cycles.
 */
#ifndef IE_COLLECTORS_LEARNED_UNLOADED_H
#define IE_COLLECTORS_LEARNED_UNLOADED_H

#include "collectors/learned/calm.h"
#include "collectors/learned/normal.h"

/* Below these a mean would be noise: calm windows, and accesses or misses in them. */
enum { UNLOADED_MIN_WINDOWS = 10, UNLOADED_MIN_COUNT = 1000 };
/* An hour of one-second windows. */
enum { UNLOADED_MEMORY_WINDOWS = 3600 };

/* Zeroed: nothing learned. */
struct unloaded {
    uint32_t windows;      /* seen, saturating at CALM_MIN_WINDOWS */
    uint32_t calm_windows; /* learned from, saturating at UINT32_MAX */
    bool ever_calm;
    double accesses, misses, wait_seconds;
    /* As of the last whole minute. */
    double extrapolated_seconds; /* 0: not known */
    bool ratio_extrapolates;     /* so is the next */
    double extrapolated_ratio;

    struct traffic_fit latency_fit, ratio_fit;
    struct usual usual;
};

struct unloaded_window {
    bool calm;
    uint64_t accesses, misses;
    double wait_seconds; /* occupancy / f: the sum of its misses' time beyond the caches */

    uint64_t mono_ns;
    double length_seconds, cpu_seconds; /* of the window, and of running in it */
    bool corunners_known;               /* so are the next; without them nothing is extrapolated */
    enum traffic_measure measure;
    double corunner_rate; /* per second, of everybody else */
};

/* Adds a window, calm or not. Those without accesses teach nothing; those in which it was not at
 * work (window_is_busy()) teach nothing of how it follows traffic. */
void unloaded_learn(struct unloaded *unloaded, const struct unloaded_window *window);

/*
 * The best basis that is known: BASIS_CALM from UNLOADED_MIN_WINDOWS calm windows with
 * UNLOADED_MIN_COUNT misses (latency) or accesses (ratio) on, else BASIS_EXTRAPOLATED, else BASES,
 * and the value is NaN.
 */
enum basis unloaded_latency_basis(const struct unloaded *unloaded);
enum basis unloaded_ratio_basis(const struct unloaded *unloaded);
double unloaded_latency_seconds(const struct unloaded *unloaded);
double unloaded_miss_ratio(const struct unloaded *unloaded);
/* Enough windows were seen to tell calm ones, and none was. */
bool unloaded_never_calm(const struct unloaded *unloaded);

#endif
