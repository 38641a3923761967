#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/research/nvmm.h"

const unsigned nvmm_periods[NVMM_PERIODS] = {11, 23, 43};

/* One way of sampling, while it goes on. */
struct sampling {
    unsigned period;
    enum nvmm_loss loss;
    uint64_t counted[NVMM_THREADS]; /* stores of each thread since its last sample */
    uint64_t taken;                 /* samples, lost ones too */
    int burst;                      /* so many more samples are lost */
    struct nvmm_window window;
    struct nvmm_carry carry;
    double unsettled; /* events since the last window with a sample */
    struct rng rng;
    struct nvmm_outcome *out;
};

static bool is_lost(struct sampling *s, bool nvmm)
{
    if (s->loss == LOSS_CORRELATED)
        return nvmm && (rng_next(&s->rng) & 1);
    if (s->loss != LOSS_BURSTS)
        return false;
    /* Of 100 samples 30 are in a burst: bursts of 60, begun after 140 on average. */
    if (s->burst > 0)
        return s->burst-- > 0;
    if (rng_chance(&s->rng, 1.0 / 140))
        s->burst = 60;
    return false;
}

static void take_sample(struct sampling *s, const struct simnode_sample *store)
{
    s->taken++;
    if (is_lost(s, store->pmm))
        return;
    s->out->samples++;
    s->window.known++;
    if (!store->pmm)
        return;
    s->window.nvmm++;
    s->window.sized++;
    s->window.bytes += store->bytes;
    /* Schmidt 2022, section 5.4.2, "Interpolating by sample period". */
    s->out->by_period += s->period;
    s->out->bytes_by_period += (double)store->bytes * s->period;
}

static void take_store(struct sampling *s, size_t thread, const struct simnode_sample *store)
{
    struct nvmm_outcome *out = s->out;

    if (s->taken == NVMM_SAMPLES)
        return;
    s->window.events++;
    out->stores++;
    if (store->pmm) {
        out->nvmm_stores++;
        out->nvmm_bytes += store->bytes;
        out->square += (double)store->bytes * (double)store->bytes;
    }
    if (++s->counted[thread] < s->period)
        return;
    s->counted[thread] = 0;
    take_sample(s, store);
}

/* The window ends: what the collector does at a tick. */
static void estimate(struct sampling *s)
{
    struct nvmm_usage usage;

    s->unsettled += (double)s->window.events;
    if (nvmm_estimate(&s->carry, &s->window, &usage) == 0) {
        s->out->accesses += usage.accesses;
        s->out->bytes += usage.bytes;
        s->out->spread += s->unsettled * s->unsettled / (double)s->window.known;
        s->unsettled = 0;
    }
    s->window = (struct nvmm_window){0};
}

static int parse(const struct nvmm_experiment *e, struct scenario **out)
{
    char json[1024], cpus[80] = "0";

    for (unsigned i = 1; i < e->writers; i++)
        snprintf(cpus + strlen(cpus), sizeof(cpus) - strlen(cpus), ",%u", i);
    snprintf(
        json, sizeof(json),
        "{\"scenario\":1,\"seed\":%u,\"ticks\":1,\"tick_cycles\":420000,"
        "\"machine\":{\"preset\":\"clx\",\"memory\":{\"preset\":\"ddr4-2933\",\"channels\":6},"
        "\"pmm\":{\"dimms\":6}},"
        "\"workloads\":{\"w\":{\"kind\":\"stream\",\"bytes\":67108864,\"streams\":4,"
        "\"instructions_per_access\":6,\"store_share\":0.6,\"nt_share\":0.2,\"store_bytes\":32}},"
        "\"containers\":[{\"key\":\"c1\",\"workload\":\"w\",\"cpus\":[%s],\"sample_period\":1,"
        "\"page_bytes\":4096,"
        "\"memory\":[{\"node\":0,\"medium\":\"pmm\",\"share\":%g},"
        "{\"node\":0,\"medium\":\"dram\",\"share\":%g}]}]}",
        e->seed, cpus, e->nvmm_share, 1 - e->nvmm_share);
    return make_scenario(json, out);
}

static uint64_t stores_counted(struct simnode *node)
{
    struct simnode_reading reading;
    int i = group_index(GROUP_STORES, ROLE_STORES);

    return simnode_read_container(node, 0, GROUP_STORES, &reading) == 0 ? reading.values[i] : 0;
}

/* All stores of a tick, to each way of sampling. */
static void take_tick(struct sampling *all, size_t n, const struct simnode_sample *stores,
                      size_t n_stores)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < n_stores; i++)
            take_store(&all[k], (size_t)(stores[i].tid % NVMM_THREADS), &stores[i]);
        estimate(&all[k]);
    }
}

static bool all_done(const struct sampling *all, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (all[k].taken < NVMM_SAMPLES)
            return false;
    return true;
}

int nvmm_run(const struct nvmm_experiment *experiment, struct nvmm_outcomes *out)
{
    struct sampling all[NVMM_PERIODS * LOSSES];
    size_t n = sizeof(all) / sizeof(all[0]), n_stores;
    struct scenario *scenario;
    struct simnode *node = NULL;
    uint64_t seen = 0;
    int err = parse(experiment, &scenario);

    if (err)
        return err;
    memset(out, 0, sizeof(*out));
    memset(all, 0, sizeof(all));
    for (size_t k = 0; k < n; k++) {
        struct sampling *s = &all[k];
        s->period = nvmm_periods[k / LOSSES];
        s->loss = (enum nvmm_loss)(k % LOSSES);
        s->out = &out->of[k / LOSSES][s->loss];
        /* Each CPU's counter is somewhere in its period; the same, whatever is lost then. */
        rng_seed(&s->rng,
                 experiment->seed * UINT64_C(1000003) + experiment->writers * 1009 + k / LOSSES);
        for (size_t i = 0; i < NVMM_THREADS; i++)
            s->counted[i] = rng_below(&s->rng, s->period);
    }
    err = simnode_new(scenario, &node);
    while (!err && !all_done(all, n)) {
        err = simnode_run_tick(node);
        const struct simnode_sample *stores = simnode_samples(node, &n_stores);
        seen += n_stores;
        if (!err && stores_counted(node) != seen)
            err = -EPROTO;
        if (!err)
            take_tick(all, n, stores, n_stores);
    }
    simnode_free(node);
    scenario_free(scenario);
    return err;
}

double nvmm_error(double estimate, double truth)
{
    return estimate / truth - 1;
}

/*
 * A sample adds p of an access with variance p (1 - p), and p m of bytes with variance p E(s^2) -
 * (p m)^2, p being the share of the stores that go to persistent memory, m their mean size and s
 * their sizes. A window's samples count events / samples each.
 */
double nvmm_three_sigma(const struct nvmm_outcome *o, bool bytes)
{
    double p = (double)o->nvmm_stores / (double)o->stores;
    double m = bytes ? (double)o->nvmm_bytes / (double)o->nvmm_stores : 1;
    double square = bytes ? o->square / (double)o->nvmm_stores : 1;
    double truth = bytes ? (double)o->nvmm_bytes : (double)o->nvmm_stores;

    return 3 * sqrt(o->spread * (p * square - p * p * m * m)) / truth;
}
