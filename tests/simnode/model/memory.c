/* Where a line's memory is, the channels there, and the interconnect. */
#include <errno.h>
#include <stdlib.h>

#include "tests/simnode/model/sim.h"

static int init_unit(struct simnode *node, struct sim_unit *unit, bool has_pmm)
{
    int err = dram_init(&unit->dram, &node->machine->dram, (int)node->n_apps);

    unit->wake_fs = SIM_NEVER;
    if (!err && has_pmm) {
        err = pmm_init(&unit->pmm, &node->machine->pmm);
        unit->has_pmm = !err;
    }
    return err;
}

int memory_init(struct simnode *node)
{
    const struct machine_spec *machine = node->machine;
    size_t sockets = (size_t)machine->sockets, channels = (size_t)machine->channels;

    node->n_units = sockets * channels;
    node->units = calloc(node->n_units, sizeof(*node->units));
    node->link_free_fs = calloc(sockets * sockets, sizeof(*node->link_free_fs));
    if (!node->units || !node->link_free_fs)
        return -ENOMEM;
    node->dram_period_fs = period_of_hz(machine->dram.clock_hz);
    if (machine->link_bytes_per_second > 0)
        node->link_transfer_fs =
            (uint64_t)(64 / machine->link_bytes_per_second * (double)FS_PER_SECOND);
    if (machine->complex_bytes_per_second > 0)
        node->domain_transfer_fs =
            (uint64_t)(64 / machine->complex_bytes_per_second * (double)FS_PER_SECOND);
    for (size_t i = 0; i < node->n_units; i++) {
        int err = init_unit(node, &node->units[i], (int64_t)(i % channels) < machine->pmm.dimms);

        if (err)
            return err;
    }
    return 0;
}

void memory_release(struct simnode *node)
{
    for (size_t i = 0; node->units && i < node->n_units; i++) {
        dram_release(&node->units[i].dram);
        pmm_release(&node->units[i].pmm);
    }
    free(node->units);
    free(node->link_free_fs);
}

static const struct placement_spec *placement_of(const struct app *app, uint64_t line)
{
    const struct container_spec *spec = app->spec;

    if (spec->n_memory == 1)
        return &spec->memory[0];

    /* By page, at random, alike in every run. */
    uint64_t page = (line & ((1ULL << SPACE_LINES_SHIFT) - 1)) / ((uint64_t)spec->page_bytes / 64);
    double at = (double)(mix64(page ^ app->placement_seed) >> 11) * 0x1p-53;
    size_t i = 0;

    while (i + 1 < spec->n_memory && at >= spec->memory[i].share)
        at -= spec->memory[i++].share;
    return &spec->memory[i];
}

void memory_place(struct simnode *node, struct request *request)
{
    const struct machine_spec *machine = node->machine;
    const struct app *app = &node->apps[request->line >> SPACE_LINES_SHIFT];
    const struct placement_spec *placement = placement_of(app, request->line);

    request->node = (int)placement->node;
    request->pmm = placement->pmm;
    /* DRAM interleaves channels by line, PMM its DIMMs by 4 KiB. */
    request->channel = placement->pmm ? (int)(request->line / 64 % (uint64_t)machine->pmm.dimms)
                                      : (int)(request->line % (uint64_t)machine->channels);
}

static struct sim_unit *unit_of(struct simnode *node, const struct request *request)
{
    return &node->units[request->node * node->machine->channels + request->channel];
}

bool memory_write_queue_full(struct simnode *node, uint64_t line)
{
    struct request place = {.line = line};

    memory_place(node, &place);
    return !place.pmm && dram_write_queue_full(&unit_of(node, &place)->dram);
}

static double hop_ns(const struct machine_spec *machine, int from, int to)
{
    int64_t board = machine->board_sockets;

    return board && from / board != to / board ? machine->board_hop_ns : machine->hop_ns;
}

uint64_t memory_cross(struct simnode *node, int from, int to, uint64_t time_fs)
{
    if (from == to)
        return time_fs;

    uint64_t *free_fs = &node->link_free_fs[from * node->machine->sockets + to];
    uint64_t start = *free_fs > time_fs ? *free_fs : time_fs;

    *free_fs = start + node->link_transfer_fs;
    return start + (uint64_t)(hop_ns(node->machine, from, to) * FS_PER_NS);
}

void memory_deliver(struct simnode *node, struct request *request, uint64_t time_fs)
{
    const struct simclock *clock = &request->core->clock;

    /* A core sees it when its next cycle begins. */
    sim_schedule(node, simclock_fs(clock, simclock_cycle(clock, time_fs)), EVENT_DONE, request);
}

void memory_send(struct simnode *node, struct request *request, int from_socket, uint64_t time_fs)
{
    uint64_t there = memory_cross(node, from_socket, request->node, time_fs);

    sim_schedule(node, there + (uint64_t)(node->machine->request_ns * FS_PER_NS), EVENT_ARRIVE,
                 request);
}

/* The way into a complex of cores moves a line at a time. */
static uint64_t wait_for_domain(struct simnode *node, int index, uint64_t time_fs)
{
    uint64_t *free_fs = &node->domains[index].link_free_fs;

    if (!node->domain_transfer_fs)
        return time_fs;

    uint64_t start = *free_fs > time_fs ? *free_fs : time_fs;

    *free_fs = start + node->domain_transfer_fs;
    return start;
}

static void send_back(struct simnode *node, struct request *request, uint64_t data_fs)
{
    uint64_t here = wait_for_domain(node, request->core->domain, data_fs) +
                    (uint64_t)(node->machine->return_ns * FS_PER_NS);

    memory_deliver(node, request, memory_cross(node, request->node, request->core->socket, here));
}

/* --- DRAM --- */

/* ASM's queueing cycles: see epochs.c. */
static void update_blocked(struct simnode *node, struct sim_unit *unit)
{
    bool blocked = dram_priority_waits_behind_other(&unit->dram);

    if (blocked == unit->counts_as_blocked)
        return;
    unit->counts_as_blocked = blocked;
    integral_add(&node->queueing, node->now_fs, blocked ? 1 : -1);
}

static void wake_channel(struct simnode *node, struct sim_unit *unit, uint64_t clock)
{
    uint64_t time_fs = clock * node->dram_period_fs;

    if (time_fs >= unit->wake_fs)
        return;
    unit->wake_fs = time_fs;
    sim_schedule(node, time_fs, EVENT_CHANNEL, unit);
}

static void arrive_dram(struct simnode *node, struct sim_unit *unit, struct request *request)
{
    uint64_t clock = (node->now_fs + node->dram_period_fs - 1) / node->dram_period_fs;
    bool read = request->kind != REQUEST_WRITE && request->kind != REQUEST_NT_STORE;

    request->arrive_fs = node->now_fs;
    dram_locate(&node->machine->dram, request->line / (uint64_t)node->machine->channels, request);
    if (dram_push(&unit->dram, request, clock) && read) {
        request->insert_fs = node->now_fs;
        integral_add(&unit->rpq, node->now_fs, 1);
    }
    update_blocked(node, unit);
    wake_channel(node, unit, clock);
}

static void handle_command(struct simnode *node, struct sim_unit *unit,
                           const struct dram_command *command)
{
    struct request *request = command->request;

    if (command->kind == DRAM_READ) {
        request->cas_fs = node->now_fs;
        shadow_cas(node, (size_t)(unit - node->units), request);
        unit->read_wait_fs += node->now_fs - request->insert_fs;
        unit->reads_served++;
        integral_add(&unit->rpq, node->now_fs, -1);
        if (command->inserted) {
            command->inserted->insert_fs = node->now_fs;
            integral_add(&unit->rpq, node->now_fs, 1);
        }
        send_back(node, request, command->data_clock * node->dram_period_fs);
    } else if (command->kind == DRAM_WRITE) {
        if (request->kind == REQUEST_NT_STORE)
            sim_schedule(node, node->now_fs, EVENT_STORE_DONE, request);
        else
            sim_free_request(node, request);
    }
    if (command->kind != DRAM_NOTHING)
        update_blocked(node, unit);
}

void memory_channel(struct simnode *node, struct sim_unit *unit)
{
    if (node->now_fs != unit->wake_fs)
        return; /* was woken earlier */
    unit->wake_fs = SIM_NEVER;
    for (;;) {
        uint64_t next;
        struct dram_command command =
            dram_step(&unit->dram, node->now_fs / node->dram_period_fs, &next);

        handle_command(node, unit, &command);
        if (next == SIM_NEVER)
            return;

        uint64_t next_fs = next * node->dram_period_fs;

        /* Nothing else happens before: no need to go through the queue. */
        if (next_fs >= event_queue_next_fs(&node->events) || next_fs >= node->end_fs) {
            wake_channel(node, unit, next);
            return;
        }
        node->now_fs = next_fs;
    }
}

void memory_prioritise(struct simnode *node, int app)
{
    for (size_t i = 0; i < node->n_units; i++) {
        dram_prioritise(&node->units[i].dram, app);
        update_blocked(node, &node->units[i]);
    }
}

/* --- PMM --- */

static void enter_pmm(struct simnode *node, struct sim_unit *unit, struct request *request,
                      uint64_t done_fs)
{
    unit->pmm_reads++;
    integral_add(&unit->pmm_rpq, node->now_fs, 1);
    sim_schedule(node, done_fs, EVENT_PMM_SERVED, request);
}

static void arrive_pmm(struct simnode *node, struct sim_unit *unit, struct request *request)
{
    uint64_t done_fs;

    request->arrive_fs = node->now_fs;
    if (request->kind == REQUEST_WRITE || request->kind == REQUEST_NT_STORE) {
        pmm_write(&unit->pmm, request->line, node->now_fs, &done_fs);
        if (request->kind == REQUEST_NT_STORE)
            sim_schedule(node, done_fs, EVENT_STORE_DONE, request);
        else
            sim_free_request(node, request);
        return;
    }
    if (pmm_read(&unit->pmm, request, node->now_fs, &done_fs))
        enter_pmm(node, unit, request, done_fs);
}

void memory_pmm_served(struct simnode *node, struct request *request)
{
    struct sim_unit *unit = unit_of(node, request);
    uint64_t done_fs;

    integral_add(&unit->pmm_rpq, node->now_fs, -1);
    unit->read_wait_fs += node->now_fs - request->insert_fs;
    unit->reads_served++;

    struct request *next = pmm_served(&unit->pmm, node->now_fs, &done_fs);

    if (next)
        enter_pmm(node, unit, next, done_fs);
    send_back(node, request, node->now_fs);
}

void memory_arrive(struct simnode *node, struct request *request)
{
    struct sim_unit *unit = unit_of(node, request);

    if (request->pmm)
        arrive_pmm(node, unit, request);
    else
        arrive_dram(node, unit, request);
}

void memory_write(struct simnode *node, uint64_t line, int app)
{
    struct request *request = sim_new_request(node);

    if (!request)
        return;
    request->kind = REQUEST_WRITE;
    node->apps[line >> SPACE_LINES_SHIFT].traffic.written_back++;
    shadow_write_back(node, line);
    request->line = line;
    request->app = app;
    memory_place(node, request);
    sim_schedule(node, node->now_fs + (uint64_t)(node->machine->request_ns * FS_PER_NS),
                 EVENT_ARRIVE, request);
}
