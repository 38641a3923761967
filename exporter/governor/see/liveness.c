#include "exporter/governor/see/liveness.h"

#include <string.h>

#define MS UINT64_C(1000000)
#define LOOK_LEAST (50 * MS)
#define LOOK_MOST (1000 * MS)
#define BEHIND_TICK (20 * MS)   /* the exporter needs a moment to publish */
#define STALE_LEAST (1000 * MS) /* we, or the exporter, may have had no CPU for a moment */

/* A longer one is none that an exporter can have; it would leave the dead man without an end. */
#define INTERVAL_MOST (3600000 * MS)

const char *const dead_reason_names[DEAD_REASONS] = {
    [DEAD_STALE] = "stale",
    [DEAD_DOWN] = "down",
    [DEAD_TICK_RESET] = "tick_reset",
    [DEAD_REPLAY] = "replay",
};

void liveness_init(struct liveness *liveness, uint64_t now_ns)
{
    *liveness = (struct liveness){.tick_ns = now_ns, .dead = true, .reason = DEAD_DOWN};
}

static enum liveness_verdict die(struct liveness *liveness, enum dead_reason reason)
{
    bool before = liveness->dead;
    liveness->dead = true;
    liveness->reason = reason;
    liveness->fresh = 0;
    return before ? LIVENESS_DEAD : LIVENESS_DIED;
}

/* 3.5 of the exporter's; 0: not known. */
static uint64_t ticks_ns(const struct liveness *liveness)
{
    return liveness->interval_ns / 2 * 7;
}

/* For how long nothing fresh may come. Two ticks may be lost, as with one a second. */
static uint64_t patience(const struct liveness *liveness, const struct liveness_config *config)
{
    uint64_t ticks = ticks_ns(liveness);
    return ticks > config->dead_ns ? ticks : config->dead_ns;
}

/* How old a tick may be that is acted on: with short ones, one of some seconds ago is history. */
static uint64_t freshness(const struct liveness *liveness, const struct liveness_config *config)
{
    uint64_t ticks = liveness->interval_ns ? ticks_ns(liveness) : UINT64_MAX;
    uint64_t limit = ticks < STALE_LEAST ? STALE_LEAST : ticks;
    return limit < config->stale_ns ? limit : config->stale_ns;
}

/* Nothing fresh has come. */
static enum liveness_verdict wait_or_die(struct liveness *liveness,
                                         const struct liveness_config *config,
                                         enum dead_reason reason, uint64_t now_ns)
{
    if (now_ns - liveness->tick_ns > patience(liveness, config))
        return die(liveness, reason);
    return liveness->dead ? LIVENESS_DEAD : LIVENESS_WAIT;
}

static bool is_live(const struct liveness_config *config, const struct view *view)
{
    if (view->replay_ended)
        return false;
    return view_is_counted(view) || (config->allow_replay && strcmp(view->source, "replay") == 0);
}

/* A recording's clock is its own: its ticks are as old as we know of them. */
static uint64_t time_of(const struct view *view, uint64_t now_ns)
{
    bool own = view_is_counted(view);
    return own && view->monotonic_ns < now_ns ? view->monotonic_ns : now_ns;
}

enum liveness_verdict liveness_judge(struct liveness *liveness,
                                     const struct liveness_config *config, const struct view *view,
                                     uint64_t now_ns)
{
    if (!view)
        return wait_or_die(liveness, config, DEAD_DOWN, now_ns);
    if (!is_live(config, view))
        return die(liveness, view->source[0] ? DEAD_REPLAY : DEAD_STALE);
    if (view->tick < liveness->tick) { /* it has 0 until its first has come */
        liveness->tick = view->tick;
        return die(liveness, DEAD_TICK_RESET);
    }
    if (!view->has_tick)
        return die(liveness, DEAD_STALE);
    if (view->interval_ns <= INTERVAL_MOST)
        liveness->interval_ns = view->interval_ns;
    uint64_t tick_ns = time_of(view, now_ns);
    if (view->tick == liveness->tick || now_ns - tick_ns > freshness(liveness, config))
        return wait_or_die(liveness, config, DEAD_STALE, now_ns);
    /* Nobody looked for so long, be it because we did not run. */
    bool long_ago =
        tick_ns > liveness->tick_ns && tick_ns - liveness->tick_ns > patience(liveness, config);
    liveness->tick = view->tick;
    liveness->tick_ns = tick_ns;
    if (long_ago && !liveness->dead)
        return die(liveness, DEAD_STALE);
    if (liveness->dead && ++liveness->fresh < LIVENESS_FRESH_TICKS)
        return LIVENESS_DEAD;
    liveness->dead = false;
    return LIVENESS_ACT;
}

double liveness_age_seconds(const struct liveness *liveness, uint64_t now_ns)
{
    return now_ns > liveness->tick_ns ? (double)(now_ns - liveness->tick_ns) * 1e-9 : 0;
}

static uint64_t within(uint64_t least, uint64_t value, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

uint64_t liveness_next_look(const struct view *view, uint64_t interval_ns, uint64_t now_ns)
{
    uint64_t soon = now_ns + within(LOOK_LEAST, interval_ns / 4, LOOK_MOST);
    if (!view || !view->has_tick || !view_is_counted(view))
        return soon;
    uint64_t next = view->monotonic_ns + view->interval_ns + BEHIND_TICK;
    if (next <= now_ns || next >= now_ns + 2 * view->interval_ns)
        return soon;
    return within(now_ns, next, now_ns + LOOK_MOST);
}
