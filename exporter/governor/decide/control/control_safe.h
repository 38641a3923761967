/*
 * How much CPU best-effort work may have beside an application whose memory latency has a limit: as
 * much as was calm, found from above and not from the bottom each time. Ours; what Shen & Li print
 * is control_threshold.h.
 *
 * A level is a quota. It fails when a violation is confirmed, or when more than over_share of its
 * windows are over the limit, of which three at least. Then the quota goes back to the last one
 * that was calm for 'calm' windows, or else by one step (by half of one where it was the share); if
 * a violation is confirmed within three windows of that, to base. A container that has everything
 * and uses less starts from what it uses: a higher quota takes nothing from it.
 *
 * Levels that never failed are climbed after 'calm' windows each, as long as the next one is
 * expected to leave 2.6 deviations of a window's scatter below the limit (one in 200 is over it
 * then), or after 900 windows of which no more than over_share were over.
 *
 * A level that failed is tried again after hold_seconds, in two halves of a step. The wait doubles
 * up to hold_max_seconds each time that this level fails, or one within a step above it; it is
 * halved when a lower one fails, and is as at first when nothing has failed for forgive_seconds
 * beyond it. The wait ends early when the latency at the level that was gone back to falls by 3 %,
 * and by more than its scatter: then something else has changed.
 *
 * Pure: time is an argument, in seconds of any clock that does not go back.
 *
 * Worked (base 1, step 0.5, max 6, calm 10, hold 60, one window a second; a window is over while
 * the
 * quota is above 2.6): 6 fails in the second window -> 5.5, which fails at once -> 1 at t = 3; then
 * 1.5 after ten calm windows, 2, 2.5, and 3 at t = 43, which fails at t = 45 -> 2.5, and 2.75 at
 * t = 105, which fails -> 2.5, and the same at t = 167, and from then on after 120 s, 240 s, ...
 */
#ifndef IE_GOVERNOR_CONTROL_SAFE_H
#define IE_GOVERNOR_CONTROL_SAFE_H

#include <stdbool.h>
#include <stdint.h>

#include "exporter/governor/decide/control/control_threshold.h"

struct control_safe_config {
    double base_cores, step_cores; /* both > 0 */
    unsigned confirm, confirm_of;  /* a violation is: so many of the last so many; <= 32 */
    double over_share;             /* of a level's windows that may be over */
    unsigned calm;                 /* windows without one over: it is a calm level */
    double hold_seconds, hold_max_seconds, forgive_seconds;
};

/* 1, 0.5; 2 of 3; 0.8 %; 10; 60 s, 30 min, 10 min. */
void control_safe_defaults(struct control_safe_config *config);

/* Of one best-effort application. */
struct control_safe {
    double quota_cores;
    double used_cores;             /* the caller's to set: what it uses now; NaN: not known */
    uint32_t history;              /* of windows since the last cut, the last in bit 0; 1: over */
    unsigned windows, over;        /* since the quota is what it is; halved when they are many */
    unsigned calm;                 /* windows below, without one between */
    unsigned since_cut;            /* windows; saturates */
    double calm_cores;             /* that was calm last; 0: none was */
    double failed_cores;           /* the lowest level that failed; INFINITY: none */
    double wait_seconds, retry_at; /* before it is tried again */
    double failed_last, failed_at; /* the level that failed last, and when */
    double base_since;             /* when it came to base; NaN: it is above */
    /* Of the natural logarithm of latency over limit at this level: of the last windows, and as it
     * was after it was gone back to; NaN: not known. */
    double mean, variance, mean_then;
    unsigned told; /* windows in which it was known */
    /* By how much it rises for each core, as raises have shown; and what it was before the last
     * change, a raise; NaN: it was none. */
    double slope, mean_before, cores_before;
};

/* Starts with all that it may have: nobody waits yet. */
void control_safe_init(struct control_safe *state, const struct control_safe_config *config,
                       double max_cores);

/*
 * One window. ratio: latency over limit; NaN: not known, though the window may be below. max_cores:
 * what it may have at most, which may change. 'culprit': it makes others wait, and may be cut;
 * windows over the limit in which it is none say nothing of its level. The quota is in *state
 * afterwards, never above max_cores. KEEP, RAISE or CUT; KEEP also where a violation finds it at
 * base.
 */
enum control_action control_safe_step(struct control_safe *state,
                                      const struct control_safe_config *config, double max_cores,
                                      double now, enum control_window window, double ratio,
                                      bool culprit);

/* Whether a violation was confirmed by the last window. */
bool control_safe_confirmed(const struct control_safe *state,
                            const struct control_safe_config *config);

/* Sets the quota for another reason than what its level has shown. The windows at the old level no
 * longer count; what is known of levels stays. */
void control_safe_move(struct control_safe *state, const struct control_safe_config *config,
                       double cores, double now);

#endif
