/* Containers most of whose misses the caches serve: how much of A may be theirs. */
#include "tests/research/amd.h"

#include <math.h>

enum { EXACT, CONTENDED, DELAYED, CONDITIONS };

static const struct {
    const char *name;
    struct amd_experiment experiment;
} conditions[CONDITIONS] = {
    [EXACT] = {"as measured", {0}},
    [CONTENDED] = {"L3 busy",
                   {.load = AMD_LOAD_L3, .machine = AMD_FEW_PORTS, .effects = "\"llc_busy\":true"}},
    [DELAYED] = {"buffer two cycles late", {.machine = "\"core\":{\"mab_delay_cycles\":2},"}},
};

static const struct {
    const char *name;
    int hot_bytes;
    double hot_shares[4];
} places[] = {
    {"L2", 262144, {0.9, 0.98, 0.99, 0.998}},
    {"L3", 2097152, {0.8, 0.95, 0.98, 0.995}},
};

static void check_row(struct reproduction *r, int condition, const struct amd_measurement *m)
{
    double error = amd_error_percent(m->estimate_ns, m->truth_ns);

    expect_that(r, m->implausible == 0, "no window is called implausible: %u of %zu",
                m->implausible, m->n);
    if (m->cache_share > 1.1 * FILLS_LARGEST_CACHE_SHARE)
        expect_that(r, m->unknown == m->n, "where the caches have most of it, nothing is said");
    if (condition == EXACT && !isnan(error))
        expect_that(r, fabs(error) < 1, "with exact times within 1 %%: %.2f", error);
    if (condition == DELAYED && !isnan(error))
        expect_that(r, error < 0 && error > -25, "two of ten cycles off, at most that: %.2f",
                    error);
}

static int row(struct reproduction *r, int condition, size_t place, int share,
               struct fill_times times)
{
    struct amd_experiment e = conditions[condition].experiment;
    char workload[256], error[32], unruled[32];
    struct amd_measurement m;

    snprintf(workload, sizeof(workload),
             ",\"mix\":{\"kind\":\"random\",\"bytes\":268435456,\"hot_bytes\":%d,\"hot_share\":%g,"
             "\"instructions_per_access\":10,\"dependence\":0.3}",
             places[place].hot_bytes, places[place].hot_shares[share]);
    e.workloads = workload;
    e.target = "\"key\":\"mix\",\"workload\":\"mix\",\"prefetch\":false,\"cpus\":[0]";
    e.times = times;
    e.warm_up = r->reduced ? 14 : 12;
    int err = amd_run(r, &e, &m);
    if (err)
        return err;
    fprintf(r->out, "| %s | %s | %.1f | %.1f | %.2f | %.1f | %s | %u, %u | %s |\n",
            conditions[condition].name, places[place].name, m.l2_per_memory_fill,
            m.l3_per_memory_fill, m.cache_share, m.all_truth_ns,
            amd_error_text(m.estimate_ns, m.truth_ns, error, sizeof(error)), m.unknown,
            m.implausible, amd_error_text(m.unruled_ns, m.all_truth_ns, unruled, sizeof(unruled)));
    check_row(r, condition, &m);
    return 0;
}

int amd_mixes(struct reproduction *r, struct fill_times times)
{
    fprintf(r->out,
            "## Mixes: how much of A may be the caches'\n"
            "\n"
            "| machine | hot part in | L2 fills by memory's | L3 fills by memory's | caches' share "
            "| truth ns | error | unknown, implausible windows | error without the rule |\n"
            "|---|---|---|---|---|---|---|---|---|\n");
    for (int condition = 0; condition < CONDITIONS; condition++)
        for (size_t place = 0; place < sizeof(places) / sizeof(places[0]); place++)
            for (int share = 0; share < 4; share++) {
                bool left_out = r->reduced && share == 1;
                int err = left_out ? 0 : row(r, condition, place, share, times);

                if (err)
                    return err;
            }
    return 0;
}
