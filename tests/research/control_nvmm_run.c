/* One run of A7: threads that compute and threads that write share CPUs, with and without the
 * governor's policy nvmm_cores. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "tests/research/control.h"
#include "tests/simnode/control/scheduler.h"
#include "tests/simnode/control/sim_governor.h"

#define SECOND UINT64_C(1000000000)

/* A slice of 40,000 cycles is told as a 25th of a second. */
enum { SLICE_CYCLES = 40000, SLICES_A_SECOND = 25, WARM_UP = 10 };

struct nvmm_run {
    const struct control_nvmm_plan *plan;
    struct scenario *scenario;
    struct simnode *node;
    struct scheduler scheduler;
    struct scheduler_knobs knobs;
    struct actuators actuators;
    cpu_set_t cpus;
    struct sim_governor *governor; /* NULL: nobody governs */
    uint64_t now_ns, second;
    uint64_t stored_ns[SCHEDULER_THREADS]; /* the last sampled store of each; 0: none */
};

/* --- the node --- */

static int make_node(const struct control_nvmm_plan *plan, struct scenario **out)
{
    struct textbuf text = TEXTBUF_INIT;

    textbuf_printf(&text,
                   "{\"scenario\":1,\"seed\":1,\"tick_cycles\":%d,\"machine\":{\"preset\":\"clx\","
                   "\"sockets\":1,\"cores_per_socket\":%d,\"memory\":{\"preset\":\"ddr4-2933\","
                   "\"channels\":6},\"pmm\":{\"dimms\":1}},\"workloads\":{\"c\":{\"kind\":"
                   "\"compute\"},\"w\":{\"kind\":\"stream\",\"bytes\":67108864,\"streams\":1,"
                   "\"instructions_per_access\":2,\"store_share\":1,\"nt_share\":1,"
                   "\"store_bytes\":64}},\"containers\":[",
                   SLICE_CYCLES, SCHEDULER_THREADS);
    for (unsigned i = 0; i < CONTROL_NVMM_WORKERS + plan->writers; i++)
        textbuf_printf(&text,
                       i < CONTROL_NVMM_WORKERS
                           ? "%s{\"key\":\"t%u\",\"workload\":\"c\",\"cpus\":[%u]}"
                           : "%s{\"key\":\"t%u\",\"workload\":\"w\",\"cpus\":[%u],"
                             "\"sample_period\":1,\"memory\":[{\"node\":0,\"medium\":\"pmm\","
                             "\"share\":1}]}",
                       i ? "," : "", i, i);
    textbuf_str(&text, "]}");
    int err = textbuf_finish(&text);
    if (!err)
        err = make_scenario(text.data, out);
    textbuf_release(&text);
    return err;
}

/* --- the exporter's documents: what it would say of these two containers --- */

static void add_containers(const struct nvmm_run *run, struct textbuf *out)
{
    static const char *const names[] = {"workers", "writers"};

    textbuf_printf(out,
                   "{\"source\":\"replay\",\"tick\":{\"number\":%llu,\"monotonic_seconds\":%.9f,"
                   "\"interval_seconds\":1},\"containers\":[",
                   (unsigned long long)run->second, (double)run->now_ns * 1e-9);
    for (int i = 0; i < 2; i++)
        textbuf_printf(out,
                       "%s{\"namespace\":\"n\",\"pod\":\"p\",\"container\":\"%s\","
                       "\"container_id\":\"%s\",\"values\":{\"interference_container_info\":[{"
                       "\"labels\":{\"id\":\"/%s\"},\"value\":1}]}}",
                       i ? "," : "", names[i], names[i], names[i]);
    textbuf_str(out, "]}");
}

static void add_writers(const struct nvmm_run *run, struct textbuf *out)
{
    const char *comma = "";

    textbuf_printf(out,
                   "{\"monotonic_seconds\":%.9f,\"window_seconds\":1,\"containers\":[{"
                   "\"container_id\":\"writers\",\"processes\":[{\"pid\":1,\"threads\":[",
                   (double)run->now_ns * 1e-9);
    for (unsigned i = 0; i < run->scheduler.n_threads; i++) {
        if (run->stored_ns[i] == 0)
            continue;
        textbuf_printf(out, "%s{\"tid\":%u,\"last_store_seconds_ago\":%.9f}", comma,
                       SCHEDULER_FIRST_TID + i, (double)(run->now_ns - run->stored_ns[i]) * 1e-9);
        comma = ",";
    }
    textbuf_str(out, "]}]}]}");
}

static int govern(struct nvmm_run *run)
{
    struct textbuf containers = TEXTBUF_INIT, writers = TEXTBUF_INIT;

    add_containers(run, &containers);
    add_writers(run, &writers);
    int err = textbuf_finish(&containers);
    if (!err)
        err = textbuf_finish(&writers);
    if (!err)
        err = sim_governor_take_writers(run->governor, writers.data, writers.len);
    if (!err)
        err = sim_governor_take(run->governor, containers.data, containers.len, run->now_ns,
                                run->now_ns);
    textbuf_release(&containers);
    textbuf_release(&writers);
    return err;
}

static int start_governor(struct nvmm_run *run)
{
    char config[512];

    snprintf(config, sizeof(config),
             "\"classes\":[{\"name\":\"w\",\"role\":\"best_effort\",\"match\":[{\"namespace\":"
             "\"*\",\"pod\":\"*\",\"container\":\"writers\"}]}],\"policies\":{\"nvmm_cores\":{"
             "\"classes\":[\"w\"],\"cpus\":\"%d-%d\",%s}}",
             CONTROL_NVMM_CPUS - CONTROL_NVMM_WRITER_CPUS, CONTROL_NVMM_CPUS - 1,
             run->plan->policy);
    for (size_t cpu = CONTROL_NVMM_CPUS - CONTROL_NVMM_WRITER_CPUS; cpu < CONTROL_NVMM_CPUS; cpu++)
        CPU_SET(cpu, &run->cpus);
    run->knobs = (struct scheduler_knobs){.scheduler = &run->scheduler, .cpus = &run->cpus};
    scheduler_actuators(&run->knobs, &run->actuators);
    return sim_governor_new(config, &run->actuators, run->now_ns, &run->governor);
}

/* --- time --- */

static int run_slice(struct nvmm_run *run)
{
    size_t n;
    int err = scheduler_run_slice(&run->scheduler);

    run->now_ns += SECOND / SLICES_A_SECOND;
    const struct simnode_sample *samples = simnode_samples(run->node, &n);
    for (size_t i = 0; i < n; i++)
        if (samples[i].pmm)
            run->stored_ns[samples[i].container] = run->now_ns;
    return err;
}

static int run_seconds(struct nvmm_run *run, unsigned seconds)
{
    int err = 0;

    for (unsigned i = 0; i < seconds && !err; i++) {
        for (unsigned k = 0; k < SLICES_A_SECOND && !err; k++)
            err = run_slice(run);
        run->second++;
        if (!err && run->governor)
            err = govern(run);
    }
    return err;
}

static void read_all(const struct nvmm_run *run, struct simnode_truth *out)
{
    for (unsigned i = 0; i < run->scheduler.n_threads; i++)
        simnode_truth(run->node, i, &out[i]);
}

static int measure_it(struct nvmm_run *run, unsigned seconds, struct control_nvmm_outcome *out)
{
    struct simnode_truth before[SCHEDULER_THREADS], after[SCHEDULER_THREADS];
    unsigned slices = seconds * SLICES_A_SECOND;
    int err = run_seconds(run, WARM_UP);

    read_all(run, before);
    if (!err)
        err = run_seconds(run, seconds);
    read_all(run, after);
    *out = (struct control_nvmm_outcome){0};
    for (unsigned i = 0; i < CONTROL_NVMM_WORKERS; i++)
        out->rates[i] = (double)(after[i].instructions - before[i].instructions) / slices;
    for (unsigned i = CONTROL_NVMM_WORKERS; i < run->scheduler.n_threads; i++) {
        out->bytes += (double)(after[i].store_bytes[1] - before[i].store_bytes[1]);
        out->kept += CPU_COUNT(&run->scheduler.threads[i].allowed) == CONTROL_NVMM_WRITER_CPUS;
    }
    return err;
}

int control_nvmm_run(const struct control_nvmm_plan *plan, unsigned seconds,
                     struct control_nvmm_outcome *out)
{
    struct nvmm_run run = {.plan = plan, .now_ns = 1000 * SECOND};
    int err = make_node(plan, &run.scenario);

    if (!err)
        err = simnode_new(run.scenario, &run.node);
    if (!err)
        err = scheduler_init(&run.scheduler, run.node, CONTROL_NVMM_WORKERS + plan->writers,
                             CONTROL_NVMM_CPUS);
    if (!err && plan->policy)
        err = start_governor(&run);
    if (!err)
        err = measure_it(&run, seconds, out);
    sim_governor_free(run.governor);
    simnode_free(run.node);
    scenario_free(run.scenario);
    return err;
}
