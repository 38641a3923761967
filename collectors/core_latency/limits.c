#include "collectors/core_latency/limits.h"

#include "collectors/learned/serialise.h"
#include "collectors/parts/named_series.h"

static const enum container_metric metric_of[LIMITS] = {
    [LIMIT_BASELINE] = C_BASELINE,
    [LIMIT_THRESHOLD] = C_THRESHOLD,
};

void limits_init(struct limits *limits)
{
    *limits = (struct limits){.shown_lack = LACK_NONE, .told = BASES};
    for (int i = 0; i < LIMITS; i++)
        limits->basis[i] = limits->shown[i] = BASES;
}

void limits_update(struct limits *limits, double machine_seconds, double machine_error,
                   double factor)
{
    enum basis basis = BASES;
    double normal = 0;
    if (!normal_find(&limits->normal, machine_seconds, machine_error, &basis, &normal))
        basis = BASES;
    limits->basis[LIMIT_BASELINE] = limits->basis[LIMIT_THRESHOLD] = basis;
    limits->seconds[LIMIT_BASELINE] = normal + limits->caches_seconds;
    limits->seconds[LIMIT_THRESHOLD] = normal * factor + limits->caches_seconds;
    if (limits->given) {
        limits->basis[LIMIT_THRESHOLD] = BASIS_FILE;
        limits->seconds[LIMIT_THRESHOLD] = limits->given_seconds;
    }
}

void limits_serialise(struct limits *limits, struct state_fields *fields)
{
    normal_serialise(&limits->normal, fields);
    state_double(fields, &limits->caches_seconds, 0, LATENCY_MAX_SECONDS);
    state_u32(fields, &limits->told, BASES);
    state_u64(fields, &limits->since_ns, fields->mono_ns);
}

bool limits_judge(const struct limits *limits)
{
    enum basis basis = limits->basis[LIMIT_THRESHOLD];
    return basis != BASES && basis != BASIS_MACHINE;
}

bool limits_are_exceeded(const struct limits *limits, double latency_seconds)
{
    return limits_judge(limits) && latency_seconds > limits->seconds[LIMIT_THRESHOLD];
}

double limits_over_seconds(struct limits *limits, double latency_seconds, double window_seconds,
                           double factor)
{
    double caches = limits->caches_seconds;
    double clearly = caches + factor * (limits->seconds[LIMIT_THRESHOLD] - caches);
    bool exceeded = limits_are_exceeded(limits, latency_seconds);
    bool twice = exceeded && (limits->over || limits->perhaps_over_seconds > 0);
    double before = limits->perhaps_over_seconds;
    limits->over = exceeded && (twice || latency_seconds > clearly);
    limits->perhaps_over_seconds = exceeded && !limits->over ? window_seconds : 0;
    return limits->over ? before + window_seconds : 0;
}

static bool is_due(const struct limits *limits, int which, bool ending)
{
    return limits->basis[which] != BASES && !ending;
}

bool limits_show(const struct limits *limits, struct series *const *series, bool ending)
{
    bool other = limits->lack != limits->shown_lack;
    for (int i = 0; i < LIMITS; i++) {
        bool fits = limits->basis[i] == limits->shown[i];
        if (series[metric_of[i]])
            series_show(series[metric_of[i]], fits && is_due(limits, i, ending),
                        limits->seconds[i]);
        other |= !fits && is_due(limits, i, ending);
    }
    return other;
}

/* Out of memory: it is absent, until its label changes again. */
static void remake(struct family *family, struct labelset *labels, const char *label,
                   const char *value, struct series **series)
{
    const struct label own = {label, value};
    named_series_release(series, 1);
    if (value)
        (void)named_series_new(family, labels, &own, 1, series);
}

void limits_make(struct limits *limits, struct family *const *families, struct labelset *labels,
                 struct series **series, bool ending)
{
    for (int i = 0; i < LIMITS; i++) {
        if (!is_due(limits, i, ending) || limits->basis[i] == limits->shown[i])
            continue;
        limits->shown[i] = limits->basis[i];
        remake(families[metric_of[i]], labels, "basis", basis_name(limits->basis[i]),
               &series[metric_of[i]]);
    }
    if (limits->lack != limits->shown_lack) {
        limits->shown_lack = limits->lack;
        remake(families[C_LACK], labels, "reason", lack_name(limits->lack), &series[C_LACK]);
        if (series[C_LACK])
            series_set_u64(series[C_LACK], 1);
    }
    limits_show(limits, series, ending);
}

/* ---- changes of the basis ---- */

int basis_changes_init(struct basis_changes *changes, struct store *store, const char *owner)
{
    struct family *family;
    int err = store_family(store, &core_latency_basis_changes_desc, owner, &family);
    for (int basis = BASIS_CALM; basis < BASES && !err; basis++) {
        const struct label own = {"basis", basis_name((enum basis)basis)};
        err = series_new(family, NULL, &own, 1, &changes->to[basis]);
    }
    return err;
}

void basis_changes_release(struct basis_changes *changes)
{
    for (int basis = 0; basis < BASES; basis++)
        series_free(changes->to[basis]);
}

void basis_changes_tell(struct basis_changes *changes, struct limits *limits,
                        const struct container *container, const struct tick *tick,
                        const struct log *log)
{
    enum basis now = limits->basis[LIMIT_BASELINE];
    if (now == BASES || (uint32_t)now == limits->told)
        return;
    if (limits->told != BASES)
        series_add_u64(changes->to[now], 1);
    if (limits->told != BASES && limits->told != BASIS_MACHINE) /* which judges nobody */
        log_info(log, "core_latency", "%s: %.1f ns are normal now, on the basis %s; before, on %s",
                 container->path, limits->seconds[LIMIT_BASELINE] * 1e9, basis_name(now),
                 basis_name((enum basis)limits->told));
    limits->told = now;
    limits->since_ns = tick->mono_ns;
}
