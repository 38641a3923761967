/* The runs of `reproduce slowdown`: scenarios made, simulated, kept in a folder. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "tests/research/reproduce.h"
#include "tests/research/slowdown.h"

/* --- scenarios --- */

static void put_machine(struct textbuf *out, const struct slow_variant *variant)
{
    textbuf_printf(out,
                   "{\"scenario\":1,\"seed\":1,\"tick_cycles\":%d,\"ats_sets\":64,"
                   "\"machine\":{\"preset\":\"asm\",\"cores_per_socket\":%u,"
                   "\"llc\":{\"bytes\":%u},\"memory\":{\"channels\":%u%s%s%s",
                   SLOW_ROW_CYCLES, variant->cores + variant->idle_cores, variant->llc_mib << 20,
                   variant->channels, variant->closed_rows ? ",\"page_idle_clocks\":1" : "",
                   variant->yielding ? ",\"priority_exclusive\":false" : "",
                   variant->after_rows ? ",\"priority_after_rows\":true" : "");
    if (variant->batch_cap)
        textbuf_printf(out, ",\"batch_cap\":%u", variant->batch_cap);
    textbuf_str(out, "}");
    if (variant->window)
        textbuf_printf(out, ",\"core\":{\"window\":%u}", variant->window);
    if (variant->prefetch)
        textbuf_str(out, ",\"prefetcher\":{\"degree\":4,\"distance\":24}");
    textbuf_str(out, "}");
}

static void put_container(struct textbuf *out, unsigned core, size_t app, const char *more)
{
    textbuf_printf(out, "%s{\"key\":\"c%u\",\"workload\":\"%s\",\"cpus\":[%u],\"seed\":%zu%s}",
                   core ? "," : "", core, slow_apps[app].name, core, app + 1, more);
}

/* One application's workloads; "first" where no other stands before it. */
static void put_workload(struct textbuf *out, bool first, size_t index)
{
    const struct slow_app *app = &slow_apps[index];

    if (!first)
        textbuf_str(out, ",");
    if (!app->quiet) {
        textbuf_printf(out, "\"%s\":%s", app->name, app->workload);
        return;
    }
    textbuf_printf(out,
                   "\"%s.burst\":%s,\"%s.quiet\":%s,\"%s\":{\"kind\":\"phases\",\"phases\":["
                   "{\"workload\":\"%s.burst\",\"instructions\":%u},"
                   "{\"workload\":\"%s.quiet\",\"instructions\":%u}]}",
                   app->name, app->workload, app->name, app->quiet, app->name, app->name,
                   app->burst_instructions, app->name, app->quiet_instructions);
}

int slow_shared_text(const struct slow_variant *variant, const size_t *apps, struct textbuf *text)
{
    put_machine(text, variant);
    textbuf_printf(text, ",\"ticks\":%u", variant->mega_cycles);
    if (variant->epoch_cycles)
        textbuf_printf(text, ",\"epochs\":{\"length_cycles\":%u}", variant->epoch_cycles);
    textbuf_str(text, ",\"workloads\":{");
    for (unsigned i = 0; i < variant->cores; i++)
        put_workload(text, i == 0, apps[i]);
    textbuf_str(text, "},\"containers\":[");
    for (unsigned i = 0; i < variant->cores; i++)
        put_container(text, i, apps[i], "");
    textbuf_str(text, "]}");
    return textbuf_finish(text);
}

static int make_alone(const struct slow_variant *variant, size_t app, unsigned ways,
                      struct textbuf *text)
{
    put_machine(text, variant);
    textbuf_printf(text,
                   ",\"ticks\":%u,\"classes\":[{\"name\":\"few\",\"llc_ways\":\"%x\"}],"
                   "\"workloads\":{",
                   variant->mega_cycles, (1U << ways) - 1);
    put_workload(text, true, app);
    textbuf_str(text, "},\"containers\":[");
    put_container(text, 0, app, ",\"class\":\"few\"");
    textbuf_str(text, "]}");
    return textbuf_finish(text);
}

/* --- a shared run --- */

static void read_app(struct simnode *node, const struct delays *delays, size_t app,
                     uint64_t out[SLOW_VALUES])
{
    static const struct {
        int column;
        enum group group;
        enum role role;
    } roles[] = {
        {V_QUANTUM_CYCLES, GROUP_ASM_EPOCHS, ROLE_QUANTUM_CYCLES},
        {V_ACCESSES, GROUP_ASM_EPOCHS, ROLE_ACCESSES},
        {V_EPOCHS, GROUP_ASM_EPOCHS, ROLE_EPOCH_COUNT},
        {V_HITS, GROUP_ASM_EPOCHS, ROLE_HITS},
        {V_MISSES, GROUP_ASM_EPOCHS, ROLE_MISSES},
        {V_HIT_TIME, GROUP_ASM_EPOCHS, ROLE_HIT_TIME},
        {V_MISS_TIME, GROUP_ASM_EPOCHS, ROLE_MISS_TIME},
        {V_QUEUEING, GROUP_ASM_EPOCHS, ROLE_QUEUEING_CYCLES},
        {V_CYCLES, GROUP_CORE, ROLE_CYCLES},
        {V_LLC_READS, GROUP_CORE, ROLE_LLC_READS},
        {V_READ_MISSES, GROUP_CORE, ROLE_L3_MISS_READS},
        {V_OCCUPANCY, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY},
        {V_ACTIVE, GROUP_CORE, ROLE_L3_MISS_READ_ACTIVE},
        {V_STALLS, GROUP_STALLS, ROLE_STALLS_L3_MISS},
    };
    struct simnode_reading readings[GROUP_COUNT] = {0};
    struct simnode_asm_extra extra;
    struct simnode_truth truth;

    (void)simnode_read_container(node, app, GROUP_ASM_EPOCHS, &readings[GROUP_ASM_EPOCHS]);
    (void)simnode_read_container(node, app, GROUP_CORE, &readings[GROUP_CORE]);
    (void)simnode_read_container(node, app, GROUP_STALLS, &readings[GROUP_STALLS]);
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
        out[roles[i].column] =
            readings[roles[i].group].values[group_index(roles[i].group, roles[i].role)];
    simnode_asm_extra(node, app, &extra);
    out[V_ATS_HITS] = extra.ats_hits[0];
    out[V_ATS_MISSES] = extra.ats_misses[0];
    out[V_SAMPLED_HITS] = extra.ats_hits[1];
    out[V_SAMPLED_MISSES] = extra.ats_misses[1];
    out[V_TOTAL_MISSES] = extra.total_misses;
    memcpy(&out[V_PROGRESS], extra.progress, sizeof(extra.progress));
    memcpy(&out[V_EPOCH_PROGRESS], extra.progress_in_epochs, sizeof(extra.progress_in_epochs));
    simnode_truth(node, app, &truth);
    out[V_INSTRUCTIONS] = truth.instructions;
    delays_read(delays, app, &out[V_FST]);
}

static int simulate(const char *text, bool parts, struct slow_run *run)
{
    struct scenario *scenario = NULL;
    struct simnode *node = NULL;
    struct delays *delays = NULL;
    int err = make_scenario(text, &scenario);

    if (err)
        return err;
    scenario->shadow_parts = parts;
    err = delays_new(scenario, &delays);
    if (!err)
        err = simnode_new(scenario, &node);
    if (!err)
        simnode_observe(node, delays_observe, delays);
    for (unsigned row = 0; !err && row < run->rows; row++) {
        err = simnode_run_tick(node);
        for (unsigned core = 0; !err && core < run->cores; core++)
            read_app(node, delays, core, run->values[row * run->cores + core]);
    }
    simnode_free(node);
    delays_free(delays);
    scenario_free(scenario);
    return err;
}

int slow_run_get(const char *folder, const struct slow_variant *variant, uint64_t seed,
                 unsigned index, struct slow_run *out)
{
    struct slow_run run = {.cores = variant->cores, .rows = variant->mega_cycles};
    size_t rows = (size_t)run.rows * run.cores, apps[SLOW_MAX_CORES];
    const char *what = variant->parts ? "run" : "lean";
    struct textbuf text = TEXTBUF_INIT;

    run.values = calloc(rows, sizeof(*run.values));
    slow_draw(seed, index, variant, apps);
    int err = slow_shared_text(variant, apps, &text);
    if (!err && !run.values)
        err = -ENOMEM;
    if (!err) {
        err = load_run(folder, what, text.data, run.values, rows * sizeof(*run.values));
    }
    if (err == -ENOENT) {
        err = simulate(text.data, variant->parts, &run);
        if (!err)
            err = save_run(folder, what, text.data, run.values, rows * sizeof(*run.values));
    }
    textbuf_release(&text);
    if (err) {
        slow_run_release(&run);
        return err;
    }
    *out = run;
    return 0;
}

void slow_run_release(struct slow_run *run)
{
    free(run->values);
    run->values = NULL;
}

/* --- an alone run --- */

/* A row: instructions, all misses, read misses, llc_reads, occupancy. */
enum { ALONE_COLUMNS = 5 };

static int simulate_alone(const char *text, size_t n, uint64_t *values)
{
    struct scenario *scenario;
    struct simnode *node = NULL;
    int err = make_scenario(text, &scenario);

    if (err)
        return err;
    scenario->ats_sets = 0; /* nobody is there to be told from */
    err = simnode_new(scenario, &node);
    for (size_t i = 0; !err && i < n; i++, values += ALONE_COLUMNS) {
        struct simnode_reading core = {0};
        struct simnode_asm_extra extra;
        struct simnode_truth truth;

        err = simnode_run_cycles(node, SLOW_STEP_CYCLES);
        (void)simnode_read_container(node, 0, GROUP_CORE, &core);
        simnode_asm_extra(node, 0, &extra);
        simnode_truth(node, 0, &truth);
        values[0] = truth.instructions;
        values[1] = extra.total_misses;
        values[2] = core.values[group_index(GROUP_CORE, ROLE_L3_MISS_READS)];
        values[3] = core.values[group_index(GROUP_CORE, ROLE_LLC_READS)];
        values[4] = core.values[group_index(GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY)];
    }
    simnode_free(node);
    scenario_free(scenario);
    return err;
}

static int machines_cache(const char *text, double *cycles)
{
    struct scenario *scenario;
    int err = make_scenario(text, &scenario);

    if (err)
        return err;
    *cycles = (double)scenario_cache_cycles(&scenario->machine);
    scenario_free(scenario);
    return 0;
}

static int fill_alone(const uint64_t *values, size_t n, double cache_cycles, struct slow_alone *out)
{
    const uint64_t *half = &values[n / 2 * ALONE_COLUMNS], *end = &values[(n - 1) * ALONE_COLUMNS];
    double d[ALONE_COLUMNS]; /* of the second half: warm */

    for (int i = 0; i < ALONE_COLUMNS; i++)
        d[i] = (double)(end[i] - half[i]);
    *out = (struct slow_alone){
        .n = n,
        .instructions = calloc(n, sizeof(*out->instructions)),
        .misses = calloc(n, sizeof(*out->misses)),
        .mpki = d[1] / d[0] * 1000,
        .latency_cycles = d[2] > 0 ? d[4] / d[2] : NAN,
        .miss_ratio = d[3] > 0 ? d[2] / d[3] : NAN,
        .cache_cycles = cache_cycles,
    };
    if (!out->instructions || !out->misses) {
        slow_alone_release(out);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        out->instructions[i] = values[i * ALONE_COLUMNS];
        out->misses[i] = values[i * ALONE_COLUMNS + 1];
    }
    return 0;
}

int slow_alone_get(const char *folder, const struct slow_variant *variant, size_t app,
                   unsigned ways, struct slow_alone *out)
{
    /* A shared run gets no further than an alone run of its length, but for noise. */
    size_t n = (size_t)variant->mega_cycles * (SLOW_ROW_CYCLES / SLOW_STEP_CYCLES);
    struct textbuf text = TEXTBUF_INIT;
    double cache_cycles = 0;
    uint64_t *values;
    int err;

    n += n / 20;
    size_t size = n * ALONE_COLUMNS * sizeof(*values);
    values = calloc(1, size);
    err = make_alone(variant, app, ways, &text);
    if (!err && !values)
        err = -ENOMEM;
    if (!err) {
        err = load_run(folder, "alone", text.data, values, size);
    }
    if (err == -ENOENT) {
        err = simulate_alone(text.data, n, values);
        if (!err)
            err = save_run(folder, "alone", text.data, values, size);
    }
    if (!err)
        err = machines_cache(text.data, &cache_cycles);
    textbuf_release(&text);
    if (!err)
        err = fill_alone(values, n, cache_cycles, out);
    free(values);
    return err;
}

void slow_alone_release(struct slow_alone *alone)
{
    free(alone->instructions);
    free(alone->misses);
    alone->instructions = alone->misses = NULL;
}

/* Steps until so many instructions have retired, in parts of a step; NaN beyond the run's end. */
static double steps_to(const struct slow_alone *alone, uint64_t instructions)
{
    size_t low = 0, high = alone->n; /* the first point with that many */

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (alone->instructions[middle] < instructions)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == alone->n)
        return NAN;

    uint64_t before = low ? alone->instructions[low - 1] : 0;
    uint64_t span = alone->instructions[low] - before;
    double part = span ? (double)(instructions - before) / (double)span : 0;

    return (double)low + part;
}

double slow_alone_cycles(const struct slow_alone *alone, uint64_t instructions)
{
    return steps_to(alone, instructions) * SLOW_STEP_CYCLES;
}

double slow_alone_misses(const struct slow_alone *alone, uint64_t instructions)
{
    double steps = steps_to(alone, instructions);

    if (isnan(steps))
        return NAN;

    size_t low = (size_t)steps;
    double before = low ? (double)alone->misses[low - 1] : 0;
    double after = low < alone->n ? (double)alone->misses[low] : before;

    return before + (after - before) * (steps - (double)low);
}
