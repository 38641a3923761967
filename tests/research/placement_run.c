#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/research/placement.h"

enum { MAX_THREADS = 8 };

static int parse(const struct placement_machine *machine, const struct placement_subject *subject,
                 const char *memory, struct scenario **out)
{
    char json[4096], cpus[4 * MAX_THREADS] = "0";

    for (unsigned i = 1; i < subject->threads && i < MAX_THREADS; i++)
        snprintf(cpus + strlen(cpus), sizeof(cpus) - strlen(cpus), ",%u", i);

    snprintf(json, sizeof(json),
             "{\"scenario\":1,\"machine\":{%s},\"effects\":{%s},\"workloads\":{%s},"
             "\"containers\":[{\"key\":\"a\",\"workload\":\"w\",\"cpus\":[%s],\"seed\":%u,"
             "\"page_bytes\":4096,\"memory\":[%s]}]}",
             machine->machine, machine->effects, subject->workloads, cpus, subject->seed + 1,
             memory);
    return make_scenario(json, out);
}

static double role_of(struct simnode *node, enum group group, enum role role)
{
    struct simnode_reading reading;

    if (simnode_read_container(node, 0, group, &reading))
        return 0;
    return (double)reading.values[group_index(group, role)];
}

static void read_totals(struct simnode *node, struct placement_run *out)
{
    struct simnode_traffic traffic;
    struct simnode_truth truth;

    simnode_truth(node, 0, &truth);
    simnode_traffic(node, 0, &traffic);
    *out = (struct placement_run){
        .instructions = truth.instructions,
        .cycles = role_of(node, GROUP_CORE, ROLE_CYCLES),
        .reads = role_of(node, GROUP_CORE, ROLE_L3_MISS_READS),
        .occupancy = role_of(node, GROUP_CORE, ROLE_L3_MISS_READ_OCCUPANCY),
        .active = role_of(node, GROUP_CORE, ROLE_L3_MISS_READ_ACTIVE),
        .stalls = role_of(node, GROUP_STALLS, ROLE_STALLS_L3_MISS),
        .llc_misses = role_of(node, GROUP_TRAFFIC, ROLE_LLC_MISSES),
        .rfos = role_of(node, GROUP_TRAFFIC, ROLE_RFO),
        .store_stalls = (double)truth.store_stall_cycles,
        .pmm_reads = (double)truth.reads_by_node[0][1],
        .pmm_lines = (double)traffic.fetched_from[0][1],
        .written_back = (double)traffic.written_back,
        .nt_lines = (double)traffic.nt_lines,
    };
    for (int i = 0; i < 3; i++) {
        out->reads_from[i] = (double)truth.reads_by_node[i][0];
        out->lines_from[i] = (double)traffic.fetched_from[i][0];
    }
}

static void subtract(struct placement_run *a, const struct placement_run *b)
{
    a->warm_up = b->instructions;
    a->instructions -= b->instructions;
    a->cycles -= b->cycles;
    a->reads -= b->reads;
    a->occupancy -= b->occupancy;
    a->active -= b->active;
    a->stalls -= b->stalls;
    a->llc_misses -= b->llc_misses;
    a->rfos -= b->rfos;
    a->store_stalls -= b->store_stalls;
    a->pmm_reads -= b->pmm_reads;
    a->pmm_lines -= b->pmm_lines;
    a->written_back -= b->written_back;
    a->nt_lines -= b->nt_lines;
    for (int i = 0; i < 3; i++) {
        a->reads_from[i] -= b->reads_from[i];
        a->lines_from[i] -= b->lines_from[i];
    }
}

/* To the very cycle: what is left takes at least its share of the full rate. */
static int run_to(struct simnode *node, uint64_t instructions, uint64_t rate)
{
    for (;;) {
        struct simnode_truth truth;

        simnode_truth(node, 0, &truth);
        if (truth.instructions >= instructions)
            return 0;

        uint64_t cycles = (instructions - truth.instructions) / rate;

        int err = simnode_run_cycles(node, cycles ? cycles : 1);
        if (err)
            return err;
    }
}

static int run_window(struct simnode *node, const struct placement_window *w, uint64_t rate,
                      struct placement_run *before, struct placement_run *after)
{
    int err = w->instructions ? run_to(node, w->warm_up, rate)
                              : simnode_run_cycles(node, w->warm_up_cycles);

    if (err)
        return err;
    read_totals(node, before);
    err = w->instructions ? run_to(node, w->warm_up + w->instructions, rate)
                          : simnode_run_cycles(node, w->cycles);
    if (!err)
        read_totals(node, after);
    return err;
}

int placement_run(const struct placement_machine *machine, const struct placement_subject *subject,
                  const char *memory, const struct placement_window *window,
                  struct placement_run *out)
{
    struct placement_run before, after;
    struct scenario *scenario;
    struct simnode *node;
    int err = parse(machine, subject, memory, &scenario);

    if (err)
        return err;

    uint64_t threads = scenario->containers[0].n_cpus;

    err = simnode_new(scenario, &node);
    if (!err) {
        err =
            run_window(node, window, (uint64_t)scenario->machine.width * threads, &before, &after);
        simnode_free(node);
    }
    scenario_free(scenario);
    if (err)
        return err;
    subtract(&after, &before);
    *out = after;
    return 0;
}

int placement_repeat(const struct placement_machine *machine,
                     const struct placement_subject *subject, const char *memory,
                     const struct placement_run *now, struct placement_run *out)
{
    struct placement_window window = {.warm_up = now->warm_up, .instructions = now->instructions};

    return placement_run(machine, subject, memory, &window, out);
}

static int cache_cycles(const struct placement_machine *machine, double *cycles)
{
    static const struct placement_subject any = {"cache", "\"w\":{\"kind\":\"compute\"}", 1, 0};
    struct scenario *scenario;
    int err = parse(machine, &any, "{\"node\":0}", &scenario);

    if (err)
        return err;
    *cycles = (double)scenario_cache_cycles(&scenario->machine);
    scenario_free(scenario);
    return 0;
}

int placement_latency(const struct placement_machine *machine, const char *memory, double *cycles)
{
    static const struct placement_subject chase = {
        "chase", "\"w\":{\"kind\":\"chase\",\"bytes\":268435456}", 1, 0};
    static const struct placement_window window = {.warm_up_cycles = 50000, .cycles = 1000000};
    struct placement_run run;
    double cache;
    int err = placement_run(machine, &chase, memory, &window, &run);

    if (!err)
        err = cache_cycles(machine, &cache);
    if (!err)
        *cycles = cache + run.occupancy / run.reads;
    return err;
}

const char *const placement_places[PLACES] = {"{\"node\":0}", "{\"node\":1}", "{\"node\":2}"};

int placement_latencies(const struct placement_machine *machine, struct placement_latencies *out)
{
    int err = cache_cycles(machine, &out->cache);

    for (int i = 0; !err && i < PLACES; i++)
        err = placement_latency(machine, placement_places[i], &out->of[i]);
    return err;
}

/* In cycles where the formulas say seconds: they ask only for one unit. 'room': the time into which
 * the serial reads have to fit. */
static double ratio_of(const struct placement_run *now, const struct placement_latencies *latencies,
                       int place, double target, double room, double *mlp)
{
    struct placement_counts counts = {.reads = now->reads,
                                      .occupancy = now->occupancy,
                                      .active = now->active,
                                      .cache = latencies->cache,
                                      .cpu = room};
    struct placement_reads reads;
    double cycles;

    if (placement_serial_reads(&counts, &reads) != PLACEMENT_OK)
        return NAN;

    const struct placement_time time = {now->cycles, now->active, reads.serial};

    if (placement_predict(&time, latencies->of[place], target, &cycles) != PLACEMENT_OK)
        return NAN;
    if (mlp)
        *mlp = reads.parallelism;
    return cycles / now->cycles;
}

double placement_ratio(const struct placement_run *now, const struct placement_latencies *latencies,
                       double target, double *mlp)
{
    return ratio_of(now, latencies, 0, target, now->cycles, mlp);
}

double placement_return_ratio(const struct placement_run *now,
                              const struct placement_latencies *latencies, int place)
{
    return ratio_of(now, latencies, place, latencies->of[0], now->cycles, NULL);
}

double placement_unbound_ratio(const struct placement_run *now,
                               const struct placement_latencies *latencies, double target)
{
    return ratio_of(now, latencies, 0, target, INFINITY, NULL);
}

void placement_add_error(struct placement_errors *errors, double estimate, double truth)
{
    double error = 100 * (estimate / truth - 1);

    errors->n++;
    errors->sum += fabs(error);
    if (!(fabs(error) <= errors->worst)) {
        errors->worst = fabs(error);
        errors->worst_signed = error;
    }
}

double placement_mean_error(const struct placement_errors *errors)
{
    return errors->sum / errors->n;
}
