#include "tests/simnode/model/dram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simnode/model/rng.h"
#include "tests/simnode/model/simclock.h"

enum { READS, WRITES };

int dram_preset(const char *name, struct dram_config *out)
{
    /* 1.5 ns clock: tRAS 36, tRRD 6, tFAW 30, tWR 15, tWTR 7.5, tRTP 7.5, tRFC 160 ns, tREFI 7.8 us
     */
    static const struct dram_config ddr3_1333 = {
        .clock_hz = 1e9 / 1.5,
        .timing = {.cl = 10,
                   .cwl = 7,
                   .rcd = 10,
                   .rp = 10,
                   .ras = 24,
                   .rrd = 4,
                   .faw = 20,
                   .ccd = 4,
                   .burst = 4,
                   .wr = 10,
                   .wtr = 5,
                   .rtp = 5,
                   .rfc = 107,
                   .refi = 5200},
        .banks = 8,
        .row_bytes = 8192,
        .read_queue = 128,
        .write_queue = 64,
        .write_high = 48,
        .write_low = 16,
        .priority_exclusive = true,
    };
    /* 0.682 ns clock: tRAS 32, tWR 15, tWTR 7.5, tRTP 7.5, tRFC 350 ns; a DIMM of two ranks, whose
     * 32 banks share one bus: tRRD 4.9 and tFAW 21 ns hold for half of them each, so half here */
    static const struct dram_config ddr4_2933 = {
        .clock_hz = 4.4e9 / 3,
        .timing = {.cl = 21,
                   .cwl = 16,
                   .rcd = 21,
                   .rp = 21,
                   .ras = 47,
                   .rrd = 4,
                   .faw = 16,
                   .ccd = 4,
                   .burst = 4,
                   .wr = 22,
                   .wtr = 11,
                   .rtp = 11,
                   .rfc = 514,
                   .refi = 11440},
        .banks = 32,
        .row_bytes = 8192,
        .read_queue = 48,
        .write_queue = 48,
        .write_high = 32,
        .write_low = 8,
        .page_idle_clocks = 200,
        .bank_hash = true,
    };
    /* 0.417 ns clock, one of the two channels of 32 bits of a DIMM, a line is one burst of 16: tRAS
     * 32, tRRD 3.3, tFAW 13.3, tWR 30, tWTR 10, tRTP 7.5, tRFC 295, tREFI 3.9 us (16 Gb) */
    static const struct dram_config ddr5_4800 = {
        .clock_hz = 2.4e9,
        .timing = {.cl = 40,
                   .cwl = 38,
                   .rcd = 39,
                   .rp = 39,
                   .ras = 77,
                   .rrd = 8,
                   .faw = 32,
                   .ccd = 8,
                   .burst = 8,
                   .wr = 72,
                   .wtr = 24,
                   .rtp = 18,
                   .rfc = 708,
                   .refi = 9360},
        .banks = 32,
        .row_bytes = 8192,
        .read_queue = 48,
        .write_queue = 48,
        .write_high = 32,
        .write_low = 8,
        .page_idle_clocks = 330,
        .bank_hash = true,
    };
    /* No memory: a row is a line, so that whatever is read, a bank has to close one row and open
     * another, which takes as long as its command. */
    static const struct dram_config constant = {
        .clock_hz = 1e9,
        .timing = {.cl = 7, .cwl = 7, .ccd = 4, .burst = 4},
        .banks = 8,
        .row_bytes = 64,
        .read_queue = 128,
        .write_queue = 64,
        .write_high = 48,
        .write_low = 16,
    };

    if (strcmp(name, "ddr3-1333") == 0)
        *out = ddr3_1333;
    else if (strcmp(name, "ddr4-2933") == 0)
        *out = ddr4_2933;
    else if (strcmp(name, "ddr5-4800") == 0)
        *out = ddr5_4800;
    else if (strcmp(name, "constant") == 0)
        *out = constant;
    else
        return -ENOENT;
    return 0;
}

int dram_init(struct dram_channel *channel, const struct dram_config *config, int apps)
{
    if (config->banks < 1 || config->row_bytes < 64)
        return -EINVAL;

    struct dram_bank *banks = calloc((size_t)config->banks, sizeof(*banks));
    uint32_t *reads_of_app = calloc((size_t)apps + 1, sizeof(*reads_of_app));
    struct dram_share *shares = calloc((size_t)apps + 1, sizeof(*shares));

    if (!banks || !reads_of_app || !shares) {
        free(banks);
        free(reads_of_app);
        free(shares);
        return -ENOMEM;
    }
    for (int64_t i = 0; i < config->banks; i++)
        banks[i].row = -1;
    *channel = (struct dram_channel){.config = config,
                                     .banks = banks,
                                     .priority_app = -1,
                                     .last_app = -1,
                                     .reads_of_app = reads_of_app,
                                     .apps = apps,
                                     .shares = shares};
    return 0;
}

void dram_release(struct dram_channel *channel)
{
    free(channel->banks);
    free(channel->reads_of_app);
    free(channel->shares);
    *channel = (struct dram_channel){0};
}

void dram_locate(const struct dram_config *config, uint64_t n, struct request *request)
{
    uint64_t row_lines = (uint64_t)config->row_bytes / 64, banks = (uint64_t)config->banks;
    uint64_t rows = n / row_lines;

    request->row = rows / banks;
    /* Hashed, so that equally spaced rows do not all fall on one bank; inside one row number the
     * banks keep their order, which keeps the map one to one. */
    request->bank = (unsigned)((rows + (config->bank_hash ? mix64(request->row) : 0)) % banks);
}

static inline bool is_write(const struct request *request)
{
    return request->kind == REQUEST_WRITE || request->kind == REQUEST_NT_STORE;
}

static inline bool is_priority(const struct dram_channel *channel, const struct request *request)
{
    return request->app == channel->priority_app && channel->priority_app >= 0;
}

/* In a batch; 0 where there are none. */
static inline uint32_t position(const struct dram_channel *channel, const struct request *request)
{
    return channel->config->batch_cap && request->app >= 0 && !is_write(request)
               ? channel->shares[request->app].position
               : 0;
}

#define BEST_RANK ((uint64_t)8 << 32)

/* Priority first, then the batch, then row hits (after rows: these first, priority last), then the
 * batch's order of applications, then age: the order inside one bank, as a number. */
static inline uint64_t rank(const struct dram_channel *channel, const struct dram_bank *bank,
                            const struct request *request)
{
    uint64_t priority = is_priority(channel, request), hit = bank->row == (int64_t)request->row;
    uint64_t batch = request->marked || !channel->config->batch_cap;
    uint64_t first = channel->config->priority_after_rows ? hit << 2 | batch << 1 | priority
                                                          : priority << 2 | batch << 1 | hit;

    return ((first + 1) << 32) - position(channel, request);
}

static struct request *best_of(struct dram_channel *channel, struct dram_bank *bank, int which)
{
    if (!bank->stale[which])
        return bank->best[which];

    struct request *best = NULL;
    uint64_t best_rank = 0;

    /* The list is in order of arrival, so the first of a rank is its oldest. */
    for (struct request *r = which ? bank->writes.head : bank->reads.head; r; r = r->next) {
        uint64_t r_rank = rank(channel, bank, r);

        if (!best || r_rank > best_rank) {
            best = r;
            best_rank = r_rank;
            if (best_rank == BEST_RANK)
                break;
        }
    }
    bank->best[which] = best;
    bank->stale[which] = false;
    return best;
}

static void enqueue(struct dram_channel *channel, struct request *request, uint64_t clock)
{
    struct dram_bank *bank = &channel->banks[request->bank];
    int which = is_write(request) ? WRITES : READS;
    uint64_t idle = (uint64_t)channel->config->page_idle_clocks;

    if (idle && bank->row >= 0 && !bank->reads.head && !bank->writes.head &&
        clock > bank->last_cas + idle) {
        uint64_t closed = bank->last_cas + idle;

        if (closed < bank->next_pre)
            closed = bank->next_pre;
        bank->row = -1;
        if (bank->next_act < closed + channel->config->timing.rp)
            bank->next_act = closed + channel->config->timing.rp;
        bank->stale[READS] = bank->stale[WRITES] = true;
    }
    request_list_append(which ? &bank->writes : &bank->reads, request);
    if (!bank->stale[which] && (!bank->best[which] || rank(channel, bank, request) >
                                                          rank(channel, bank, bank->best[which])))
        bank->best[which] = request;
    if (which == READS) {
        channel->reads++;
        channel->inserts++;
        request->queued = true;
    } else {
        channel->writes++;
    }
}

bool dram_push(struct dram_channel *channel, struct request *request, uint64_t clock)
{
    request->order = channel->orders++;
    if (!is_write(request)) {
        if (request->app >= 0)
            channel->reads_of_app[request->app]++;
        if (channel->reads >= channel->config->read_queue) {
            request_list_append(&channel->overflow, request);
            return false;
        }
    }
    enqueue(channel, request, clock);
    return true;
}

void dram_prioritise(struct dram_channel *channel, int app)
{
    channel->priority_app = app;
    for (int64_t i = 0; i < channel->config->banks; i++)
        channel->banks[i].stale[READS] = channel->banks[i].stale[WRITES] = true;
}

/* All rows are closed and all banks busy for tRFC at each multiple of tREFI. */
static void refresh(struct dram_channel *channel, uint64_t clock)
{
    const struct dram_timing *t = &channel->config->timing;

    if (!t->refi || clock / t->refi <= channel->refreshes)
        return;
    channel->refreshes = clock / t->refi;

    uint64_t ready = channel->refreshes * t->refi + t->rfc;

    for (int64_t i = 0; i < channel->config->banks; i++) {
        struct dram_bank *bank = &channel->banks[i];

        bank->row = -1;
        bank->stale[READS] = bank->stale[WRITES] = true;
        if (bank->next_act < ready)
            bank->next_act = ready;
    }
}

static bool choose_writes(struct dram_channel *channel)
{
    const struct dram_config *config = channel->config;

    if (channel->draining && channel->writes <= config->write_low)
        channel->draining = false;
    else if (!channel->draining && channel->writes >= config->write_high)
        channel->draining = true;
    if (channel->reads == 0)
        return true;
    /* A prioritised read interrupts a drain, unless the queue is full. */
    if (channel->draining && channel->priority_app >= 0 && !config->priority_after_rows &&
        channel->reads_of_app[channel->priority_app] > 0 && !dram_write_queue_full(channel))
        return false;
    return channel->draining;
}

struct candidate {
    struct request *request;
    enum dram_command_kind kind;
    uint64_t ready;
};

static struct candidate candidate_of(const struct dram_channel *channel,
                                     const struct dram_bank *bank, struct request *request,
                                     bool write)
{
    const struct dram_timing *t = &channel->config->timing;

    if (bank->row == (int64_t)request->row) {
        uint64_t bus = write ? channel->next_write : channel->next_read;

        return (struct candidate){request, write ? DRAM_WRITE : DRAM_READ,
                                  bus > bank->next_cas ? bus : bank->next_cas};
    }
    if (bank->row >= 0)
        return (struct candidate){request, DRAM_PRE, bank->next_pre};

    uint64_t ready = bank->next_act > channel->next_act ? bank->next_act : channel->next_act;
    uint64_t oldest = channel->acts[channel->act_at];

    if (oldest && ready < oldest - 1 + t->faw)
        ready = oldest - 1 + t->faw;
    return (struct candidate){request, DRAM_ACT, ready};
}

static bool better(const struct dram_channel *channel, const struct candidate *a,
                   const struct candidate *b)
{
    bool priority_a = is_priority(channel, a->request),
         priority_b = is_priority(channel, b->request);
    bool cas_a = a->kind >= DRAM_READ, cas_b = b->kind >= DRAM_READ;

    if (cas_a != cas_b && channel->config->priority_after_rows)
        return cas_a;
    if (priority_a != priority_b)
        return priority_a;
    if (a->request->marked != b->request->marked)
        return a->request->marked;
    if (cas_a != cas_b)
        return cas_a;
    if (position(channel, a->request) != position(channel, b->request))
        return position(channel, a->request) < position(channel, b->request);
    return a->request->order < b->request->order;
}

static inline void at_least(uint64_t *value, uint64_t bound)
{
    if (*value < bound)
        *value = bound;
}

static void remove_request(struct dram_channel *channel, struct dram_bank *bank, bool write,
                           struct request *request)
{
    request_list_remove(write ? &bank->writes : &bank->reads, request);
    bank->stale[write] = true;
    if (write) {
        channel->writes--;
        return;
    }
    channel->reads--;
    channel->marked -= request->marked;
    if (request->app >= 0)
        channel->reads_of_app[request->app]--;
}

static void issue_cas(struct dram_channel *channel, struct dram_bank *bank, bool write,
                      uint64_t clock)
{
    const struct dram_timing *t = &channel->config->timing;
    uint64_t gap = t->ccd > t->burst ? t->ccd : t->burst;

    bank->last_cas = clock;
    if (write) {
        channel->next_write = clock + gap;
        at_least(&channel->next_read, clock + t->cwl + t->burst + t->wtr);
        at_least(&bank->next_pre, clock + t->cwl + t->burst + t->wr);
        channel->cas_writes++;
    } else {
        channel->next_read = clock + gap;
        at_least(&channel->next_write, clock + t->cl + t->burst + 2 - t->cwl);
        at_least(&bank->next_pre, clock + t->rtp);
        channel->cas_reads++;
    }
}

static struct dram_command issue(struct dram_channel *channel, const struct candidate *chosen,
                                 uint64_t clock)
{
    const struct dram_timing *t = &channel->config->timing;
    struct dram_bank *bank = &channel->banks[chosen->request->bank];
    struct dram_command command = {.kind = chosen->kind, .request = chosen->request};

    channel->last_app = chosen->request->app;
    switch (chosen->kind) {
    case DRAM_PRE:
        bank->row = -1;
        at_least(&bank->next_act, clock + t->rp);
        bank->stale[READS] = bank->stale[WRITES] = true;
        channel->precharges++;
        break;
    case DRAM_ACT:
        bank->row = (int64_t)chosen->request->row;
        bank->next_cas = clock + t->rcd;
        at_least(&bank->next_pre, clock + t->ras);
        at_least(&bank->next_act, clock + t->ras + t->rp);
        channel->next_act = clock + t->rrd;
        channel->acts[channel->act_at] = clock + 1;
        channel->act_at = (channel->act_at + 1) % 4;
        bank->stale[READS] = bank->stale[WRITES] = true;
        channel->activates++;
        break;
    default: {
        bool write = chosen->kind == DRAM_WRITE;

        issue_cas(channel, bank, write, clock);
        remove_request(channel, bank, write, chosen->request);
        command.data_clock = clock + t->cl + t->burst;
        if (!write && channel->overflow.head) {
            command.inserted = request_list_shift(&channel->overflow);
            enqueue(channel, command.inserted, clock);
        }
    }
    }
    return command;
}

/* Not counting those that wait before a full queue: others must be served to let them in. */
static bool priority_is_queued(struct dram_channel *channel)
{
    if (channel->priority_app < 0 || channel->reads_of_app[channel->priority_app] == 0)
        return false;
    if (!channel->overflow.head)
        return true;
    for (int64_t i = 0; i < channel->config->banks; i++) {
        const struct request *best = best_of(channel, &channel->banks[i], READS);

        if (best && is_priority(channel, best))
            return true;
    }
    return false;
}

struct dram_command dram_step(struct dram_channel *channel, uint64_t clock, uint64_t *next)
{
    const struct dram_config *config = channel->config;

    *next = SIM_NEVER;
    refresh(channel, clock);
    if (channel->reads == 0 && channel->writes == 0)
        return (struct dram_command){.kind = DRAM_NOTHING};

    if (config->batch_cap && channel->marked == 0)
        dram_form_batch(channel);

    bool write = choose_writes(channel);
    bool exclusive = config->priority_exclusive && !write && priority_is_queued(channel);
    struct candidate chosen = {0};

    for (int64_t i = 0; i < config->banks; i++) {
        struct dram_bank *bank = &channel->banks[i];
        struct request *request = best_of(channel, bank, write);

        if (!request || (exclusive && !is_priority(channel, request)))
            continue;

        struct candidate candidate = candidate_of(channel, bank, request, write);

        if (candidate.ready > clock) {
            if (candidate.ready < *next)
                *next = candidate.ready;
        } else if (!chosen.request || better(channel, &candidate, &chosen)) {
            chosen = candidate;
        }
    }
    if (!chosen.request)
        return (struct dram_command){.kind = DRAM_NOTHING};
    *next = clock + 1;
    return issue(channel, &chosen, clock);
}
