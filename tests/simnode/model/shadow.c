#include "tests/simnode/model/shadow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/simnode/model/sim.h"

/* The share of contention misses is that of about so many misses in the sampled sets. */
enum { SAMPLE_MISSES = 16 };

static bool has_controller(int s)
{
    return s != SHADOW_CACHE && s != SHADOW_CACHE_SAMPLED && s != SHADOW_FIXED;
}

/* --- life --- */

static int init_channels(struct shadow_clock *shadow, size_t n, size_t banks, size_t writes)
{
    shadow->channels = calloc(n, sizeof(*shadow->channels));
    if (!shadow->channels)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct shadow_channel *channel = &shadow->channels[i];

        for (int slot = 0; slot < SHADOW_SLOTS; slot++)
            channel->acts[slot] = channel->bursts[slot] = INT64_MIN / 2;
        channel->banks = calloc(banks, sizeof(*channel->banks));
        channel->writes = calloc(writes, sizeof(*channel->writes));
        if (!channel->banks || !channel->writes)
            return -ENOMEM;
        for (size_t bank = 0; bank < banks; bank++)
            channel->banks[bank].row = -1;
    }
    return 0;
}

int shadow_init(struct core *core)
{
    const struct machine_spec *machine = core->node->machine;
    size_t units = (size_t)(machine->sockets * machine->channels);

    core->n_shadows = core->node->n_shadows;
    core->prefetched = calloc(SHADOW_PREFETCHES, sizeof(*core->prefetched));
    if (!core->prefetched)
        return -ENOMEM;
    for (int s = 0; s < core->n_shadows; s++) {
        struct shadow_clock *shadow = &core->shadows[s];
        int err = 0;

        shadow->retire_lag = core->width;
        shadow->stores = calloc((size_t)machine->store_buffer, sizeof(*shadow->stores));
        if (!shadow->stores)
            return -ENOMEM;
        if (has_controller(s))
            err = init_channels(shadow, units, (size_t)machine->dram.banks,
                                (size_t)machine->dram.write_queue);
        if (err)
            return err;
    }
    return 0;
}

void shadow_release(struct core *core)
{
    const struct machine_spec *machine = core->node->machine;
    size_t units = (size_t)(machine->sockets * machine->channels);

    free(core->prefetched);
    core->prefetched = NULL;
    for (int s = 0; s < core->n_shadows; s++) {
        struct shadow_clock *shadow = &core->shadows[s];

        for (size_t i = 0; shadow->channels && i < units; i++) {
            free(shadow->channels[i].banks);
            free(shadow->channels[i].writes);
        }
        free(shadow->channels);
        free(shadow->stores);
        *shadow = (struct shadow_clock){0};
    }
}

/* --- the core --- */

void shadow_retire(struct core *core, const struct load *load)
{
    for (int s = 0; s < core->n_shadows; s++) {
        struct shadow_clock *shadow = &core->shadows[s];
        int64_t lag = load->shadow_done[s] * core->width - (int64_t)load->index;

        if (lag > shadow->retire_lag)
            shadow->retire_lag = lag;
        lag = shadow->retire_lag - core->window;
        if (lag > shadow->dispatch_lag)
            shadow->dispatch_lag = lag;
    }
}

void shadow_dispatch(const struct core *core, int64_t out[SHADOWS])
{
    for (int s = 0; s < core->n_shadows; s++)
        out[s] = ((int64_t)core->op_index + core->shadows[s].dispatch_lag) / core->width;
}

void shadow_take_store(struct core *core)
{
    uint64_t at = core->n_stores_out % (uint64_t)core->node->machine->store_buffer;

    for (int s = 0; s < core->n_shadows; s++) {
        struct shadow_clock *shadow = &core->shadows[s];
        int64_t lag = shadow->stores[at] * core->width - (int64_t)core->op_index;

        if (lag > shadow->dispatch_lag)
            shadow->dispatch_lag = lag;
    }
}

void shadow_store_done(struct core *core, const struct request *request)
{
    uint64_t at = request->store_number % (uint64_t)core->node->machine->store_buffer;

    for (int s = 0; s < core->n_shadows; s++)
        if (request->shadow_ready[s] > core->shadows[s].stores[at])
            core->shadows[s].stores[at] = request->shadow_ready[s];
}

uint64_t shadow_cycles(struct core *core, int s)
{
    int64_t lag = core->shadows[s].retire_lag;
    int64_t retired = (int64_t)core_retired(core);

    for (uint32_t i = core->ring_head; i != core->ring_tail; i++) {
        const struct load *load = &core->ring[i & core->ring_mask];

        if ((int64_t)load->index >= retired)
            break;

        int64_t load_lag = load->shadow_done[s] * core->width - (int64_t)load->index;

        if (load_lag > lag)
            lag = load_lag;
    }
    return (uint64_t)((retired + lag) / core->width);
}

/* --- the last-level cache --- */

static void learn(struct shadow_sample *sample, bool contention)
{
    uint64_t now = contention ? 1ULL << 32 : 0;

    if (sample->known)
        now = (sample->share * (SAMPLE_MISSES - 1) + now) / SAMPLE_MISSES;
    *sample = (struct shadow_sample){.share = now, .known = true};
}

void shadow_classify(struct simnode *node, struct request *request)
{
    struct app *app = &node->apps[request->app];
    struct shadow_sample *sample = &app->shadow_samples[request->kind == REQUEST_PREFETCH];

    if (!app->ats.ways || request->hit)
        return;
    for (int s = 0; s < SHADOWS; s++)
        request->contention[s] = request->ats_hit && s != SHADOW_MEMORY;
    if (request->ats_sampled) {
        learn(sample, request->ats_hit);
        return;
    }
    request->contention[SHADOW_SAMPLED_TAGS] = request->contention[SHADOW_CACHE_SAMPLED] =
        mix64(++app->shadow_draws) >> 32 < sample->share;
}

static void remember_prefetch(struct core *core, const struct request *request)
{
    struct shadow_prefetch *entry = &core->prefetched[request->line % SHADOW_PREFETCHES];

    entry->line = request->line + 1;
    for (int s = 0; s < core->n_shadows; s++)
        entry->done[s] = request->shadow_ready[s];
}

void shadow_done(struct core *core, struct request *request)
{
    const struct simnode *node = core->node;
    int64_t now = (int64_t)simclock_cycle(&core->clock, node->now_fs);
    int64_t found = (int64_t)simclock_cycle(&core->clock, request->access_fs) +
                    node->machine->llc.latency_cycles;
    const struct shadow_prefetch *entry = &core->prefetched[request->line % SHADOW_PREFETCHES];

    for (int s = 0; s < core->n_shadows; s++) {
        request->shadow_ready[s] = (request->contention[s] && !request->hit ? found : now) -
                                   request->shadow_shift[s] - request->shadow_gain[s];
        if (request->hit && entry->line == request->line + 1 &&
            entry->done[s] > request->shadow_ready[s])
            request->shadow_ready[s] = entry->done[s];
    }
    if (request->kind == REQUEST_PREFETCH && !request->loads)
        remember_prefetch(core, request);
}

/* --- the controller --- */

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void refresh(struct shadow_channel *channel, const struct dram_config *config, int64_t clock)
{
    int64_t interval = (int64_t)config->timing.refi;

    if (!interval || clock / interval <= channel->refreshes)
        return;
    channel->refreshes = clock / interval;
    for (int64_t i = 0; i < config->banks; i++) {
        struct shadow_bank *bank = &channel->banks[i];

        bank->row = -1;
        bank->next_act =
            later(bank->next_act, channel->refreshes * interval + (int64_t)config->timing.rfc);
    }
}

/* Requests come here in the order in which they were served among others; in shadow time one may
 * still fit before what came earlier. The clock, or a later one to try. */
static int64_t free_slot(const int64_t *slots, int64_t gap, int64_t clock)
{
    for (int i = 0; i < SHADOW_SLOTS; i++)
        if (clock > slots[i] - gap && clock < slots[i] + gap)
            return slots[i] + gap;
    return clock;
}

/* Of any four activates the first and a fifth are tFAW apart. */
static int64_t free_act(const struct shadow_channel *channel, const struct dram_timing *t,
                        int64_t clock)
{
    int64_t free = free_slot(channel->acts, (int64_t)t->rrd, clock), oldest = clock;
    int n = 0;

    if (free != clock)
        return free;
    for (int i = 0; i < SHADOW_SLOTS; i++) {
        if (channel->acts[i] <= clock - (int64_t)t->faw || channel->acts[i] > clock)
            continue;
        n++;
        if (channel->acts[i] < oldest)
            oldest = channel->acts[i];
    }
    return n < 4 ? clock : oldest + (int64_t)t->faw;
}

/* When the row of the request is open in its bank at the earliest. */
static int64_t open_row(struct shadow_channel *channel, const struct dram_timing *t,
                        struct shadow_bank *bank, int64_t row, int64_t clock)
{
    if (bank->row == row)
        return later(clock, bank->next_cas);
    if (bank->row >= 0)
        bank->next_act = later(bank->next_act, later(clock, bank->next_pre) + (int64_t)t->rp);

    /* Not before the oldest that is remembered: there it may be taken. */
    int64_t *slot = &channel->acts[channel->act_at++ % SHADOW_SLOTS];
    int64_t act = later(later(clock, bank->next_act), *slot), free;

    while ((free = free_act(channel, t, act)) != act)
        act = free;
    *slot = act;
    bank->row = row;
    bank->next_cas = act + (int64_t)t->rcd;
    bank->next_pre = act + (int64_t)t->ras;
    bank->next_act = act + (int64_t)(t->ras + t->rp);
    return bank->next_cas;
}

static int64_t take_bus(struct shadow_channel *channel, const struct dram_timing *t, int64_t clock)
{
    int64_t *slot = &channel->bursts[channel->burst_at++ % SHADOW_SLOTS];
    int64_t gap = (int64_t)(t->ccd > t->burst ? t->ccd : t->burst), free;

    clock = later(clock, *slot);
    while ((free = free_slot(channel->bursts, gap, clock)) != clock)
        clock = free;
    *slot = clock;
    return clock;
}

/* The write that can go first from that clock on, the oldest of equals. */
static size_t first_write(const struct shadow_channel *channel, const struct dram_timing *t,
                          int64_t clock, int64_t *ready)
{
    size_t best = 0;

    *ready = INT64_MAX;
    for (size_t i = 0; i < channel->n_writes; i++) {
        const struct shadow_write *write = &channel->writes[i];
        const struct shadow_bank *bank = &channel->banks[write->bank];
        int64_t at = clock;

        if (bank->row == write->row)
            at = later(at, bank->next_cas);
        else if (bank->row >= 0)
            at =
                later(bank->next_act, later(at, bank->next_pre) + (int64_t)t->rp) + (int64_t)t->rcd;
        else
            at = later(at, bank->next_act) + (int64_t)t->rcd;
        if (at < *ready) {
            *ready = at;
            best = i;
        }
    }
    return best;
}

static int64_t write_one(struct shadow_channel *channel, const struct dram_timing *t, size_t index,
                         int64_t clock)
{
    const struct shadow_write write = channel->writes[index];
    struct shadow_bank *bank = &channel->banks[write.bank];
    int64_t cas = take_bus(channel, t, open_row(channel, t, bank, write.row, clock));
    int64_t end = cas + (int64_t)(t->cwl + t->burst);

    channel->writes[index] = channel->writes[--channel->n_writes];
    channel->next_read = later(channel->next_read, end + (int64_t)t->wtr);
    bank->next_pre = later(bank->next_pre, end + (int64_t)t->wr);
    return cas;
}

/* Writes go while no read is there, and when too many wait. */
static void write_until(struct shadow_channel *channel, const struct dram_config *config,
                        int64_t clock)
{
    const struct dram_timing *t = &config->timing;
    int64_t from = channel->idle, ready;

    while (channel->n_writes > 0) {
        size_t first = first_write(channel, t, from, &ready);

        if (ready >= clock)
            break;
        write_one(channel, t, first, from);
    }
    if ((int64_t)channel->n_writes < config->write_high)
        return;
    while ((int64_t)channel->n_writes > config->write_low)
        write_one(channel, t, first_write(channel, t, clock, &ready), clock);
}

static int64_t serve(struct shadow_channel *channel, const struct dram_config *config,
                     const struct request *request, int64_t clock)
{
    const struct dram_timing *t = &config->timing;
    struct shadow_bank *bank = &channel->banks[request->bank];

    refresh(channel, config, clock);
    write_until(channel, config, clock);

    int64_t cas = take_bus(
        channel, t,
        later(open_row(channel, t, bank, (int64_t)request->row, clock), channel->next_read));

    channel->idle = later(channel->idle, cas + 1);
    bank->next_pre = later(bank->next_pre, cas + (int64_t)t->rtp);
    return cas;
}

static double cycles_at(const struct core *core, uint64_t time_fs)
{
    const struct simclock *clock = &core->clock;

    return (double)clock->base_cycle +
           ((double)time_fs - (double)clock->base_fs) / (double)clock->period_fs;
}

static struct core *core_of(struct simnode *node, const struct app *app)
{
    for (size_t i = 0; i < node->n_cores; i++)
        if (&node->apps[node->cores[i].container] == app)
            return &node->cores[i];
    return NULL;
}

static void push_write(struct simnode *node, struct app *app, int s, uint64_t line)
{
    struct core *core = core_of(node, app);
    const struct dram_config *config = &node->machine->dram;
    struct request place = {.line = line};

    memory_place(node, &place);
    if (place.pmm || s >= core->n_shadows)
        return;
    dram_locate(config, line / (uint64_t)node->machine->channels, &place);

    struct shadow_channel *channel =
        &core->shadows[s].channels[place.node * node->machine->channels + place.channel];

    if ((int64_t)channel->n_writes >= config->write_queue)
        return;
    channel->writes[channel->n_writes++] =
        (struct shadow_write){.row = (int64_t)place.row, .bank = place.bank};
}

void shadow_evict(struct simnode *node, struct app *app, uint64_t line)
{
    uint64_t sets = (uint64_t)node->scenario->ats_sets;
    uint64_t every = sets ? app->ats.sets / sets : 1;

    push_write(node, app, SHADOW_ALL_TAGS, line);
    push_write(node, app, SHADOW_MEMORY, line);
    push_write(node, app, SHADOW_TENTH_OFF, line);
    if (cache_set(&app->ats, line) % every == 0)
        app->shadow_write_credit += every;
}

void shadow_write_back(struct simnode *node, uint64_t line)
{
    struct app *app = &node->apps[line >> SPACE_LINES_SHIFT];

    if (app->shadow_write_credit == 0)
        return;
    app->shadow_write_credit--;
    push_write(node, app, SHADOW_SAMPLED_TAGS, line);
}

void shadow_cas(struct simnode *node, size_t unit, struct request *request)
{
    struct core *core = request->core;
    double true_clock_cycles = (double)node->dram_period_fs / (double)core->clock.period_fs;
    double arrived = cycles_at(core, request->arrive_fs), now = cycles_at(core, node->now_fs);
    double fixed = (double)node->machine->dram.timing.rcd * true_clock_cycles;

    request->shadow_gain[SHADOW_FIXED] = (int64_t)llround(now - arrived - fixed);
    for (int s = 0; s < core->n_shadows; s++) {
        struct shadow_clock *shadow = &core->shadows[s];
        double clock_cycles = true_clock_cycles * (s == SHADOW_TENTH_OFF ? 1.1 : 1);

        if (!shadow->channels || request->contention[s])
            continue;

        int64_t clock = (int64_t)ceil((arrived - (double)request->shadow_shift[s]) / clock_cycles);
        int64_t cas = serve(&shadow->channels[unit], &node->machine->dram, request, clock);

        request->shadow_gain[s] =
            (int64_t)llround(now - (double)request->shadow_shift[s] - (double)cas * clock_cycles);
    }
}
