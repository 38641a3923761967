/* Closed loops: a bound for one application by the governor's `ways` and `mba`, and its epochs. */
#include <math.h>
#include <string.h>

#include "tests/research/control_loop.h"

#define TARGET_AND_OTHERS(bound)                                                                   \
    "\"classes\":[{\"name\":\"target\",\"role\":\"protected\"," bound                              \
    "\"match\":[{\"namespace\":\"*\",\"pod\":\"*\",\"container\":\"c0\"}]},"                       \
    "{\"name\":\"others\",\"role\":\"best_effort\","                                               \
    "\"match\":[{\"namespace\":\"*\",\"pod\":\"*\",\"container\":\"*\"}],"                         \
    "\"llc\":{\"floor_ways\":1},\"mba\":{\"floor_percent\":10}}],"                                 \
    "\"limits\":{\"cuts_per_10m\":63},"
#define BOUND(policies) TARGET_AND_OTHERS("\"slowdown_bound\":3,") "\"policies\":{" policies "}"
#define BY(knob, model)                                                                            \
    "\"" knob "\":{\"classes\":[\"others\"],\"mode\":\"bound\",\"step\":\"1s\","                   \
    "\"model\":\"" model "\"}"

enum { ALONE_TICKS = 24, TARGET_BOUND = 3 };

static void find_apps(const char *const names[LOOP_CORES], size_t apps[SLOW_MAX_CORES])
{
    for (size_t i = 0; i < LOOP_CORES; i++)
        apps[i] = slow_app_named(names[i]);
}

/* --- a bound --- */

/* The first one is protected: one that loses its time in the cache, one in memory. */
static const char *const mixes[][LOOP_CORES] = {
    {"flow", "network", "fourier", "quantum"},
    {"quantum", "network", "fourier", "flow"},
};

static const struct arm {
    const char *name, *policy;
    enum control_scheme scheme; /* in the simulator; SCHEME_NONE: none */
    bool quick;
} arms[] = {
    {"nobody governs", NULL, SCHEME_NONE, true},
    {"`ways`, by `shadow`", BOUND(BY("ways", "shadow")), SCHEME_NONE, true},
    {"`mba`, by `shadow`", BOUND(BY("mba", "shadow")), SCHEME_NONE, true},
    {"`ways`, by `passive`", BOUND(BY("ways", "passive")), SCHEME_NONE, false},
    {"`mba`, by `passive`", BOUND(BY("mba", "passive")), SCHEME_NONE, false},
    {"ASM-QoS-3", NULL, SCHEME_QOS, false},
};

enum {
    NOBODY,
    WAYS,
    MBA,
    ARMS = sizeof(arms) / sizeof(arms[0]),
    MIXES = sizeof(mixes) / sizeof(mixes[0]),
    IN_CACHE = 0,
    IN_MEMORY
};

static void put_value(struct reproduction *r, double value)
{
    if (isnan(value))
        fputs(" - |", r->out);
    else
        fprintf(r->out, " %.2f |", value);
}

static void put_knobs(struct reproduction *r, const struct arm *arm, const struct loop_outcome *o)
{
    if (arm->policy && strstr(arm->policy, "\"ways\":"))
        fprintf(r->out, " %.1f |", (o->ways[1] + o->ways[2] + o->ways[3]) / 3);
    else if (arm->scheme == SCHEME_QOS)
        fprintf(r->out, " %.1f |", o->ways[1] + o->ways[2] + o->ways[3]);
    else
        fputs(" - |", r->out);
    if (arm->policy && strstr(arm->policy, "\"mba\":{\"classes"))
        fprintf(r->out, " %.0f %.0f %.0f |", o->percent[1], o->percent[2], o->percent[3]);
    else
        fputs(" - |", r->out);
    if (arm->policy)
        fprintf(r->out, " %llu | %llu |\n", (unsigned long long)o->changes,
                (unsigned long long)o->missed);
    else
        fputs(" - | - |\n", r->out);
}

static void put_bound(struct reproduction *r, const struct arm *arm, const struct loop_outcome *o)
{
    fprintf(r->out, "| %s |", arm->name);
    for (unsigned i = 0; i < LOOP_CORES; i++)
        put_value(r, o->slowdown[i]);
    put_value(r, loop_told(o, 0, LOOP_SHADOW));
    put_value(r, loop_told(o, 0, LOOP_PASSIVE));
    put_knobs(r, arm, o);
}

/* Each policy does something where its part of the loss is, and nothing in the other place. */
static void expect_bound(struct reproduction *r, const struct loop_outcome of[MIXES][ARMS])
{
    static const int acts[MIXES] = {[IN_CACHE] = WAYS, [IN_MEMORY] = MBA};

    for (int m = 0; m < MIXES; m++) {
        const struct loop_outcome *nobody = &of[m][NOBODY], *with = &of[m][acts[m]];
        double others = 0;

        for (unsigned i = 1; i < LOOP_CORES; i++)
            others = fmax(others, with->slowdown[i] / nobody->slowdown[i]);
        expect_that(r, with->slowdown[0] < 0.97 * nobody->slowdown[0],
                    "%s makes %s faster: %.3f, %.3f", arms[acts[m]].name, mixes[m][0],
                    with->slowdown[0], nobody->slowdown[0]);
        expect_that(r, others > 1.005, "somebody else pays: %.3f", others);
        expect_that(r, of[m][MBA + WAYS - acts[m]].changes == 0,
                    "%s has no cause to act for %s: %llu", arms[MBA + WAYS - acts[m]].name,
                    mixes[m][0], (unsigned long long)of[m][MBA + WAYS - acts[m]].changes);
    }
}

static int run_mix(struct reproduction *r, struct control_alone *alone, const char *const *names,
                   struct loop_outcome of[ARMS])
{
    size_t apps[SLOW_MAX_CORES];
    struct loop_plan plan = {.cores = LOOP_CORES,
                             .apps = apps,
                             .ticks = r->reduced ? 50 : 200,
                             .tick_cycles = r->reduced ? SLOW_ROW_CYCLES / 2 : SLOW_ROW_CYCLES,
                             .alone_ticks = ALONE_TICKS};
    int err = 0;

    find_apps(names, apps);
    fprintf(r->out,
            "\n| %s has the bound %d | %s | %s | %s | %s | told of %s: `shadow` | `passive` | ways "
            "of the others | their percent | changes | steps missed |\n"
            "|---|---|---|---|---|---|---|---|---|---|---|\n",
            names[0], TARGET_BOUND, names[0], names[1], names[2], names[3], names[0]);
    for (int i = 0; !err && i < ARMS; i++) {
        if (r->reduced && !arms[i].quick)
            continue;
        plan.policy = arms[i].policy;
        err = arms[i].scheme == SCHEME_NONE
                  ? loop_run(alone, r->folder, &plan, &of[i])
                  : loop_scheme(alone, r->folder, &plan, arms[i].scheme, TARGET_BOUND, &of[i]);
        if (!err)
            put_bound(r, &arms[i], &of[i]);
        fprintf(stderr, "%s with a bound, %s: done\n", names[0], arms[i].name);
    }
    return err;
}

int control_table_bound(struct reproduction *r)
{
    struct loop_outcome of[MIXES][ARMS] = {0};
    struct control_alone alone = {0};
    int err = 0;

    for (int m = 0; !err && m < MIXES; m++)
        err = run_mix(r, &alone, mixes[m], of[m]);
    control_alone_release(&alone);
    if (err)
        return err;
    expect_bound(r, of);
    return 0;
}

/* --- epochs --- */

static const char *const targets[][LOOP_CORES] = {
    {"flow", "network", "fourier", "quantum"},
    {"zip", "wave", "index", "fourier"},
    {"graph", "scan", "sparse", "zip"},
};

enum {
    TARGETS = sizeof(targets) / sizeof(targets[0]),
    SETTLED = 12,      /* ticks; from then on as many as from one epoch to the next */
    EPOCH_TICKS = 112, /* one estimate */
    LONG_TICK = 10 * SLOW_ROW_CYCLES
};

/* Instructions per cycle. */
static double rate(const struct loop_outcome *outcome, unsigned app)
{
    return (double)(outcome->to[app] - outcome->from[app]) / outcome->cycles;
}

/* What the others do less, in percent. */
static double lost(const struct loop_outcome *nobody, const struct loop_outcome *held)
{
    double sum = 0;

    for (unsigned i = 1; i < LOOP_CORES; i++)
        sum += rate(held, i) / rate(nobody, i);
    return (1 - sum / (LOOP_CORES - 1)) * 100;
}

static void put_target(struct reproduction *r, const char *const *names,
                       const struct loop_outcome *nobody, const struct loop_outcome *held,
                       const struct loop_outcome *quick, const struct loop_outcome *priority)
{
    fprintf(r->out, "| %s | %s %s %s |", names[0], names[1], names[2], names[3]);
    put_value(r, nobody->slowdown[0]);
    put_value(r, held ? held->measured[0] : NAN);
    put_value(r, held ? lost(nobody, held) : NAN);
    put_value(r, quick->measured[0]);
    put_value(r, priority ? lost(nobody, priority) : NAN);
    fputc('\n', r->out);
}

static void expect_epochs(struct reproduction *r, const char *name,
                          const struct loop_outcome *nobody, const struct loop_outcome *held)
{
    double slowdown = nobody->slowdown[0], measured = held->measured[0];

    expect_that(r, measured - 1 > (slowdown - 1) / 4 && measured < 1.05 * slowdown,
                "epochs see a quarter at least of what slows %s, and not more: %.3f, %.3f", name,
                measured, slowdown);
    expect_that(r, lost(nobody, held) > 0 && lost(nobody, held) < 3,
                "and cost the others little: %.3f", lost(nobody, held));
}

static int run_target(struct reproduction *r, struct control_alone *alone,
                      const char *const names[LOOP_CORES])
{
    static const char policy[] =
        TARGET_AND_OTHERS("") "\"policies\":{\"epochs\":{\"classes\":[\"others\"],\"share\":0.02}}";
    size_t apps[SLOW_MAX_CORES];
    struct loop_plan plan = {.cores = LOOP_CORES,
                             .apps = apps,
                             .ticks = r->reduced ? 40 : 120,
                             .tick_cycles = r->reduced ? SLOW_ROW_CYCLES / 2 : SLOW_ROW_CYCLES};
    struct loop_outcome nobody, held, quick, priority;

    find_apps(names, apps);
    int err = loop_run(alone, r->folder, &plan, &nobody);

    plan.epochs = true;
    if (!err && !r->reduced)
        err = loop_run(alone, r->folder, &plan, &priority);
    plan.epochs = false;
    plan.tick_cycles = r->reduced ? SLOW_ROW_CYCLES / 4 : SLOW_ROW_CYCLES;
    plan.policy = policy;
    plan.ticks = EPOCH_TICKS;
    plan.from_tick = SETTLED;
    if (!err)
        err = loop_run(NULL, r->folder, &plan, &quick);
    plan.tick_cycles = LONG_TICK;
    if (!err && !r->reduced)
        err = loop_run(NULL, r->folder, &plan, &held);
    if (err)
        return err;
    put_target(r, names, &nobody, r->reduced ? NULL : &held, &quick, r->reduced ? NULL : &priority);
    expect_epochs(r, names[0], &nobody, r->reduced ? &quick : &held);
    return 0;
}

int control_table_epochs(struct reproduction *r)
{
    struct control_alone alone = {0};
    int err = 0;

    fputs("\n"
          "| protected | beside | slowdown | by `epochs` | work that the others lose, % | by "
          "`epochs` of short seconds | work that they lose in ASM's epochs, % |\n"
          "|---|---|---|---|---|---|---|\n",
          r->out);
    for (size_t i = 0; !err && i < (r->reduced ? 1 : TARGETS); i++) {
        err = run_target(r, &alone, targets[i]);
        fprintf(stderr, "epochs of %s: done\n", targets[i][0]);
    }
    control_alone_release(&alone);
    return err;
}
