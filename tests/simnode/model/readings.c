/* What counters show, and what is true, at the current moment. */
#include <errno.h>
#include <string.h>

#include "tests/simnode/model/sim.h"

static uint64_t cycles_of(const struct core *core)
{
    if (!core->running)
        return core->stopped_cycle - core->slept_cycles;
    if (core->node->apps[core->container].asleep)
        return core->asleep_cycle - core->slept_cycles;
    return core->clock.base_cycle +
           (core->node->now_fs - core->clock.base_fs) / core->clock.period_fs - core->slept_cycles;
}

static bool add_l1d_role(struct core *core, enum role role, uint64_t *sum)
{
    if (!core->node->machine->mabs)
        return false;
    switch (role) {
    case ROLE_L1D_MISS_OCCUPANCY:
        *sum += core->l1d_miss_cycles;
        if (core->running) {
            integral_sync(&core->l1d_misses_out, core->node->now_fs);
            *sum += core->l1d_misses_out.sum_fs / core->clock.period_fs;
        }
        return true;
    case ROLE_L1D_FILLS_L2:
        *sum += core->l1d_fills[L1D_FROM_L2];
        return true;
    case ROLE_L1D_FILLS_L3:
        *sum += core->l1d_fills[L1D_FROM_LLC];
        return true;
    case ROLE_L1D_FILLS_MEMORY:
        *sum += core->l1d_fills[L1D_FROM_BEYOND];
        return true;
    default:
        return false;
    }
}

/* Adds one core's totals of a role; false for roles that cores do not count. */
static bool add_core_role(struct core *core, enum role role, uint64_t *sum)
{
    uint64_t period_fs = core->clock.period_fs;

    if (core->running)
        integral_sync(&core->miss_reads_out, core->node->now_fs);
    if (add_l1d_role(core, role, sum))
        return true;
    switch (role) {
    case ROLE_LOADS_IN_FLIGHT:
        *sum += core->loads_in_flight_cycles;
        return true;
    case ROLE_LOAD_ACCESSES:
        *sum += core->loads;
        return true;
    case ROLE_L1D_LOAD_MISSES:
        *sum += core->l1d_load_misses;
        return true;
    case ROLE_MEMORY_STALLS:
        *sum += core->memory_stall_slots / (uint64_t)core->width;
        return true;
    case ROLE_CYCLES:
        *sum += cycles_of(core);
        return true;
    case ROLE_INSTRUCTIONS:
        *sum += core_retired(core);
        return true;
    case ROLE_L3_MISS_READS:
        *sum += core->l3_miss_reads;
        return true;
    case ROLE_L3_MISS_READ_OCCUPANCY:
        *sum += core->occupancy_cycles;
        if (core->running)
            *sum += core->miss_reads_out.sum_fs / period_fs;
        return true;
    case ROLE_L3_MISS_READ_ACTIVE:
        *sum += core->active_cycles;
        if (core->running)
            *sum += core->miss_reads_out.active_fs / period_fs;
        return true;
    case ROLE_LLC_READS:
        *sum += core->llc_reads;
        return true;
    case ROLE_LLC_MISSES:
        *sum += core->llc_misses;
        return true;
    case ROLE_RFO:
        *sum += core->rfos;
        return true;
    case ROLE_STALLS_L3_MISS:
        *sum += core->stall_slots / (uint64_t)core->width;
        return true;
    case ROLE_LOADS_LOCAL_DRAM:
        *sum += core->loads_local_dram;
        return true;
    case ROLE_LOADS_REMOTE_DRAM:
        *sum += core->loads_remote_dram;
        return true;
    case ROLE_LOADS_LOCAL_PMM:
        *sum += core->loads_local_pmm;
        return true;
    case ROLE_STORES:
        *sum += core->stores;
        return true;
    case ROLE_LOADS:
        *sum += core->loads;
        return true;
    default:
        return false;
    }
}

static uint64_t app_span_fs(const struct simnode *node, const struct app *app)
{
    uint64_t end_fs = app->asleep ? app->asleep_fs : node->now_fs;

    return (app->running ? end_fs : app->stop_fs) - app->start_fs - app->slept_fs;
}

/* The mean over its threads, as quantum_cycles is the time of each. */
static uint64_t shadow_of_app(struct simnode *node, const struct app *app, enum shadow_kind kind)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < node->n_cores; i++)
        if (&node->apps[node->cores[i].container] == app)
            sum += shadow_cycles(&node->cores[i], kind);
    return sum / app->spec->n_cpus;
}

static bool asm_role(struct simnode *node, const struct app *app, enum role role, uint64_t *value)
{
    const struct scenario *scenario = node->scenario;
    unsigned which = scenario->ats_sets != 0;
    uint64_t period_fs = node->period_fs;

    switch (role) {
    case ROLE_QUANTUM_CYCLES:
        *value = app_span_fs(node, app) / period_fs;
        return true;
    case ROLE_ACCESSES:
        *value = app->accesses;
        return true;
    case ROLE_EPOCH_COUNT:
        *value = app->epoch_count;
        return true;
    case ROLE_HITS:
        *value = app->hits;
        return true;
    case ROLE_MISSES:
        *value = app->misses;
        return true;
    case ROLE_HIT_TIME:
        *value = app->hit_fs / period_fs;
        return true;
    case ROLE_MISS_TIME:
        *value = app->miss_fs / period_fs;
        return true;
    case ROLE_ATS_HITS:
        *value = app->ats_hits[which];
        return true;
    case ROLE_ATS_MISSES:
        *value = app->ats_misses[which];
        return true;
    case ROLE_QUEUEING_CYCLES:
        *value = app->queueing_fs / period_fs;
        return true;
    case ROLE_EPOCH_LENGTH:
        *value = (uint64_t)scenario->epoch_cycles;
        return true;
    case ROLE_SHADOW_CYCLES:
        *value = shadow_of_app(node, app, which ? SHADOW_SAMPLED_TAGS : SHADOW_ALL_TAGS);
        return true;
    case ROLE_SHADOW_CACHE_CYCLES:
        *value = shadow_of_app(node, app, which ? SHADOW_CACHE_SAMPLED : SHADOW_CACHE);
        return true;
    default:
        return false;
    }
}

/* Reference cycles are those of the time run, summed over threads as cycles are. */
static uint64_t ref_cycles(const struct simnode *node, const struct app *app)
{
    double seconds = (double)app_span_fs(node, app) / (double)FS_PER_SECOND;

    return (uint64_t)(seconds * node->machine->base_hz) * app->spec->n_cpus;
}

static bool container_role(struct simnode *node, size_t container, enum group group, enum role role,
                           uint64_t *value)
{
    struct app *app = &node->apps[container];
    bool counted = false;

    if (group == GROUP_ASM_EPOCHS)
        return asm_role(node, app, role, value);
    if (role == ROLE_REF_CYCLES) {
        *value = ref_cycles(node, app);
        return true;
    }
    *value = 0;
    for (size_t i = 0; i < node->n_cores; i++)
        if (node->cores[i].container == container)
            counted = add_core_role(&node->cores[i], role, value);
    return counted;
}

int simnode_read_container(struct simnode *node, size_t container, enum group group,
                           struct simnode_reading *out)
{
    const struct group_desc *desc = &group_descs[group];
    struct app *app = &node->apps[container];
    struct simnode_reading reading = {0};

    if (group == GROUP_RPQ || group == GROUP_PMM_RPQ ||
        (group == GROUP_FILLS && !node->machine->mabs) ||
        (group == GROUP_ASM_EPOCHS && !node->scenario->epoch_cycles))
        return -ENOENT;
    if (!app->started)
        return -ENODATA;
    if (group == GROUP_ASM_EPOCHS)
        epochs_flush(node);
    reading.enabled_ns = app_span_fs(node, app) / FS_PER_NS;
    for (size_t i = 0; i < desc->n; i++)
        if (container_role(node, container, group, desc->roles[i], &reading.values[i]))
            reading.present |= 1U << i;
    *out = reading;
    return 0;
}

size_t simnode_units(const struct simnode *node)
{
    return node->n_units;
}

int simnode_read_unit(struct simnode *node, size_t index, enum group group,
                      struct simnode_reading *out)
{
    struct sim_unit *unit = &node->units[index];
    struct integral *queue = group == GROUP_RPQ ? &unit->rpq : &unit->pmm_rpq;

    if ((group != GROUP_RPQ && group != GROUP_PMM_RPQ) ||
        (group == GROUP_PMM_RPQ && !unit->has_pmm))
        return -ENOENT;
    integral_sync(queue, node->now_fs);
    /* The roles of both groups are clockticks, inserts, occupancy. */
    *out = (struct simnode_reading){
        .enabled_ns = node->now_fs / FS_PER_NS,
        .present = 7,
        .values = {node->now_fs / node->dram_period_fs,
                   group == GROUP_RPQ ? unit->dram.inserts : unit->pmm_reads,
                   queue->sum_fs / node->dram_period_fs},
    };
    return 0;
}

void simnode_truth(struct simnode *node, size_t container, struct simnode_truth *out)
{
    *out = (struct simnode_truth){0};
    for (size_t i = 0; i < node->n_cores; i++) {
        struct core *core = &node->cores[i];

        if (core->container != container)
            continue;
        out->reads += core->truth.reads;
        out->latency_ns_sum += core->truth.latency_ns_sum;
        out->own_reads += core->truth.own_reads;
        out->own_latency_ns_sum += core->truth.own_latency_ns_sum;
        out->instructions += core_retired(core);
        out->store_bytes[0] += core->truth.store_bytes[0];
        out->store_bytes[1] += core->truth.store_bytes[1];
        out->store_stall_cycles += core->store_stall_slots / (uint64_t)core->width;
        for (int at = 0; at < SIMNODE_NODES; at++)
            for (int pmm = 0; pmm < 2; pmm++)
                out->reads_by_node[at][pmm] += core->truth.reads_by_node[at][pmm];
    }
}

void simnode_traffic(const struct simnode *node, size_t container, struct simnode_traffic *out)
{
    *out = node->apps[container].traffic;
}

/* What is written goes where it was fetched from: a container's memory is where it is. */
void simnode_monitored(const struct simnode *node, size_t container, struct simnode_monitored *out)
{
    const struct simnode_traffic *traffic = &node->apps[container].traffic;
    uint64_t fetched = 0, lines = 0;

    for (size_t kind = 0; kind < sizeof(traffic->fetched) / sizeof(traffic->fetched[0]); kind++)
        fetched += traffic->fetched[kind];
    for (size_t d = 0; d < node->n_domains; d++)
        lines += cache_lines_of(&node->domains[d].llc, container, SPACE_LINES_SHIFT);

    double remote = fetched ? (double)traffic->fetched_remote / (double)fetched : 0;

    *out = (struct simnode_monitored){
        .total_bytes = 64 * (fetched + traffic->written_back + traffic->nt_lines),
        .occupancy_bytes = 64 * lines,
    };
    out->local_bytes = (uint64_t)((double)out->total_bytes * (1 - remote));
}

void simnode_asm_extra(struct simnode *node, size_t container, struct simnode_asm_extra *out)
{
    const struct app *app = &node->apps[container];

    epochs_flush(node);
    epochs_progress(node, (int)container, node->apps[container].extra.progress);
    *out = app->extra;
    for (int i = 0; i < 2; i++) {
        out->ats_hits[i] = app->ats_hits[i];
        out->ats_misses[i] = app->ats_misses[i];
    }
}

void simnode_cache_totals(struct simnode *node, size_t container, struct simnode_cache_totals *out)
{
    struct app *app = &node->apps[container];
    bool sampled = node->scenario->ats_sets != 0;

    if (app->started) {
        integral_sync(&app->hits_out, node->now_fs);
        integral_sync(&app->misses_out, node->now_fs);
    }
    *out = (struct simnode_cache_totals){
        .accesses = app->accesses,
        .hits = app->extra.total_hits,
        .misses = app->extra.total_misses,
        .hit_cycles = app->hits_out.active_fs / node->period_fs,
        .miss_cycles = app->misses_out.active_fs / node->period_fs,
        .tag_misses = app->extra.total_ats_misses[sampled],
        .shadow_cycles =
            app->ats.ways
                ? shadow_of_app(node, app, sampled ? SHADOW_SAMPLED_TAGS : SHADOW_ALL_TAGS)
                : 0,
    };
    memcpy(out->way_hits, app->way_hits, sizeof(app->way_hits));
}

void simnode_unit_totals(struct simnode *node, size_t index, struct simnode_unit_totals *out)
{
    const struct sim_unit *unit = &node->units[index];

    *out = (struct simnode_unit_totals){
        .cas_reads = unit->dram.cas_reads,
        .cas_writes = unit->dram.cas_writes,
        .activates = unit->dram.activates,
        .inserts = unit->dram.inserts,
        .pmm_media_bytes_written = unit->has_pmm ? unit->pmm.media_bytes_written : 0,
        .pmm_media_bytes_read = unit->has_pmm ? unit->pmm.media_bytes_read : 0,
        .pmm_reads = unit->pmm_reads,
        .read_wait_fs = unit->read_wait_fs,
        .reads_served = unit->reads_served,
    };
}
