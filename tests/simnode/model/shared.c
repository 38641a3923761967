/* From the super queue through the last-level cache towards memory, and back. */
#include "tests/simnode/model/sim.h"

/* How long a miss whose dirty victim finds no room waits before it looks again. */
#define EVICTION_RETRY_FS (10 * FS_PER_NS)

static inline bool is_demand(const struct request *request)
{
    return request->kind == REQUEST_READ || request->kind == REQUEST_RFO;
}

/* When a lookup that begins now has its result: at the beginning of a core cycle. */
static uint64_t lookup_end_fs(const struct simnode *node, const struct core *core,
                              uint64_t start_fs)
{
    const struct machine_spec *machine = node->machine;
    uint64_t cycles = (uint64_t)machine->llc.latency_cycles;

    if (machine->llc_hz <= 0)
        return start_fs + cycles * core->clock.period_fs;

    uint64_t end_fs = start_fs + cycles * period_of_hz(machine->llc_hz);

    return simclock_fs(&core->clock, simclock_cycle(&core->clock, end_fs));
}

/* --- super queue --- */

/* Bandwidth allocation holds requests back between the core and the last-level cache. */
static uint64_t throttle(struct simnode *node, const struct app *app, int domain)
{
    uint64_t now = node->now_fs;

    if (!app->mba_gap_fs)
        return now;

    uint64_t *free_fs = &node->domains[domain].class_free_fs[app->class_index];
    uint64_t start = *free_fs > now ? *free_fs : now;

    *free_fs = start + app->mba_gap_fs;
    return start;
}

/* A port of the last-level cache is busy for a while with each lookup. */
static uint64_t wait_for_port(struct simnode *node, int domain, uint64_t line, uint64_t time_fs)
{
    const struct machine_spec *machine = node->machine;

    if (!node->scenario->effects.llc_busy)
        return time_fs;

    uint64_t port = mix64(line) % (uint64_t)machine->llc_ports;
    uint64_t *free_fs = &node->domains[domain].port_free_fs[port];
    uint64_t start = *free_fs > time_fs ? *free_fs : time_fs;

    *free_fs = start + (uint64_t)machine->llc_port_cycles * node->period_fs;
    return start;
}

static void take_entry(struct simnode *node, struct request *request)
{
    struct core *core = request->core;

    core->in_super_queue++;
    request->in_super_queue = true;
    request->enter_fs = node->now_fs;
    if (request->kind == REQUEST_READ)
        core->llc_reads++;
    core->rfos += request->kind == REQUEST_RFO;

    uint64_t start = throttle(node, &node->apps[request->app], core->domain);

    start = wait_for_port(node, core->domain, request->line, start);
    if (start > node->now_fs)
        sim_schedule(node, start, EVENT_ACCESS, request);
    else
        shared_access(node, request);
}

static bool super_queue_full(const struct simnode *node, const struct core *core)
{
    return node->scenario->effects.super_queue &&
           core->in_super_queue >= node->machine->super_queue;
}

static void release_request(struct simnode *node, struct request *request)
{
    request->done = true;
    if (request->pending_merges == 0)
        sim_free_request(node, request);
}

void shared_enter(struct simnode *node, struct request *request)
{
    struct core *core = request->core;

    if (request->kind == REQUEST_NT_STORE) {
        memory_send(node, request, core->socket,
                    throttle(node, &node->apps[request->app], core->domain));
        return;
    }
    if (!super_queue_full(node, core)) {
        take_entry(node, request);
        return;
    }
    if (request->kind == REQUEST_PREFETCH && !request->has_mab && !request->loads &&
        !request->stored) {
        private_forget(core, request);
        release_request(node, request);
        return;
    }
    request_list_append(&core->waiting, request);
}

static void leave_super_queue(struct simnode *node, struct request *request)
{
    struct core *core = request->core;

    core->in_super_queue--;
    if (core->waiting.head && !super_queue_full(node, core))
        take_entry(node, request_list_shift(&core->waiting));
}

/* --- lookup --- */

static void insert_ats(struct simnode *node, struct app *app, uint64_t line, bool dirty)
{
    struct cache_victim victim = cache_insert(&app->ats, line, dirty, CACHE_ALL_WAYS);

    if (victim.dirty)
        shadow_evict(node, app, victim.line);
}

static void look_up_ats(struct simnode *node, struct app *app, struct request *request)
{
    const struct scenario *scenario = node->scenario;
    uint64_t sets = app->ats.sets, set = cache_set(&app->ats, request->line);
    uint64_t every = scenario->ats_sets ? sets / (uint64_t)scenario->ats_sets : 1;

    request->ats_sampled = set % every == 0;
    if (request->ats_sampled) {
        int position = cache_stack_position(&app->ats, request->line);

        if (position >= 0)
            app->way_hits[position]++;
    }
    request->ats_hit = cache_lookup(&app->ats, request->line, false);
    if (!request->ats_hit)
        insert_ats(node, app, request->line, false);

    uint64_t *total = request->ats_hit ? app->extra.total_ats_hits : app->extra.total_ats_misses;
    uint64_t *epoch = request->ats_hit ? app->ats_hits : app->ats_misses;
    bool in_epoch = node->epoch_app == request->app;

    total[0]++;
    epoch[0] += in_epoch;
    if (request->ats_sampled) {
        total[1]++;
        epoch[1] += in_epoch;
    }
}

/* Prefetches leave the tags as they are. */
static void peek_ats(struct simnode *node, struct request *request)
{
    const struct scenario *scenario = node->scenario;
    struct app *app = &node->apps[request->app];
    uint64_t every = scenario->ats_sets ? app->ats.sets / (uint64_t)scenario->ats_sets : 1;

    if (!app->ats.ways)
        return;
    request->ats_sampled = cache_set(&app->ats, request->line) % every == 0;
    request->ats_hit = cache_contains(&app->ats, request->line);
}

static void count_access(struct simnode *node, struct request *request)
{
    struct app *app = &node->apps[request->app];
    bool in_epoch = node->epoch_app == request->app;

    if (app->ats.ways)
        look_up_ats(node, app, request);
    app->accesses++;
    if (request->hit) {
        app->extra.total_hits++;
        app->hits += in_epoch;
        integral_add(&app->hits_out, node->now_fs, 1);
    } else {
        app->extra.total_misses++;
        app->misses += in_epoch;
        integral_add(&app->misses_out, node->now_fs, 1);
    }
}

static void begin_counting(struct simnode *node, struct request *request)
{
    struct core *core = request->core;

    request->demanded = true;
    core->l3_miss_reads++;
    integral_add(&core->miss_reads_out, node->now_fs, 1);
    if (node->machine->occupancy_from_entry && request->kind == REQUEST_READ)
        core->miss_reads_out.sum_fs += node->now_fs - request->enter_fs;
}

void shared_access(struct simnode *node, struct request *request)
{
    struct core *core = request->core;
    struct cache *llc = &node->domains[core->domain].llc;
    uint64_t found_fs = lookup_end_fs(node, core, node->now_fs);

    if (request->kind == REQUEST_WRITEBACK) {
        shared_writeback(node, core->domain, request->line, request->app);
        sim_free_request(node, request);
        return;
    }
    request->access_fs = node->now_fs;
    request->hit = cache_lookup(llc, request->line, false);
    if (is_demand(request))
        count_access(node, request);
    else
        peek_ats(node, request);
    shadow_classify(node, request);
    if (request->hit) {
        sim_schedule(node, found_fs, EVENT_DONE, request);
        return;
    }
    if (node->machine->occupancy_from_entry && request->kind == REQUEST_READ)
        begin_counting(node, request);
    sim_schedule(node, found_fs, EVENT_LABEL, request);
}

void shared_writeback(struct simnode *node, int domain, uint64_t line, int app)
{
    struct cache *llc = &node->domains[domain].llc;
    struct app *owner = &node->apps[app];

    wait_for_port(node, domain, line, node->now_fs);
    owner->traffic.llc_insertions += !cache_contains(llc, line);

    struct cache_victim victim = cache_insert(llc, line, true, owner->llc_ways);

    if (owner->ats.ways)
        insert_ats(node, owner, line, true);
    if (victim.dirty)
        memory_write(node, victim.line, app);
}

/* --- a miss --- */

static const struct domain *other_domain_with(const struct simnode *node, int domain, uint64_t line)
{
    for (size_t i = 0; i < node->n_domains; i++)
        if ((int)i != domain && cache_contains(&node->domains[i].llc, line))
            return &node->domains[i];
    return NULL;
}

/* Within a socket the way leads by its memory controllers. */
static void ask_other_domain(struct simnode *node, struct request *request,
                             const struct domain *holder)
{
    const struct machine_spec *machine = node->machine;
    struct core *core = request->core;
    bool near = holder->socket == core->socket;
    uint64_t there_fs = memory_cross(node, core->socket, holder->socket, node->now_fs) +
                        (near ? (uint64_t)(machine->request_ns * FS_PER_NS) : 0);
    uint64_t found_fs = lookup_end_fs(node, core, there_fs) +
                        (near ? (uint64_t)(machine->return_ns * FS_PER_NS) : 0);

    request->from_remote_cache = true;
    memory_deliver(node, request, memory_cross(node, holder->socket, core->socket, found_fs));
}

static bool waits_for_eviction(struct simnode *node, const struct request *request)
{
    const struct cache *llc = &node->domains[request->core->domain].llc;

    if (!node->scenario->effects.dirty_evictions)
        return false;
    struct cache_victim victim =
        cache_peek_victim(llc, request->line, node->apps[request->app].llc_ways);
    return victim.dirty && memory_write_queue_full(node, victim.line);
}

void shared_label(struct simnode *node, struct request *request)
{
    struct core *core = request->core;

    if (waits_for_eviction(node, request)) {
        sim_schedule(node, node->now_fs + EVICTION_RETRY_FS, EVENT_LABEL, request);
        return;
    }
    request->labelled = true;
    request->label_fs = node->now_fs;
    core->llc_misses++;
    if (request->kind == REQUEST_READ ? !request->demanded : request->merged)
        begin_counting(node, request);

    const struct domain *holder = node->scenario->effects.remote_cache_hits
                                      ? other_domain_with(node, core->domain, request->line)
                                      : NULL;

    if (holder) {
        ask_other_domain(node, request, holder);
        return;
    }
    request->from_memory = true;
    memory_place(node, request);
    memory_send(node, request, core->socket, node->now_fs);
}

void shared_merge(struct simnode *node, struct request *request)
{
    request->pending_merges--;
    if (request->done) {
        if (request->pending_merges == 0)
            sim_free_request(node, request);
        return;
    }
    /* From here on the entry is a demand read's. */
    request->merged = true;
    request->core->llc_reads++;
    if (request->labelled)
        begin_counting(node, request);
}

/* --- the data is here --- */

static void count_served_read(struct core *core, const struct request *request)
{
    if (!request->from_memory)
        return;
    if (request->pmm)
        core->loads_local_pmm += request->node == core->socket;
    else if (request->node == core->socket)
        core->loads_local_dram++;
    else
        core->loads_remote_dram++;
}

/* A load that joined a prefetch at the last moment cannot have its line sooner than a hit. */
static uint64_t soonest(const struct core *core, const struct request *request,
                        const struct load *load)
{
    bool from_l2 =
        core->node->machine->mabs && request->kind == REQUEST_PREFETCH && !request->into_l1;

    return load->issue_cycle + (from_l2 ? core->private_cycles : core->l1_cycles);
}

static void finish_loads(struct simnode *node, struct request *request)
{
    struct core *core = request->core;
    uint64_t done =
        simclock_cycle(&core->clock, node->now_fs) + (uint64_t)node->machine->fill_cycles;
    struct load *first = request->loads;
    bool primary = request->kind == REQUEST_READ || request->merged;

    if (first && primary && request->from_memory) {
        uint64_t least = soonest(core, request, first), at = done > least ? done : least;
        double ns = (double)((at - first->issue_cycle) * core->clock.period_fs) / 1e6;

        core->truth.reads++;
        core->truth.reads_by_node[request->node][request->pmm]++;
        core->truth.latency_ns_sum += ns;
        if (!request->merged) {
            core->truth.own_reads++;
            core->truth.own_latency_ns_sum += ns;
        }
        count_served_read(core, request);
    }
    for (struct load *load = first; load; load = load->merged) {
        uint64_t soon = soonest(core, request, load);

        load->done_cycle = done > soon ? done : soon;
        load->l3_miss = request->labelled;
        load->contention = request->labelled && request->ats_hit;
        for (int s = 0; s < core->n_shadows; s++) {
            int64_t ready = request->shadow_ready[s] + node->machine->fill_cycles;
            int64_t least = load->shadow_issue[s] + (int64_t)core->l1_cycles;

            load->shadow_done[s] = ready > least ? ready : least;
        }
    }
    while (first) {
        struct load *next = first->merged;

        first->merged = NULL;
        core_load_done(core, first);
        first = next;
    }
}

static void fill(struct simnode *node, struct request *request)
{
    struct core *core = request->core;

    if (request->labelled) {
        node->apps[request->app].traffic.llc_insertions++;

        struct cache_victim victim = cache_insert(&node->domains[core->domain].llc, request->line,
                                                  false, node->apps[request->app].llc_ways);

        if (victim.dirty)
            memory_write(node, victim.line, request->app);
    }
    if (request->kind != REQUEST_PREFETCH || request->into_l1 || request->loads || request->stored)
        private_fill(core, request->line, request->stored);
    else if (core->has_l2)
        private_fill_l2(core, request->line);
}

void shared_done(struct simnode *node, struct request *request)
{
    struct core *core = request->core;
    struct app *app = &node->apps[request->app];

    if (request->demanded)
        integral_add(&core->miss_reads_out, node->now_fs, -1);
    if (is_demand(request))
        integral_add(request->hit ? &app->hits_out : &app->misses_out, node->now_fs, -1);
    shadow_done(core, request);
    if (request->kind == REQUEST_RFO)
        shadow_store_done(core, request);
    app->extra.prefetches += request->kind == REQUEST_PREFETCH && request->from_memory;
    if (is_demand(request) && request->from_memory && !request->ats_hit &&
        node->epoch_app == request->app && request->label_fs >= node->epoch_start_fs) {
        app->extra.memory_fs += node->now_fs - request->label_fs;
        app->extra.memory_reads++;
    }
    if (request->from_memory) {
        app->traffic.fetched[request->kind]++;
        app->traffic.fetched_remote += request->node != core->socket;
        app->traffic.fetched_from[request->node][request->pmm]++;
    }
    private_forget(core, request);
    mab_done(core, request);
    fill(node, request);
    if (node->observer)
        node->observer(node->observer_context, request, node->now_fs);
    leave_super_queue(node, request);
    finish_loads(node, request);
    if (request->kind == REQUEST_RFO)
        core_store_done(core);
    release_request(node, request);
    core_wake(core);
}
