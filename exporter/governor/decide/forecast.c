#include "exporter/governor/decide/forecast.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A gap in the ticks, in which nobody knows what was. */
static const double gap_intervals = 3.5;
/* Of the time, for which a figure is said without how much of it that is of. */
static const double nearly = 0.95;

struct forecast {
    struct forecast_pair pairs[FORECAST_PAIRS_MAX];
    size_t n, forgotten;
    uint64_t tick, monotonic_ns; /* that were taken last */
};

int forecast_new(struct forecast **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : -ENOMEM;
}

void forecast_free(struct forecast *run)
{
    free(run);
}

/* ---- pairs ---- */

/* Who was not held for the longest time. */
static void forget_one(struct forecast *run)
{
    size_t at = 0;
    for (size_t i = 1; i < run->n; i++)
        if (run->pairs[i].last_wall_ns < run->pairs[at].last_wall_ns)
            at = i;
    memmove(&run->pairs[at], &run->pairs[at + 1], (--run->n - at) * sizeof *run->pairs);
    run->forgotten++;
}

static const struct view_loss not_counted = {NAN, NAN, NAN};

static struct forecast_pair *pair_of(struct forecast *run, const char *container,
                                     const char *victim, uint64_t wall_ns)
{
    struct forecast_pair *found = NULL;
    for (size_t i = 0; i < run->n; i++) {
        struct forecast_pair *pair = &run->pairs[i];
        if (strcmp(pair->container, container) != 0)
            continue;
        pair->current = false;
        if (strcmp(pair->victim, victim) == 0)
            found = pair;
    }
    if (!found) {
        if (run->n == FORECAST_PAIRS_MAX)
            forget_one(run);
        found = &run->pairs[run->n++];
        *found = (struct forecast_pair){.before = not_counted, .last_wall_ns = wall_ns};
        snprintf(found->container, sizeof found->container, "%s", container);
        snprintf(found->victim, sizeof found->victim, "%s", victim);
    }
    found->current = true;
    return found;
}

static struct forecast_pair *current_pair(struct forecast *run, const char *container,
                                          uint64_t wall_ns)
{
    for (size_t i = 0; i < run->n; i++)
        if (run->pairs[i].current && strcmp(run->pairs[i].container, container) == 0)
            return &run->pairs[i];
    return pair_of(run, container, "", wall_ns);
}

void forecast_decided(struct forecast *run, const struct decision *decision)
{
    if (decision->knob == KNOB_CPU && decision->action == ACTION_CUT &&
        decision->outcome == OUTCOME_DRY_RUN)
        (void)pair_of(run, decision->container, decision->cause, decision->wall_ns);
}

const struct forecast_pair *forecast_pairs(const struct forecast *run, size_t *n)
{
    *n = run->n;
    return run->pairs;
}

size_t forecast_forgotten(const struct forecast *run)
{
    return run->forgotten;
}

/* ---- a tick ---- */

static const struct view_container *find_path(const struct view *view, const char *path)
{
    for (size_t i = 0; i < view->n; i++)
        if (strcmp(view->containers[i].path, path) == 0)
            return &view->containers[i];
    return NULL;
}

static const struct view_container *find_name(const struct view *view, const char *name)
{
    for (size_t i = 0; i < view->n && name[0]; i++) {
        const struct view_container *container = &view->containers[i];
        char full[CLAIM_NAME_MAX];
        view_name(container, full);
        if (strcmp(full, name) == 0)
            return container;
    }
    return NULL;
}

/* Of cycles that are lost to memory, the part that goes with so much less latency. */
static void add_cycles(struct forecast_pair *pair, const struct view_container *victim, double won,
                       double won_sd)
{
    const struct view_loss now = victim->losses[VIEW_PASSIVE], before = pair->before;
    double observed = view_grown(before.observed, now.observed);
    double memory = view_grown(before.memory, now.memory);
    double cache = view_grown(before.cache, now.cache);
    double excess = victim->latency_seconds - victim->baseline_seconds;
    pair->before = now;
    pair->counted = true;
    if (isnan(observed) || isnan(memory) || !(excess > 0))
        return;
    pair->alone += observed - memory - (isnan(cache) ? 0 : cache);
    pair->saved += memory * fmin(won / excess, 1);
    pair->saved_sd += memory * won_sd / excess;
}

/* Returns by how much a read would have been faster. */
static double add_tick(struct forecast_pair *pair, const struct view *view,
                       const struct view_container *held, double quota, double seconds,
                       uint64_t wall_ns)
{
    const struct view_container *victim = find_name(view, pair->victim);
    if (!pair->first_wall_ns)
        pair->first_wall_ns = wall_ns;
    pair->last_wall_ns = wall_ns;
    pair->seconds += seconds;
    if (isnan(held->cpus))
        return 0;
    double given = fmax(held->cpus - quota, 0);
    pair->known_seconds += seconds;
    pair->core_seconds += given * seconds;
    if (!(held->cpus > 0) || isnan(held->caused_seconds) || isnan(held->caused_sd_seconds))
        return 0;
    double part = given / held->cpus;
    double won = part * held->caused_seconds, won_sd = part * held->caused_sd_seconds;
    if (victim && !isnan(victim->latency_seconds)) {
        pair->told_seconds += seconds;
        pair->won += won * seconds;
        pair->won_sd += won_sd * seconds;
        pair->per_core += held->caused_seconds / held->cpus * seconds;
        pair->per_core_sd += held->caused_sd_seconds / held->cpus * seconds;
        add_cycles(pair, victim, won, won_sd);
    }
    return won;
}

/* No lower than what is normal for them, where they are above it. */
static void lower(const struct config *config, struct view *view, double won)
{
    bool literal;
    for (size_t i = 0; i < view->n && won > 0; i++) {
        struct view_container *c = &view->containers[i];
        int class =
            config_class_of(config, c->namespace_, c->pod, c->container, c->qos_class, &literal);
        if (!config_is_protected(config, class) || isnan(c->latency_seconds))
            continue;
        double least = isnan(c->baseline_seconds) ? 0 : c->baseline_seconds;
        c->latency_seconds = fmax(c->latency_seconds - won, fmin(least, c->latency_seconds));
    }
}

void forecast_take(struct forecast *run, const struct config *config,
                   const struct enforcer *enforcer, struct view *view, uint64_t wall_ns)
{
    double seconds = (double)(int64_t)(view->monotonic_ns - run->monotonic_ns) * 1e-9;
    double longest = (double)view->interval_ns * 1e-9 * gap_intervals, won = 0;
    size_t n;
    if (!view->has_tick || view->tick == run->tick)
        return;
    run->tick = view->tick;
    run->monotonic_ns = view->monotonic_ns;
    const struct holding *holdings = enforcer_holdings(enforcer, &n);
    for (size_t i = 0; i < run->n; i++)
        run->pairs[i].counted = false;
    for (size_t i = 0; i < n && seconds > 0 && seconds <= longest; i++) {
        const struct claim *claim = &holdings[i].claim;
        const struct view_container *held = NULL;
        if (claim->knob == KNOB_CPU && holdings[i].known && claim->value < claim->most)
            held = find_path(view, claim->path);
        struct forecast_pair *pair = held ? current_pair(run, claim->container, wall_ns) : NULL;
        if (pair)
            won += add_tick(pair, view, held, claim->value, seconds, wall_ns);
    }
    for (size_t i = 0; i < run->n; i++)
        if (!run->pairs[i].counted) /* or the next tick would have all cycles since */
            run->pairs[i].before = not_counted;
    lower(config, view, won);
}

/* ---- what comes of it ---- */

static double over(double sum, double by)
{
    return by > 0 ? sum / by : NAN;
}

void forecast_pair_brought(const struct forecast_pair *pair, struct forecast_brought *out)
{
    *out = (struct forecast_brought){.cores = over(pair->core_seconds, pair->known_seconds),
                                     .won = over(pair->won, pair->told_seconds),
                                     .won_sd = over(pair->won_sd, pair->told_seconds),
                                     .per_core = over(pair->per_core, pair->told_seconds),
                                     .per_core_sd = over(pair->per_core_sd, pair->told_seconds),
                                     .slowdown_won = over(pair->saved, pair->alone),
                                     .slowdown_sd = over(pair->saved_sd, pair->alone)};
}

static void say_time(struct textbuf *out, double seconds)
{
    if (seconds < 120)
        textbuf_printf(out, "%.0f second%s", seconds, lround(seconds) == 1 ? "" : "s");
    else if (seconds < 7200)
        textbuf_printf(out, "%.0f minutes", seconds / 60);
    else
        textbuf_printf(out, "%.1f hours", seconds / 3600);
}

void forecast_pair_say(const struct forecast_pair *pair, struct textbuf *out)
{
    struct forecast_brought brought;
    forecast_pair_brought(pair, &brought);
    if (isnan(brought.cores))
        textbuf_printf(out, "would have held %s for ", pair->container);
    else
        textbuf_printf(out, "would have taken %.1f cores from %s for ", brought.cores,
                       pair->container);
    say_time(out, pair->seconds);
    if (!pair->victim[0])
        textbuf_str(out, "; nobody waited");
    else if (isnan(brought.won))
        textbuf_printf(out,
                       "; how much less %s would have waited is not known: %s was never named as a "
                       "cause while that one read memory",
                       pair->victim, pair->container);
    else
        textbuf_printf(out, "; %s would have waited %.0f ns less (%.0f to %.0f)", pair->victim,
                       brought.won * 1e9, (brought.won - FORECAST_WIDE * brought.won_sd) * 1e9,
                       (brought.won + FORECAST_WIDE * brought.won_sd) * 1e9);
    if (pair->victim[0] && pair->told_seconds > 0 && pair->told_seconds < nearly * pair->seconds) {
        textbuf_str(out, " in ");
        say_time(out, pair->told_seconds);
        textbuf_str(out, " of them");
    }
}

static void add_number(struct textbuf *out, const char *name, double value)
{
    textbuf_printf(out, ",\"%s\":", name);
    if (isnan(value))
        textbuf_str(out, "null");
    else
        textbuf_double(out, value);
}

/* With its interval. */
static void add_estimate(struct textbuf *out, const char *name, double value, double sd)
{
    const struct {
        const char *ending;
        double value;
    } members[] = {{"", value},
                   {"_lower", value - FORECAST_WIDE * sd},
                   {"_upper", value + FORECAST_WIDE * sd}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char full[64];
        snprintf(full, sizeof full, "%s%s", name, members[i].ending);
        add_number(out, full, members[i].value);
    }
}

static void add_pair(const struct forecast_pair *pair, struct textbuf *out)
{
    struct textbuf words = TEXTBUF_INIT;
    struct forecast_brought brought;
    forecast_pair_brought(pair, &brought);
    textbuf_str(out, "{\"container\":");
    textbuf_quoted(out, pair->container);
    textbuf_str(out, ",\"for\":");
    textbuf_quoted(out, pair->victim);
    add_number(out, "first_timestamp_seconds", (double)pair->first_wall_ns * 1e-9);
    add_number(out, "last_timestamp_seconds", (double)pair->last_wall_ns * 1e-9);
    add_number(out, "held_seconds", pair->seconds);
    add_number(out, "cpu_seconds", pair->known_seconds > 0 ? pair->core_seconds : NAN);
    add_number(out, "cores", brought.cores);
    add_number(out, "told_seconds", pair->told_seconds);
    add_estimate(out, "latency_seconds", brought.won, brought.won_sd);
    add_estimate(out, "latency_seconds_per_core", brought.per_core, brought.per_core_sd);
    add_estimate(out, "slowdown_ratio", brought.slowdown_won, brought.slowdown_sd);
    forecast_pair_say(pair, &words);
    textbuf_str(out, ",\"sentence\":");
    textbuf_quoted(out, textbuf_finish(&words) ? "" : words.data);
    textbuf_char(out, '}');
    textbuf_release(&words);
}

void forecast_list(const struct forecast *run, struct textbuf *out)
{
    bool any = false;
    textbuf_char(out, '[');
    for (size_t i = 0; i < run->n; i++) {
        if (!(run->pairs[i].seconds > 0))
            continue;
        if (any)
            textbuf_char(out, ',');
        add_pair(&run->pairs[i], out);
        any = true;
    }
    textbuf_char(out, ']');
}
