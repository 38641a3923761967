/* Shen & Li 2020 on the simulated node: the page, and its sections 4 and 6. */
#include <math.h>

#include "tests/research/latency.h"

/* --- section 4: the five configurations --- */

enum { IDLE_LOCAL, IDLE_REMOTE, IDLE_PMM, LOADED, LOADED_MBA, CONFIGURATIONS };

static void check_configurations(struct reproduction *r, const struct latency_window *w)
{
    double worst = 0;

    for (int i = 0; i < CONFIGURATIONS; i++) {
        double core = fabs(error_percent(w[i].core_ns, w[i].truth_ns));
        double controller = error_percent(w[i].controller_ns, w[i].truth_ns);

        expect_that(r, core < 0.5, "core estimate within 0.5 %% without effects (%d: %.3f)", i,
                    core);
        expect_that(r, -controller > core + 5, "the controller's estimate is worse (%d: %.1f)", i,
                    controller);
        worst = fmin(worst, controller);
    }
    expect_that(r, worst == error_percent(w[IDLE_REMOTE].controller_ns, w[IDLE_REMOTE].truth_ns),
                "the controller's estimate is worst for remote memory");
    expect_that(r,
                w[IDLE_LOCAL].truth_ns + 1 < w[LOADED_MBA].truth_ns &&
                    w[LOADED_MBA].truth_ns + 5 < w[LOADED].truth_ns,
                "throttled load lies between idle and loaded: %.1f %.1f %.1f",
                w[IDLE_LOCAL].truth_ns, w[LOADED_MBA].truth_ns, w[LOADED].truth_ns);
}

static int table_2(struct reproduction *r)
{
    static const struct {
        const char *name;
        double mlc_ns, estimate_ns;
        struct experiment experiment;
    } rows[CONFIGURATIONS] = {
        [IDLE_LOCAL] = {"idle/local", 88.8, 86.31, {0}},
        [IDLE_REMOTE] = {"idle/remote",
                         148.4,
                         144.46,
                         {.target = "\"key\":\"mlc\",\"workload\":\"chase\",\"cpus\":[0],"
                                    "\"memory\":[{\"node\":1}]"}},
        [IDLE_PMM] = {"idle/Optane",
                      174.5,
                      179.81,
                      {.target = "\"key\":\"mlc\",\"workload\":\"chase\",\"cpus\":[0],"
                                 "\"memory\":[{\"node\":0,\"medium\":\"pmm\"}]"}},
        [LOADED] = {"loaded", 131.1, 128.17, {.loaded = true}},
        [LOADED_MBA] = {"loaded (MBA)", 100.8, 99.11, {.loaded = true, .mba_percent = 10}},
    };
    struct latency_window means[CONFIGURATIONS];

    fprintf(r->out, "## Table 2 and figure 3: five configurations, all effects off\n"
                    "\n"
                    "| configuration | truth ns | core estimate ns | error | iMC/PMM estimate ns | "
                    "error | DRAM GB/s | paper: MLC ns | paper: estimate ns | paper: error |\n"
                    "|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < CONFIGURATIONS; i++) {
        struct measurement m;
        int err = latency_run(r, &rows[i].experiment, &m);

        if (err)
            return err;
        means[i] = m.mean;
        fprintf(
            r->out,
            "| %s | %.1f | %.1f | %+.2f %% | %.1f | %+.1f %% | %.1f | %.1f | %.2f | %+.2f %% |\n",
            rows[i].name, m.mean.truth_ns, m.mean.core_ns,
            error_percent(m.mean.core_ns, m.mean.truth_ns), m.mean.controller_ns,
            error_percent(m.mean.controller_ns, m.mean.truth_ns),
            m.mean.dram_bytes_per_second / 1e9, rows[i].mlc_ns, rows[i].estimate_ns,
            error_percent(rows[i].estimate_ns, rows[i].mlc_ns));
    }
    check_configurations(r, means);
    return 0;
}

/* --- section 4.2: cycles or nanoseconds --- */

static int frequencies(struct reproduction *r)
{
    static const struct {
        const char *clock, *machine;
        double hz, mlc_ns, estimate_ns, cycles;
    } rows[] = {
        {"core's", "\"core_frequency_hz\":2.1e9,", 2.1e9, 81.4, 80.2, 168.50},
        {"core's", "\"core_frequency_hz\":2.6e9,", 2.6e9, 80.0, 77.27, 200.90},
        {"own, 2.1 GHz", "\"core_frequency_hz\":2.1e9,\"llc\":{\"clock_hz\":2.1e9},", 2.1e9, 81.4,
         80.2, 168.50},
        {"own, 2.1 GHz", "\"core_frequency_hz\":2.6e9,\"llc\":{\"clock_hz\":2.1e9},", 2.6e9, 80.0,
         77.27, 200.90},
    };
    struct latency_window w[4];

    fprintf(r->out, "## Table 4: cycles against nanoseconds, idle/local\n"
                    "\n"
                    "| core | LLC's clock | truth ns | estimate ns | error | estimate cycles | "
                    "paper: MLC ns | paper: estimate ns | paper: error | paper: cycles |\n"
                    "|---|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < 4; i++) {
        /* One constant, whatever clock the parts of the look-up have. */
        struct experiment e = {.machine = rows[i].machine, .cache = {44, 0}};
        struct measurement m;
        int err = latency_run(r, &e, &m);

        if (err)
            return err;
        w[i] = m.mean;
        fprintf(
            r->out,
            "| %.1f GHz | %s | %.1f | %.1f | %+.2f %% | %.1f | %.1f | %.2f | %+.2f %% | %.1f |\n",
            rows[i].hz / 1e9, rows[i].clock, w[i].truth_ns, w[i].core_ns,
            error_percent(w[i].core_ns, w[i].truth_ns), w[i].core_cycles, rows[i].mlc_ns,
            rows[i].estimate_ns, error_percent(rows[i].estimate_ns, rows[i].mlc_ns),
            rows[i].cycles);
        expect_that(r, fabs(w[i].frequency_hz / rows[i].hz - 1) < 1e-4, "the frequency is found");
    }
    for (int i = 0; i < 4; i += 2) {
        expect_that(r, w[i].truth_ns > w[i + 1].truth_ns && w[i].core_ns > w[i + 1].core_ns,
                    "nanoseconds order correctly");
        expect_that(r, w[i].core_cycles < w[i + 1].core_cycles, "cycles do not");
    }
    expect_that(r, error_percent(w[3].core_ns, w[3].truth_ns) < -1.5,
                "a constant found at one frequency is too low at a higher one");
    return 0;
}

/* --- section 6: where the memory is --- */

static int dissection_row(struct reproduction *r, const char *name, double wander_windows,
                          const char *paper, struct latency_window *out)
{
    static const char workload[] = ",\"backend\":{\"kind\":\"random\",\"bytes\":268435456,"
                                   "\"instructions_per_access\":60,\"dependence\":0.5,"
                                   "\"store_share\":0.2,\"shared\":true}";
    char target[512];
    struct experiment e = {.workloads = workload, .target = target};
    double max_truth = 0, max_core = 0;
    struct measurement m;

    snprintf(target, sizeof(target),
             "\"key\":\"backend\",\"workload\":\"backend\",\"cpus\":[0,1,2,3,4,5,6,7],"
             "\"memory\":[{\"node\":0}],\"wander_cycles\":%.0f",
             wander_windows * (r->reduced ? REDUCED_TICK_CYCLES : TICK_CYCLES));
    e.windows = r->reduced ? 4 : 16;
    int err = latency_run(r, &e, &m);
    if (err)
        return err;
    for (size_t i = 0; i < m.n; i++) {
        max_truth = fmax(max_truth, m.windows[i].truth_ns);
        max_core = fmax(max_core, m.windows[i].core_ns);
    }
    fprintf(r->out, "| %s | %.1f / %.1f | %.1f / %.1f | %.0f %% | %s |\n", name, m.mean.truth_ns,
            max_truth, m.mean.core_ns, max_core,
            100.0 * (double)m.mean.loads_remote /
                (double)(m.mean.loads_local + m.mean.loads_remote),
            paper);
    *out = m.mean;
    return 0;
}

static int dissection(struct reproduction *r)
{
    struct latency_window pinned, wandering;

    fprintf(r->out, "## Section 6: pinned, and wandering over both sockets\n"
                    "\n"
                    "| run | truth ns, mean / maximum of windows | estimate ns, mean / maximum | "
                    "reads from the remote node | paper: estimate ns, mean / maximum |\n"
                    "|---|---|---|---|---|\n");
    int err = dissection_row(r, "pinned", 0, "89 / 149", &pinned);
    if (!err)
        err = dissection_row(r, "not pinned", 1.62, "156 / 261", &wandering);
    if (err)
        return err;
    expect_that(r, wandering.core_ns > pinned.core_ns + 15,
                "the exporter's latency shows it: %.1f %.1f", pinned.core_ns, wandering.core_ns);
    expect_that(r, pinned.loads_remote == 0 && wandering.loads_remote > 0,
                "so do the loads by region");
    return 0;
}

int reproduce_latency(struct reproduction *r)
{
    static int (*const parts[])(struct reproduction *) = {
        table_2, latency_limitations, frequencies, latency_calibration, latency_uncore, dissection};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        int err = parts[i](r);

        if (err)
            return err;
    }
    return 0;
}
