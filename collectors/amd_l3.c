/*
 * How long the misses of AMD's L3s take, per L3 and by where the line came from: the L3s' own PMU
 * (formulas/l3_latency.h). Shared by all cores of a complex: beside core_latency, as imc_rpq is on
 * Intel's CPUs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/formulas/l3_latency.h"
#include "collectors/parts/named_series.h"
#include "collectors/parts/window_read.h"
#include "collectors/table.h"

/* Counters that ran for less than this and counted nothing may have had nothing to count. */
static const uint64_t judged_after_ns = 100000000;

enum l3_metric { L3_READS, L3_WAIT, L3_LATENCY, L3_METRICS };

#define LABELS "socket, l3, source"

static const struct metric_desc descs[L3_METRICS] = {
    [L3_READS] = METRIC(COUNTER, U64, "interference_l3_miss_read_latency_reads", LABELS,
                        "Misses of the L3 whose time it measured, by where the line came from: "
                        "all of them on Zen 2 and 3, samples on Zen 4 and later. High: programs "
                        "miss the L3 a lot."),
    [L3_WAIT] = METRIC(COUNTER, DOUBLE, "interference_l3_miss_read_wait_seconds", LABELS,
                       "Sum of the times that these misses took. Its rate divided by that of "
                       "interference_l3_miss_read_latency_reads_total is their mean latency. "
                       "High: they wait long."),
    [L3_LATENCY] = METRIC(GAUGE, DOUBLE, "interference_l3_miss_read_latency_seconds", LABELS,
                          "Mean time of a miss of the L3 in the last window, from the L3 to "
                          "where the line was and back: below what cores see. High: that memory "
                          "or the fabric to it is contended. Unverified on real CPUs until "
                          "collectors/VALIDATION.md was followed on one."),
};

static const struct metric_desc *const metrics[] = {&descs[L3_READS], &descs[L3_WAIT],
                                                    &descs[L3_LATENCY], NULL};

/* Where a line came from. The last is all of the others, on CPUs that do not tell them apart; a
 * CPU has either it or the others. */
enum { ANY = 4, SOURCES };
static const struct {
    const char *label;
    enum group group; /* wait, reads */
} sources[SOURCES] = {
    {"near_dram", GROUP_L3_NEAR_DRAM}, {"far_dram", GROUP_L3_FAR_DRAM},
    {"other_ccx", GROUP_L3_OTHER_CCX}, {"cxl", GROUP_L3_CXL},
    [ANY] = {"any", GROUP_L3_ANY},
};

struct source_lane {
    bool open;
    group_handle handle;
    struct series *series[L3_METRICS];
    bool seen; /* gave a reading once: recordings have those that their machine had */
    uint64_t reads;
    double wait_seconds;
};

struct l3 {
    struct source_unit unit;
    struct source_lane source[SOURCES];
    bool has_clock;
    group_handle clock;
    /* Of a count of wait; 0: not known. That of ANY is of the last window in which the CPU ran. */
    double sampled_seconds, any_seconds;
};

struct amd_l3 {
    struct source_set *sources;
    struct collector_status *status;
    double base_frequency_hz;
    struct l3 *l3s;
    size_t n;
    bool counting;          /* something was counted once */
    bool readings;          /* there was a reading once */
    bool unitless;          /* there was a count whose unit is not known */
    uint64_t ran_ns;        /* without counting anything */
    struct verdict verdict; /* the status's, but while nothing was counted */
};

static bool is_l3(const struct source_unit *unit)
{
    return strcmp(unit->kind, "l3") == 0;
}

static bool amd_l3_probe(const struct collector_env *env, struct verdict *why)
{
    const struct inventory *inventory = env->inventory;
    struct verdict any;
    if (!source_set_check(env->sources, SCOPE_UNIT, GROUP_L3_NEAR_DRAM, why)) {
        bool works = source_set_check(env->sources, SCOPE_UNIT, GROUP_L3_ANY, &any);
        /* Where there are events for any source only, it is their reason that counts. */
        if (works || (why->reason == REASON_UNSUPPORTED_CPU && any.reason != why->reason))
            *why = any;
        if (!works)
            return false;
    }
    for (size_t i = 0; i < inventory->n_units; i++)
        if (is_l3(&inventory->units[i]))
            return true;
    verdict_set(why, REASON_NO_DEVICE, "no L3 can time its misses");
    return false;
}

/* ---- a tick ---- */

static void learn_clock(struct amd_l3 *self, struct l3 *l3)
{
    struct window_sum sum;
    enum window_status status;
    uint64_t cycles, reference;
    if (!l3->has_clock || window_read(self->sources, l3->clock, self->status, &sum, &status) != 0 ||
        status != WINDOW_OK || !window_count(&sum, GROUP_L3_CLOCK, ROLE_L3_CPU_CYCLES, &cycles) ||
        !window_count(&sum, GROUP_L3_CLOCK, ROLE_L3_CPU_REF_CYCLES, &reference) || reference == 0)
        return;
    double frequency = self->base_frequency_hz * (double)cycles / (double)reference;
    (void)l3_cycles_unit_seconds(frequency, &l3->any_seconds);
}

/* What has no unit yet is not counted at all, so that the quotient of both counters holds. */
static void take_counts(struct amd_l3 *self, struct l3 *l3, int at, const struct window_sum *sum)
{
    struct source_lane *lane = &l3->source[at];
    const struct group_desc *desc = &group_descs[sources[at].group];
    double unit = at == ANY ? l3->any_seconds : l3->sampled_seconds, latency;
    uint64_t wait, reads;
    if (!window_count(sum, sources[at].group, desc->roles[0], &wait) ||
        !window_count(sum, sources[at].group, desc->roles[1], &reads))
        return;
    self->unitless |= unit == 0;
    self->counting |= reads > 0 && unit > 0;
    self->ran_ns += sum->running_ns;
    lane->reads += unit > 0 ? reads : 0;
    lane->wait_seconds += (double)wait * unit;
    if (l3_latency_seconds(wait, reads, unit, &latency) == 0)
        series_set(lane->series[L3_LATENCY], latency);
}

static int read_source(struct amd_l3 *self, struct l3 *l3, int at)
{
    struct source_lane *lane = &l3->source[at];
    struct window_sum sum;
    enum window_status status;
    int err = window_read(self->sources, lane->handle, self->status, &sum, &status);
    series_clear(lane->series[L3_LATENCY]);
    lane->seen |= !err;
    self->readings |= !err;
    if (!err && status == WINDOW_OK)
        take_counts(self, l3, at, &sum);
    return err == -ENODATA ? 0 : err;
}

static void show(const struct amd_l3 *self)
{
    for (size_t i = 0; i < self->n; i++) {
        const struct l3 *l3 = &self->l3s[i];
        for (int at = 0; at < SOURCES; at++) {
            const struct source_lane *lane = &l3->source[at];
            bool shown = self->counting && lane->seen;
            if (!lane->open)
                continue;
            series_show_u64(lane->series[L3_READS], shown, lane->reads);
            series_show(lane->series[L3_WAIT], shown, lane->wait_seconds);
        }
    }
}

static void explain_silence(const struct amd_l3 *self, struct verdict *out)
{
    if (!self->readings)
        verdict_set(out, REASON_NO_DEVICE, "the recording has no counts of an L3");
    else if (self->unitless)
        verdict_set(out, REASON_NO_DEVICE,
                    "how long a count of the L3's waiting is cannot be told: the kernel shows no "
                    "size of the L3 (cache/index3/size of a CPU) or, on Zen 2 and 3, no clock of a "
                    "CPU (aperf and mperf of the PMU msr)");
    else
        verdict_set(out, REASON_EVENT_FILTERED,
                    "the PMU of the L3 (amd_l3) is listed and its events open, but they count "
                    "nothing on any L3: the hypervisor filters them; it works on bare metal only");
}

/* Hypervisors list this PMU, and let its events open, without letting them count: no zeros then. */
static void judge(struct amd_l3 *self)
{
    struct collector_status *status = self->status;
    bool silent = !self->readings || (!self->counting && self->ran_ns >= judged_after_ns);
    status_silence(status, silent, &self->verdict);
    if (silent)
        explain_silence(self, &status->verdict);
}

static int amd_l3_collect(void *opaque, const struct tick *tick)
{
    struct amd_l3 *self = opaque;
    int result = 0;
    (void)tick;
    for (size_t i = 0; i < self->n; i++) {
        learn_clock(self, &self->l3s[i]);
        for (int at = 0; at < SOURCES; at++) {
            int err = self->l3s[i].source[at].open ? read_source(self, &self->l3s[i], at) : 0;
            result = result ? result : err;
        }
    }
    show(self);
    judge(self);
    return result;
}

/* ---- life ---- */

static int open_group(struct amd_l3 *self, const struct source_unit *unit, enum group group,
                      group_handle *out, struct verdict *why)
{
    const struct scope scope = {
        .kind = SCOPE_UNIT, .key = unit->key, .cgroup_fd = -1, .unit = unit};
    return source_set_open(self->sources, &scope, group, out, why);
}

static void close_l3(struct amd_l3 *self, struct l3 *l3)
{
    for (int at = 0; at < SOURCES; at++) {
        if (l3->source[at].open)
            source_set_close(self->sources, l3->source[at].handle);
        named_series_release(l3->source[at].series, L3_METRICS);
    }
    if (l3->has_clock)
        source_set_close(self->sources, l3->clock);
    *l3 = (struct l3){0};
}

/* All sources that the CPU tells apart, or none of this L3. 0; -ENODEV: it has none; or why not. */
static int open_l3(struct amd_l3 *self, struct l3 *l3, struct verdict *why)
{
    struct verdict ignored;
    int opened = 0;
    for (int at = 0; at < SOURCES; at++) {
        struct source_lane *lane = &l3->source[at];
        int err = open_group(self, &l3->unit, sources[at].group, &lane->handle, why);
        if (err && err != -ENODEV)
            return err;
        lane->open = err == 0;
        opened += lane->open;
    }
    (void)l3_sampled_unit_seconds(l3->unit.cache_bytes, &l3->sampled_seconds);
    if (l3->source[ANY].open)
        l3->has_clock = open_group(self, &l3->unit, GROUP_L3_CLOCK, &l3->clock, &ignored) == 0;
    return opened ? 0 : -ENODEV;
}

static int make_series(struct l3 *l3, struct family *family, int at, int metric)
{
    char socket[12], number[12];
    snprintf(socket, sizeof socket, "%d", l3->unit.socket);
    snprintf(number, sizeof number, "%d", l3->unit.imc);
    const struct label own[] = {{"socket", socket}, {"l3", number}, {"source", sources[at].label}};
    return named_series_new(family, NULL, own, 3, &l3->source[at].series[metric]);
}

static int make_families(struct amd_l3 *self, struct store *store)
{
    int err = 0;
    for (int m = 0; m < L3_METRICS && !err; m++) {
        struct family *family;
        err = store_family(store, &descs[m], "amd_l3", &family);
        for (size_t i = 0; i < self->n; i++)
            for (int at = 0; at < SOURCES && !err; at++)
                if (self->l3s[i].source[at].open)
                    err = make_series(&self->l3s[i], family, at, m);
    }
    return err;
}

static int open_l3s(struct amd_l3 *self, const struct collector_env *env)
{
    const struct inventory *inventory = env->inventory;
    int first = -ENODEV;
    self->l3s = calloc(inventory->n_units + 1, sizeof *self->l3s);
    if (!self->l3s)
        return -ENOMEM;
    for (size_t i = 0; i < inventory->n_units; i++) {
        struct l3 *l3 = &self->l3s[self->n];
        struct verdict why = {0};
        if (!is_l3(&inventory->units[i]))
            continue;
        l3->unit = inventory->units[i];
        int err = open_l3(self, l3, &why);
        if (!err) {
            self->n++;
            continue;
        }
        close_l3(self, l3);
        self->status->open_failures[why.reason]++;
        log_warn(env->log, "amd_l3", "%s is not counted: %s", inventory->units[i].key, why.words);
        if (self->status->verdict.reason == REASON_OK) {
            first = err;
            self->status->verdict = why;
        }
    }
    return self->n > 0 ? 0 : first;
}

static void amd_l3_stop(void *opaque)
{
    struct amd_l3 *self = opaque;
    if (!self)
        return;
    for (size_t i = 0; i < self->n; i++)
        close_l3(self, &self->l3s[i]);
    free(self->l3s);
    free(self);
}

static int amd_l3_start(const struct collector_env *env, struct collector_status *status,
                        void **out)
{
    struct amd_l3 *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    *self = (struct amd_l3){.sources = env->sources,
                            .status = status,
                            .base_frequency_hz = env->facts->machine.base_frequency_hz};
    int err = open_l3s(self, env);
    if (!err)
        err = make_families(self, env->store);
    if (err) {
        amd_l3_stop(self);
        return err;
    }
    *out = self;
    return 0;
}

const struct collector_ops amd_l3_collector = {
    .name = "amd_l3",
    .summary = "latency of L3 misses on AMD's CPUs, by where the line came from",
    .default_on = COLLECTOR_AUTO,
    .metrics = metrics,
    .discards = DISCARDS_OF_WINDOWS,
    .probe = amd_l3_probe,
    .start = amd_l3_start,
    .collect = amd_l3_collect,
    .stop = amd_l3_stop,
};
