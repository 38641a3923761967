#include "exporter/governor/decide/control/control_feedback.h"

#include <math.h>

static const double cache_matters = 0.3, memory_matters = 0.5;

/* ---- a step ---- */

bool control_loss(double observed, double memory, double cache, struct control_loss *out)
{
    double in_cache = isnan(cache) ? 0 : fmax(0, cache), in_memory = fmax(0, memory);
    double lost = in_memory + in_cache;
    if (isnan(memory) || !(observed > 0) || !(lost < observed))
        return false;
    *out = (struct control_loss){.slowdown = observed / (observed - lost),
                                 .memory_part = lost > 0 ? in_memory / lost : 0,
                                 .cache_part = lost > 0 ? in_cache / lost : 0};
    return true;
}

/* ---- a bound ---- */

enum { OVER_STEPS = 3, UNDER_STEPS = 6 };

static const double well_below = 0.9;

enum control_move control_qos_step(struct control_qos *state, double bound, double slowdown,
                                   double cache_part)
{
    state->over = slowdown > bound ? state->over + 1 : 0;
    state->under = slowdown < well_below * bound ? state->under + 1 : 0;
    if (state->over >= OVER_STEPS && cache_part >= cache_matters) {
        state->over = 0;
        return CONTROL_MOVE_TAKE;
    }
    if (state->under >= UNDER_STEPS) {
        state->under = 0;
        return CONTROL_MOVE_GIVE;
    }
    return CONTROL_MOVE_NONE;
}

size_t control_donor(const unsigned *ways, const unsigned *floors, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++)
        if (ways[i] > floors[i] && (best == n || ways[i] > ways[best]))
            best = i;
    return best;
}

/* ---- bandwidth ---- */

enum { CALM_STEPS = 3 };

unsigned control_mba_feedback(struct control_mba *state, unsigned percent, unsigned gran,
                              unsigned floor, bool over, double memory_part, bool culprit)
{
    state->calm = over ? 0 : state->calm + 1;
    if (over && culprit && memory_part >= memory_matters && percent > floor)
        return percent > floor + gran ? percent - gran : floor;
    if (state->calm < CALM_STEPS)
        return percent;
    state->calm = 0;
    return percent + gran < 100 ? percent + gran : 100;
}

void control_mba_map(const double *slowdowns, size_t n, unsigned floor, unsigned gran,
                     unsigned *percent)
{
    double greatest = 1;
    for (size_t i = 0; i < n; i++)
        greatest = fmax(greatest, slowdowns[i]);
    for (size_t i = 0; i < n; i++) {
        double share = 100 * fmax(1, slowdowns[i]) / greatest / gran;
        /* 25 of 100 in steps of 10 is 2.5, whatever rounding made of it. */
        unsigned rounded = (unsigned)(share + 0.5 + 1e-9) * gran;
        rounded = rounded + gran > 100 ? 100 : rounded; /* 100 may be no multiple */
        percent[i] = rounded < floor ? floor : rounded;
    }
}

unsigned control_mba_step(unsigned set, unsigned want, unsigned gran)
{
    if (set > want)
        return set - want > gran ? set - gran : want;
    return want - set > gran ? set + gran : want;
}
