/*
 * The core: instructions through a window, without stepping cycle by cycle.
 *
 * Instruction k is dispatched in slot d(k), a slot being 1/width of a cycle, and retires in slot
 * r(k), in order. With D = d(k) - k and R = r(k) - k the rules of a window of N entries become
 *
 *     D(k) = max(D(k-1), R(k-N) - N)                        an entry must have retired
 *     R(k) = max(R(k-1), D(k) + width)                      one cycle to execute
 *     R(k) = max(R(k-1), width * done(k) - k)               for a load
 *
 * so both only change at loads, and what lies between costs nothing. Loads whose value comes so
 * soon that they cannot hold up the window are not even remembered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/model/sim.h"

int core_init(struct core *core, struct simnode *node, size_t container, size_t thread)
{
    const struct machine_spec *machine = node->machine;
    const struct container_spec *spec = &node->scenario->containers[container];
    uint64_t seed = mix64((uint64_t)spec->seed * 1000003 + thread);
    uint32_t ring = 2;

    while (ring < machine->window + 2)
        ring *= 2;
    *core = (struct core){.node = node,
                          .container = container,
                          .width = machine->width,
                          .window = machine->window,
                          .ring_mask = ring - 1};
    core->clock.period_fs = node->period_fs;
    core->tid = (int)(1000 + (container << SCENARIO_THREAD_BITS) + thread);
    sim_place_core(core, (int)spec->cpus[thread]);
    /* Placed at random, alike in alone and shared runs; the container decides only high bits. */
    uint64_t offset = mix64(seed) & 0x3ffffc0;
    uint64_t own = spec->workload->shared ? 0 : (uint64_t)thread << THREAD_LINES_SHIFT;

    if (spec->workload->shared)
        offset = mix64((uint64_t)spec->seed) & 0x3ffffc0;
    core->line_base = ((uint64_t)container << SPACE_LINES_SHIFT) + own + offset;
    while (64LL << core->page_lines_shift < spec->page_bytes)
        core->page_lines_shift++;
    core->ring = calloc(ring, sizeof(*core->ring));
    if (!core->ring)
        return -ENOMEM;
    int err = workload_init(&core->workload, spec->workload, seed);
    if (!err)
        err = private_init(core);
    if (!err)
        err = shadow_init(core);
    if (err)
        core_release(core);
    return err;
}

void core_release(struct core *core)
{
    workload_release(&core->workload);
    private_release(core);
    shadow_release(core);
    free(core->ring);
    core->ring = NULL;
}

void core_start(struct core *core)
{
    core->running = true;
    core->clock.base_fs = core->node->now_fs;
    core->retire_lag = core->width;
    core->miss_reads_out.last_fs = core->l1d_misses_out.last_fs = core->node->now_fs;
    core->wake_fs = core->node->now_fs;
    sim_schedule(core->node, core->wake_fs, EVENT_CORE, core);
}

static inline struct load *ring_first(struct core *core)
{
    return &core->ring[core->ring_head & core->ring_mask];
}

/* Whether instruction k may enter the window; lags are brought up to what precedes it by N. */
static bool window_admits(struct core *core, uint64_t k)
{
    while (core->ring_head != core->ring_tail) {
        struct load *load = ring_first(core);

        if (load->index + (uint64_t)core->window > k)
            break;
        if (load->done_cycle == LOAD_PENDING)
            return false;

        int64_t lag = (int64_t)load->done_cycle * core->width - (int64_t)load->index;

        if (lag > core->retire_lag)
            core->retire_lag = lag;
        lag = core->retire_lag - core->window;
        if (lag > core->dispatch_lag) {
            if (load->missed)
                core->memory_stall_slots += (uint64_t)(lag - core->dispatch_lag);
            if (load->l3_miss)
                core->stall_slots += (uint64_t)(lag - core->dispatch_lag);
            if (load->contention)
                core->contention_stall_slots += (uint64_t)(lag - core->dispatch_lag);
            core->dispatch_lag = lag;
        }
        shadow_retire(core, load);
        core->ring_head++;
    }
    return true;
}

static struct load *remember_load(struct core *core, uint64_t index, uint64_t line, uint64_t cycle,
                                  uint64_t done_cycle)
{
    struct load *load = &core->ring[core->ring_tail++ & core->ring_mask];

    *load = (struct load){.index = index,
                          .line = line,
                          .dispatch_cycle = cycle,
                          .issue_cycle = cycle,
                          .done_cycle = done_cycle};
    return load;
}

/* An access that was seen to wait for the load before; other dependences do not show. */
static void shadow_wait(const struct core *core, int64_t at[SHADOWS])
{
    for (int s = 0; s < core->n_shadows; s++)
        if (core->shadows[s].last_load_done > at[s])
            at[s] = core->shadows[s].last_load_done;
}

static void shadow_issue(struct core *core, uint64_t cycle, const int64_t at[SHADOWS])
{
    for (int s = 0; s < core->n_shadows; s++)
        core->shadow_shift[s] = (int64_t)cycle - at[s];
}

static void execute_load(struct core *core, uint64_t k, uint64_t line, uint64_t cycle)
{
    int64_t shadow[SHADOWS];

    core->loads++;
    shadow_dispatch(core, shadow);
    if (core->op.dependent) {
        if (core->last_load) {
            struct load *load = remember_load(core, k, line, cycle, LOAD_PENDING);

            memcpy(load->shadow_dispatch, shadow, sizeof(shadow));
            core->last_load->dependent = load;
            core->last_load = load;
            return;
        }
        if (core->last_load_done > cycle) {
            cycle = core->last_load_done;
            shadow_wait(core, shadow);
        }
    }

    uint64_t issued = cycle;

    shadow_issue(core, cycle, shadow);

    int64_t latency = private_lookup(core, line, &cycle, false);

    if (latency < 0) {
        struct load *load = remember_load(core, k, line, issued, LOAD_PENDING);

        memcpy(load->shadow_issue, shadow, sizeof(shadow));
        core->last_load = load;
        private_miss(core, REQUEST_READ, line, cycle, load);
        return;
    }

    uint64_t done = cycle + (uint64_t)latency;

    core->loads_in_flight_cycles += done - issued;
    core->last_load = NULL;
    core->last_load_done = done;
    for (int s = 0; s < core->n_shadows; s++)
        core->shadows[s].last_load_done = shadow[s] += (int64_t)(done - issued);
    if ((int64_t)done * core->width - (int64_t)k - core->window > core->dispatch_lag)
        memcpy(remember_load(core, k, line, issued, done)->shadow_done, shadow, sizeof(shadow));
}

static void sample_store(struct core *core, uint64_t line, uint64_t bytes, bool pmm)
{
    struct simnode *node = core->node;

    if (node->n_samples == node->samples_cap) {
        size_t cap = node->samples_cap ? node->samples_cap * 2 : 256;
        struct simnode_sample *samples = realloc(node->samples, cap * sizeof(*samples));

        if (!samples) {
            node->failed = -ENOMEM;
            return;
        }
        node->samples = samples;
        node->samples_cap = cap;
    }
    node->samples[node->n_samples++] =
        (struct simnode_sample){.container = core->container,
                                .tid = core->tid,
                                .ip = 0x401000 + core->container * 0x100,
                                .addr = (line & ((1ULL << THREAD_LINES_SHIFT) - 1)) * 64,
                                .bytes = bytes,
                                .pmm = pmm};
}

static void execute_store(struct core *core, uint64_t line, uint64_t cycle)
{
    struct simnode *node = core->node;
    const struct container_spec *spec = &node->scenario->containers[core->container];
    bool nt = core->op.kind == OP_NT_STORE;
    uint64_t bytes = nt ? 64 : (uint64_t)spec->workload->store_bytes;
    struct request place = {.line = line};
    int64_t shadow[SHADOWS];

    shadow_take_store(core);
    shadow_dispatch(core, shadow);
    shadow_issue(core, cycle, shadow);
    memory_place(node, &place);
    core->truth.store_bytes[place.pmm] += bytes;
    core->stores++;
    if (spec->sample_period && core->stores % (uint64_t)spec->sample_period == 0)
        sample_store(core, line, bytes, place.pmm);
    if (!nt) {
        if (private_lookup(core, line, &cycle, true) < 0)
            private_miss(core, REQUEST_RFO, line, cycle, NULL);
        return;
    }

    struct request *request = sim_new_request(node);

    if (!request)
        return;
    request->kind = REQUEST_NT_STORE;
    request->core = core;
    request->app = (int)core->container;
    request->line = line;
    request->store_number = core->n_stores_out++;
    memcpy(request->shadow_shift, core->shadow_shift, sizeof(request->shadow_shift));
    core->pending_stores++;
    memory_place(node, request);
    sim_schedule(node, simclock_fs(&core->clock, cycle + core->private_cycles), EVENT_ENTER,
                 request);
}

static void execute_writeback(struct core *core, uint64_t line, uint64_t cycle)
{
    struct request *request = sim_new_request(core->node);

    if (!request)
        return;
    request->kind = REQUEST_WRITEBACK;
    request->core = core;
    request->app = (int)core->container;
    request->line = line;
    sim_schedule(core->node, simclock_fs(&core->clock, cycle + core->private_cycles), EVENT_ACCESS,
                 request);
}

static void fetch_op(struct core *core)
{
    workload_next(&core->workload, &core->op);
    core->op_index = core->next_index + core->op.bubble;
    core->have_op = true;
}

void core_run(struct core *core)
{
    struct simnode *node = core->node;

    if (!core->running || core->paused || core->halted || node->failed)
        return;

    uint64_t now = simclock_cycle(&core->clock, node->now_fs);

    core->block = CORE_RUNS;
    for (;;) {
        if (!core->have_op)
            fetch_op(core);
        if (!window_admits(core, core->op_index)) {
            core->block = CORE_WAITS_FOR_LOAD;
            return;
        }

        uint64_t cycle =
            (uint64_t)((int64_t)core->op_index + core->dispatch_lag) / (uint64_t)core->width;

        if (cycle > now + RUN_AHEAD_CYCLES) {
            core->wake_fs = simclock_fs(&core->clock, cycle);
            sim_schedule(node, core->wake_fs, EVENT_CORE, core);
            return;
        }
        if (core->pending_stores >= node->machine->store_buffer && core->op.kind != OP_LOAD) {
            core->block = CORE_WAITS_FOR_STORE;
            return;
        }

        uint64_t line = core->line_base + core->op.line;

        if (core->op.kind == OP_LOAD)
            execute_load(core, core->op_index, line, cycle);
        else if (core->op.kind == OP_WRITEBACK)
            execute_writeback(core, line, cycle);
        else
            execute_store(core, line, cycle);
        core->next_index = core->op_index + core->op.counts;
        core->have_op = false;
    }
}

void core_pause(struct core *core)
{
    core->paused = true;
}

/* The next access is dispatched now at the earliest. */
static void dispatch_from_now(struct core *core)
{
    uint64_t index = core->have_op ? core->op_index : core->next_index;
    int64_t lag =
        (int64_t)simclock_cycle(&core->clock, core->node->now_fs) * core->width - (int64_t)index;

    if (lag > core->dispatch_lag)
        core->dispatch_lag = lag;
}

void core_resume(struct core *core)
{
    core->paused = false;
    dispatch_from_now(core);
    core_run(core);
}

void core_load_done(struct core *core, struct load *load)
{
    while (load) {
        struct load *next = load->dependent;

        core->loads_in_flight_cycles += load->done_cycle - load->issue_cycle;
        if (core->last_load == load) {
            core->last_load = NULL;
            core->last_load_done = load->done_cycle;
            for (int s = 0; s < core->n_shadows; s++)
                core->shadows[s].last_load_done = load->shadow_done[s];
        }
        if (!next || core->halted)
            return;
        load->dependent = NULL;

        uint64_t cycle =
            load->done_cycle > next->dispatch_cycle ? load->done_cycle : next->dispatch_cycle;

        if (cycle < core->continued_cycle)
            cycle = core->continued_cycle;

        next->issue_cycle = cycle;
        for (int s = 0; s < core->n_shadows; s++)
            next->shadow_issue[s] = load->shadow_done[s] > next->shadow_dispatch[s]
                                        ? load->shadow_done[s]
                                        : next->shadow_dispatch[s];
        shadow_issue(core, cycle, next->shadow_issue);

        int64_t latency = private_lookup(core, next->line, &cycle, false);

        if (latency < 0) {
            private_miss(core, REQUEST_READ, next->line, cycle, next);
            return;
        }
        next->done_cycle = cycle + (uint64_t)latency;
        for (int s = 0; s < core->n_shadows; s++)
            next->shadow_done[s] =
                next->shadow_issue[s] + (int64_t)(next->done_cycle - next->issue_cycle);
        load = next;
    }
}

void core_store_done(struct core *core)
{
    core->pending_stores--;
}

void core_wake(struct core *core)
{
    if (core->block == CORE_WAITS_FOR_LOAD && ring_first(core)->done_cycle != LOAD_PENDING) {
        core_run(core);
    } else if (core->block == CORE_WAITS_FOR_STORE &&
               core->pending_stores < core->node->machine->store_buffer) {
        int64_t lag = core->dispatch_lag;

        dispatch_from_now(core);
        core->store_stall_slots += (uint64_t)(core->dispatch_lag - lag);
        core_run(core);
    }
}

uint64_t core_retired(struct core *core)
{
    uint64_t now_fs =
        core->running ? core->node->now_fs : core->node->apps[core->container].stop_fs;
    uint64_t cycle =
        core->clock.base_cycle + (now_fs - core->clock.base_fs) / core->clock.period_fs;

    if (core->halted && cycle > core->halted_cycle)
        cycle = core->halted_cycle;

    int64_t slot = (int64_t)cycle * core->width, lag = core->retire_lag;
    uint64_t bound = core->have_op ? core->op_index : core->next_index;

    if (lag < core->dispatch_lag + core->width)
        lag = core->dispatch_lag + core->width;
    for (uint32_t i = core->ring_head; i != core->ring_tail; i++) {
        const struct load *load = &core->ring[i & core->ring_mask];

        if ((int64_t)load->index + lag > slot)
            break;
        if (load->done_cycle == LOAD_PENDING || (int64_t)load->done_cycle * core->width > slot) {
            bound = load->index;
            break;
        }
        int64_t load_lag = (int64_t)load->done_cycle * core->width - (int64_t)load->index;

        if (load_lag > lag)
            lag = load_lag;
    }

    uint64_t count = slot > lag ? (uint64_t)(slot - lag) : 0;

    if (count > bound)
        count = bound;
    if (count > core->retired)
        core->retired = count;
    return core->retired;
}
