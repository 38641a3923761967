/* The exporter's latency on AMD, on the simulated node: the page, and its first sections. */
#include "tests/research/amd.h"

#include <math.h>

/* --- t2 and t3 --- */

enum { TIMES_IDLE, TIMES_L3, TIMES_MEMORY, TIMES };

static int times_row(struct reproduction *r, const char *name, const struct amd_experiment *e,
                     struct fill_times *out)
{
    int err = amd_measure_times(r, e, out);

    if (!err)
        fprintf(r->out, "| %s | %.2f | %.2f | %.2f | %.2f |\n", name, out->l2 + amd_l1_cycles(),
                out->l2, out->l3 + amd_l1_cycles(), out->l3);
    return err;
}

static int measure_times(struct reproduction *r, struct fill_times *idle)
{
    static const struct {
        const char *name;
        struct amd_experiment experiment;
    } rows[TIMES] = {
        [TIMES_IDLE] = {"idle", {0}},
        [TIMES_L3] = {"L3 busy",
                      {.load = AMD_LOAD_L3,
                       .machine = AMD_FEW_PORTS,
                       .effects = "\"llc_busy\":true"}},
        [TIMES_MEMORY] = {"memory busy", {.load = AMD_LOAD_MEMORY}},
    };
    struct fill_times times[TIMES];

    fprintf(r->out, "## t2 and t3, as the probe measures them\n"
                    "\n"
                    "| machine | L2 hit, cycles | t2 | L3 hit, cycles | t3 |\n"
                    "|---|---|---|---|---|\n");
    for (int i = 0; i < TIMES - r->reduced; i++) {
        int err = times_row(r, rows[i].name, &rows[i].experiment, &times[i]);

        if (err)
            return err;
    }
    *idle = times[TIMES_IDLE];
    expect_that(r, fabs(idle->l2 - 10) < 0.1 && fabs(idle->l3 - 46) < 0.1,
                "idle, they are the machine's: %.2f %.2f", idle->l2, idle->l3);
    expect_that(r, times[TIMES_L3].l3 > idle->l3 + 0.1 && fabs(times[TIMES_L3].l2 - 10) < 0.1,
                "a busy L3 makes its hits longer, and no others: %.2f", times[TIMES_L3].l3);
    return 0;
}

/* --- idle and loaded memory --- */

enum { IDLE, LOADED, LOADED_COMPLEX, CONFIGURATIONS };

static int configurations(struct reproduction *r, struct fill_times times)
{
    static const struct {
        const char *name;
        unsigned load;
    } rows[CONFIGURATIONS] = {
        [IDLE] = {"idle", 0},
        [LOADED] = {"loaded by the other complexes", AMD_LOAD_MEMORY},
        [LOADED_COMPLEX] = {"loaded by the own complex", AMD_LOAD_COMPLEX},
    };
    double truths[CONFIGURATIONS];

    fprintf(r->out, "## Idle and loaded memory, all effects off\n"
                    "\n"
                    "| configuration | truth ns | estimate ns | error |\n"
                    "|---|---|---|---|\n");
    for (int i = 0; i < CONFIGURATIONS; i++) {
        struct amd_experiment e = {.load = rows[i].load, .times = times};
        struct amd_measurement m;
        char text[32];
        int err = amd_run(r, &e, &m);

        if (err)
            return err;
        truths[i] = m.truth_ns;
        fprintf(r->out, "| %s | %.1f | %.1f | %s |\n", rows[i].name, m.truth_ns, m.estimate_ns,
                amd_error_text(m.estimate_ns, m.truth_ns, text, sizeof(text)));
        expect_that(r, fabs(amd_error_percent(m.estimate_ns, m.truth_ns)) < 0.5,
                    "%s: within 0.5 %%: %.1f %.1f", rows[i].name, m.estimate_ns, m.truth_ns);
    }
    expect_that(r, truths[LOADED] > truths[IDLE] + 5 && truths[LOADED_COMPLEX] > truths[IDLE] + 5,
                "both loads show: %.1f %.1f %.1f", truths[IDLE], truths[LOADED],
                truths[LOADED_COMPLEX]);
    return 0;
}

int reproduce_amd(struct reproduction *r)
{
    static int (*const parts[])(struct reproduction *, struct fill_times) = {
        configurations, amd_limitations, amd_buffers, amd_mixes};
    struct fill_times times;

    int err = measure_times(r, &times);
    for (size_t i = 0; !err && i < sizeof(parts) / sizeof(parts[0]); i++)
        err = parts[i](r, times);
    return err;
}
