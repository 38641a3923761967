/* Shen & Li 2020, section 7, on the simulated node: the limitations, one by one. */
#include <math.h>

#include "tests/research/latency.h"

enum { DIRTY_EVICTIONS = 2 };

const char *const latency_effect_names[LATENCY_EFFECTS] = {
    "super_queue", "llc_busy",          [DIRTY_EVICTIONS] = "dirty_evictions",
    "tlb",         "remote_cache_hits", "prefetch_merging"};

/* -1: none, LATENCY_EFFECTS: all. */
void latency_effects_text(int which, char *out, size_t size)
{
    size_t n = 0;

    *out = '\0';
    for (int i = 0; i < LATENCY_EFFECTS; i++)
        if ((i == which || which == LATENCY_EFFECTS) && n < size)
            n += (size_t)snprintf(out + n, size - n, "%s\"%s\":true", n ? "," : "",
                                  latency_effect_names[i]);
}

/* A prefetcher, last-level cache ports that the load keeps busy, and a quarter of the cache, so
 * that a window of a millisecond sees it full. */
const char LATENCY_EFFECTS_MACHINE[] = "\"prefetcher\":{\"degree\":2,\"distance\":16},"
                                       "\"llc\":{\"bytes\":8650752,\"ports\":4,\"port_cycles\":3},"
                                       "\"memory\":{\"write_queue\":32},";
/* Random reads and writes over what both sockets share, then a sweep. */
static const char APPLICATION[] =
    ",\"random\":{\"kind\":\"random\",\"bytes\":16777216,\"instructions_per_access\":10,"
    "\"dependence\":0.2,\"store_share\":0.3,\"shared\":true},"
    "\"sweep\":{\"kind\":\"stream\",\"bytes\":16777216,\"instructions_per_access\":20,"
    "\"shared\":true},"
    "\"app\":{\"kind\":\"phases\",\"shared\":true,\"phases\":["
    "{\"workload\":\"random\",\"instructions\":100000},"
    "{\"workload\":\"sweep\",\"instructions\":100000}]}";
static const char APPLICATION_TARGET[] =
    "\"key\":\"app\",\"workload\":\"app\",\"cpus\":[0,24],\"page_bytes\":4096,"
    "\"memory\":[{\"node\":0}]";

/* errors[0]: no effect; errors[1 + i]: effect i alone. [0] chase, [1] application. */
static void check_effects(struct reproduction *r, double errors[][2])
{
    for (int i = 0; i < 2; i++)
        expect_that(r, fabs(errors[0][i]) < 0.5, "without effects within 0.5 %%: %.3f",
                    errors[0][i]);
    /* Each has the sign that the page explains. */
    for (int i = 0; i < 5; i++)
        expect_that(r, errors[1 + i][1] < errors[0][1] - 0.05,
                    "%s makes the application's estimate too low: %.3f", latency_effect_names[i],
                    errors[1 + i][1]);
    expect_that(r, errors[6][1] > errors[0][1] + 0.05,
                "prefetch_merging makes the application's too high: %.3f", errors[6][1]);
    for (int i = 1; i < 3; i++)
        expect_that(r, errors[1 + i][0] < errors[0][0] - 0.05,
                    "%s makes the chase's estimate too low: %.3f", latency_effect_names[i],
                    errors[1 + i][0]);
    /* A chase has one request at a time, huge pages, its own lines and no prefetcher. */
    for (int i = 0; i < 6; i++)
        expect_that(r, i == 1 || i == 2 || fabs(errors[1 + i][0]) < 0.3,
                    "%s does not touch a chase: %.3f", latency_effect_names[i], errors[1 + i][0]);
    expect_that(r, errors[7][1] < -5, "together they are large: %.3f", errors[7][1]);
}

static int effects_row(struct reproduction *r, int which, double errors[2])
{
    char effects[256];
    struct measurement m[2];

    latency_effects_text(which, effects, sizeof(effects));
    for (int i = 0; i < 2; i++) {
        struct experiment e = {.machine = LATENCY_EFFECTS_MACHINE,
                               .effects = effects,
                               .loaded = true,
                               .workloads = APPLICATION};

        if (i == 1)
            e.target = APPLICATION_TARGET;
        e.windows = r->reduced ? 1 : 6;
        if (r->reduced && which == DIRTY_EVICTIONS) {
            /* A hundredth of a per cent at first: the write queues fill up slowly. */
            e.warm_up = 8;
            e.windows = 4;
        }
        int err = latency_run(r, &e, &m[i]);
        if (err)
            return err;
        errors[i] = error_percent(m[i].mean.core_ns, m[i].mean.truth_ns);
    }
    fprintf(r->out, "| %s | %.1f | %.1f | %+.2f %% | %.1f | %.1f | %+.2f %% |\n",
            which < 0                  ? "none"
            : which == LATENCY_EFFECTS ? "all"
                                       : latency_effect_names[which],
            m[0].mean.truth_ns, m[0].mean.core_ns, errors[0], m[1].mean.truth_ns, m[1].mean.core_ns,
            errors[1]);
    return 0;
}

int latency_limitations(struct reproduction *r)
{
    double errors[LATENCY_EFFECTS + 2][2];

    fprintf(r->out, "## Section 7: the limitations, one by one and together\n"
                    "\n"
                    "| effects on | chase: truth ns | estimate ns | error | application: truth ns "
                    "| estimate ns | error |\n"
                    "|---|---|---|---|---|---|---|\n");
    for (int which = -1; which <= LATENCY_EFFECTS; which++) {
        int err = effects_row(r, which, errors[which + 1]);

        if (err)
            return err;
    }
    check_effects(r, errors);
    return 0;
}
