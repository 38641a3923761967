#include "exporter/governor/self_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/service/own_process.h"

enum { MODE_OBSERVE, MODE_ENFORCE, MODE_PAUSED, MODES };
static const char *const modes[MODES] = {"observe", "enforce", "paused"};
static const char *const foreign_kinds[FOREIGN_KINDS] = {"reset", "changed"};

enum { LIMITS = GUARD_BACK_OFF + 1, RESTORES = RESTORED_OUTCOMES + 1 };

/* Of an actuator. */
struct knob_series {
    struct series *claims, *yielded;
    struct series *errors[ERROR_OPS][ERROR_REASONS], *foreign[FOREIGN_KINDS];
};

/* What is shown of a knob that is turned down; GOVERNOR_METRICS: nothing. */
static const struct {
    enum governor_metric value, original;
} shown[KNOB_COUNT] = {
    [KNOB_CPU] = {GOVERNOR_QUOTA, GOVERNOR_QUOTA_ORIGINAL},
    [KNOB_WAYS] = {GOVERNOR_CONTAINER_WAYS, GOVERNOR_METRICS},
    [KNOB_MBA] = {GOVERNOR_CONTAINER_MBA, GOVERNOR_METRICS},
    [KNOB_AFFINITY] = {GOVERNOR_CONTAINER_THREADS, GOVERNOR_METRICS},
};

/* Of a knob that is turned down. */
struct claim_series {
    char path[CLAIM_PATH_MAX];
    enum knob knob;
    struct series *value, *original; /* original may be NULL */
    double sum;                      /* of threads: how many */
    bool seen;
};

/* Of a container whose slowdown was measured. */
struct slowdown_series {
    struct policy_slowdown of;
    struct series *series;
    bool seen;
};

struct governor_metrics {
    struct family *families[GOVERNOR_METRICS];
    struct series *single[GOVERNOR_METRICS]; /* of families without labels */
    struct series *build, *mode[MODES];
    struct series *policy_active[POLICY_KINDS], *decisions[POLICY_KINDS][ACTIONS][OUTCOMES];
    struct knob_series knobs[KNOB_COUNT];
    struct series *chosen[CHOSEN_BYS], *dead_man[DEAD_REASONS], *released[RELEASE_REASONS];
    struct series *limits[LIMITS]; /* NULL for what is no limit */
    struct series *restores[RESTORES];
    struct claim_series *containers; /* CLAIMS_MAX */
    struct own_process process;
    size_t n_containers;
    struct slowdown_series *slowdowns; /* CLAIMS_MAX */
    size_t n_slowdowns;
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
    const char *name = policy_kind_name(policy);
    int err =
        make_one(metrics, GOVERNOR_POLICY_ACTIVE, "policy", name, &metrics->policy_active[policy]);
    for (int a = 0; a < ACTIONS; a++)
        for (int o = 0; o < OUTCOMES && !err; o++) {
            const struct label labels[] = {{"policy", name},
                                           {"action", action_name((enum action)a)},
                                           {"outcome", outcome_name((enum outcome)o)}};
            err = make(metrics, GOVERNOR_DECISIONS, labels, 3, &metrics->decisions[policy][a][o]);
        }
    return err;
}

static int make_errors(struct governor_metrics *metrics, enum knob knob)
{
    int err = 0;
    for (int op = 0; op < ERROR_OPS; op++)
        for (int reason = 0; reason < ERROR_REASONS && !err; reason++) {
            const struct label labels[] = {
                {"actuator", knob_name(knob)},
                {"op", error_op_name((enum error_op)op)},
                {"reason", error_reason_name((enum error_reason)reason)}};
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
                                       {"kind", foreign_kinds[kind]}};
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

static int make_reasons(struct governor_metrics *metrics)
{
    int err = 0;
    for (int i = 0; i < MODES && !err; i++)
        err = make_one(metrics, GOVERNOR_MODE, "mode", modes[i], &metrics->mode[i]);
    for (int i = 0; i < CHOSEN_BYS && !err; i++)
        err = make_one(metrics, GOVERNOR_CULPRITS_CHOSEN, "by", chosen_by_name((enum chosen_by)i),
                       &metrics->chosen[i]);
    for (int i = 0; i < DEAD_REASONS && !err; i++)
        err = make_one(metrics, GOVERNOR_DEAD_MAN, "reason", dead_reason_name((enum dead_reason)i),
                       &metrics->dead_man[i]);
    for (int i = 0; i < RELEASE_REASONS && !err; i++)
        err = make_one(metrics, GOVERNOR_RELEASED, "reason",
                       release_reason_name((enum release_reason)i), &metrics->released[i]);
    for (int i = GUARD_TICK; i < LIMITS && !err; i++)
        err = make_one(metrics, GOVERNOR_LIMIT_HITS, "limit",
                       guard_verdict_name((enum guard_verdict)i), &metrics->limits[i]);
    for (int i = 0; i < RESTORES && !err; i++)
        err = make_one(metrics, GOVERNOR_RESTORES, "outcome",
                       i == RESTORED_OUTCOMES ? "failed"
                                              : claim_restored_name((enum claim_restored)i),
                       &metrics->restores[i]);
    return err;
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
    metrics->containers = calloc(CLAIMS_MAX, sizeof *metrics->containers);
    metrics->slowdowns = calloc(CLAIMS_MAX, sizeof *metrics->slowdowns);
    int err = open_process(metrics);
    if (!metrics->containers || !metrics->slowdowns)
        err = -ENOMEM;
    for (int i = 0; i < GOVERNOR_METRICS && !err; i++)
        err = store_family(store, &governor_descs[i], NULL, &metrics->families[i]);
    if (!err)
        err = make_singles(metrics);
    for (int i = 0; i < POLICY_KINDS && !err; i++)
        err = make_decisions(metrics, (enum policy_kind)i);
    for (int i = 0; i < KNOB_COUNT && !err; i++)
        err = make_knob(metrics, (enum knob)i);
    if (!err)
        err = make_reasons(metrics);
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
    free(metrics->containers);
    free(metrics->slowdowns);
    free(metrics);
}

/* ---- containers ---- */

/* "namespace/pod/container", whose names have no slash in them; what does is no container of
 * Kubernetes, and its last name has them all. */
static int make_container(struct governor_metrics *metrics, const struct claim *claim,
                          struct claim_series *out)
{
    char names[CLAIM_NAME_MAX];
    char *pod, *container;
    memcpy(names, claim->container, sizeof names);
    pod = strchr(names, '/');
    container = pod ? strchr(pod + 1, '/') : NULL;
    if (!container)
        return -EINVAL;
    *pod++ = *container++ = '\0';
    const struct label labels[] = {{"namespace", names},
                                   {"pod", pod},
                                   {"container", container},
                                   {"container_id", claim->container_id}};
    out->original = NULL;
    int err = make(metrics, shown[claim->knob].value, labels, 4, &out->value);
    if (err || shown[claim->knob].original == GOVERNOR_METRICS)
        return err;
    err = make(metrics, shown[claim->knob].original, labels, 4, &out->original);
    if (err)
        series_free(out->value);
    return err;
}

static struct claim_series *container_of(struct governor_metrics *metrics,
                                         const struct claim *claim)
{
    for (size_t i = 0; i < metrics->n_containers; i++)
        if (metrics->containers[i].knob == claim->knob &&
            strcmp(metrics->containers[i].path, claim->path) == 0)
            return &metrics->containers[i];
    if (metrics->n_containers == CLAIMS_MAX)
        return NULL;
    struct claim_series *series = &metrics->containers[metrics->n_containers];
    if (make_container(metrics, claim, series))
        return NULL;
    memcpy(series->path, claim->path, sizeof series->path);
    series->knob = claim->knob;
    series->sum = 0;
    metrics->n_containers++;
    return series;
}

static void update_containers(struct governor_metrics *metrics, const struct enforcer *enforcer)
{
    size_t n;
    const struct holding *holdings = enforcer_holdings(enforcer, &n);
    for (size_t i = 0; i < metrics->n_containers; i++) {
        metrics->containers[i].seen = false;
        metrics->containers[i].sum = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct claim *claim = &holdings[i].claim;
        struct claim_series *series =
            holdings[i].known && claim->value < claim->most ? container_of(metrics, claim) : NULL;
        if (!series)
            continue;
        series->seen = true;
        series->sum += 1;
        series_set(series->value, claim->tid ? series->sum : claim->value);
        if (series->original)
            series_set(series->original, claim->most);
    }
    for (size_t i = metrics->n_containers; i-- > 0;) {
        struct claim_series *series = &metrics->containers[i];
        if (series->seen)
            continue;
        series_free(series->value);
        if (series->original)
            series_free(series->original);
        *series = metrics->containers[--metrics->n_containers];
    }
}

/* ---- slowdowns ---- */

static bool is_same_container(const struct policy_slowdown *a, const struct policy_slowdown *b)
{
    return strcmp(a->container_id, b->container_id) == 0 &&
           strcmp(a->container, b->container) == 0 && strcmp(a->pod, b->pod) == 0 &&
           strcmp(a->namespace_, b->namespace_) == 0;
}

/* NULL: there are too many, or no memory. */
static struct slowdown_series *slowdown_of(struct governor_metrics *metrics,
                                           const struct policy_slowdown *measured)
{
    for (size_t i = 0; i < metrics->n_slowdowns; i++)
        if (is_same_container(&metrics->slowdowns[i].of, measured))
            return &metrics->slowdowns[i];
    if (metrics->n_slowdowns == CLAIMS_MAX)
        return NULL;
    struct slowdown_series *series = &metrics->slowdowns[metrics->n_slowdowns];
    const struct label labels[] = {{"namespace", measured->namespace_},
                                   {"pod", measured->pod},
                                   {"container", measured->container},
                                   {"container_id", measured->container_id},
                                   {"model", "epochs"}};
    if (make(metrics, GOVERNOR_SLOWDOWN, labels, 5, &series->series))
        return NULL;
    series->of = *measured;
    metrics->n_slowdowns++;
    return series;
}

static void update_slowdowns(struct governor_metrics *metrics, const struct governor_state *state)
{
    for (size_t i = 0; i < metrics->n_slowdowns; i++)
        metrics->slowdowns[i].seen = false;
    for (size_t i = 0; i < state->n_slowdowns; i++) {
        struct slowdown_series *series = slowdown_of(metrics, &state->slowdowns[i]);
        if (!series)
            continue;
        series->seen = true;
        series_set(series->series, state->slowdowns[i].slowdown);
    }
    for (size_t i = metrics->n_slowdowns; i-- > 0;) {
        if (metrics->slowdowns[i].seen)
            continue;
        series_free(metrics->slowdowns[i].series);
        metrics->slowdowns[i] = metrics->slowdowns[--metrics->n_slowdowns];
    }
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
    for (int i = GUARD_TICK; i < LIMITS; i++)
        series_set_u64(metrics->limits[i], counts->limited[i]);
    for (int i = 0; i < RESTORED_OUTCOMES; i++)
        series_set_u64(metrics->restores[i], counts->restores.outcomes[i]);
    series_set_u64(metrics->restores[RESTORED_OUTCOMES], counts->restores.failed);
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
    series_set_u64(metrics->single[GOVERNOR_FUTILE], state->counts.futile);
    const struct advice *advice = state->advice;
    series_show_u64(metrics->single[GOVERNOR_ADVICE_HOLD], advice, advice && advice->hold);
    series_show(metrics->single[GOVERNOR_ADVICE_SLOWDOWN], advice && !isnan(advice->slowdown),
                advice ? advice->slowdown : NAN);
    const struct policy_writers *writers = state->writers;
    series_show_u64(metrics->single[GOVERNOR_NVMM_WRITERS], writers, writers ? writers->n : 0);
    series_show(metrics->single[GOVERNOR_NVMM_EXPIRY], writers,
                writers ? writers->expiry_seconds : NAN);
    series_set_u64(metrics->single[GOVERNOR_BOUND_MISSED], state->counts.bound_missed);
    series_set_u64(metrics->single[GOVERNOR_JOURNAL_ERRORS], state->journal_errors);
    series_set_u64(metrics->single[GOVERNOR_JOURNAL_OPEN], state->journal_open);
    for (int i = 0; i < POLICY_KINDS; i++)
        series_set_u64(metrics->policy_active[i], state->policy_active[i]);
    for (int i = 0; i < KNOB_COUNT; i++)
        update_knob(&metrics->knobs[i], state->enforcer, (enum knob)i, facts->now_ns);
    for (int i = 0; i < CHOSEN_BYS; i++)
        series_set_u64(metrics->chosen[i], state->counts.chosen[i]);
    for (int i = 0; i < DEAD_REASONS; i++)
        series_set_u64(metrics->dead_man[i], state->dead_man[i]);
    update_counts(metrics, enforcer_counts(state->enforcer));
    update_containers(metrics, state->enforcer);
    update_slowdowns(metrics, state);
    update_process(metrics);
}
