/*
 * How long each request waits for other applications' requests: what FST (Ebrahimi et al. 2010) and
 * PTCA (Du Bois, Eyerman, Eeckhout 2013) build on, reconstructed from the requests' time stamps.
 *
 * A read that misses waits for another application while, between entering its channel's queue and
 * its CAS command,
 *
 *     bus          another application's burst is on the data bus
 *     bank         its bank serves another application: from 20 clocks before that CAS (precharge
 *                  and activate) to the end of the burst
 *     row buffer   it opens its row again, because another application closed it since its own last
 *                  access to that bank: 20 clocks before its CAS
 *
 * and, when it is a contention miss (it hits in the tags of its application alone), for all of the
 * time from the miss to the data. The tags are kept here, so that they are there without epochs.
 *
 * FST: a cycle counts once, if any of the application's requests is so delayed in it.
 * PTCA: delays count while the request holds up retirement; taken as the part of its life after the
 * application's previous miss was done, since loads retire in order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/research/slowdown.h"
#include "tests/simnode/model/cache.h"

enum { RING = 2048, MAP_CLOCKS = 32768, WAIT_CLOCKS = 8192, ACTIVATE_CLOCKS = 20, BURST = 4 };
enum { MAX_BANKS = 64 };

struct cas {
    uint64_t clock, row;
    int app, channel;
    unsigned bank;
};

struct app_delays {
    struct cache tags;
    uint64_t map[MAP_CLOCKS / 64]; /* clocks with a delayed request, by clock % MAP_CLOCKS */
    uint64_t map_end;              /* clocks before this are in the map */
    uint64_t last_done;            /* clock */
    uint64_t last_row[SLOW_MAX_CORES][MAX_BANKS]; /* own last row by channel and bank, + 1 */
    uint64_t fst, ptca, ptca_sampled;             /* clocks */
};

struct delays {
    double clock_fs, cycles_per_clock;
    uint64_t sampling; /* sets per sampled set */
    struct cas ring[RING];
    uint64_t n_ring;
    size_t n_apps;
    struct app_delays *apps;
    uint64_t wait[WAIT_CLOCKS / 64];
};

int delays_new(const struct scenario *scenario, struct delays **out)
{
    const struct machine_spec *machine = &scenario->machine;
    struct delays *delays = calloc(1, sizeof(*delays));

    if (!delays)
        return -ENOMEM;
    delays->clock_fs = 1e15 / machine->dram.clock_hz;
    delays->cycles_per_clock = machine->core_hz / machine->dram.clock_hz;
    delays->sampling = (uint64_t)(machine->llc.bytes / (64 * machine->llc.ways) / 64);
    delays->n_apps = scenario->n_containers;
    delays->apps = calloc(delays->n_apps, sizeof(*delays->apps));

    int err = delays->apps ? 0 : -ENOMEM;

    for (size_t i = 0; !err && i < delays->n_apps; i++)
        err = cache_init(&delays->apps[i].tags,
                         (uint64_t)(machine->llc.bytes / (64 * machine->llc.ways)),
                         (unsigned)machine->llc.ways);
    if (err)
        delays_free(delays);
    else
        *out = delays;
    return err;
}

void delays_free(struct delays *delays)
{
    if (!delays)
        return;
    for (size_t i = 0; delays->apps && i < delays->n_apps; i++)
        cache_release(&delays->apps[i].tags);
    free(delays->apps);
    free(delays);
}

/* Sets bits [from, to) relative to the request's arrival, clipped to its wait. */
static void mark_wait(struct delays *delays, uint64_t start, uint64_t length, uint64_t from,
                      uint64_t to)
{
    from = from > start ? from - start : 0;
    to = to > start ? to - start : 0;
    if (to > length)
        to = length;
    for (uint64_t i = from; i < to; i++)
        delays->wait[i / 64] |= 1ULL << i % 64;
}

static void mark_others(struct delays *delays, const struct request *request, uint64_t start,
                        uint64_t end, uint64_t length)
{
    struct app_delays *app = &delays->apps[request->app];
    uint64_t *own_row =
        &app->last_row[request->channel % SLOW_MAX_CORES][request->bank % MAX_BANKS];
    bool found_bank = false;
    uint64_t oldest = delays->n_ring > RING ? delays->n_ring - RING : 0;

    for (uint64_t i = delays->n_ring; i-- > oldest;) {
        const struct cas *cas = &delays->ring[i % RING];

        if (cas->channel != request->channel || cas->clock > end)
            continue;
        bool same_bank = cas->bank == request->bank;

        if (same_bank && !found_bank) {
            found_bank = true;
            if (cas->app != request->app && cas->row != request->row &&
                *own_row == request->row + 1)
                mark_wait(delays, start, length, end - ACTIVATE_CLOCKS, end);
        }
        if (cas->clock + BURST < start) {
            if (found_bank || cas->clock + 4096 < start)
                break;
            continue;
        }
        if (cas->app != request->app)
            mark_wait(delays, start, length, same_bank ? cas->clock - ACTIVATE_CLOCKS : cas->clock,
                      cas->clock + BURST);
    }
    *own_row = request->row + 1;
}

/* Counts the clocks [from, to) that were not counted before. */
static void count_once(struct app_delays *app, uint64_t from, uint64_t to)
{
    if (to > app->map_end) {
        uint64_t clear = app->map_end;

        if (to - clear > MAP_CLOCKS)
            clear = to - MAP_CLOCKS;
        for (; clear < to; clear++)
            app->map[clear % MAP_CLOCKS / 64] &= ~(1ULL << clear % 64);
        app->map_end = to;
    }
    if (from + MAP_CLOCKS < app->map_end)
        from = app->map_end - MAP_CLOCKS;
    for (uint64_t i = from; i < to; i++) {
        uint64_t *word = &app->map[i % MAP_CLOCKS / 64], bit = 1ULL << i % 64;

        app->fst += !(*word & bit);
        *word |= bit;
    }
}

static uint64_t count_wait(struct delays *delays, struct app_delays *app, uint64_t start,
                           uint64_t length)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < length; i++) {
        if (!(delays->wait[i / 64] >> i % 64 & 1))
            continue;
        n++;
        count_once(app, start + i, start + i + 1);
    }
    return n;
}

/* A demand read that memory served: its delay, and how much of that held up retirement. */
static void account(struct delays *delays, struct app_delays *app, const struct request *request,
                    uint64_t delay, bool sampled, uint64_t done)
{
    uint64_t enter = (uint64_t)((double)request->enter_fs / delays->clock_fs);
    uint64_t exposed_from = enter > app->last_done ? enter : app->last_done;
    uint64_t exposed = done > exposed_from ? done - exposed_from : 0;

    if (delay > exposed)
        delay = exposed;
    if (request->kind == REQUEST_READ) {
        app->ptca += delay;
        app->ptca_sampled += sampled ? delay * delays->sampling : 0;
    }
    app->last_done = done;
}

void delays_observe(void *context, const struct request *request, uint64_t done_fs)
{
    struct delays *delays = context;
    struct app_delays *app = request->app >= 0 ? &delays->apps[request->app] : NULL;
    bool demand = request->kind == REQUEST_READ || request->kind == REQUEST_RFO;
    bool alone_hit = false, sampled = false;

    if (!app)
        return;
    if (demand) {
        sampled = cache_set(&app->tags, request->line) % delays->sampling == 0;
        alone_hit = cache_lookup(&app->tags, request->line, false);
        if (!alone_hit)
            cache_insert(&app->tags, request->line, false, CACHE_ALL_WAYS);
    }
    if (!request->from_memory)
        return;

    uint64_t start = (uint64_t)((double)request->arrive_fs / delays->clock_fs);
    uint64_t end = (uint64_t)((double)request->cas_fs / delays->clock_fs);
    uint64_t done = (uint64_t)((double)done_fs / delays->clock_fs);
    uint64_t length = end > start ? end - start : 0;

    if (length > WAIT_CLOCKS)
        length = WAIT_CLOCKS;
    memset(delays->wait, 0, (length + 63) / 64 * 8);
    mark_others(delays, request, start, end, length);
    if (demand) {
        uint64_t delay = count_wait(delays, app, start, length);

        if (alone_hit) {
            uint64_t missed = (uint64_t)((double)request->label_fs / delays->clock_fs);

            count_once(app, missed, done);
            delay = done > missed ? done - missed : 0;
        }
        account(delays, app, request, delay, sampled, done);
    }
    delays->ring[delays->n_ring++ % RING] = (struct cas){.clock = end,
                                                         .row = request->row,
                                                         .app = request->app,
                                                         .channel = request->channel,
                                                         .bank = request->bank};
}

void delays_read(const struct delays *delays, size_t app, uint64_t out[3])
{
    const struct app_delays *a = &delays->apps[app];

    out[0] = (uint64_t)((double)a->fst * delays->cycles_per_clock);
    out[1] = (uint64_t)((double)a->ptca * delays->cycles_per_clock);
    out[2] = (uint64_t)((double)a->ptca_sampled * delays->cycles_per_clock);
}
