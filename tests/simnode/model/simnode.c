#include "tests/simnode/model/simnode.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/model/sim.h"

enum { CHUNK_REQUESTS = 1024 };

struct chunk {
    struct chunk *next;
    struct request requests[CHUNK_REQUESTS];
};

void sim_schedule(struct simnode *node, uint64_t time_fs, enum event_kind kind, void *subject)
{
    int err = event_queue_push(&node->events, time_fs, kind, subject);

    if (err)
        node->failed = err;
}

struct request *sim_new_request(struct simnode *node)
{
    if (!node->free_requests) {
        struct chunk *chunk = malloc(sizeof(*chunk));

        if (!chunk) {
            node->failed = -ENOMEM;
            return NULL;
        }
        chunk->next = node->chunks;
        node->chunks = chunk;
        for (size_t i = 0; i < CHUNK_REQUESTS; i++)
            sim_free_request(node, &chunk->requests[i]);
    }

    struct request *request = node->free_requests;

    node->free_requests = request->next;
    *request = (struct request){.app = -1};
    return request;
}

void sim_free_request(struct simnode *node, struct request *request)
{
    request->next = node->free_requests;
    node->free_requests = request;
}

/* --- building --- */

static int64_t domains_per_socket(const struct machine_spec *machine)
{
    return machine->llc_cores ? machine->cores_per_socket / machine->llc_cores : 1;
}

void sim_place_core(struct core *core, int cpu)
{
    const struct machine_spec *machine = core->node->machine;

    core->cpu = cpu;
    core->socket = (int)(cpu / machine->cores_per_socket);
    core->domain = machine->llc_cores ? (int)(cpu / machine->llc_cores) : core->socket;
}

static int init_domains(struct simnode *node)
{
    const struct machine_spec *machine = node->machine;
    uint64_t sets = (uint64_t)(machine->llc.bytes / 64 / machine->llc.ways);

    node->n_domains = (size_t)(machine->sockets * domains_per_socket(machine));
    node->domains = calloc(node->n_domains, sizeof(*node->domains));
    if (!node->domains)
        return -ENOMEM;
    for (size_t i = 0; i < node->n_domains; i++) {
        struct domain *domain = &node->domains[i];
        int err = cache_init(&domain->llc, sets, (unsigned)machine->llc.ways);

        if (err)
            return err;
        domain->socket = (int)((int64_t)i / domains_per_socket(machine));
        domain->port_free_fs = calloc((size_t)machine->llc_ports, sizeof(uint64_t));
        /* Those of no class share one; whose bandwidth is set while it runs has its own. */
        domain->class_free_fs =
            calloc(node->scenario->n_classes + 1 + node->scenario->n_containers, sizeof(uint64_t));
        if (!domain->port_free_fs || !domain->class_free_fs)
            return -ENOMEM;
    }
    return 0;
}

static int init_apps(struct simnode *node)
{
    const struct scenario *scenario = node->scenario;
    const struct machine_spec *machine = node->machine;
    uint64_t sets = (uint64_t)(machine->llc.bytes / 64 / machine->llc.ways);

    node->n_apps = scenario->n_containers;
    node->apps = calloc(node->n_apps, sizeof(*node->apps));
    if (!node->apps)
        return -ENOMEM;
    for (size_t i = 0; i < node->n_apps; i++) {
        const struct container_spec *spec = &scenario->containers[i];
        const struct class_spec *class = spec->class;
        struct app *app = &node->apps[i];

        app->spec = spec;
        app->llc_ways = class ? class->llc_ways : CACHE_ALL_WAYS;
        app->class_index = class ? (size_t)(class - scenario->classes) : scenario->n_classes;
        app->mba_gap_fs = class ? settings_mba_gap_fs(machine, class->mba_percent) : 0;
        app->quota_cores = INFINITY;
        app->quota_period_fs = app->quota_spent_fs = SIM_NEVER;
        app->placement_seed = mix64((uint64_t)spec->seed + 77);
        if (scenario->epoch_cycles || scenario->ats_sets) {
            int err = cache_init(&app->ats, sets, (unsigned)machine->llc.ways);

            if (err)
                return err;
        }
    }
    return 0;
}

static int init_cores(struct simnode *node)
{
    const struct scenario *scenario = node->scenario;
    size_t n = 0;

    for (size_t i = 0; i < scenario->n_containers; i++)
        n += scenario->containers[i].n_cpus;
    node->cores = calloc(n ? n : 1, sizeof(*node->cores));
    if (!node->cores)
        return -ENOMEM;
    for (size_t i = 0; i < scenario->n_containers; i++) {
        for (size_t thread = 0; thread < scenario->containers[i].n_cpus; thread++) {
            int err = core_init(&node->cores[node->n_cores], node, i, thread);

            if (err)
                return err;
            node->n_cores++;
        }
    }
    return 0;
}

int simnode_new(const struct scenario *scenario, struct simnode **out)
{
    struct simnode *node = calloc(1, sizeof(*node));

    if (!node)
        return -ENOMEM;
    node->scenario = scenario;
    node->machine = &scenario->machine;
    node->period_fs = period_of_hz(scenario->machine.core_hz);
    node->epoch_app = -1;
    if (scenario->epoch_cycles || scenario->ats_sets)
        node->n_shadows = scenario->shadow_parts ? SHADOWS : SHADOW_PARTS;
    rng_seed(&node->rng, (uint64_t)scenario->seed);
    int err = init_domains(node);
    if (!err)
        err = init_apps(node);
    if (!err)
        err = memory_init(node);
    if (!err)
        err = init_cores(node);
    if (err) {
        simnode_free(node);
        return err;
    }
    *out = node;
    return 0;
}

void simnode_free(struct simnode *node)
{
    if (!node)
        return;
    for (size_t i = 0; i < node->n_cores; i++)
        core_release(&node->cores[i]);
    for (size_t i = 0; node->apps && i < node->n_apps; i++)
        cache_release(&node->apps[i].ats);
    for (size_t i = 0; node->domains && i < node->n_domains; i++) {
        cache_release(&node->domains[i].llc);
        free(node->domains[i].port_free_fs);
        free(node->domains[i].class_free_fs);
    }
    memory_release(node);
    event_queue_release(&node->events);
    while (node->chunks) {
        struct chunk *chunk = node->chunks;

        node->chunks = chunk->next;
        free(chunk);
    }
    free(node->cores);
    free(node->apps);
    free(node->domains);
    free(node->samples);
    free(node);
}

/* --- running --- */

static void wander(struct simnode *node, struct core *core)
{
    int64_t cpus = node->machine->sockets * node->machine->cores_per_socket;

    if (!core->running)
        return;
    sim_place_core(core, (int)((core->cpu + node->machine->cores_per_socket) % cpus));
    private_flush(core);
    sim_schedule(node,
                 node->now_fs +
                     (uint64_t)node->apps[core->container].spec->wander_cycles * node->period_fs,
                 EVENT_WANDER, core);
}

static void start_epoch(struct simnode *node)
{
    epochs_begin(node);
    sim_schedule(node, node->now_fs + (uint64_t)node->scenario->epoch_cycles * node->period_fs,
                 EVENT_EPOCH, NULL);
}

static void handle(struct simnode *node, const struct event *event)
{
    struct request *request = event->subject;

    switch ((enum event_kind)event_kind(event)) {
    case EVENT_CORE:
        core_go_on(event->subject);
        break;
    case EVENT_MAB:
        mab_ask(node, request);
        break;
    case EVENT_ENTER:
        shared_enter(node, request);
        break;
    case EVENT_ACCESS:
        shared_access(node, request);
        break;
    case EVENT_LABEL:
        shared_label(node, request);
        break;
    case EVENT_MERGE:
        shared_merge(node, request);
        break;
    case EVENT_ARRIVE:
        memory_arrive(node, request);
        break;
    case EVENT_CHANNEL:
        memory_channel(node, event->subject);
        break;
    case EVENT_PMM_SERVED:
        memory_pmm_served(node, request);
        break;
    case EVENT_DONE:
        shared_done(node, request);
        break;
    case EVENT_STORE_DONE:
        node->apps[request->app].traffic.nt_lines++;
        shadow_done(request->core, request);
        shadow_store_done(request->core, request);
        core_store_done(request->core);
        core_wake(request->core);
        sim_free_request(node, request);
        break;
    case EVENT_EPOCH:
        start_epoch(node);
        break;
    case EVENT_WANDER:
        wander(node, event->subject);
        break;
    case EVENT_QUOTA_PERIOD:
        stops_quota_period(node, event->subject);
        break;
    case EVENT_QUOTA_SPENT:
        stops_quota_spent(node, event->subject);
        break;
    }
}

/* Events at the end itself belong to what follows. */
static int run_until(struct simnode *node, uint64_t end_fs)
{
    node->end_fs = end_fs;
    while (!node->failed && event_queue_next_fs(&node->events) < end_fs) {
        struct event event = event_queue_pop(&node->events);

        node->now_fs = event.time_fs;
        handle(node, &event);
    }
    node->now_fs = end_fs;
    return node->failed;
}

static void start_container(struct simnode *node, size_t index)
{
    struct app *app = &node->apps[index];

    app->running = app->started = true;
    app->start_fs = node->now_fs;
    app->hits_out.last_fs = app->misses_out.last_fs = node->now_fs;
    for (size_t i = 0; i < node->n_cores; i++) {
        if (node->cores[i].container != index)
            continue;
        core_start(&node->cores[i]);
        if (app->spec->wander_cycles)
            sim_schedule(node, node->now_fs + (uint64_t)app->spec->wander_cycles * node->period_fs,
                         EVENT_WANDER, &node->cores[i]);
    }
    stops_start(node, index);
}

/* Turns the integrals into cycles of the clock that held until now. */
static void flush_occupancy(struct core *core)
{
    integral_sync(&core->miss_reads_out, core->node->now_fs);
    core->occupancy_cycles += core->miss_reads_out.sum_fs / core->clock.period_fs;
    core->active_cycles += core->miss_reads_out.active_fs / core->clock.period_fs;
    core->miss_reads_out.sum_fs = core->miss_reads_out.active_fs = 0;
    integral_sync(&core->l1d_misses_out, core->node->now_fs);
    core->l1d_miss_cycles += core->l1d_misses_out.sum_fs / core->clock.period_fs;
    core->l1d_misses_out.sum_fs = 0;
}

static void stop_container(struct simnode *node, size_t index)
{
    struct app *app = &node->apps[index];

    stops_finish(node, index);
    app->running = false;
    app->stop_fs = node->now_fs;
    for (size_t i = 0; i < node->n_cores; i++) {
        struct core *core = &node->cores[i];

        if (core->container != index)
            continue;
        core_retired(core);
        flush_occupancy(core);
        core->stopped_cycle = core_cycle_now(core);
        core->running = false;
    }
}

static void set_frequency(struct simnode *node, double core_hz)
{
    for (size_t i = 0; i < node->n_cores; i++) {
        struct core *core = &node->cores[i];

        if (core->running) {
            flush_occupancy(core);
            core->clock.base_cycle = core_cycle_now(core);
            core->clock.base_fs = node->now_fs;
        }
        core->clock.period_fs = period_of_hz(core_hz);
    }
}

static void begin_tick(struct simnode *node)
{
    const struct scenario *scenario = node->scenario;
    int64_t tick = (int64_t)node->ticks + 1;

    node->n_samples = 0;
    for (size_t i = 0; i < scenario->n_frequency_changes; i++)
        if (scenario->frequency_changes[i].tick == tick)
            set_frequency(node, scenario->frequency_changes[i].core_hz);
    for (size_t i = 0; i < scenario->n_containers; i++) {
        const struct container_spec *spec = &scenario->containers[i];

        if (node->apps[i].running && spec->stop_tick && spec->stop_tick < tick)
            stop_container(node, i);
        if (!node->apps[i].started && spec->start_tick <= tick)
            start_container(node, i);
        if (node->apps[i].running)
            stops_begin_tick(node, i, tick);
    }
    settings_begin_tick(node, tick);
    if (tick == 1 && scenario->epoch_cycles)
        start_epoch(node);
}

int simnode_run_cycles(struct simnode *node, uint64_t cycles)
{
    if (node->ticks == 0 && node->now_fs == 0)
        begin_tick(node);
    return run_until(node, node->now_fs + cycles * node->period_fs);
}

int simnode_run_tick(struct simnode *node)
{
    uint64_t tick_fs = (uint64_t)node->scenario->tick_cycles * node->period_fs;

    if (node->failed)
        return node->failed;
    if (node->ticks > 0 || node->now_fs == 0)
        begin_tick(node);
    int err = run_until(node, (node->ticks + 1) * tick_fs);
    if (!err)
        node->ticks++;
    return err;
}

uint64_t simnode_ticks(const struct simnode *node)
{
    return node->ticks;
}

uint64_t simnode_now_ns(const struct simnode *node)
{
    return node->now_fs / FS_PER_NS;
}

bool simnode_container_runs(const struct simnode *node, size_t container)
{
    return node->apps[container].running;
}

const struct simnode_sample *simnode_samples(struct simnode *node, size_t *n)
{
    *n = node->n_samples;
    return node->samples;
}

void simnode_observe(struct simnode *node, simnode_observer *observer, void *context)
{
    node->observer = observer;
    node->observer_context = context;
}
