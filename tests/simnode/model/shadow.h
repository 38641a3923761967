/*
 * Shadow clocks: how long the instructions of a core take without its neighbours, accounted for
 * while it runs beside them, with what a core, a last-level cache and a controller could keep.
 *
 *   core        the two times at which its window last held things up (core.c's lags) once more, in
 *               shadow time; a time stamp in each entry of the window, store buffer and outstanding
 *               lines: when this access has its value in shadow time
 *   cache       the auxiliary tags that the Application Slowdown Model has anyway say whether a
 * miss is one of contention; with sampled tags a miss in another set is one with the probability
 * that the sampled sets show controller  per application and bank a row and four times: where the
 * banks and the bus would be if only its own requests, in the order in which they are served, came
 * at their shadow times
 *
 * Nobody's requests have to be preferred for this, and nothing is slowed down.
 */
#ifndef IE_SIMNODE_MODEL_SHADOW_H
#define IE_SIMNODE_MODEL_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shadow_kind {
    SHADOW_ALL_TAGS,
    SHADOW_SAMPLED_TAGS,
    SHADOW_CACHE, /* all tags; memory as slow as it is: what contention in the cache costs */
    SHADOW_CACHE_SAMPLED,
    SHADOW_PARTS,                 /* from here on only to see what a part is good for */
    SHADOW_MEMORY = SHADOW_PARTS, /* the reverse: every miss is one, but memory as it is alone */
    SHADOW_FIXED,                 /* any read from memory takes what one at a closed bank takes */
    SHADOW_NO_WRITES,             /* its controller knows nothing of the application's own writes */
    SHADOW_TENTH_OFF,             /* its controller takes all of its times for a tenth longer */
    SHADOWS
};

enum { SHADOW_PREFETCHES = 256, SHADOW_SLOTS = 32 };

struct shadow_bank {
    int64_t row;                          /* -1: closed */
    int64_t next_act, next_pre, next_cas; /* clocks of the controller */
};

struct shadow_write {
    int64_t row;
    unsigned bank;
};

struct shadow_channel {
    struct shadow_bank *banks;
    int64_t acts[SHADOW_SLOTS], bursts[SHADOW_SLOTS]; /* when the last ones were */
    unsigned act_at, burst_at;
    int64_t refreshes;
    int64_t next_read;           /* after a write the bus has to turn around */
    int64_t idle;                /* the last read's command */
    struct shadow_write *writes; /* that wait: the write queue's size */
    size_t n_writes;
};

struct shadow_clock {
    int64_t dispatch_lag, retire_lag; /* slots, as the core's */
    int64_t last_load_done;           /* cycle: of the load before in program order */
    int64_t *stores;                  /* of the store buffer's entries: when each is free */
    struct shadow_channel *channels;  /* NULL: none of its own */
};

/* Of the last misses in the sampled sets: the share of contention, in 2^-32. */
struct shadow_sample {
    uint64_t share;
    bool known;
};

/* A line that was fetched before it was asked for: when it would have come. */
struct shadow_prefetch {
    uint64_t line; /* + 1; 0: none */
    int64_t done[SHADOWS];
};

#endif
