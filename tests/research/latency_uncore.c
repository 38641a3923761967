/* c_cache in one part and in two, where the last-level cache has a clock of its own. */
#include <math.h>

#include "collectors/formulas/core_latency.h"
#include "tests/research/latency.h"

/* What the exporter's tables say of Ice Lake and later; the model's is 18. */
#define CORE_CYCLES 16
#define BASE_HZ 2.1e9

enum { SETTLE = 2, PER_FREQUENCY = 2, FREQUENCIES = 4 };

static const double frequency_ghz[FREQUENCIES] = {3.8, 3.0, 2.0, 1.2};

static struct core_latency_counts counts_of(const struct latency_window *w)
{
    return (struct core_latency_counts){w->cycles, w->ref_cycles, w->reads, w->occupancy};
}

static int estimate_ns(const struct latency_window *w, struct core_cache cache, double *out)
{
    const struct core_latency_counts counts = counts_of(w);
    struct core_latency latency;
    int err = core_latency_estimate(&counts, BASE_HZ, cache, &latency);

    if (!err)
        *out = latency.latency_seconds * 1e9;
    return err;
}

static int show_frequency(struct reproduction *r, const struct latency_window *w, double ghz,
                          struct core_cache one, struct core_cache two)
{
    double one_ns, two_ns;
    int err = estimate_ns(w, one, &one_ns);

    if (!err)
        err = estimate_ns(w, two, &two_ns);
    if (err)
        return err;
    double one_error = error_percent(one_ns, w->truth_ns);
    double two_error = error_percent(two_ns, w->truth_ns);
    fprintf(r->out, "| %.1f | %.1f | %.1f | %+.1f %% | %.1f | %+.1f %% |\n", ghz, w->truth_ns,
            one_ns, one_error, two_ns, two_error);
    expect_that(r, fabs(two_error) < 2, "two parts hold at %.1f GHz: %.2f %%", ghz, two_error);
    expect_that(r, ghz > 2.5 || one_error > 15, "one part does not at %.1f GHz: %.2f %%", ghz,
                one_error);
    return 0;
}

int latency_uncore(struct reproduction *r)
{
    char changes[256] = "";
    struct experiment e = {
        .machine = "\"core_frequency_hz\":3.8e9,"
                   "\"llc\":{\"clock_hz\":2.4e9,\"lookup_cycles\":72},",
        .changes = changes,
        .warm_up = SETTLE,
        .windows = FREQUENCIES * PER_FREQUENCY,
    };
    struct core_cache one, two;
    struct measurement m;

    for (int i = 1, n = 0; i < FREQUENCIES; i++)
        n += snprintf(changes + n, sizeof(changes) - (size_t)n,
                      "%s{\"tick\":%d,\"core_frequency_hz\":%ge9}", i > 1 ? "," : "",
                      SETTLE + i * PER_FREQUENCY + 1, frequency_ghz[i]);
    int err = latency_run(r, &e, &m);
    if (err)
        return err;
    const struct core_latency_counts probe = counts_of(&m.windows[0]);
    double truth = m.windows[0].truth_ns * 1e-9;
    err = core_latency_calibrate(&probe, BASE_HZ, truth, 0, &one);
    if (!err)
        err = core_latency_calibrate(&probe, BASE_HZ, truth, CORE_CYCLES, &two);
    if (err)
        return err;
    fprintf(r->out,
            "## c_cache in two parts\n"
            "\n"
            "A machine whose last-level cache has a clock of its own: 72 cycles at 2.4 GHz, 30\n"
            "ns, until a miss is known and the occupancy begins; 18 core cycles before and\n"
            "after. The probe calibrates at 3.8 GHz: in one part %.1f cycles, in two %d cycles\n"
            "and %.1f ns. Then the same chase runs at other frequencies, as a container may,\n"
            "or under neighbours that do nothing but compute and take the turbo away.\n"
            "\n"
            "| core GHz | truth ns | one part: estimate ns | error | two parts: estimate ns | "
            "error |\n"
            "|---|---|---|---|---|---|\n",
            one.cycles, CORE_CYCLES, two.seconds * 1e9);
    for (int i = 0; i < FREQUENCIES && !err; i++)
        err =
            show_frequency(r, &m.windows[(i + 1) * PER_FREQUENCY - 1], frequency_ghz[i], one, two);
    return err;
}
