/* What the formula for AMD cannot see, one by one and together; and buffers that run out. */
#include "tests/research/amd.h"

#include <math.h>

/* Random reads and stores of which some hit the caches, then a sweep; in two complexes. */
static const char APPLICATION[] =
    ",\"random\":{\"kind\":\"random\",\"bytes\":67108864,\"instructions_per_access\":10,"
    "\"dependence\":0.2,\"store_share\":0.3,\"hot_bytes\":2097152,\"hot_share\":0.6,"
    "\"shared\":true},"
    "\"sweep\":{\"kind\":\"stream\",\"bytes\":67108864,\"instructions_per_access\":20,"
    "\"shared\":true},"
    "\"app\":{\"kind\":\"phases\",\"shared\":true,\"phases\":["
    "{\"workload\":\"random\",\"instructions\":100000},"
    "{\"workload\":\"sweep\",\"instructions\":100000}]}";
static const char APPLICATION_TARGET[] =
    "\"key\":\"app\",\"workload\":\"app\",\"cpus\":[0,8],\"page_bytes\":4096";

#define PREFETCH "\"prefetcher\":{\"degree\":2,\"distance\":16},"
#define PREFETCH_L1 "\"prefetcher\":{\"degree\":2,\"distance\":16,\"into_l1\":true},"
#define LATE_FROM_L2 "\"core\":{\"late_prefetch_from_l2\":true},"
#define MERGING "\"prefetch_merging\":true"
#define ALL                                                                                        \
    "\"mabs\":true,\"llc_busy\":true,\"dirty_evictions\":true,\"tlb\":true,"                       \
    "\"remote_cache_hits\":true," MERGING

enum {
    NONE,
    MABS,
    LLC_BUSY,
    DIRTY_EVICTIONS,
    TLB,
    REMOTE_HITS,
    DELAY,
    INTO_L2,
    INTO_L2_LATE,
    INTO_L1,
    TOGETHER,
    TOGETHER_LATE,
    EFFECTS
};

static const struct {
    const char *name;
    struct amd_experiment experiment;
} rows[EFFECTS] = {
    [NONE] = {"none", {0}},
    [MABS] = {"mabs", {.effects = "\"mabs\":true"}},
    [LLC_BUSY] = {"llc_busy",
                  {.load = AMD_LOAD_L3, .machine = AMD_FEW_PORTS, .effects = "\"llc_busy\":true"}},
    [DIRTY_EVICTIONS] = {"dirty_evictions", {.effects = "\"dirty_evictions\":true"}},
    [TLB] = {"tlb", {.effects = "\"tlb\":true"}},
    [REMOTE_HITS] = {"remote_cache_hits", {.effects = "\"remote_cache_hits\":true"}},
    [DELAY] = {"buffer two cycles late", {.machine = "\"core\":{\"mab_delay_cycles\":2},"}},
    [INTO_L2] = {"prefetch into the L2", {.machine = PREFETCH, .effects = MERGING}},
    [INTO_L2_LATE] = {"the same, late ones from the L2",
                      {.machine = PREFETCH LATE_FROM_L2, .effects = MERGING}},
    [INTO_L1] = {"prefetch into the L1", {.machine = PREFETCH_L1, .effects = MERGING}},
    [TOGETHER] = {"all, prefetch into the L2",
                  {.load = AMD_LOAD_L3, .machine = AMD_FEW_PORTS PREFETCH, .effects = ALL}},
    [TOGETHER_LATE] = {"all, late ones from the L2",
                       {.load = AMD_LOAD_L3,
                        .machine = AMD_FEW_PORTS PREFETCH LATE_FROM_L2,
                        .effects = ALL}},
};

static double error_of(const struct amd_measurement *m)
{
    return amd_error_percent(m->estimate_ns, m->truth_ns);
}

/* Each has the sign that the page explains. */
static void check_effects(struct reproduction *r, const struct amd_measurement m[EFFECTS])
{
    double none = error_of(&m[NONE]);

    expect_that(r, fabs(none) < 1, "without effects within 1 %%: %.3f", none);
    for (int i = 0; i < EFFECTS; i++)
        expect_that(r, m[i].implausible == 0 && (i >= TOGETHER || m[i].unknown == 0),
                    "%s: windows have estimates", rows[i].name);
    expect_that(r, fabs(error_of(&m[MABS]) - none) < 0.5, "24 buffers are enough here: %.2f",
                error_of(&m[MABS]));
    expect_that(r, error_of(&m[TLB]) < none - 0.5, "a page walk is not seen: %.2f",
                error_of(&m[TLB]));
    expect_that(r, error_of(&m[DELAY]) < none - 0.2, "a buffer taken late is too low: %.2f",
                error_of(&m[DELAY]));
    expect_that(r, error_of(&m[LLC_BUSY]) > none - 0.2 && error_of(&m[LLC_BUSY]) < none + 5,
                "a busy L3 is little: %.2f", error_of(&m[LLC_BUSY]));
    expect_that(r, m[INTO_L2].own_ns > m[INTO_L2].truth_ns + 5,
                "loads that join a prefetch wait less");
    expect_that(r, error_of(&m[INTO_L1]) > 5, "the L1's prefetches wait in full: %.2f",
                error_of(&m[INTO_L1]));
    expect_that(r, fabs(amd_error_percent(m[INTO_L1].estimate_ns, m[INTO_L1].own_ns)) < 5,
                "and as long as loads of one's own: %.1f %.1f", m[INTO_L1].estimate_ns,
                m[INTO_L1].own_ns);
    expect_that(r, error_of(&m[INTO_L2_LATE]) > error_of(&m[INTO_L2]) + 10,
                "waits counted as the L2's are laid on memory: %.2f %.2f",
                error_of(&m[INTO_L2_LATE]), error_of(&m[INTO_L2]));
}

int amd_limitations(struct reproduction *r, struct fill_times times)
{
    struct amd_measurement m[EFFECTS];

    fprintf(r->out, "## What the method cannot see, one by one and together\n"
                    "\n"
                    "| effects on | truth ns | estimate ns | error | truth alone ns | error | L2 "
                    "fills by memory's | L3 fills by memory's | unknown, implausible windows |\n"
                    "|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < EFFECTS; i++) {
        struct amd_experiment e = rows[i].experiment;
        char error[32], alone[32];

        e.load |= AMD_LOAD_MEMORY;
        e.workloads = APPLICATION;
        e.target = APPLICATION_TARGET;
        e.times = times;
        e.warm_up = r->reduced ? 12 : 8;
        int err = amd_run(r, &e, &m[i]);
        if (err)
            return err;
        fprintf(r->out, "| %s | %.1f | %.1f | %s | %.1f | %s | %.2f | %.2f | %u, %u |\n",
                rows[i].name, m[i].truth_ns, m[i].estimate_ns,
                amd_error_text(m[i].estimate_ns, m[i].truth_ns, error, sizeof(error)), m[i].own_ns,
                amd_error_text(m[i].estimate_ns, m[i].own_ns, alone, sizeof(alone)),
                m[i].l2_per_memory_fill, m[i].l3_per_memory_fill, m[i].unknown, m[i].implausible);
    }
    check_effects(r, m);
    return 0;
}

/* --- buffers --- */

int amd_buffers(struct reproduction *r, struct fill_times times)
{
    static const int gaps[] = {100, 20, 8, 4};
    enum { N = sizeof(gaps) / sizeof(gaps[0]) };
    double errors[N], buffers[N];

    fprintf(r->out,
            "## Buffers that run out\n"
            "\n"
            "| instructions per read | buffers taken, mean | truth ns | estimate ns | error |\n"
            "|---|---|---|---|---|\n");
    for (int i = 0; i < N; i++) {
        char workload[160], error[32];
        struct amd_experiment e = {.effects = "\"mabs\":true",
                                   .workloads = workload,
                                   .target = "\"key\":\"reads\",\"workload\":\"reads\","
                                             "\"prefetch\":false,\"cpus\":[0]",
                                   .times = times};
        struct amd_measurement m;

        snprintf(workload, sizeof(workload),
                 ",\"reads\":{\"kind\":\"random\",\"bytes\":268435456,"
                 "\"instructions_per_access\":%d}",
                 gaps[i]);
        int err = amd_run(r, &e, &m);
        if (err)
            return err;
        errors[i] = error_of(&m);
        buffers[i] = m.buffers;
        fprintf(r->out, "| %d | %.1f | %.1f | %.1f | %s |\n", gaps[i], m.buffers, m.truth_ns,
                m.estimate_ns, amd_error_text(m.estimate_ns, m.truth_ns, error, sizeof(error)));
    }
    expect_that(r, fabs(errors[0]) < 0.5, "with buffers to spare within 0.5 %%: %.3f", errors[0]);
    for (int i = 1; i < N; i++)
        expect_that(r, errors[i] < errors[i - 1] + 0.1 && buffers[i] > buffers[i - 1],
                    "the fewer are free, the lower: %.2f %.2f", errors[i], errors[i - 1]);
    expect_that(r, buffers[N - 1] > 23 && buffers[N - 1] <= 24.1 && errors[N - 1] < -20,
                "with none free, far too low: %.1f %.2f", buffers[N - 1], errors[N - 1]);
    return 0;
}
