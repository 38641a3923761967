#include "collectors/parts/rpq.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/formulas/imc_latency.h"
#include "collectors/parts/named_series.h"
#include "collectors/parts/window_read.h"

/* A hundred thousand ticks: the moment of reading is then less than a thousandth. */
enum { MIN_CLOCK_NS = 100000 };

/* One memory controller of one socket, its channels summed. */
struct controller {
    int socket, imc;
    size_t clock;                       /* index */
    bool incomplete;                    /* a channel could not be opened: not counted at all */
    struct series *series[RPQ_METRICS]; /* NULL where the kind does not export it */

    /* Of this tick. */
    size_t expected, counted; /* channels that have the queue; of these, with a window */
    uint64_t reach;           /* ticks that those windows span */
    bool torn;                /* they do not span the same */
    uint32_t present;         /* bit m: count[m] is there */
    uint64_t count[RPQ_COUNTS];
    uint64_t clock_ns; /* the time that the clockticks took: of one channel, they share the clock */
    uint64_t ran_ns;   /* for so long they were really counted */
};

/* The controllers of a socket share one clock, whose frequency is fixed. In deep sleep the clock
 * stops, so ticks over time are its frequency only in windows without: the highest is. */
struct clock {
    int socket;
    double frequency_hz; /* the highest seen; 0: none yet */
    struct series *series;
};

struct channel {
    size_t controller; /* index */
    group_handle handle;
    bool seen;       /* gave a reading once; under replay, units may lack the queue */
    uint64_t missed; /* ticks since its last reading, or since the opening */
};

struct rpq {
    const struct rpq_kind *kind;
    struct source_set *sources;
    struct collector_status *status;
    double cas_latency_seconds; /* 0: not known, then DRAM has no latency */
    struct controller *controllers;
    size_t n_controllers;
    struct clock *clocks;
    size_t n_clocks;
    struct channel *channels;
    size_t n_channels;
    int open_error;          /* the first, of a unit that has the queue but cannot be opened */
    struct verdict counting; /* the status's, but while no channel ever gave a reading */
};

static bool is_imc(const struct source_unit *unit)
{
    return strcmp(unit->kind, "imc") == 0;
}

/* The source speaks first: it knows whether this machine or a recording lacks them. */
bool rpq_probe(const struct collector_env *env, const struct rpq_kind *kind, struct verdict *why)
{
    size_t n = env->inventory->n_units;
    const struct source_unit *units = env->inventory->units;
    if (!source_set_check(env->sources, SCOPE_UNIT, kind->group, why))
        return false;
    for (size_t i = 0; i < n; i++)
        if (is_imc(&units[i]))
            return true;
    verdict_set(why, REASON_NO_DEVICE, "no memory controller can count %s", kind->reads);
    return false;
}

/* ---- a tick ---- */

/* A role that a channel lacks is counted in another channel for all of them (events/spr.c). */
static void add_channel(const struct rpq *rpq, struct controller *controller,
                        const struct channel *channel, const struct window_sum *sum)
{
    enum group group = rpq->kind->group;
    for (int m = 0; m < RPQ_COUNTS; m++) {
        uint64_t count;
        if (!window_count(sum, group, group_descs[group].roles[m], &count))
            continue;
        if (m != RPQ_CLOCKTICKS) {
            controller->count[m] += count;
        } else if (controller->clock_ns == 0) {
            controller->count[m] = count;
            controller->clock_ns = sum->enabled_ns;
            controller->ran_ns = sum->running_ns;
        }
        controller->present |= UINT32_C(1) << m;
    }
    uint64_t reach = channel->missed + 1;
    controller->torn |= controller->counted > 0 && reach != controller->reach;
    controller->reach = reach;
    controller->counted++;
}

static int read_channels(struct rpq *rpq)
{
    int result = 0;
    for (size_t i = 0; i < rpq->n_controllers; i++) {
        struct controller *c = &rpq->controllers[i];
        c->expected = c->counted = 0;
        c->present = 0;
        c->torn = false;
        memset(c->count, 0, sizeof c->count);
        c->clock_ns = c->ran_ns = 0;
    }
    for (size_t i = 0; i < rpq->n_channels; i++) {
        struct channel *channel = &rpq->channels[i];
        struct controller *controller = &rpq->controllers[channel->controller];
        struct window_sum sum;
        enum window_status status;
        int err = window_read(rpq->sources, channel->handle, rpq->status, &sum, &status);
        channel->seen = channel->seen || !err;
        controller->expected += channel->seen || err != -ENODATA;
        if (!err && status == WINDOW_OK)
            add_channel(rpq, controller, channel, &sum);
        else if (err && err != -ENODATA && !result)
            result = err;
        channel->missed = err ? channel->missed + 1 : 0;
    }
    return result;
}

/* All or nothing: where one channel has no window, or one that reaches further back, inserts and
 * occupancy might not belong together, and the counters would be those of a part. */
static bool has_window(const struct controller *c)
{
    return c->counted > 0 && c->counted == c->expected && !c->torn;
}

static bool latency_of(const struct rpq *rpq, const struct controller *c, double *out)
{
    double frequency = rpq->clocks[c->clock].frequency_hz;
    uint64_t inserts = c->count[RPQ_INSERTS], occupancy = c->count[RPQ_OCCUPANCY];
    if (!has_window(c) || c->present != (1u << RPQ_COUNTS) - 1)
        return false;
    if (rpq->kind->adds_cas_latency)
        return imc_dram_latency_seconds(occupancy, inserts, frequency, rpq->cas_latency_seconds,
                                        out) == 0;
    return imc_pmm_latency_seconds(occupancy, inserts, frequency, out) == 0;
}

static void update(const struct rpq *rpq, struct controller *c)
{
    for (int m = 0; m < RPQ_COUNTS && has_window(c); m++)
        if (c->series[m] && c->present >> m & 1)
            series_add_u64(c->series[m], c->count[m]);
    double latency = 0;
    bool known = latency_of(rpq, c, &latency);
    series_show(c->series[RPQ_LATENCY], known, latency);
}

/* No DDR4 or DDR5 is clocked lower (DDR4-1600; DDR5-3200 by a quarter of its data rate). A clock
 * that seems to be stood still for a part of the window: on a socket that has slept since the
 * start, reads would seem many times as long. */
static const double slowest_clock_hz = 790e6;

/* Of windows long enough that the moment of reading does not matter. */
static void learn_clocks(struct rpq *rpq)
{
    for (size_t i = 0; i < rpq->n_controllers; i++) {
        const struct controller *c = &rpq->controllers[i];
        struct clock *clock = &rpq->clocks[c->clock];
        double frequency;
        if (c->ran_ns < MIN_CLOCK_NS ||
            imc_frequency_hz(c->count[RPQ_CLOCKTICKS], c->clock_ns, &frequency) != 0 ||
            frequency < slowest_clock_hz || frequency <= clock->frequency_hz)
            continue;
        clock->frequency_hz = frequency;
        if (clock->series)
            series_set(clock->series, frequency);
    }
}

/* Only a recording knows units that never give a reading: its machine did not have the queue. */
static void say_silent(struct rpq *rpq)
{
    bool silent = true;
    for (size_t i = 0; i < rpq->n_controllers && silent; i++)
        silent = rpq->controllers[i].expected == 0;
    status_silence(rpq->status, silent, &rpq->counting);
    if (silent)
        verdict_set(&rpq->status->verdict, REASON_NO_DEVICE, "the recording has no counts of %s",
                    rpq->kind->reads);
}

int rpq_collect(void *self, const struct tick *tick)
{
    struct rpq *rpq = self;
    (void)tick;
    int err = read_channels(rpq);
    learn_clocks(rpq);
    for (size_t i = 0; i < rpq->n_controllers; i++)
        if (!rpq->controllers[i].incomplete)
            update(rpq, &rpq->controllers[i]);
    say_silent(rpq);
    return err;
}

/* ---- life ---- */

static size_t clock_of(struct rpq *rpq, int socket)
{
    for (size_t i = 0; i < rpq->n_clocks; i++)
        if (rpq->clocks[i].socket == socket)
            return i;
    rpq->clocks[rpq->n_clocks] = (struct clock){.socket = socket};
    return rpq->n_clocks++;
}

static size_t controller_of(struct rpq *rpq, const struct source_unit *unit)
{
    for (size_t i = 0; i < rpq->n_controllers; i++)
        if (rpq->controllers[i].socket == unit->socket && rpq->controllers[i].imc == unit->imc)
            return i;
    rpq->controllers[rpq->n_controllers] = (struct controller){
        .socket = unit->socket, .imc = unit->imc, .clock = clock_of(rpq, unit->socket)};
    return rpq->n_controllers++;
}

static void open_unit(struct rpq *rpq, const struct collector_env *env,
                      const struct source_unit *unit)
{
    const struct scope scope = {.kind = SCOPE_UNIT,
                                .key = unit->key,
                                .cgroup_fd = -1,
                                .unit = unit,
                                .channel = unit->channel};
    struct channel *channel = &rpq->channels[rpq->n_channels];
    struct verdict why;
    int err = source_set_open(rpq->sources, &scope, rpq->kind->group, &channel->handle, &why);
    if (err == -ENODEV)
        return; /* this unit, or this channel of it, does not have the queue */
    size_t controller = controller_of(rpq, unit);
    if (!err) {
        channel->controller = controller;
        rpq->n_channels++;
        return;
    }
    rpq->controllers[controller].incomplete = true;
    rpq->status->open_failures[why.reason]++;
    log_warn(env->log, rpq->kind->collector, "%s is not counted: %s", unit->key, why.words);
    if (!rpq->open_error) {
        rpq->open_error = err;
        rpq->status->verdict = why;
    }
}

/* A controller of which a part would be missing is not counted. */
static void close_incomplete(struct rpq *rpq)
{
    size_t kept = 0;
    for (size_t i = 0; i < rpq->n_channels; i++) {
        if (rpq->controllers[rpq->channels[i].controller].incomplete)
            source_set_close(rpq->sources, rpq->channels[i].handle);
        else
            rpq->channels[kept++] = rpq->channels[i];
    }
    rpq->n_channels = kept;
}

static int open_units(struct rpq *rpq, const struct collector_env *env)
{
    size_t n = env->inventory->n_units;
    const struct source_unit *units = env->inventory->units;
    rpq->controllers = calloc(n + 1, sizeof *rpq->controllers);
    rpq->clocks = calloc(n + 1, sizeof *rpq->clocks);
    rpq->channels = calloc(n + 1, sizeof *rpq->channels);
    if (!rpq->controllers || !rpq->clocks || !rpq->channels)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (is_imc(&units[i]))
            open_unit(rpq, env, &units[i]);
    close_incomplete(rpq);
    if (rpq->n_channels > 0)
        return 0;
    return rpq->open_error ? rpq->open_error : -ENODEV;
}

static int make_series(const struct controller *controller, struct family *family,
                       struct series **out)
{
    char socket[12], imc[12];
    snprintf(socket, sizeof socket, "%d", controller->socket);
    snprintf(imc, sizeof imc, "%d", controller->imc);
    const struct label own[] = {{"socket", socket}, {"imc", imc}};
    /* Absent until there is a window: no zero for a queue that is not there. */
    return named_series_new(family, NULL, own, 2, out);
}

static int show_clocks(struct rpq *rpq, struct store *store)
{
    struct family *family;
    if (!rpq->kind->frequency)
        return 0;
    int err = store_family(store, rpq->kind->frequency, rpq->kind->collector, &family);
    for (size_t i = 0; i < rpq->n_clocks && !err; i++) {
        char socket[12];
        snprintf(socket, sizeof socket, "%d", rpq->clocks[i].socket);
        const struct label own[] = {{"socket", socket}};
        err = named_series_new(family, NULL, own, 1, &rpq->clocks[i].series);
    }
    return err;
}

static int make_families(struct rpq *rpq, struct store *store)
{
    for (int m = 0; m < RPQ_METRICS; m++) {
        struct family *family;
        if (!rpq->kind->descs[m])
            continue;
        int err = store_family(store, rpq->kind->descs[m], rpq->kind->collector, &family);
        for (size_t i = 0; i < rpq->n_controllers && !err; i++)
            if (!rpq->controllers[i].incomplete)
                err = make_series(&rpq->controllers[i], family, &rpq->controllers[i].series[m]);
        if (err)
            return err;
    }
    for (size_t i = 0; i < rpq->n_controllers; i++)
        if (rpq->controllers[i].series[RPQ_CAS] && rpq->cas_latency_seconds > 0)
            series_set(rpq->controllers[i].series[RPQ_CAS], rpq->cas_latency_seconds);
    return 0;
}

int rpq_start(const struct collector_env *env, struct collector_status *status,
              const struct rpq_kind *kind, double cas_latency_seconds, void **self)
{
    struct rpq *rpq = calloc(1, sizeof *rpq);
    if (!rpq)
        return -ENOMEM;
    *rpq = (struct rpq){.kind = kind, .sources = env->sources, .status = status};
    rpq->cas_latency_seconds = cas_latency_seconds;
    if (rpq->cas_latency_seconds == 0)
        rpq->cas_latency_seconds = env->facts->machine.cas_latency_seconds;
    int err = open_units(rpq, env);
    if (!err)
        err = make_families(rpq, env->store);
    if (!err)
        err = show_clocks(rpq, env->store);
    if (err) {
        rpq_stop(rpq);
        return err;
    }
    if (kind->adds_cas_latency && rpq->cas_latency_seconds == 0 &&
        status->verdict.reason == REASON_OK)
        verdict_set(&status->verdict, REASON_OK,
                    "counters only: the latency needs the DIMMs' column access time "
                    "(--collector.imc_rpq.cas-latency)");
    *self = rpq;
    return 0;
}

void rpq_stop(void *self)
{
    struct rpq *rpq = self;
    if (!rpq)
        return;
    for (size_t i = 0; i < rpq->n_controllers; i++)
        named_series_release(rpq->controllers[i].series, RPQ_METRICS);
    for (size_t i = 0; i < rpq->n_channels; i++)
        source_set_close(rpq->sources, rpq->channels[i].handle);
    free(rpq->channels);
    for (size_t i = 0; i < rpq->n_clocks; i++)
        series_free(rpq->clocks[i].series);
    free(rpq->clocks);
    free(rpq->controllers);
    free(rpq);
}
