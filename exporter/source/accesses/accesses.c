#include "exporter/source/accesses/accesses.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/source/perf/cpus.h"
#include "exporter/source/perf/explain.h"
#include "exporter/source/sampler/sampler.h"

enum {
    /* Together not more than every user may lock, 128 pages a CPU and one for each event. */
    STORE_PAGES = 64,  /* some 6,000 samples a CPU */
    SHARED_PAGES = 32, /* for stores, and for loads, where there are both */
    MAPPING_PAGES = 32,
    QUEUE_SAMPLES = 1 << 18,
    MAX_PROCESSES = 4096,
    MAX_MAPPING_BYTES = 64 << 20,
    CODE_ENTRIES = 1 << 17,
    MAX_WAITING = 1 << 16,
    MANY_UNSEEN = 1000,
};

/* The sampler settles ten times a second. */
static const uint64_t blocked_ns = 1000000000;

static const enum role roles[ACCESS_KINDS] = {
    [ACCESS_STORE] = ROLE_STORES,
    [ACCESS_LOAD] = ROLE_LOADS,
};
static const enum group groups[ACCESS_KINDS] = {
    [ACCESS_STORE] = GROUP_STORES,
    [ACCESS_LOAD] = GROUP_LOADS,
};

/* One kind of access. */
struct sampled {
    struct encoded_event event; /* all zero: none */
    struct verdict why;         /* REASON_OK: it is sampled */
    int index;                  /* among the sampler's events; -1: not sampled */
};

struct perf_samples {
    struct source source; /* first */
    struct perf_samples_config config;
    bool opened; /* or tried to */
    bool warned_unseen, warned_lost;
    struct perf_cpus cpus;
    struct sampled of[ACCESS_KINDS];
    struct encoded_event mappings;
    enum access access_of[SAMPLER_EVENTS]; /* beside the sampler's events */
    size_t n_events, mapping_event;
    struct sample_queue *queue;
    struct assignment *assignment;
    struct sampler *sampler;
};

static struct perf_samples *self_of(struct source *source)
{
    return (struct perf_samples *)source;
}

static uint64_t monotonic_ns(void *context)
{
    (void)context;
    return clock_mono_ns();
}

/* ---- the sampler's thread ---- */

static void on_record(void *context, size_t event, const struct kernel_record *record)
{
    struct perf_samples *self = context;
    if (event == self->mapping_event)
        assignment_event(self->assignment, record);
    else if (record->kind == KERNEL_RECORD_SAMPLE)
        assignment_sample(self->assignment, self->access_of[event], record);
}

static void on_settle(void *context, uint64_t time_ns)
{
    struct perf_samples *self = context;
    assignment_settle(self->assignment, time_ns);
}

/* ---- opening ---- */

static int prepare_event(struct perf_samples *self, enum access access)
{
    const struct perf_samples_config *config = &self->config;
    struct sampled *sampled = &self->of[access];
    const char *text = event_text(config->file, config->table, roles[access]);
    if (!text) {
        perf_explain_no_event(config->fs, config->table, groups[access], roles[access],
                              &sampled->why);
        return -ENOENT;
    }
    int err = encode_event(config->fs, text, &sampled->event, &sampled->why);
    /* The instruction itself, and its address: ordinary samples have neither. */
    if (!err && !sampled->event.software && sampled->event.attr.precise_ip == 0)
        sampled->event.attr.precise_ip = 2;
    return err;
}

static bool has_capability(int capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
    return syscall(SYS_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

/* Whoever reads the processes. */
static bool may(const struct perf_samples_config *config, int capability)
{
    const struct process_reader *reader = config->reader;
    return reader && reader->ops->may ? reader->ops->may(reader, capability)
                                      : has_capability(capability);
}

/* Processes are known by number: those of the samples must be those of this procfs, and their
 * mappings must be ours to read. */
static bool sees_processes(const struct perf_samples_config *config, struct verdict *why)
{
    const struct fsroot *fs = config->fs;
    enum reason reason = config->asked_for ? REASON_NO_PERMISSION : REASON_DISABLED;
    char path[4096], self[32];
    int err = fsroot_path(fs, FSROOT_PROC, "self", path, sizeof path);
    ssize_t n = err ? -1 : readlink(path, self, sizeof self - 1);
    if (n > 0)
        self[n] = '\0';
    if (n <= 0 || strtol(self, NULL, 10) != (long)getpid()) {
        verdict_set(why, reason,
                    "samples of memory accesses: the process ids in %s differ from those that this "
                    "exporter sees: in Kubernetes, set hostPID: true",
                    fs->path[FSROOT_PROC]);
        return false;
    }
    if (!may(config, CAP_SYS_PTRACE)) {
        verdict_set(why, reason,
                    "samples of memory accesses: cannot read the mappings and code of other "
                    "processes: grant CAP_SYS_PTRACE");
        return false;
    }
    return true;
}

static void explain(const struct perf_samples *self, enum access access, int err,
                    struct verdict *why)
{
    char what[64];
    snprintf(what, sizeof what, "samples of %ss", access_name(access));
    if (err == -EPERM)
        verdict_set(why, REASON_NO_PERMISSION,
                    "%s: forbidden (EPERM): other programs have used up this user's locked memory "
                    "(raise sysctl kernel.perf_event_mlock_kb by %d, or LimitMEMLOCK= by as many "
                    "KiB per CPU), or a seccomp profile forbids perf_event_open",
                    what, (STORE_PAGES + MAPPING_PAGES + ACCESS_KINDS + 1) * 4);
    else if (err == -EOPNOTSUPP)
        verdict_set(why, REASON_NO_PMU,
                    "%s: this machine has no precise samples (EOPNOTSUPP): they require a CPU with "
                    "PEBS, on bare metal or under a hypervisor that exposes it",
                    what);
    else if (err == -ENOMEM)
        verdict_set(why, REASON_NO_DEVICE, "%s: out of memory", what);
    else
        perf_explain(err, what, perf_paranoid_level(self->config.fs), why);
}

/* Which samples have their cgroup. */
enum cgroups { CGROUPS_NONE, CGROUPS_IMPRECISE, CGROUPS_ALL };

static void add_event(struct perf_samples *self, struct sampler_config *config, enum access access,
                      enum cgroups cgroups, size_t pages)
{
    const struct encoded_event *event = &self->of[access].event;
    self->of[access].index = (int)config->n_events;
    self->access_of[config->n_events] = access;
    config->events[config->n_events++] = (struct sampler_event){
        .event = event,
        .period = self->config.period,
        .cgroup =
            cgroups == CGROUPS_ALL || (cgroups == CGROUPS_IMPRECISE && event->attr.precise_ip == 0),
        .data_pages = pages,
    };
}

/* The mappings' event first: of records with the same time its come first. */
static int open_events(struct perf_samples *self, bool loads, enum cgroups cgroups)
{
    struct sampler_config config = {
        .kernel = self->config.kernel,
        .events = {{.event = &self->mappings,
                    .period = 1,
                    .mappings = true,
                    .data_pages = MAPPING_PAGES}},
        .n_events = 1,
        .cpus = self->cpus.at,
        .n_cpus = self->cpus.n,
        .sink = {.record = on_record, .settle = on_settle, .context = self},
    };
    self->mapping_event = 0;
    add_event(self, &config, ACCESS_STORE, cgroups, loads ? SHARED_PAGES : STORE_PAGES);
    self->of[ACCESS_LOAD].index = -1;
    if (loads)
        add_event(self, &config, ACCESS_LOAD, cgroups, SHARED_PAGES);
    int err = sampler_new(&config, &self->sampler);
    if (err)
        self->of[ACCESS_STORE].index = self->of[ACCESS_LOAD].index = -1;
    return err;
}

/* Whether the cgroup costs anything is known when it is open. Kernels before 5.7 do not know that
 * field. */
static int open_with_or_without_cgroups(struct perf_samples *self, bool loads)
{
    enum cgroups cgroups = self->config.no_cgroups ? CGROUPS_NONE : CGROUPS_IMPRECISE;
    bool precise = self->of[ACCESS_STORE].event.attr.precise_ip > 0 ||
                   (loads && self->of[ACCESS_LOAD].event.attr.precise_ip > 0);
    int err = open_events(self, loads, cgroups);
    if (!err && precise && cgroups != CGROUPS_NONE && !sampler_is_batched(self->sampler)) {
        sampler_free(self->sampler);
        self->sampler = NULL;
        err = open_events(self, loads, CGROUPS_ALL);
    }
    return err == -EINVAL && cgroups != CGROUPS_NONE ? open_events(self, loads, CGROUPS_NONE) : err;
}

static int make_parts(struct perf_samples *self)
{
    const struct assignment_config config = {
        .fs = self->config.fs,
        .reader = self->config.reader,
        .rule = self->config.rule,
        .owners = self->config.owners,
        .now_ns = monotonic_ns,
        .cpu_ns = self->config.cpu_ns,
        .max_processes = MAX_PROCESSES,
        .max_mapping_bytes = MAX_MAPPING_BYTES,
        .code_entries = CODE_ENTRIES,
        .max_waiting = MAX_WAITING,
    };
    int err = perf_cpus_init(&self->cpus, self->config.fs);
    if (!err)
        err = sample_queue_new(QUEUE_SAMPLES, &self->queue);
    if (!err) {
        struct assignment_config with_queue = config;
        with_queue.queue = self->queue;
        err = assignment_new(&with_queue, &self->assignment);
    }
    if (!err)
        err = encode_event(self->config.fs, "software:dummy", &self->mappings,
                           &self->of[ACCESS_STORE].why);
    return err;
}

/* Linux 5.9 made a capability of its own for that. */
static void look_for_files(const struct perf_samples *self)
{
    if (!may(&self->config, CAP_CHECKPOINT_RESTORE) && !may(&self->config, CAP_SYS_ADMIN))
        log_warn(
            self->config.log, "samples",
            "cannot identify the files that processes have mapped: accesses to them, and so to "
            "persistent memory, count as unknown: grant CAP_CHECKPOINT_RESTORE");
    else if (!may(&self->config, CAP_DAC_READ_SEARCH))
        log_warn(self->config.log, "samples",
                 "cannot identify the files that processes of other users than root have mapped: "
                 "accesses to them, and so to persistent memory, count as unknown: grant "
                 "CAP_DAC_READ_SEARCH");
}

/* Stores work without loads, but not the reverse: no collector wants loads alone. */
static void open_all(struct perf_samples *self)
{
    struct verdict *stores = &self->of[ACCESS_STORE].why, *loads = &self->of[ACCESS_LOAD].why;
    bool with_loads = self->config.loads;
    if (!with_loads)
        verdict_set(loads, REASON_DISABLED, "loads are not sampled: no collector asked for them");
    if (self->config.nothing.reason != REASON_OK) {
        *stores = self->config.nothing;
        return;
    }
    if (prepare_event(self, ACCESS_STORE) != 0 || !sees_processes(&self->config, stores))
        return;
    with_loads = with_loads && prepare_event(self, ACCESS_LOAD) == 0;
    int err = make_parts(self), loads_err = 0;
    if (!err)
        err = loads_err = open_with_or_without_cgroups(self, with_loads);
    if (err && with_loads && self->assignment)
        err = open_with_or_without_cgroups(self, false);
    if (!err)
        err = sampler_start(self->sampler);
    if (!err)
        look_for_files(self);
    if (err)
        explain(self, ACCESS_STORE, err, stores);
    else if (loads_err)
        explain(self, ACCESS_LOAD, loads_err, loads);
}

/* ---- ops ---- */

static bool samples(struct source *source, enum access access, struct verdict *why)
{
    struct perf_samples *self = self_of(source);
    if (!self->opened) {
        self->opened = true;
        open_all(self);
        if (self->of[ACCESS_STORE].why.reason != REASON_OK &&
            self->of[ACCESS_LOAD].why.reason == REASON_OK)
            self->of[ACCESS_LOAD].why = self->of[ACCESS_STORE].why;
    }
    *why = self->of[access].why;
    return why->reason == REASON_OK;
}

/* Where procfs is that of our own PID namespace, only the samples show that it is not the host's.
 */
static void look_for_unseen(struct perf_samples *self)
{
    uint64_t unseen = self->warned_unseen ? 0 : assignment_counts(self->assignment).unseen;
    if (unseen < MANY_UNSEEN)
        return;
    self->warned_unseen = true;
    log_warn(self->config.log, "samples",
             "%" PRIu64 " samples come from processes that this exporter cannot see: it is not in "
             "the host's PID namespace; in Kubernetes, set hostPID: true",
             unseen);
}

uint64_t perf_samples_lost_mappings(const struct source *source)
{
    const struct perf_samples *self = (const struct perf_samples *)source;
    return self->sampler ? sampler_counts(self->sampler, self->mapping_event).lost : 0;
}

static void look_for_losses(struct perf_samples *self)
{
    uint64_t lost = perf_samples_lost_mappings(&self->source);
    if (self->warned_lost || lost == 0)
        return;
    self->warned_lost = true;
    log_warn(self->config.log, "samples",
             "%" PRIu64 " records of mappings were lost; samples from around each loss have "
             "neither medium nor size (logged once)",
             lost);
}

static int begin(struct source *source, const struct tick *tick)
{
    struct perf_samples *self = self_of(source);
    bool changed;
    (void)tick;
    if (!self->sampler)
        return 0;
    look_for_unseen(self);
    look_for_losses(self);
    int err = perf_cpus_refresh(&self->cpus, &changed);
    if (!err && changed)
        err = sampler_set_cpus(self->sampler, self->cpus.at, self->cpus.n);
    return err ? err : sampler_error(self->sampler);
}

static size_t drain(struct source *source, struct access_sample *out, size_t cap)
{
    struct perf_samples *self = self_of(source);
    return self->queue ? sample_queue_take(self->queue, out, cap) : 0;
}

static void sampling(struct source *source, enum access access, struct sampling *out)
{
    struct perf_samples *self = self_of(source);
    const struct sampled *sampled = &self->of[access];
    *out = (struct sampling){.period = self->config.period};
    if (!self->sampler || sampled->index < 0)
        return;
    struct sampler_counts counts = sampler_counts(self->sampler, (size_t)sampled->index);
    struct assignment_counts attributed = assignment_counts(self->assignment);
    out->settled_ns = sample_queue_settled(self->queue);
    /* A buffer that was thrown away held at least one. */
    out->lost = counts.lost + counts.broken + attributed.dropped[access];
    out->throttles = counts.throttles;
    out->error = sampler_error(self->sampler);
    if (out->settled_ns + blocked_ns < clock_mono_ns())
        out->blocked_pid = attributed.looks_at;
    out->apart = self->config.reader != NULL;
    out->hung = attributed.hung;
    out->hung_pid = attributed.hung_at;
    out->refused = attributed.refused;
}

static int end(struct source *source)
{
    struct perf_samples *self = self_of(source);
    return self->sampler ? sampler_end(self->sampler) : 0;
}

static size_t open_counters(struct source *source)
{
    const struct perf_samples *self = self_of(source);
    return self->sampler ? sampler_open_events(self->sampler) : 0;
}

static void free_all(struct source *source)
{
    struct perf_samples *self = self_of(source);
    if (!self)
        return;
    sampler_free(self->sampler); /* first: its thread uses the rest */
    assignment_free(self->assignment);
    sample_queue_free(self->queue);
    for (int i = 0; i < ACCESS_KINDS; i++)
        encoded_event_release(&self->of[i].event);
    encoded_event_release(&self->mappings);
    perf_cpus_release(&self->cpus);
    free(self);
}

static const struct source_ops ops = {
    .name = "perf",
    .begin = begin,
    .samples = samples,
    .drain = drain,
    .sampling = sampling,
    .open_counters = open_counters,
    .end = end,
    .free = free_all,
};

int perf_samples_new(const struct perf_samples_config *config, struct source **out)
{
    struct perf_samples *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->source.ops = &ops;
    self->config = *config;
    self->cpus.fd = -1;
    for (int i = 0; i < ACCESS_KINDS; i++)
        self->of[i].index = -1;
    *out = &self->source;
    return 0;
}
