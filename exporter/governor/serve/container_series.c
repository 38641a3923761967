#include "exporter/governor/serve/self_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

struct container_series {
    struct family *const *families; /* borrowed, GOVERNOR_METRICS */
    struct claim_series *claims;    /* CLAIMS_MAX */
    size_t n_claims;
    struct slowdown_series *slowdowns; /* CLAIMS_MAX */
    size_t n_slowdowns;
};

int container_series_new(struct family *const *families, struct container_series **out)
{
    struct container_series *all = calloc(1, sizeof *all);
    if (!all)
        return -ENOMEM;
    all->families = families;
    all->claims = calloc(CLAIMS_MAX, sizeof *all->claims);
    all->slowdowns = calloc(CLAIMS_MAX, sizeof *all->slowdowns);
    if (!all->claims || !all->slowdowns) {
        container_series_free(all);
        return -ENOMEM;
    }
    *out = all;
    return 0;
}

void container_series_free(struct container_series *all)
{
    if (!all)
        return;
    free(all->claims);
    free(all->slowdowns);
    free(all);
}

/* ---- what is turned down ---- */

/* "namespace/pod/container", whose names have no slash in them; what does is no container of
 * Kubernetes, and its last name has them all. */
static int make_claim(struct container_series *all, const struct claim *claim,
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
    int err = series_new(all->families[shown[claim->knob].value], NULL, labels, 4, &out->value);
    if (err || shown[claim->knob].original == GOVERNOR_METRICS)
        return err;
    err = series_new(all->families[shown[claim->knob].original], NULL, labels, 4, &out->original);
    if (err)
        series_free(out->value);
    return err;
}

static struct claim_series *claim_of(struct container_series *all, const struct claim *claim)
{
    for (size_t i = 0; i < all->n_claims; i++)
        if (all->claims[i].knob == claim->knob && strcmp(all->claims[i].path, claim->path) == 0)
            return &all->claims[i];
    if (all->n_claims == CLAIMS_MAX)
        return NULL;
    struct claim_series *series = &all->claims[all->n_claims];
    if (make_claim(all, claim, series))
        return NULL;
    memcpy(series->path, claim->path, sizeof series->path);
    series->knob = claim->knob;
    series->sum = 0;
    all->n_claims++;
    return series;
}

static void update_claims(struct container_series *all, const struct enforcer *enforcer)
{
    size_t n;
    const struct holding *holdings = enforcer_holdings(enforcer, &n);
    for (size_t i = 0; i < all->n_claims; i++) {
        all->claims[i].seen = false;
        all->claims[i].sum = 0;
    }
    for (size_t i = 0; i < n; i++) {
        const struct claim *claim = &holdings[i].claim;
        struct claim_series *series =
            holdings[i].known && claim->value < claim->most ? claim_of(all, claim) : NULL;
        if (!series)
            continue;
        series->seen = true;
        series->sum += 1;
        series_set(series->value, claim->tid ? series->sum : claim->value);
        if (series->original)
            series_set(series->original, claim->most);
    }
    for (size_t i = all->n_claims; i-- > 0;) {
        struct claim_series *series = &all->claims[i];
        if (series->seen)
            continue;
        series_free(series->value);
        if (series->original)
            series_free(series->original);
        *series = all->claims[--all->n_claims];
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
static struct slowdown_series *slowdown_of(struct container_series *all,
                                           const struct policy_slowdown *measured)
{
    for (size_t i = 0; i < all->n_slowdowns; i++)
        if (is_same_container(&all->slowdowns[i].of, measured))
            return &all->slowdowns[i];
    if (all->n_slowdowns == CLAIMS_MAX)
        return NULL;
    struct slowdown_series *series = &all->slowdowns[all->n_slowdowns];
    const struct label labels[] = {{"namespace", measured->namespace_},
                                   {"pod", measured->pod},
                                   {"container", measured->container},
                                   {"container_id", measured->container_id},
                                   {"model", "epochs"}};
    if (series_new(all->families[GOVERNOR_SLOWDOWN], NULL, labels, 5, &series->series))
        return NULL;
    series->of = *measured;
    all->n_slowdowns++;
    return series;
}

static void update_slowdowns(struct container_series *all, const struct governor_state *state)
{
    for (size_t i = 0; i < all->n_slowdowns; i++)
        all->slowdowns[i].seen = false;
    for (size_t i = 0; i < state->policies.n_slowdowns; i++) {
        struct slowdown_series *series = slowdown_of(all, &state->policies.slowdowns[i]);
        if (!series)
            continue;
        series->seen = true;
        series_set(series->series, state->policies.slowdowns[i].slowdown);
    }
    for (size_t i = all->n_slowdowns; i-- > 0;) {
        if (all->slowdowns[i].seen)
            continue;
        series_free(all->slowdowns[i].series);
        all->slowdowns[i] = all->slowdowns[--all->n_slowdowns];
    }
}

void container_series_update(struct container_series *all, const struct governor_state *state)
{
    update_claims(all, state->enforcer);
    update_slowdowns(all, state);
}
