/* A core's own caches, TLB and prefetcher, and the lines it waits for. */
#include <errno.h>
#include <string.h>

#include "tests/simnode/model/sim.h"

enum { TLB_WAYS = 4, NEAR_LINES = 64 };

static int init_cache(struct cache *cache, const struct cache_spec *spec)
{
    return cache_init(cache, (uint64_t)(spec->bytes / 64 / spec->ways), (unsigned)spec->ways);
}

int private_init(struct core *core)
{
    const struct machine_spec *machine = core->node->machine;
    int err = init_cache(&core->l1, &machine->l1);

    core->has_l2 = machine->l2.bytes > 0;
    if (!err && core->has_l2)
        err = init_cache(&core->l2, &machine->l2);
    if (!err && core->node->scenario->effects.tlb)
        err = cache_init(&core->tlb, (uint64_t)machine->tlb_entries / TLB_WAYS, TLB_WAYS);
    core->prefetches =
        machine->prefetch_degree > 0 && core->node->scenario->containers[core->container].prefetch;
    core->l1_cycles = (uint64_t)machine->l1.latency_cycles;
    core->private_cycles =
        core->l1_cycles + (core->has_l2 ? (uint64_t)machine->l2.latency_cycles : 0);
    return err;
}

void private_release(struct core *core)
{
    cache_release(&core->l1);
    cache_release(&core->l2);
    cache_release(&core->tlb);
}

void private_flush(struct core *core)
{
    cache_clear(&core->l1);
    if (core->has_l2)
        cache_clear(&core->l2);
}

static void evict_to_llc(struct core *core, struct cache_victim victim)
{
    if (victim.dirty)
        shared_writeback(core->node, core->domain, victim.line, (int)core->container);
}

static void fill_l1(struct core *core, uint64_t line, bool dirty)
{
    struct cache_victim victim = cache_insert(&core->l1, line, dirty, CACHE_ALL_WAYS);

    if (!victim.dirty)
        return;
    if (core->has_l2)
        evict_to_llc(core, cache_insert(&core->l2, victim.line, true, CACHE_ALL_WAYS));
    else
        evict_to_llc(core, victim);
}

void private_fill(struct core *core, uint64_t line, bool dirty)
{
    if (core->has_l2)
        evict_to_llc(core, cache_insert(&core->l2, line, false, CACHE_ALL_WAYS));
    fill_l1(core, line, dirty);
}

void private_fill_l2(struct core *core, uint64_t line)
{
    evict_to_llc(core, cache_insert(&core->l2, line, false, CACHE_ALL_WAYS));
}

int64_t private_lookup(struct core *core, uint64_t line, uint64_t *cycle, bool store)
{
    if (core->tlb.ways) {
        uint64_t page = line >> core->page_lines_shift;

        if (!cache_lookup(&core->tlb, page, false)) {
            cache_insert(&core->tlb, page, false, CACHE_ALL_WAYS);
            *cycle += (uint64_t)core->node->machine->tlb_walk_cycles;
        }
    }

    bool into_l1 = core->node->machine->prefetch_into_l1;

    /* A prefetcher into the L1 also learns from hits there, most of which are its own. */
    if (core->prefetches && into_l1)
        prefetch_train(core, line, *cycle);
    if (cache_lookup(&core->l1, line, store))
        return (int64_t)core->l1_cycles;
    if (core->prefetches && !into_l1)
        prefetch_train(core, line, *cycle);
    if (core->has_l2 && cache_lookup(&core->l2, line, false)) {
        fill_l1(core, line, store);
        mab_l2_hit(core);
        core->l1d_load_misses += !store;
        return (int64_t)core->private_cycles;
    }
    *cycle += core->private_cycles;
    return -1;
}

static struct request **bucket(struct core *core, uint64_t line)
{
    return &core->outstanding[(line ^ line >> 6) % OUTSTANDING_BUCKETS];
}

static struct request *find_outstanding(struct core *core, uint64_t line)
{
    struct request *request = *bucket(core, line);

    while (request && request->line != line)
        request = request->chain;
    return request;
}

void private_forget(struct core *core, struct request *request)
{
    struct request **at = bucket(core, request->line);

    while (*at && *at != request)
        at = &(*at)->chain;
    if (*at)
        *at = request->chain;
}

static struct request *new_outstanding(struct core *core, enum request_kind kind, uint64_t line,
                                       uint64_t cycle)
{
    struct request *request = sim_new_request(core->node);

    if (!request)
        return NULL;
    request->kind = kind;
    request->core = core;
    request->app = (int)core->container;
    request->line = line;
    memcpy(request->shadow_shift, core->shadow_shift, sizeof(request->shadow_shift));
    request->chain = *bucket(core, line);
    *bucket(core, line) = request;
    request->into_l1 = kind != REQUEST_PREFETCH || core->node->machine->prefetch_into_l1;
    if (core->node->machine->mabs && request->into_l1)
        mab_schedule(core, request, cycle);
    else
        sim_schedule(core->node, simclock_fs(&core->clock, cycle), EVENT_ENTER, request);
    return request;
}

static void join(struct core *core, struct request *request, enum request_kind kind, uint64_t cycle,
                 struct load *load)
{
    if (kind == REQUEST_RFO)
        request->stored = true;
    mab_join(core, request, cycle);
    if (!load)
        return;
    if (request->loads) {
        load->merged = request->loads->merged;
        request->loads->merged = load;
        return;
    }
    request->loads = load;
    if (request->kind == REQUEST_PREFETCH && core->node->scenario->effects.prefetch_merging) {
        request->pending_merges++;
        sim_schedule(core->node, simclock_fs(&core->clock, cycle), EVENT_MERGE, request);
    }
}

void private_miss(struct core *core, enum request_kind kind, uint64_t line, uint64_t cycle,
                  struct load *load)
{
    struct request *request = find_outstanding(core, line);

    if (load)
        load->missed = true;
    if (request) {
        join(core, request, kind, cycle, load);
        return;
    }
    request = new_outstanding(core, kind, line, cycle);
    if (!request)
        return;
    request->loads = load;
    core->l1d_load_misses += load != NULL;
    if (kind == REQUEST_RFO) {
        request->stored = true;
        request->store_number = core->n_stores_out++;
        core->pending_stores++;
    }
}

static void prefetch(struct core *core, uint64_t line, uint64_t cycle)
{
    bool into_l1 = core->node->machine->prefetch_into_l1;

    if (cache_contains(&core->l1, line) || find_outstanding(core, line))
        return;
    if (core->has_l2 && cache_contains(&core->l2, line)) {
        if (into_l1) {
            fill_l1(core, line, false);
            mab_l2_hit(core);
        }
        return;
    }
    /* Where misses have buffers, it comes behind the miss that caused it. */
    new_outstanding(core, REQUEST_PREFETCH, line,
                    cycle + core->private_cycles + (core->node->machine->mabs > 0));
}

static struct tracker *find_tracker(struct core *core, uint64_t line)
{
    struct tracker *oldest = &core->trackers[0];

    for (int i = 0; i < PREFETCH_TRACKERS; i++) {
        struct tracker *tracker = &core->trackers[i];

        if (tracker->used && line - tracker->last_line + NEAR_LINES <= 2 * NEAR_LINES)
            return tracker;
        if (tracker->used < oldest->used)
            oldest = tracker;
    }
    *oldest = (struct tracker){.last_line = line};
    return oldest;
}

void prefetch_train(struct core *core, uint64_t line, uint64_t cycle)
{
    const struct machine_spec *machine = core->node->machine;
    struct tracker *tracker = find_tracker(core, line);
    int64_t stride = (int64_t)(line - tracker->last_line);

    tracker->used = ++core->tracker_uses;
    if (stride == 0)
        return;
    tracker->last_line = line;
    if (stride != tracker->stride) {
        tracker->stride = stride;
        tracker->confidence = 0;
        tracker->ahead_line = line;
        return;
    }
    if (++tracker->confidence < 2)
        return;

    /* The front must lie between here and 'distance' strides ahead. */
    int64_t ahead = (int64_t)(tracker->ahead_line - line) / stride;

    if (ahead < 0 || ahead > machine->prefetch_distance) {
        tracker->ahead_line = line;
        ahead = 0;
    }
    for (int64_t i = 0; i < machine->prefetch_degree && ahead < machine->prefetch_distance; i++) {
        tracker->ahead_line += (uint64_t)stride;
        ahead++;
        prefetch(core, tracker->ahead_line, cycle);
    }
}
