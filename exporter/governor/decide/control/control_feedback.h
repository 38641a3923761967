/*
 * Control by feedback, for hardware that tells how slow somebody is now but not how slow he would
 * be with other ways (ours; GOVERNOR.md A5). One small change in a step of ten seconds, then look.
 * Pure.
 *
 * Nothing flushes a cache when a mask shrinks, so what a change does is judged after three steps.
 * Slowdowns and parts that are not known are NaN, and then nothing is done for their sake.
 */
#ifndef IE_GOVERNOR_CONTROL_FEEDBACK_H
#define IE_GOVERNOR_CONTROL_FEEDBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- how slow somebody was in a step ---- */

struct control_loss {
    double slowdown;                /* >= 1 */
    double memory_part, cache_part; /* of the cycles that were lost; 0 when none were */
};

/*
 *     slowdown = observed / (observed - memory - cache)
 *
 * of the cycles of a step that have an estimate, and those of them that were lost to others in
 * memory and in the cache. A cache part that is not known (NaN) counts as none. False, and nothing
 * set: nothing is known, nothing ran, or more was lost than there was.
 *
 * Worked: 9e9 observed, 2e9 memory, 1e9 cache -> 1.5, two thirds and one third.
 */
bool control_loss(double observed, double memory, double cache, struct control_loss *out);

/* ---- one who is not to be slower than a bound ---- */

enum control_move {
    CONTROL_MOVE_NONE,
    CONTROL_MOVE_TAKE, /* one way from the best-effort group that has most */
    CONTROL_MOVE_GIVE, /* one way back */
};

/* Zeroed: nothing seen. */
struct control_qos {
    unsigned over, under; /* steps in a row */
};

/*
 * Take: slower than the bound in three steps in a row, and at least 30 % of the cycles that are
 * lost are lost in the cache. Give: below 0.9 times the bound in six in a row. Counted anew after
 * each.
 *
 * Worked, bound 1.5: 1.6 1.6 1.6 -> take at the third; 1.3 six times -> give at the sixth; 1.4 ->
 * none.
 */
enum control_move control_qos_step(struct control_qos *state, double bound, double slowdown,
                                   double cache_part);

/* Whose way is taken: who has most, the first of equals, and more than its floor; n: nobody. */
size_t control_donor(const unsigned *ways, const unsigned *floors, size_t n);

/* ---- memory bandwidth of best-effort work ---- */

/* Zeroed: nothing seen. */
struct control_mba {
    unsigned calm; /* steps in a row */
};

/*
 * The percentage from now on: one step of 'gran' less, down to the floor, for a culprit while
 * somebody protected is over its threshold ('over') and loses at least half of its lost cycles in
 * memory
 * ('memory_part'); one step more, up to 100, after three steps in a row in which nobody is over.
 *
 * Worked, steps of 10, floor 20: 100, over with 0.6 -> 90; over with 0.4 -> 90; three calm -> 100.
 */
unsigned control_mba_feedback(struct control_mba *state, unsigned percent, unsigned gran,
                              unsigned floor, bool over, double memory_part, bool culprit);

/* ---- shares by slowdown of the bandwidth that Memory Bandwidth Allocation leaves ---- */

/*
 * Bandwidth in percent, in steps of 'gran' (half a step up), at least 'floor' and at most 100:
 *
 *     percent_i = max(floor, round(100 slowdown_i / greatest slowdown))
 *
 * Where 100 is no multiple of 'gran', the last one before it is 100.
 *
 * Worked, floor 20, steps of 10: 2 4 1 1 -> 50 100 30 30; 4 2 1.6 1.2 -> 100 50 40 30. Steps of 12:
 *         2 4 1 1 -> 48 100 24 24.
 */
void control_mba_map(const double *slowdowns, size_t n, unsigned floor, unsigned gran,
                     unsigned *percent);

/* One step from what is set towards what is to be. Worked, steps of 10: 100 to 30 -> 90. */
unsigned control_mba_step(unsigned set, unsigned want, unsigned gran);

#endif
