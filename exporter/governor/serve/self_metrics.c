#include "exporter/governor/serve/self_metrics.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "exporter/service/own_process.h"

enum { MODE_OBSERVE, MODE_ENFORCE, MODE_PAUSED, MODES };
static const char *const modes[MODES] = {"observe", "enforce", "paused"};

/* Of an actuator. */
struct knob_series {
    struct series *claims, *yielded;
    struct series *errors[ERROR_OPS][ERROR_REASONS], *foreign[FOREIGN_KINDS];
};

struct governor_metrics {
    struct family *families[GOVERNOR_METRICS];
    struct series *single[GOVERNOR_METRICS]; /* of families without labels */
    struct series *build, *mode[MODES];
    struct series *policy_active[POLICY_KINDS], *decisions[POLICY_KINDS][ACTIONS][OUTCOMES];
    struct knob_series knobs[KNOB_COUNT];
    struct series *chosen[CHOSEN_BYS], *dead_man[DEAD_REASONS], *released[RELEASE_REASONS];
    struct series *limits[GUARD_VERDICTS];           /* NULL for what is no limit */
    struct series *calibrations[CALIBRATION_PHASES]; /* NULL for what is no end */
    struct series *restores[RESTORED_OUTCOMES + 1];  /* the last: failed */
    struct container_series *containers;
    struct own_process process;
};

/* ---- making ---- */

static int make(struct governor_metrics *metrics, enum governor_metric metric,
                const struct label *labels, size_t n, struct series **out)
{
    return series_new(metrics->families[metric], NULL, labels, n, out);
}

static int make_one(struct governor_metrics *metrics, enum governor_metric metric, const char *name,
                    const char *value, struct series **out)
{
    const struct label label = {name, value};
    return make(metrics, metric, &label, 1, out);
}

static int make_decisions(struct governor_metrics *metrics, enum policy_kind policy)
{
    int err = 0;
    for (int a = 0; a < ACTIONS; a++)
        for (int o = 0; o < OUTCOMES && !err; o++) {
            const struct label labels[] = {{"policy", policy_kind_names[policy]},
                                           {"action", action_names[a]},
                                           {"outcome", outcome_names[o]}};
            err = make(metrics, GOVERNOR_DECISIONS, labels, 3, &metrics->decisions[policy][a][o]);
        }
    return err;
}

static int make_errors(struct governor_metrics *metrics, enum knob knob)
{
    int err = 0;
    for (int op = 0; op < ERROR_OPS; op++)
        for (int reason = 0; reason < ERROR_REASONS && !err; reason++) {
            const struct label labels[] = {{"actuator", knob_name(knob)},
                                           {"op", error_op_names[op]},
                                           {"reason", error_reason_names[reason]}};
            err =
                make(metrics, GOVERNOR_ERRORS, labels, 3, &metrics->knobs[knob].errors[op][reason]);
        }
    return err;
}

static int make_foreign(struct governor_metrics *metrics, enum knob knob)
{
    int err = 0;
    for (int kind = 0; kind < FOREIGN_KINDS && !err; kind++) {
        const struct label labels[] = {{"actuator", knob_name(knob)},
                                       {"kind", foreign_names[kind]}};
        err = make(metrics, GOVERNOR_FOREIGN, labels, 2, &metrics->knobs[knob].foreign[kind]);
    }
    return err;
}

static int make_knob(struct governor_metrics *metrics, enum knob knob)
{
    struct knob_series *series = &metrics->knobs[knob];
    int err = make_errors(metrics, knob);
    if (!err)
        err = make_foreign(metrics, knob);
    if (!err)
        err = make_one(metrics, GOVERNOR_CLAIMS, "actuator", knob_name(knob), &series->claims);
    if (!err)
        err = make_one(metrics, GOVERNOR_YIELDED, "actuator", knob_name(knob), &series->yielded);
    return err;
}

/* A series for each value of one label, from 'first' on. */
static const struct {
    enum governor_metric metric;
    const char *label;
    const char *const *values;
    int first, n;
    size_t series; /* in struct governor_metrics */
} by_label[] = {
#define MEMBER(m) offsetof(struct governor_metrics, m)
    {GOVERNOR_MODE, "mode", modes, 0, MODES, MEMBER(mode)},
    {GOVERNOR_POLICY_ACTIVE, "policy", policy_kind_names, 0, POLICY_KINDS, MEMBER(policy_active)},
    {GOVERNOR_CULPRITS_CHOSEN, "by", chosen_by_names, 0, CHOSEN_BYS, MEMBER(chosen)},
    {GOVERNOR_DEAD_MAN, "reason", dead_reason_names, 0, DEAD_REASONS, MEMBER(dead_man)},
    {GOVERNOR_RELEASED, "reason", release_reason_names, 0, RELEASE_REASONS, MEMBER(released)},
    {GOVERNOR_LIMIT_HITS, "limit", guard_verdict_names, GUARD_TICK, GUARD_VERDICTS, MEMBER(limits)},
    {GOVERNOR_CALIBRATIONS, "outcome", calibration_phase_names, CALIBRATION_LEARNED,
     CALIBRATION_PHASES, MEMBER(calibrations)},
    {GOVERNOR_RESTORES, "outcome", claim_restored_names, 0, RESTORED_OUTCOMES, MEMBER(restores)},
};

static int make_by_label(struct governor_metrics *metrics)
{
    int err = 0;
    for (size_t i = 0; i < sizeof by_label / sizeof *by_label; i++) {
        struct series **series = (struct series **)((char *)metrics + by_label[i].series);
        for (int k = by_label[i].first; k < by_label[i].n && !err; k++)
            err = make_one(metrics, by_label[i].metric, by_label[i].label, by_label[i].values[k],
                           &series[k]);
    }
    return err ? err
               : make_one(metrics, GOVERNOR_RESTORES, "outcome", "failed",
                          &metrics->restores[RESTORED_OUTCOMES]);
}

static int make_singles(struct governor_metrics *metrics)
{
    int err = make_one(metrics, GOVERNOR_BUILD, "version", IE_VERSION, &metrics->build);
    for (int i = 0; i < GOVERNOR_METRICS && !err; i++)
        if (!governor_descs[i].labels)
            err = make(metrics, (enum governor_metric)i, NULL, 0, &metrics->single[i]);
    return err;
}

static int open_process(struct governor_metrics *metrics)
{
    struct fsroot own; /* whatever --path.procfs says */
    metrics->process.memory_fd = -1;
    int err = fsroot_init(&own, NULL, NULL, NULL, NULL);
    if (err)
        return err;
    process_init(&metrics->process, &own);
    fsroot_release(&own);
    return 0;
}

int governor_metrics_new(struct store *store, struct governor_metrics **out)
{
    struct governor_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics)
        return -ENOMEM;
    int err = open_process(metrics);
    for (int i = 0; i < GOVERNOR_METRICS && !err; i++)
        err = store_family(store, &governor_descs[i], NULL, &metrics->families[i]);
    if (!err)
        err = make_singles(metrics);
    for (int i = 0; i < POLICY_KINDS && !err; i++)
        err = make_decisions(metrics, (enum policy_kind)i);
    for (int i = 0; i < KNOB_COUNT && !err; i++)
        err = make_knob(metrics, (enum knob)i);
    if (!err)
        err = make_by_label(metrics);
    if (!err)
        err = container_series_new(metrics->families, &metrics->containers);
    if (err)
        governor_metrics_free(metrics);
    else
        *out = metrics;
    return err;
}

/* The series themselves are the store's. */
void governor_metrics_free(struct governor_metrics *metrics)
{
    if (!metrics)
        return;
    process_release(&metrics->process);
    container_series_free(metrics->containers);
    free(metrics);
}

/* ---- all ---- */

static size_t count_yielded(const struct enforcer *enforcer, enum knob knob, uint64_t now_ns)
{
    size_t n, yielded = 0;
    const struct holding *holdings = enforcer_holdings(enforcer, &n);
    for (size_t i = 0; i < n; i++)
        yielded += holdings[i].claim.knob == knob && guard_has_yielded(&holdings[i].memory, now_ns);
    return yielded;
}

static void update_knob(const struct knob_series *series, const struct enforcer *enforcer,
                        enum knob knob, uint64_t now_ns)
{
    const struct enforcer_counts *counts = enforcer_counts(enforcer);
    series_set_u64(series->claims, enforcer_open_of(enforcer, knob));
    series_set_u64(series->yielded, count_yielded(enforcer, knob, now_ns));
    for (int op = 0; op < ERROR_OPS; op++)
        for (int reason = 0; reason < ERROR_REASONS; reason++)
            series_set_u64(series->errors[op][reason], counts->errors[knob][op][reason]);
    for (int i = 0; i < FOREIGN_KINDS; i++)
        series_set_u64(series->foreign[i], counts->foreign[knob][i]);
}

static void update_counts(struct governor_metrics *metrics, const struct enforcer_counts *counts)
{
    for (int policy = 0; policy < POLICY_KINDS; policy++)
        for (int a = 0; a < ACTIONS; a++)
            for (int o = 0; o < OUTCOMES; o++)
                series_set_u64(metrics->decisions[policy][a][o], counts->decisions[policy][a][o]);
    for (int i = 0; i < RELEASE_REASONS; i++)
        series_set_u64(metrics->released[i], counts->released[i]);
    for (int i = GUARD_TICK; i < GUARD_VERDICTS; i++)
        series_set_u64(metrics->limits[i], counts->limited[i]);
    for (int i = 0; i < RESTORED_OUTCOMES; i++)
        series_set_u64(metrics->restores[i], counts->restores.outcomes[i]);
    series_set_u64(metrics->restores[RESTORED_OUTCOMES], counts->restores.failed);
}

static void update_calibrations(struct governor_metrics *metrics,
                                const struct governor_state *state)
{
    bool holding = false;
    for (size_t i = 0; i < state->policies.n_calibrations; i++)
        holding |= state->policies.calibrations[i].phase == CALIBRATION_HOLDING;
    series_set_u64(metrics->single[GOVERNOR_CALIBRATING], holding);
    for (int i = CALIBRATION_LEARNED; i < CALIBRATION_PHASES; i++)
        series_set_u64(metrics->calibrations[i], state->policies.counts.calibrations[i]);
}

static void update_process(struct governor_metrics *metrics)
{
    struct process_numbers now;
    process_read(&metrics->process, &now);
    series_set(metrics->single[GOVERNOR_CPU_SECONDS], now.cpu_seconds);
    series_show_u64(metrics->single[GOVERNOR_OPEN_FDS], now.known & PROCESS_OPEN_FDS, now.open_fds);
    series_show_u64(metrics->single[GOVERNOR_MAX_FDS], now.known & PROCESS_MAX_FDS, now.max_fds);
    series_show_u64(metrics->single[GOVERNOR_VIRTUAL_MEMORY], now.known & PROCESS_MEMORY,
                    now.virtual_memory_bytes);
    series_show_u64(metrics->single[GOVERNOR_RESIDENT_MEMORY], now.known & PROCESS_MEMORY,
                    now.resident_memory_bytes);
    series_show(metrics->single[GOVERNOR_START_TIME], now.known & PROCESS_START_TIME,
                now.start_time_seconds);
}

void governor_metrics_update(struct governor_metrics *metrics, const struct governor_facts *facts)
{
    const struct governor_state *state = &facts->state;
    int mode = state->paused ? MODE_PAUSED : state->enforce ? MODE_ENFORCE : MODE_OBSERVE;
    series_set_u64(metrics->build, 1);
    for (int i = 0; i < MODES; i++)
        series_set_u64(metrics->mode[i], i == mode);
    series_set_u64(metrics->single[GOVERNOR_EXPORTER_UP], facts->exporter_up);
    series_set(metrics->single[GOVERNOR_DATA_AGE],
               liveness_age_seconds(state->liveness, facts->now_ns));
    series_set_u64(metrics->single[GOVERNOR_TICKS], state->ticks);
    series_set(metrics->single[GOVERNOR_TICK_DURATION], facts->tick_seconds);
    series_set_u64(metrics->single[GOVERNOR_RELOAD_SUCCESSFUL], facts->reload_successful);
    series_set_u64(metrics->single[GOVERNOR_FUTILE], state->policies.counts.futile);
    update_calibrations(metrics, state);
    const struct advice *advice = state->policies.advice;
    series_show_u64(metrics->single[GOVERNOR_ADVICE_HOLD], advice, advice && advice->hold);
    series_show(metrics->single[GOVERNOR_ADVICE_SLOWDOWN], advice && !isnan(advice->slowdown),
                advice ? advice->slowdown : NAN);
    const struct policy_writers *writers = state->policies.writers;
    series_show_u64(metrics->single[GOVERNOR_NVMM_WRITERS], writers, writers ? writers->n : 0);
    series_show(metrics->single[GOVERNOR_NVMM_EXPIRY], writers,
                writers ? writers->expiry_seconds : NAN);
    series_set_u64(metrics->single[GOVERNOR_BOUND_MISSED], state->policies.counts.bound_missed);
    series_set_u64(metrics->single[GOVERNOR_JOURNAL_ERRORS], state->journal_errors);
    series_set_u64(metrics->single[GOVERNOR_JOURNAL_OPEN], state->journal_open);
    for (int i = 0; i < POLICY_KINDS; i++)
        series_set_u64(metrics->policy_active[i], state->policies.active[i]);
    for (int i = 0; i < KNOB_COUNT; i++)
        update_knob(&metrics->knobs[i], state->enforcer, (enum knob)i, facts->now_ns);
    for (int i = 0; i < CHOSEN_BYS; i++)
        series_set_u64(metrics->chosen[i], state->policies.counts.chosen[i]);
    for (int i = 0; i < DEAD_REASONS; i++)
        series_set_u64(metrics->dead_man[i], state->dead_man[i]);
    update_counts(metrics, enforcer_counts(state->enforcer));
    container_series_update(metrics->containers, state);
    update_process(metrics);
}
