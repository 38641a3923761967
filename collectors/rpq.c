#include "collectors/rpq.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/formulas/imc_latency.h"
#include "collectors/window_read.h"

/* One memory controller of one socket, its channels summed. */
struct controller {
    int socket, imc;
    struct series *series[RPQ_METRICS]; /* NULL where the kind does not export it */
    bool window;                        /* this tick gave a window; the four below are of it */
    uint64_t clockticks;                /* of one channel: they share the clock */
    uint64_t clock_ns;                  /* the time that these clockticks took */
    uint64_t inserts, occupancy;
};

struct channel {
    size_t controller; /* index */
    group_handle handle;
};

struct rpq {
    const struct rpq_kind *kind;
    struct source_set *sources;
    struct collector_status *status;
    double cas_latency_seconds; /* 0: not known, then DRAM has no latency */
    struct controller *controllers;
    size_t n_controllers;
    struct channel *channels;
    size_t n_channels;
};

static bool is_imc(const struct unit *unit)
{
    return strcmp(unit->kind, "imc") == 0;
}

bool rpq_probe(const struct collector_env *env, const struct rpq_kind *kind, struct verdict *why)
{
    size_t n;
    const struct unit *units = source_set_units(env->sources, &n);
    for (size_t i = 0; i < n; i++)
        if (is_imc(&units[i]))
            return source_set_check(env->sources, SCOPE_UNIT, kind->group, why);
    verdict_set(why, REASON_NO_DEVICE,
                "this machine shows no memory controller counters (uncore_imc) for %s; virtual "
                "machines rarely do, bare metal does",
                kind->reads);
    return false;
}

/* ---- a tick ---- */

/* A channel without a window adds nothing to its controller: both of its counts miss alike, so the
 * latency stays that of the channels that counted. */
static void add_channel(const struct rpq *rpq, struct controller *controller,
                        const struct window_sum *sum)
{
    enum group group = rpq->kind->group;
    const enum role *roles = group_descs[group].roles;
    uint64_t clockticks, inserts, occupancy;
    if (!window_count(sum, group, roles[0], &clockticks) ||
        !window_count(sum, group, roles[1], &inserts) ||
        !window_count(sum, group, roles[2], &occupancy))
        return;
    if (!controller->window) {
        controller->clockticks = clockticks;
        controller->clock_ns = sum->enabled_ns;
    }
    controller->window = true;
    controller->inserts += inserts;
    controller->occupancy += occupancy;
}

static int read_channels(struct rpq *rpq)
{
    int result = 0;
    for (size_t i = 0; i < rpq->n_controllers; i++) {
        struct controller *c = &rpq->controllers[i];
        c->window = false;
        c->clockticks = c->clock_ns = c->inserts = c->occupancy = 0;
    }
    for (size_t i = 0; i < rpq->n_channels; i++) {
        struct window_sum sum;
        enum window_status status;
        int err = window_read(rpq->sources, rpq->channels[i].handle, rpq->status, &sum, &status);
        if (!err && status == WINDOW_OK)
            add_channel(rpq, &rpq->controllers[rpq->channels[i].controller], &sum);
        else if (err && err != -ENODATA && !result)
            result = err;
    }
    return result;
}

static bool latency_of(const struct rpq *rpq, const struct controller *c, double *out)
{
    double frequency;
    if (!c->window || imc_frequency_hz(c->clockticks, c->clock_ns, &frequency) != 0)
        return false;
    if (rpq->kind->adds_cas_latency)
        return imc_dram_latency_seconds(c->occupancy, c->inserts, frequency,
                                        rpq->cas_latency_seconds, out) == 0;
    return imc_pmm_latency_seconds(c->occupancy, c->inserts, frequency, out) == 0;
}

static void add_count(struct series *series, uint64_t count)
{
    if (series)
        series_add_u64(series, count);
}

int rpq_collect(void *self, const struct tick *tick)
{
    struct rpq *rpq = self;
    (void)tick;
    int err = read_channels(rpq);
    for (size_t i = 0; i < rpq->n_controllers; i++) {
        struct controller *c = &rpq->controllers[i];
        double latency;
        add_count(c->series[RPQ_CLOCKTICKS], c->clockticks);
        add_count(c->series[RPQ_INSERTS], c->inserts);
        add_count(c->series[RPQ_OCCUPANCY], c->occupancy);
        if (latency_of(rpq, c, &latency))
            series_set(c->series[RPQ_LATENCY], latency);
        else
            series_clear(c->series[RPQ_LATENCY]);
    }
    return err;
}

/* ---- life ---- */

static size_t controller_of(struct rpq *rpq, const struct unit *unit)
{
    for (size_t i = 0; i < rpq->n_controllers; i++)
        if (rpq->controllers[i].socket == unit->socket && rpq->controllers[i].imc == unit->imc)
            return i;
    rpq->controllers[rpq->n_controllers] =
        (struct controller){.socket = unit->socket, .imc = unit->imc};
    return rpq->n_controllers++;
}

static void open_unit(struct rpq *rpq, const struct collector_env *env, const struct unit *unit)
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
    if (err) {
        rpq->status->open_failures[why.reason]++;
        rpq->status->verdict = why;
        log_warn(env->log, rpq->kind->collector, "%s is not counted: %s", unit->key, why.words);
        return;
    }
    channel->controller = controller_of(rpq, unit);
    rpq->n_channels++;
}

static int open_units(struct rpq *rpq, const struct collector_env *env)
{
    size_t n;
    const struct unit *units = source_set_units(env->sources, &n);
    rpq->controllers = calloc(n + 1, sizeof *rpq->controllers);
    rpq->channels = calloc(n + 1, sizeof *rpq->channels);
    if (!rpq->controllers || !rpq->channels)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (is_imc(&units[i]))
            open_unit(rpq, env, &units[i]);
    return rpq->n_channels > 0 ? 0 : -ENODEV;
}

static int make_series(const struct controller *controller, struct family *family,
                       struct series **out)
{
    char socket[12], imc[12];
    snprintf(socket, sizeof socket, "%d", controller->socket);
    snprintf(imc, sizeof imc, "%d", controller->imc);
    const struct label own[] = {{"socket", socket}, {"imc", imc}};
    return series_new(family, NULL, own, 2, out);
}

static int make_families(struct rpq *rpq, struct store *store)
{
    for (int m = 0; m < RPQ_METRICS; m++) {
        struct family *family;
        if (!rpq->kind->descs[m])
            continue;
        int err = store_family(store, rpq->kind->descs[m], rpq->kind->collector, &family);
        for (size_t i = 0; i < rpq->n_controllers && !err; i++)
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
              const struct rpq_kind *kind, void **self)
{
    struct rpq *rpq = calloc(1, sizeof *rpq);
    if (!rpq)
        return -ENOMEM;
    *rpq = (struct rpq){.kind = kind, .sources = env->sources, .status = status};
    rpq->cas_latency_seconds = env->config->imc_rpq_cas_latency_seconds;
    if (rpq->cas_latency_seconds == 0)
        rpq->cas_latency_seconds = env->facts->machine.cas_latency_seconds;
    int err = open_units(rpq, env);
    if (!err)
        err = make_families(rpq, env->store);
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
        for (int m = 0; m < RPQ_METRICS; m++)
            series_free(rpq->controllers[i].series[m]);
    for (size_t i = 0; i < rpq->n_channels; i++)
        source_set_close(rpq->sources, rpq->channels[i].handle);
    free(rpq->channels);
    free(rpq->controllers);
    free(rpq);
}
