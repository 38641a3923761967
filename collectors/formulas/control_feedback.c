#include "collectors/formulas/control_feedback.h"

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

/* ---- peers ---- */

enum { JUDGED_AFTER = 3 };

static const double slowed = 1.1, worth = 0.98, barred_seconds = 600;

static size_t find(const struct control_peer *peers, size_t n, uint64_t id)
{
    size_t i = 0;
    while (i < n && peers[i].id != id)
        i++;
    return i;
}

static bool is_barred(const struct control_fair *state, uint64_t from, uint64_t to, double now)
{
    for (size_t i = 0; i < CONTROL_BARRED; i++)
        if (state->barred[i].from == from && state->barred[i].to == to &&
            now < state->barred[i].until)
            return true;
    return false;
}

/* In the place of the one that ends first. */
static void bar(struct control_fair *state, double now)
{
    size_t oldest = 0;
    for (size_t i = 1; i < CONTROL_BARRED; i++)
        if (state->barred[i].until < state->barred[oldest].until)
            oldest = i;
    state->barred[oldest] = (struct control_pair){state->from, state->to, now + barred_seconds};
}

static size_t most_slowed(const struct control_peer *peers, size_t n)
{
    size_t most = n;
    for (size_t i = 0; i < n; i++)
        if (!isnan(peers[i].slowdown) && (most == n || peers[i].slowdown > peers[most].slowdown))
            most = i;
    return most;
}

static size_t least_slowed(const struct control_fair *state, const struct control_peer *peers,
                           size_t n, size_t to, double now)
{
    size_t least = n;
    for (size_t i = 0; i < n; i++) {
        if (i == to || isnan(peers[i].slowdown) || peers[i].ways <= peers[i].floor ||
            is_barred(state, peers[i].id, peers[to].id, now))
            continue;
        if (least == n || peers[i].slowdown < peers[least].slowdown)
            least = i;
    }
    return least;
}

/* True: the way goes back. */
static bool judge(struct control_fair *state, const struct control_peer *peers, size_t n,
                  double now, size_t *from, size_t *to)
{
    size_t giver = find(peers, n, state->from), taker = find(peers, n, state->to);
    size_t most = most_slowed(peers, n);
    if (giver == n || taker == n) {
        state->trying = false;
        return false;
    }
    if (++state->steps < JUDGED_AFTER)
        return false;
    state->trying = false;
    if (most == n || peers[most].slowdown <= worth * state->before)
        return false;
    bar(state, now);
    *from = taker;
    *to = giver;
    return peers[taker].ways > peers[taker].floor;
}

bool control_fair_step(struct control_fair *state, const struct control_peer *peers, size_t n,
                       double now, size_t *from, size_t *to)
{
    if (state->trying)
        return judge(state, peers, n, now, from, to);
    size_t taker = most_slowed(peers, n);
    if (taker == n || !(peers[taker].slowdown > slowed) ||
        !(peers[taker].cache_part >= cache_matters))
        return false;
    size_t giver = least_slowed(state, peers, n, taker, now);
    if (giver == n)
        return false;
    state->trying = true;
    state->steps = 0;
    state->from = peers[giver].id;
    state->to = peers[taker].id;
    state->before = peers[taker].slowdown;
    *from = giver;
    *to = taker;
    return true;
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
