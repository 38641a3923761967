#include "exporter/self/self.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/self/metrics.h"
#include "exporter/service/own_process.h"

/* What each collector has one of. */
enum plain { AVAILABLE, SUCCESS, DURATION, LAST_SUCCESS, PMU_ENABLED, PMU_RUNNING, PLAINS };

static const enum self_metric plain_metrics[PLAINS] = {
    [AVAILABLE] = SELF_COLLECTOR_AVAILABLE, [SUCCESS] = SELF_COLLECTOR_SUCCESS,
    [DURATION] = SELF_COLLECTOR_DURATION,   [LAST_SUCCESS] = SELF_COLLECTOR_LAST_SUCCESS,
    [PMU_ENABLED] = SELF_PMU_ENABLED,       [PMU_RUNNING] = SELF_PMU_RUNNING,
};

struct collector_series {
    struct series *plain[PLAINS];
    struct series *reason[REASON_COUNT]; /* of the info; one is present */
    unsigned discards;                   /* of its ops */
    struct series *discarded[DISCARD_COUNT];
    struct series *open_failures[REASON_COUNT]; /* NULL for what is no failure */
};

struct http_series {
    char handler[32], format[16];
    int code;
    struct series *series;
};

struct self {
    struct family *family[SELF_METRICS];
    struct series *single[SELF_METRICS]; /* of families without labels */
    struct series *build, *source;
    struct series *newest; /* file of the black box, with this name; NULL: there is none */
    char newest_name[SHELF_NAME_BYTES];
    struct series *containers[CONTAINER_COUNTS];
    struct series *log_dropped[LOG_DROPS];
    struct series *refused[CGROUP_REFUSALS];
    struct collector_series *collectors;
    size_t n_collectors;
    struct http_series *http;
    size_t n_http, http_cap;
    struct own_process process;
};

/* More combinations than any honest client makes. */
enum { HTTP_SERIES_MAX = 256 };

static bool is_failure(enum reason reason)
{
    return reason != REASON_OK && reason != REASON_DISABLED && reason != REASON_NO_GROUPS;
}

/* ---- making ---- */

/* Absent until it is set: what cannot happen on this machine must not be a zero in the store of
 * thousands of them. */
static int make_latent(struct family *family, const struct label *labels, size_t n,
                       struct series **out)
{
    int err = series_new(family, NULL, labels, n, out);
    if (!err)
        series_clear(*out);
    return err;
}

static int make_collector(struct self *self, struct collector_series *c,
                          const struct collector_ops *ops)
{
    struct label labels[2] = {{"collector", ops->name}, {"reason", NULL}};
    int err = 0;
    c->discards = ops->discards;
    for (int i = 0; !err && i < PLAINS; i++)
        err = make_latent(self->family[plain_metrics[i]], labels, 1, &c->plain[i]);
    for (int i = 0; !err && i < DISCARD_COUNT; i++) {
        labels[1].value = discard_name((enum discard_reason)i);
        err = make_latent(self->family[SELF_WINDOWS_DISCARDED], labels, 2, &c->discarded[i]);
    }
    for (int i = 0; !err && i < REASON_COUNT; i++) {
        labels[1].value = reason_name((enum reason)i);
        err = series_new(self->family[SELF_COLLECTOR], NULL, labels, 2, &c->reason[i]);
        if (!err && is_failure((enum reason)i))
            err = make_latent(self->family[SELF_OPEN_FAILURES], labels, 2, &c->open_failures[i]);
    }
    return err;
}

static int make_collectors(struct self *self, const struct collector_ops *const *collectors)
{
    size_t n = 0;
    while (collectors[n])
        n++;
    self->collectors = calloc(n ? n : 1, sizeof *self->collectors);
    if (!self->collectors)
        return -ENOMEM;
    int err = 0;
    for (; !err && self->n_collectors < n; self->n_collectors++)
        err = make_collector(self, &self->collectors[self->n_collectors],
                             collectors[self->n_collectors]);
    return err;
}

static const char *state_name(int state)
{
    static const char *const states[CONTAINER_COUNTS] = {
        [CONTAINERS_MONITORED] = "monitored",
        [CONTAINERS_LINGERING] = "lingering",
        [CONTAINERS_EXCLUDED] = "excluded",
        [CONTAINERS_OVER_LIMIT] = "over_limit",
    };
    return states[state];
}

static const char *drop_name(int drop)
{
    return log_drop_name((enum log_drop)drop);
}

static const char *refusal_name(int why)
{
    return cgroup_refusal_name((enum cgroup_refusal)why);
}

/* One for each value of its label. */
static int make_each(struct self *self, enum self_metric metric, const char *(*name)(int), int n,
                     struct series **out)
{
    int err = 0;
    for (int i = 0; !err && i < n; i++) {
        const struct label label = {self_descs[metric].labels, name(i)};
        err = series_new(self->family[metric], NULL, &label, 1, &out[i]);
    }
    return err;
}

static int make_infos(struct self *self, const struct self_config *config)
{
    const char *arch = config->microarchitecture;
    const struct label build[] = {
        {"version", config->version},
        {"revision", config->revision},
        {"compiler", config->compiler},
    };
    const struct label source[] = {
        {"source", config->source},
        {"microarchitecture", arch && *arch ? arch : "unknown"},
    };
    int err = series_new(self->family[SELF_BUILD], NULL, build, 3, &self->build);
    if (!err)
        err = series_new(self->family[SELF_SOURCE], NULL, source, 2, &self->source);
    if (!err) {
        series_set_u64(self->build, 1);
        series_set_u64(self->source, 1);
    }
    return err;
}

static int make_families(struct self *self, struct store *store, bool all)
{
    int err = 0;
    for (int i = 0; !err && i < (all ? SELF_METRICS : SELF_ALWAYS); i++) {
        err = store_family(store, &self_descs[i], NULL, &self->family[i]);
        if (!err && !self_descs[i].labels)
            err = series_new(self->family[i], NULL, NULL, 0, &self->single[i]);
        if (!err && i >= SELF_BLACKBOX_ACTIVE && i <= SELF_BLACKBOX_FILE_BYTES)
            series_clear(self->single[i]); /* until there is one */
    }
    return err;
}

/* What is to be alerted on: rates need the 0 before the first. Other combinations appear when they
 * happen. */
static void expect_requests(struct self *self)
{
    static const struct {
        const char *handler, *format;
        int code;
    } expected[] = {
        {"metrics", "text", 500},
        {"metrics", "text", 503},
        {"healthy", "text", 503},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        self_http_requests(self, expected[i].handler, expected[i].format, expected[i].code, 0);
}

int self_new(struct store *store, const struct self_config *config, struct self **out)
{
    struct self *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->process.memory_fd = -1;
    bool all = !config->disable_exporter_metrics;
    int err = make_families(self, store, all);
    if (!err)
        err = make_infos(self, config);
    if (!err)
        err = make_collectors(self, config->collectors);
    if (!err)
        err = make_each(self, SELF_CONTAINERS, state_name, CONTAINER_COUNTS, self->containers);
    if (!err)
        err = make_each(self, SELF_LOG_DROPPED, drop_name, LOG_DROPS, self->log_dropped);
    if (!err)
        err = make_each(self, SELF_CGROUPS_REFUSED, refusal_name, CGROUP_REFUSALS, self->refused);
    struct fsroot own;
    if (!err && all)
        err = fsroot_init(&own, NULL, NULL, NULL, NULL);
    if (err) {
        self_free(self);
        return err;
    }
    if (all) {
        process_init(&self->process, &own);
        fsroot_release(&own);
        expect_requests(self);
    }
    *out = self;
    return 0;
}

static void free_all(struct series **series, size_t n)
{
    for (size_t i = 0; i < n; i++)
        series_free(series[i]);
}

void self_free(struct self *self)
{
    if (!self)
        return;
    free_all(self->single, SELF_METRICS);
    series_free(self->build);
    series_free(self->newest);
    series_free(self->source);
    free_all(self->containers, CONTAINER_COUNTS);
    free_all(self->log_dropped, LOG_DROPS);
    for (size_t i = 0; i < self->n_collectors; i++) {
        struct collector_series *c = &self->collectors[i];
        free_all(c->plain, PLAINS);
        free_all(c->reason, REASON_COUNT);
        free_all(c->discarded, DISCARD_COUNT);
        free_all(c->open_failures, REASON_COUNT);
    }
    for (size_t i = 0; i < self->n_http; i++)
        series_free(self->http[i].series);
    free(self->collectors);
    free(self->http);
    process_release(&self->process);
    free(self);
}

/* ---- updating ---- */

static double seconds_of(uint64_t ns)
{
    /* A date in ns has more digits than a double. */
    return (double)(ns / 1000000000) + (double)(ns % 1000000000) / 1e9;
}

/* What never happened has no date. */
static void set_date(struct series *series, uint64_t wall_ns)
{
    series_show(series, wall_ns > 0, seconds_of(wall_ns));
}

static void update_collector(struct collector_series *c, const struct self_collector *state)
{
    static const struct collector_status nothing = {.verdict.reason = REASON_OK};
    const struct collector_status *status = state->status ? state->status : &nothing;
    enum reason reason = status->verdict.reason;
    if (!state->enabled && reason == REASON_OK)
        reason = REASON_DISABLED;
    bool available = state->enabled && collector_is_available(status);
    bool counts = status->pmu_enabled_seconds > 0;

    series_set_u64(c->plain[AVAILABLE], available);
    series_show_u64(c->plain[SUCCESS], state->enabled, available && !status->failed);
    series_show(c->plain[DURATION], state->enabled, state->duration_seconds);
    set_date(c->plain[LAST_SUCCESS], state->last_success_wall_ns);
    series_show(c->plain[PMU_ENABLED], counts, status->pmu_enabled_seconds);
    series_show(c->plain[PMU_RUNNING], counts, status->pmu_running_seconds);
    for (int i = 0; i < DISCARD_COUNT; i++) {
        bool common = state->enabled && c->discards & DISCARD_BIT((unsigned)i);
        series_show_u64(c->discarded[i], common || status->discarded[i] > 0, status->discarded[i]);
    }
    for (int i = 0; i < REASON_COUNT; i++) {
        series_show_u64(c->reason[i], i == (int)reason, 1);
        if (c->open_failures[i])
            series_show_u64(c->open_failures[i], status->open_failures[i] > 0,
                            status->open_failures[i]);
    }
}

static void update_process(struct self *self)
{
    struct process_numbers now;
    process_read(&self->process, &now);
    series_set(self->single[SELF_CPU_SECONDS], now.cpu_seconds);
    series_show(self->single[SELF_OPEN_FDS], now.known & PROCESS_OPEN_FDS, (double)now.open_fds);
    series_show(self->single[SELF_MAX_FDS], now.known & PROCESS_MAX_FDS, (double)now.max_fds);
    series_show(self->single[SELF_VIRTUAL_MEMORY], now.known & PROCESS_MEMORY,
                (double)now.virtual_memory_bytes);
    series_show(self->single[SELF_RESIDENT_MEMORY], now.known & PROCESS_MEMORY,
                (double)now.resident_memory_bytes);
    series_show(self->single[SELF_START_TIME], now.known & PROCESS_START_TIME,
                now.start_time_seconds);
}

/* A series that could not be made is tried again with the next tick. */
static void show_newest(struct self *self, const struct self_state *state)
{
    const struct blackbox_report *report = &state->blackbox;
    const char *name = report->n_files > 0 ? report->files[report->n_files - 1].name : "";
    char path[4096];
    if (strcmp(name, self->newest_name) == 0 && (self->newest || !name[0]))
        return;
    series_free(self->newest);
    self->newest = NULL;
    snprintf(self->newest_name, sizeof self->newest_name, "%s", name);
    snprintf(path, sizeof path, "%s/%s", state->blackbox_directory, name);
    const struct label label = {"file", path};
    if (name[0] && self->family[SELF_BLACKBOX_NEWEST] &&
        series_new(self->family[SELF_BLACKBOX_NEWEST], NULL, &label, 1, &self->newest) == 0)
        series_set_u64(self->newest, 1);
}

static void update_blackbox(struct self *self, const struct self_state *state)
{
    const struct blackbox_report *report = &state->blackbox;
    uint64_t bytes = 0;
    for (size_t i = 0; i < report->n_files; i++)
        bytes += report->files[i].bytes;
    series_set_u64(self->single[SELF_BLACKBOX_ACTIVE], state->blackbox_active);
    series_set_u64(self->single[SELF_BLACKBOX_MEMORY], report->ring_bytes);
    series_set(self->single[SELF_BLACKBOX_HELD], seconds_of(report->ring_span_ns));
    series_set_u64(self->single[SELF_BLACKBOX_DROPPED], state->blackbox_dropped);
    series_set_u64(self->single[SELF_BLACKBOX_RESTARTS],
                   report->starts > 0 ? report->starts - 1 : 0);
    series_set_u64(self->single[SELF_BLACKBOX_WRITTEN], report->written);
    series_set_u64(self->single[SELF_BLACKBOX_FAILURES], report->failed);
    series_set_u64(self->single[SELF_BLACKBOX_FILES], report->n_files);
    series_set_u64(self->single[SELF_BLACKBOX_FILE_BYTES], bytes);
    show_newest(self, state);
}

void self_update(struct self *self, const struct self_state *state)
{
    for (size_t i = 0; i < self->n_collectors; i++)
        update_collector(&self->collectors[i], &state->collectors[i]);
    series_set_u64(self->single[SELF_TICKS], state->ticks);
    series_set_u64(self->single[SELF_MISSED_TICKS], state->missed_ticks);
    set_date(self->single[SELF_LAST_TICK], state->tick->number > 0 ? state->tick->wall_ns : 0);
    for (int i = 0; i < LOG_DROPS; i++)
        series_set_u64(self->log_dropped[i], state->log_dropped[i]);
    if (state->records)
        series_set_u64(self->single[SELF_RECORDING_ACTIVE], state->recording_active);
    if (state->has_blackbox)
        update_blackbox(self, state);
    for (int i = 0; i < CONTAINER_COUNTS; i++)
        series_set_u64(self->containers[i], state->containers[i]);
    series_set_u64(self->single[SELF_CONTAINERS_LIMIT], state->containers_limit);
    for (int i = 0; i < CGROUP_REFUSALS; i++)
        series_set_u64(self->refused[i], state->refused[i]);
    series_set_u64(self->single[SELF_OPEN_COUNTERS], state->open_counters);
    series_set_u64(self->single[SELF_RELOAD_SUCCESSFUL], state->reload_successful);
    set_date(self->single[SELF_RELOAD_TIME], state->reload_success_wall_ns);
    if (self->family[SELF_CPU_SECONDS])
        update_process(self);
}

/* ---- requests ---- */

static struct http_series *add_http(struct self *self, const char *handler, const char *format,
                                    int code)
{
    if (self->n_http == HTTP_SERIES_MAX)
        return NULL;
    if (array_reserve(&self->http, &self->http_cap, self->n_http + 1, sizeof *self->http))
        return NULL;
    struct http_series *entry = &self->http[self->n_http];
    *entry = (struct http_series){.code = code};
    snprintf(entry->handler, sizeof entry->handler, "%s", handler);
    snprintf(entry->format, sizeof entry->format, "%s", format);
    char number[16];
    snprintf(number, sizeof number, "%d", code);
    const struct label labels[] = {
        {"handler", entry->handler}, {"format", entry->format}, {"code", number}};
    if (series_new(self->family[SELF_HTTP_REQUESTS], NULL, labels, 3, &entry->series) != 0)
        return NULL;
    self->n_http++;
    return entry;
}

void self_http_requests(void *context, const char *handler, const char *format, int code,
                        uint64_t count)
{
    struct self *self = context;
    if (!self->family[SELF_HTTP_REQUESTS])
        return;
    format = format ? format : "";
    struct http_series *entry = NULL;
    for (size_t i = 0; i < self->n_http && !entry; i++) {
        struct http_series *known = &self->http[i];
        if (known->code == code &&
            strncmp(known->handler, handler, sizeof known->handler - 1) == 0 &&
            strncmp(known->format, format, sizeof known->format - 1) == 0)
            entry = known;
    }
    if (!entry)
        entry = add_http(self, handler, format, code);
    if (entry)
        series_set_u64(entry->series, count);
}
