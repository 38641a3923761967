/*
 * The only way from what a policy asks for to a value: within limits, not too often, and not
 * against somebody else who writes. Pure; time is an argument, CLOCK_MONOTONIC.
 */
#ifndef IE_GOVERNOR_GUARD_H
#define IE_GOVERNOR_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/governor/terms/claim.h"

enum {
    GUARD_CUTS_MAX = 64,   /* that can be counted: cuts_per_10m is less */
    GUARD_RESETS_MAX = 6,  /* an hour that are answered */
    GUARD_CHANGES_MAX = 3, /* in ten minutes: somebody else is in charge, and it is left alone for
                            * ten minutes, 20, 40, an hour */
};

/* Why a change was not made. */
enum guard_verdict {
    GUARD_PASS,
    GUARD_SAME,     /* it has that value */
    GUARD_TICK,     /* it was changed in this tick already */
    GUARD_RATE,     /* the node's writes a second are used up */
    GUARD_CLAIMS,   /* as many claims as there may be are open */
    GUARD_SETTLE,   /* somebody has just changed its specification */
    GUARD_YIELDED,  /* somebody else changes it again and again */
    GUARD_BACK_OFF, /* the last change failed */
    GUARD_TABLE,    /* nobody asked: there is no room to keep it in mind (enforcer_leave_out()) */
    GUARD_VERDICTS
};

/* For the label: "tick", "rate", ... */
extern const char *const guard_verdict_names[GUARD_VERDICTS];

struct guard_limits {
    size_t claims; /* open at once: a container's quota, its ways and its bandwidth are three */
    double writes_per_second;
    unsigned cuts_per_10m; /* of one claim; < GUARD_CUTS_MAX */
};

struct guard {
    struct guard_limits limits;
    double tokens; /* writes that may be made now */
    uint64_t tokens_ns;
};

/* When something that failed may be tried again. All zero at first. */
struct guard_retry {
    uint64_t at_ns, wait_ns;
};

/* What is remembered of one knob of a container, for the container's life (struct memories). All
 * zero at first. */
struct guard_memory {
    uint64_t changed_tick; /* plus 1 */
    uint64_t settle_until_ns, yielded_until_ns;
    uint64_t yielded_ns; /* the last pause for somebody who is in charge; forgotten as below */
    struct guard_retry retry, release; /* of changes; giving back waits for nothing else */
    uint64_t resets[GUARD_RESETS_MAX], changes[GUARD_CHANGES_MAX]; /* when; the oldest goes */
    uint64_t cuts[GUARD_CUTS_MAX];
    uint64_t cut_ns;                      /* when it was cut last, counted or not */
    unsigned n_resets, n_changes, n_cuts; /* ever */
    /* Flapping: it stays at least, unless it is given back; how long the last time. Forgotten after
     * an hour without. */
    uint64_t based_until_ns, based_ns;
};

void guard_init(struct guard *guard, const struct guard_limits *limits, uint64_t now_ns);

/*
 * What becomes of the wish for 'wanted': with PASS, *value is to be set, and least <= *value <=
 * most. The change counts as made. 'n_open' claims are open, this one among them if its id is not
 * 0. A cut that comes 'period_ns' after the last one, or later, is in its policy's own course, and
 * no flapping; 0: there is none.
 */
enum guard_verdict guard_check(struct guard *guard, struct guard_memory *memory,
                               const struct claim *claim, double wanted, uint64_t period_ns,
                               size_t n_open, uint64_t tick, uint64_t now_ns, double *value);

/* Whether a claim may be given back for another one: not while it is held for flapping, nor while a
 * change that failed waits. */
bool guard_may_give_way(const struct guard *guard, const struct guard_memory *memory,
                        const struct claim *claim, uint64_t tick, uint64_t now_ns);
/* PASS: it counts as made. RATE. */
enum guard_verdict guard_give_way(struct guard *guard, struct guard_memory *memory, uint64_t tick,
                                  uint64_t now_ns);

/* The verdict on a change that is not made now, without the limits that all claims share (writes,
 * claims). */
enum guard_verdict guard_would(const struct guard_memory *memory, uint64_t tick, uint64_t now_ns);
/* How many writes could be made now, at once. */
double guard_writes(const struct guard *guard, uint64_t now_ns);

/* What to do about a value that is not ours. */
enum guard_answer {
    GUARD_REASSERT, /* it was reset: ours comes back at the next decision */
    GUARD_ADOPT,    /* it is the new original */
    GUARD_YIELD     /* the claim is given up */
};
enum guard_answer guard_reset(struct guard_memory *memory, uint64_t now_ns);
enum guard_answer guard_changed(struct guard_memory *memory, uint64_t now_ns);
bool guard_has_yielded(const struct guard_memory *memory, uint64_t now_ns);

/* It failed, or succeeded: the next try waits 1 s, and twice as long after each failure up to 60 s.
 */
void guard_failed(struct guard_retry *retry, uint64_t now_ns);
void guard_succeeded(struct guard_retry *retry);

/* ---- who is missing ---- */

/*
 * What the guard remembers of knobs whose containers are missing from the document: a container
 * that comes back is no new one, and whoever else writes its knob has not stopped.
 *
 * A knob is known by its cgroup's inode, or a thread by when it began. Where there is no room, who
 * left first is forgotten. One thread; nothing is allocated.
 */
enum { MEMORIES_MAX = CLAIMS_MAX };

struct memories_entry {
    enum knob knob;
    int tid;
    uint64_t dev, ino, tid_start;
    uint64_t left; /* how many had left before */
    struct guard_memory memory;
};

/* All zero at first. */
struct memories {
    struct memories_entry list[MEMORIES_MAX];
    size_t n;
    uint64_t left;
};

/* Stores it, unless there is nothing to remember, or no inode to recognise it by. */
void memories_keep(struct memories *memories, const struct claim *claim,
                   const struct guard_memory *memory);
/* Moves what was stored to *memory; leaves that as it is where there is nothing. */
void memories_take(struct memories *memories, const struct claim *claim,
                   struct guard_memory *memory);

#endif
