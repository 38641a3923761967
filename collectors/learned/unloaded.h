/*
 * What a container does when left alone, learned from its calm windows (calm.h): the latency of
 * its memory reads and the share of its cache accesses that miss (FORMULAS.md section 3, passive:
 * lat0 and calm_ratio).
 *
 * One struct unloaded per container; pure, embedded, of bounded size, never persisted. Sums over
 * the calm windows, so busy windows weigh more; after UNLOADED_MEMORY_WINDOWS calm windows the past
 * fades with each further one. Latency is kept in seconds: at another core frequency the same
 * memory takes other cycles.
 */
#ifndef IE_COLLECTORS_LEARNED_UNLOADED_H
#define IE_COLLECTORS_LEARNED_UNLOADED_H

#include "collectors/learned/calm.h"

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
};

struct unloaded_window {
    bool calm;
    uint64_t accesses, misses;
    double wait_seconds; /* occupancy / f: the sum of its misses' time beyond the caches */
};

/* Adds a window, calm or not. Those without accesses teach nothing. */
void unloaded_learn(struct unloaded *unloaded, const struct unloaded_window *window);

/* NaN until there are UNLOADED_MIN_WINDOWS calm windows with UNLOADED_MIN_COUNT misses (latency) or
 * accesses (ratio). */
double unloaded_latency_seconds(const struct unloaded *unloaded);
double unloaded_miss_ratio(const struct unloaded *unloaded);
/* Enough windows were seen to tell calm ones, and none was. */
bool unloaded_never_calm(const struct unloaded *unloaded);

#endif
