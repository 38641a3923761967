/* Shen & Li 2020, sections 4, 6 and 7, on the simulated node. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/formulas/core_latency.h"
#include "tests/simnode/reproduce.h"

/* Windows are simulated milliseconds; the paper's are seconds, of a machine that needs no
 * simulating. The first ones fill the caches. */
enum {
    TICK_CYCLES = 2100000,
    WARM_UP = 4,
    WINDOWS = 10,
    REDUCED_TICK_CYCLES = 525000,
    REDUCED_WARM_UP = 2,
    REDUCED_WINDOWS = 2,
};

#define CHASE "\"chase\":{\"kind\":\"chase\",\"bytes\":268435456,\"sequential\":true}"
#define STRESS                                                                                     \
    "\"stress\":{\"kind\":\"stream\",\"bytes\":134217728,\"streams\":2,"                           \
    "\"instructions_per_access\":18,\"store_share\":0.3}"
#define STRESS_CPUS "[1,2,3,4,5,6,7,8,9,10,11,12]"

struct experiment {
    const char *machine;   /* further keys of the machine, each followed by a comma */
    const char *effects;   /* inside of "effects" */
    const char *workloads; /* beside chase and stress; each preceded by a comma */
    const char *target;    /* the measured container, without braces */
    bool loaded;
    double mba_percent; /* of the load; 0: not throttled */
    int64_t load_from;  /* tick in which the load starts */
    unsigned warm_up, windows;
    double cache_cycles; /* for the estimate; 0: the machine's true ones */
};

static const char LOCAL_CHASE[] =
    "\"key\":\"mlc\",\"workload\":\"chase\",\"prefetch\":false,\"cpus\":[0],"
    "\"memory\":[{\"node\":0}]";

static unsigned warm_up_of(const struct reproduction *r)
{
    return r->reduced ? REDUCED_WARM_UP : WARM_UP;
}

static unsigned windows_of(const struct reproduction *r)
{
    return r->reduced ? REDUCED_WINDOWS : WINDOWS;
}

static int run(const struct reproduction *r, const struct experiment *e, struct measurement *out)
{
    unsigned warm_up = e->warm_up ? e->warm_up : warm_up_of(r);
    unsigned windows = e->windows ? e->windows : windows_of(r);
    char load[256] = "", json[4096];

    if (e->loaded)
        snprintf(load, sizeof(load),
                 ",{\"key\":\"load\",\"workload\":\"stress\",\"class\":\"load\",\"prefetch\":false,"
                 "\"cpus\":%s,"
                 "\"start_tick\":%lld}",
                 STRESS_CPUS, (long long)e->load_from);
    snprintf(json, sizeof(json),
             "{\"scenario\":1,\"ticks\":%u,\"tick_cycles\":%d,"
             "\"machine\":{%s\"preset\":\"clx\"},\"effects\":{%s},"
             "\"classes\":[{\"name\":\"load\",\"mba_percent\":%g}],"
             "\"workloads\":{" CHASE "," STRESS "%s},\"containers\":[{%s}%s]}",
             warm_up + windows, r->reduced ? REDUCED_TICK_CYCLES : TICK_CYCLES,
             e->machine ? e->machine : "", e->effects ? e->effects : "",
             e->mba_percent > 0 ? e->mba_percent : 100.0, e->workloads ? e->workloads : "",
             e->target ? e->target : LOCAL_CHASE, load);
    return measure(json, 0, warm_up, e->cache_cycles, out);
}

static double error_percent(double estimate, double truth)
{
    return (estimate / truth - 1) * 100;
}

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
        int err = run(r, &rows[i].experiment, &m);

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
    fprintf(r->out,
            "\n"
            "The idle latencies agree with the paper's because the machine's fixed delays were\n"
            "chosen so, and the load's intensity was chosen to come near the paper's 131 ns; how\n"
            "much of that is left when the load is throttled was not chosen. It is less than the\n"
            "paper's: here the throttle is exact, 10 %% of the peak for reads, on silicon it is a\n"
            "coarse delay. With all effects off, the core estimate has no error left: this checks\n"
            "the pipeline, not the method. The controller's estimate leaves out caches, mesh and\n"
            "interconnect, and mixes everybody's requests: too low everywhere, and most where the\n"
            "interconnect is in the way. For PMM it is the closest, since there the queue holds a\n"
            "read until it is served.\n"
            "\n");
    check_configurations(r, means);
    return 0;
}

/* --- section 7: the limitations, one by one --- */

static const char *const effect_names[] = {"super_queue", "llc_busy",          "dirty_evictions",
                                           "tlb",         "remote_cache_hits", "prefetch_merging"};
enum { EFFECTS = sizeof(effect_names) / sizeof(effect_names[0]) };

/* -1: none, EFFECTS: all. */
static void effects_text(int which, char *out, size_t size)
{
    size_t n = 0;

    *out = '\0';
    for (int i = 0; i < EFFECTS; i++)
        if ((i == which || which == EFFECTS) && n < size)
            n +=
                (size_t)snprintf(out + n, size - n, "%s\"%s\":true", n ? "," : "", effect_names[i]);
}

/* A prefetcher, last-level cache ports that the load keeps busy, and a quarter of the cache, so
 * that a window of a millisecond sees it full. */
static const char EFFECTS_MACHINE[] = "\"prefetcher\":{\"degree\":2,\"distance\":16},"
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
                    "%s makes the application's estimate too low: %.3f", effect_names[i],
                    errors[1 + i][1]);
    expect_that(r, errors[6][1] > errors[0][1] + 0.05,
                "prefetch_merging makes the application's too high: %.3f", errors[6][1]);
    for (int i = 1; i < 3; i++)
        expect_that(r, errors[1 + i][0] < errors[0][0] - 0.05,
                    "%s makes the chase's estimate too low: %.3f", effect_names[i],
                    errors[1 + i][0]);
    /* A chase has one request at a time, huge pages, its own lines and no prefetcher. */
    for (int i = 0; i < 6; i++)
        expect_that(r, i == 1 || i == 2 || fabs(errors[1 + i][0]) < 0.3,
                    "%s does not touch a chase: %.3f", effect_names[i], errors[1 + i][0]);
    expect_that(r, errors[7][1] < -5, "together they are large: %.3f", errors[7][1]);
}

static int effects_row(struct reproduction *r, int which, double errors[2])
{
    char effects[256];
    struct measurement m[2];

    effects_text(which, effects, sizeof(effects));
    for (int i = 0; i < 2; i++) {
        struct experiment e = {.machine = EFFECTS_MACHINE,
                               .effects = effects,
                               .loaded = true,
                               .workloads = APPLICATION};
        int err;

        if (i == 1)
            e.target = APPLICATION_TARGET;
        e.windows = r->reduced ? 1 : 6;
        err = run(r, &e, &m[i]);
        if (err)
            return err;
        errors[i] = error_percent(m[i].mean.core_ns, m[i].mean.truth_ns);
    }
    fprintf(r->out, "| %s | %.1f | %.1f | %+.2f %% | %.1f | %.1f | %+.2f %% |\n",
            which < 0          ? "none"
            : which == EFFECTS ? "all"
                               : effect_names[which],
            m[0].mean.truth_ns, m[0].mean.core_ns, errors[0], m[1].mean.truth_ns, m[1].mean.core_ns,
            errors[1]);
    return 0;
}

static int limitations(struct reproduction *r)
{
    double errors[EFFECTS + 2][2];

    fprintf(r->out,
            "## Section 7: the limitations, one by one and together\n"
            "\n"
            "Both targets run beside the load; prefetchers are off but for the application's,\n"
            "and the last-level cache has a quarter of its size. *Chase* is the idle-latency\n"
            "thread of table 2; *application* is one thread on each socket over 16 MiB that\n"
            "they share, 4 KiB pages: random reads and stores, then a sweep that the prefetcher\n"
            "follows.\n"
            "\n"
            "| effects on | chase: truth ns | estimate ns | error | application: truth ns | "
            "estimate ns | error |\n"
            "|---|---|---|---|---|---|---|\n");
    for (int which = -1; which <= EFFECTS; which++) {
        int err = effects_row(r, which, errors[which + 1]);

        if (err)
            return err;
    }
    fprintf(r->out,
            "\n"
            "Why the sign is what it is:\n"
            "\n"
            "- `super_queue`: a read that waits for one of the 16 entries waits before anything\n"
            "  counts it. Too low. A chase has one read at a time and never waits.\n"
            "- `llc_busy`: a lookup that waits for a port makes the cache part longer than the\n"
            "  constant, before the miss is known. Too low, for everybody who shares the cache.\n"
            "- `dirty_evictions`: a miss whose victim is dirty waits, while the controller's\n"
            "  write queue is full, before it counts as a miss. Too low, and only under write\n"
            "  pressure.\n"
            "- `tlb`: a page walk comes before the caches are looked up. Too low by miss ratio\n"
            "  times walk; nothing on huge pages.\n"
            "- `remote_cache_hits`: reads that the other socket's cache serves are counted as\n"
            "  memory reads; the truth is of those that memory served. Too low here, where a\n"
            "  transfer between caches (two hops and a lookup) is faster than a loaded memory;\n"
            "  beside an idle memory it could as well be too high.\n"
            "- `prefetch_merging`: a demand read that joins a prefetch under way is counted\n"
            "  from then on; the whole c_cache is added although most of the lookup was the\n"
            "  prefetch's. Too high.\n"
            "\n");
    check_effects(r, errors);
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
        struct experiment e = {.machine = rows[i].machine};
        struct measurement m;
        int err = run(r, &e, &m);

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
    fprintf(r->out,
            "\n"
            "Nanoseconds say what is true, that the higher frequency is a little faster; cycles\n"
            "say the reverse. Where all 44 cycles of the cache path run at the core's clock,\n"
            "the gain is larger than the paper's and the estimate exact. Where the last-level\n"
            "cache has a clock of its own, as real ones do, the truth gains about as little as\n"
            "the paper's, and a constant in core cycles is too low at the higher frequency. The\n"
            "paper's own errors, larger at 2.6 than at 2.1 GHz, look like this.\n"
            "\n");
    return 0;
}

/* --- calibration --- */

struct calibration_case {
    const char *name, *machine;
    double true_cycles;
    bool effects;
};

static int calibrate_one(struct reproduction *r, const struct calibration_case *c)
{
    char effects[256] = "";
    struct experiment e = {.machine = c->machine,
                           .loaded = true,
                           .effects = effects,
                           .warm_up = 1,
                           .cache_cycles = 44};
    unsigned calm = 2, settle = warm_up_of(r);
    double frozen, paper_error = 0, frozen_error = 0, idle_error = 0;
    struct measurement m;
    unsigned n;
    int err;

    if (c->effects)
        effects_text(EFFECTS, effects, sizeof(effects));
    e.windows = calm + settle + windows_of(r);
    e.load_from = 1 + (int64_t)calm + 1;
    err = run(r, &e, &m);
    if (err)
        return err;

    const struct latency_window *first = &m.windows[0];
    struct core_latency_counts counts = {first->cycles, first->ref_cycles, first->reads,
                                         first->occupancy};

    err = core_latency_calibrate(&counts, 2.1e9, first->truth_ns * 1e-9, &frozen);
    if (err)
        return err;
    /* Another constant shifts the estimate by its difference: at 2.1 GHz, over 2.1 cycles a ns. */
    idle_error = error_percent(m.windows[1].core_ns + (frozen - 44) / 2.1, m.windows[1].truth_ns);
    n = windows_of(r);
    for (size_t i = m.n - n; i < m.n; i++) {
        const struct latency_window *w = &m.windows[i];

        paper_error += error_percent(w->core_ns, w->truth_ns) / n;
        frozen_error += error_percent(w->core_ns + (frozen - 44) / 2.1, w->truth_ns) / n;
    }
    fprintf(r->out, "| %s | %.0f | %.2f | %+.2f %% | %+.2f %% | %+.2f %% |\n", c->name,
            c->true_cycles, frozen, idle_error, frozen_error, paper_error);
    if (!c->effects) {
        expect_that(r, fabs(frozen - c->true_cycles) < 0.5, "calibration finds %.0f: %.2f",
                    c->true_cycles, frozen);
        expect_that(r, fabs(frozen_error) < 0.5, "and holds under load: %.3f", frozen_error);
        expect_that(r, c->true_cycles == 44 || fabs(paper_error) > 2,
                    "a wrong constant shows: %.3f", paper_error);
    } else {
        expect_that(r, frozen_error < -0.2, "what load adds to the cache path is missing: %.3f",
                    frozen_error);
    }
    return 0;
}

static int calibration(struct reproduction *r)
{
    static const struct calibration_case cases[] = {
        {"30 cycles", "\"llc\":{\"lookup_cycles\":12},", 30, false},
        {"44 cycles", "", 44, false},
        {"70 cycles", "\"llc\":{\"lookup_cycles\":52},", 70, false},
        {"44 cycles, occupancy counted from the super queue's entry on",
         "\"occupancy_from_entry\":true,", 18, false},
        {"44 cycles, all effects on", EFFECTS_MACHINE, 44, true},
    };

    fprintf(r->out,
            "## Calibration of c_cache\n"
            "\n"
            "The probe's first window on the idle machine, its own latency known, gives the\n"
            "constant; it is then frozen. Errors are of later windows: one idle, then under the\n"
            "load.\n"
            "\n"
            "| machine | true constant | calibrated | error, idle | error, loaded | error, loaded, "
            "with the paper's 44 |\n"
            "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int err = calibrate_one(r, &cases[i]);

        if (err)
            return err;
    }
    fprintf(r->out,
            "\n"
            "Calibration finds the constant whatever it is and wherever the event begins to\n"
            "count. It cannot know what load adds to the cache path: with all effects on, that\n"
            "is missing from the loaded windows.\n"
            "\n");
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
    int err;

    snprintf(target, sizeof(target),
             "\"key\":\"backend\",\"workload\":\"backend\",\"cpus\":[0,1,2,3,4,5,6,7],"
             "\"memory\":[{\"node\":0}],\"wander_cycles\":%.0f",
             wander_windows * (r->reduced ? REDUCED_TICK_CYCLES : TICK_CYCLES));
    e.windows = r->reduced ? 4 : 16;
    err = run(r, &e, &m);
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
    int err;

    fprintf(r->out,
            "## Section 6: pinned, and wandering over both sockets\n"
            "\n"
            "Eight threads whose memory is on the first socket. Wandering, they change sockets\n"
            "every 1.62 windows, as the kernel's balancer may do.\n"
            "\n"
            "| run | truth ns, mean / maximum of windows | estimate ns, mean / maximum | reads "
            "from the remote node | paper: estimate ns, mean / maximum |\n"
            "|---|---|---|---|---|\n");
    err = dissection_row(r, "pinned", 0, "89 / 149", &pinned);
    if (!err)
        err = dissection_row(r, "not pinned", 1.62, "156 / 261", &wandering);
    if (err)
        return err;
    expect_that(r, wandering.core_ns > pinned.core_ns + 15,
                "the exporter's latency shows it: %.1f %.1f", pinned.core_ns, wandering.core_ns);
    expect_that(r, pinned.loads_remote == 0 && wandering.loads_remote > 0,
                "so do the loads by region");
    fprintf(r->out,
            "\n"
            "The estimate follows where the threads are, and the two load counters say why. The\n"
            "paper's difference is larger: its mean of 156 ns is above the 148.4 ns of an idle\n"
            "remote read, so there memory or interconnect were loaded, too; here they hardly are.\n"
            "\n");
    return 0;
}

int reproduce_latency(struct reproduction *r)
{
    static int (*const parts[])(struct reproduction *) = {table_2, limitations, frequencies,
                                                          calibration, dissection};

    fprintf(r->out,
            "# Memory latency from core counters, on a simulated node\n"
            "\n"
            "Made by `tests/simnode/reproduce latency%s`.\n"
            "\n"
            "**This shows the behaviour of the method and of the pipeline, not the accuracy of\n"
            "silicon.** The node is a model (README.md beside this file); its counters count\n"
            "what the model does, and its truth is the time from a load's address being known\n"
            "to its value being usable, taken in the core and not from any counter. What the\n"
            "model leaves out cannot show up as an error here.\n"
            "\n"
            "The machine is modelled on the paper's: two sockets of a Xeon Gold 6252 at 2.1\n"
            "GHz, per socket five channels of DDR4-2933 and one Optane DIMM, c_cache = 44\n"
            "cycles. The measured thread chases pointers through 256 MiB in the order of\n"
            "addresses, as MLC's idle mode does; the load is twelve threads that stream through\n"
            "memory with 30 %% stores. %u windows of %.2f ms after %u that fill the caches;\n"
            "values are means over windows.\n"
            "\n",
            r->reduced ? " --reduced" : "", windows_of(r),
            (r->reduced ? REDUCED_TICK_CYCLES : TICK_CYCLES) / 2.1e6, warm_up_of(r));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        int err = parts[i](r);

        if (err)
            return err;
    }
    return 0;
}
