/*
 * Who writes (and reads) persistent memory, how much, from how many threads: estimated from precise
 * samples, FORMULAS.md section 4; or, for CPUs that count it, from reads for ownership.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/nvmm/list.h"
#include "collectors/nvmm/listing.h"
#include "collectors/parts/named_series.h"
#include "collectors/table.h"

/* What the flags say. */
struct nvmm_config {
    size_t period; /* accesses per sample */
    bool loads, per_process, rfo;
};

_Static_assert(sizeof(struct nvmm_config) <= COLLECTOR_CONFIG_BYTES, "the flags fill it");

static const struct option_flag options[] = {
    {.name = "collector.pebs_nvmm.period",
     .type = FLAG_COUNT,
     .offset = offsetof(struct nvmm_config, period),
     .min = 1,
     .max = 2147483647,
     .fallback = "10007",
     .unit = "ACCESSES",
     .help = "Number of stores per sample. Use a prime number: otherwise a loop whose length "
             "divides the period is sampled at one instruction only."},
    {.name = "collector.pebs_nvmm.loads",
     .type = FLAG_BOOL,
     .offset = offsetof(struct nvmm_config, loads),
     .help = "Also sample loads, with the same period."},
    {.name = "collector.pebs_nvmm.per-process",
     .type = FLAG_BOOL,
     .offset = offsetof(struct nvmm_config, per_process),
     .help =
         "Also export series per process, for at most 1024 processes at a time. /api/v1/nvmm "
         "lists what processes and threads did in the last seconds, with or without this flag."},
    {.name = "collector.pebs_nvmm.rfo",
     .type = FLAG_BOOL,
     .offset = offsetof(struct nvmm_config, rfo),
     .help = "Also count reads for ownership that persistent memory serves (Cascade Lake and Ice "
             "Lake only). They do not include non-temporal stores of whole cache lines."},
    {.name = NULL},
};

static const uint64_t second_ns = 1000000000u;

/* ---- state ---- */

struct pebs_nvmm {
    struct nvmm_context in;
    struct double_buffer *lists; /* for the page */
    union nvmm_node_set node;
    struct lanes lanes;
    bool processes_full; /* was, once */
    uint64_t now_ns;     /* of the last tick */

    struct sampling sampling[ACCESS_KINDS]; /* of this tick */
    uint64_t settled_ns;                    /* the latest settled */
    bool stuck;
    uint64_t undecoded[ACCESS_KINDS][ACCESS_SIZES];
    struct nvmm_window_times window; /* of the lists */
    bool crowded; /* threads had no room in this tick: their number is not known */
};

static bool rfo_possible(const struct collector_env *env, struct verdict *why)
{
    return source_set_check(env->sources, SCOPE_CGROUP, GROUP_PMM_RFO, why);
}

static void pebs_nvmm_sampling(const void *opaque, struct sampling_request *request)
{
    const struct nvmm_config *config = opaque;
    request->period = config->period;
    request->wanted[ACCESS_STORE] = true;
    request->wanted[ACCESS_LOAD] = config->loads;
}

static bool pebs_nvmm_probe(const struct collector_env *env, struct verdict *why)
{
    const struct nvmm_config *config = env->config;
    struct verdict ignored;
    return source_set_samples(env->sources, ACCESS_STORE, why) ||
           (config->rfo && rfo_possible(env, &ignored));
}

/* ---- containers ---- */

static void reconcile_processes(struct pebs_nvmm *self)
{
    const struct nvmm_lane *lane;
    nvmm_processes_expire(self->in.processes, self->now_ns);
    for (size_t i = 0; self->in.processes && (lane = lanes_next(&self->lanes, &i));)
        nvmm_processes_make(self->in.processes, lane->tag,
                            container_labels_get(self->in.env.labels, lane->base.container));
}

static void pebs_nvmm_reconcile(void *opaque, const struct container_diff *diff)
{
    struct pebs_nvmm *self = opaque;
    if (lanes_reconcile(&self->lanes, diff, self->in.status, self->in.env.log) &&
        self->in.state == NVMM_UNOPENED) {
        self->in.status->verdict = self->in.verdict;
        self->in.state = NVMM_OK;
    }
    reconcile_processes(self);
}

/* ---- a tick: samples ---- */

static void take_sample(struct pebs_nvmm *self, const struct access_sample *sample)
{
    self->in.active[sample->access] = true;
    struct nvmm_lane *lane = nvmm_lane_of(&self->lanes, sample->owner);
    if (!lane)
        return;
    struct nvmm_use *use = &lane->use[sample->access];
    uint32_t number = nvmm_windows_number(&use->windows, sample->time_ns);
    use->samples[sample->medium]++;
    nvmm_windows_add(&use->windows, number, sample);
    if (sample->medium != MEDIUM_NVMM)
        return;
    if (sample->bytes == 0)
        self->undecoded[sample->access][sample->size]++;
    nvmm_threads_add(self->in.threads, sample, number);
}

static void take_samples(struct pebs_nvmm *self)
{
    uint64_t turned_away = self->in.threads->turned_away;
    size_t n;
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (self->in.sampled[access])
            source_set_sampling(self->in.env.sources, (enum access)access, &self->sampling[access]);
    for (int access = 0; access < ACCESS_KINDS; access++)
        self->in.active[access] |= self->sampling[access].period > 0;
    const struct access_sample *samples = source_set_read_samples(self->in.env.sources, &n);
    for (size_t i = 0; i < n; i++)
        take_sample(self, &samples[i]);
    self->crowded = self->in.threads->turned_away > turned_away;
}

/* ---- a tick: estimates ---- */

/* The thread's share of what its container is now known to have done. */
static void share(struct pebs_nvmm *self, const struct nvmm_lane *lane, struct nvmm_thread *thread,
                  enum access access)
{
    const struct nvmm_use *use = &lane->use[access];
    struct nvmm_thread_use *own = &thread->use[access];
    double accesses = own->accesses, bytes = own->bytes;
    for (size_t k = 0; k < use->n_settled; k++)
        nvmm_thread_share(thread, access, &use->settled[k]);
    if (nvmm_processes_add(self->in.processes, thread->owner, thread->pid, access,
                           own->accesses - accesses, own->bytes - bytes, self->now_ns) ||
        self->processes_full)
        return;
    self->processes_full = true;
    log_warn(self->in.env.log, "pebs_nvmm",
             "more than %d processes use persistent memory: the others have no series",
             NVMM_MAX_PROCESSES);
}

static void share_out(struct pebs_nvmm *self, uint64_t now_ns)
{
    for (size_t i = 0; i < self->in.threads->n; i++) {
        struct nvmm_thread *thread = &self->in.threads->at[i];
        struct nvmm_lane *lane = nvmm_lane_of(&self->lanes, thread->owner);
        if (!lane)
            continue;
        for (int access = 0; access < ACCESS_KINDS; access++)
            share(self, lane, thread, (enum access)access);
        lane->writers += thread->stored_ns > 0 && thread->stored_ns + second_ns >= now_ns;
    }
    if (nvmm_processes_show(self->in.processes, self->now_ns))
        self->in.status->wants_reconcile = true;
}

/* ---- a tick: what is shown ---- */

static void show_node(struct pebs_nvmm *self)
{
    int dimms = self->in.env.facts->machine.pmem_dimms;
    if (dimms > 0)
        series_set_u64(self->node.dimms, (uint64_t)dimms);
    series_show_u64(self->node.hung, self->sampling[ACCESS_STORE].apart,
                    self->sampling[ACCESS_STORE].hung);
    series_show_u64(self->node.refused, self->sampling[ACCESS_STORE].apart,
                    self->sampling[ACCESS_STORE].refused);
    for (int access = 0; access < ACCESS_KINDS; access++) {
        if (!self->in.seen[access] || !self->in.active[access])
            continue;
        series_set_u64(self->node.use[access].lost, self->sampling[access].lost);
        series_set_u64(self->node.use[access].throttles, self->sampling[access].throttles);
        for (int size = ACCESS_SIZE_KNOWN + 1; size < ACCESS_SIZES; size++)
            series_set_u64(self->node.use[access].undecoded[size], self->undecoded[access][size]);
    }
}

static void lane_publish(struct pebs_nvmm *self, struct nvmm_lane *lane)
{
    nvmm_lane_show(&self->in, lane);
    if (lane->series.writers && lane->use[ACCESS_STORE].counted && self->in.active[ACCESS_STORE] &&
        !lane->base.ending && !self->stuck && !self->crowded)
        series_set_u64(lane->series.writers, lane->writers);
    else if (lane->series.writers)
        series_clear(lane->series.writers);
    if (!lane->base.ending)
        return;
    lane->ended_ticks++;
    if (!nvmm_lane_is_open(lane) || !nvmm_lane_may_close(lane))
        return;
    nvmm_lane_close(&self->in, lane);
    self->in.status->wants_reconcile |= self->lanes.unopened > 0;
}

/* The sampler settles ten times a second, whether there are samples or not. */
static int sampler_alive(struct pebs_nvmm *self, const struct tick *tick)
{
    const struct sampling *sampling = &self->sampling[ACCESS_STORE];
    const uint64_t patience_ns =
        5 * (tick->interval_ns > second_ns ? tick->interval_ns : second_ns);
    if (sampling->period == 0) /* none */
        return 0;
    if (sampling->error)
        return (int)sampling->error;
    if (self->settled_ns == 0) /* it may take as long to begin */
        self->settled_ns = tick->mono_ns;
    if (sampling->settled_ns > self->settled_ns)
        self->settled_ns = sampling->settled_ns;
    return self->in.moved_ns > self->settled_ns && tick->mono_ns > self->settled_ns + patience_ns
               ? -ETIMEDOUT
               : 0;
}

static void explain_stuck(struct pebs_nvmm *self, int err)
{
    struct verdict *verdict = &self->in.status->verdict;
    uint64_t pid = self->sampling[ACCESS_STORE].blocked_pid;
    if (err == -ETIMEDOUT && pid != 0)
        verdict_set(verdict, REASON_NO_DEVICE,
                    "stores are counted, but their samples no longer arrive: the thread that reads "
                    "them is stuck at process %" PRIu64 ", whose memory does not answer: look at "
                    "that process, and at what serves its files; a restart does not help",
                    pid);
    else if (err == -ETIMEDOUT)
        verdict_set(verdict, REASON_NO_DEVICE,
                    "stores are counted, but their samples no longer arrive: the thread that reads "
                    "them is stuck");
    else
        verdict_set(verdict, err == -EMFILE || err == -ENFILE ? REASON_FD_LIMIT : REASON_NO_DEVICE,
                    "samples from some or all CPUs are missing: %s", strerror(-err));
    log_warn(self->in.env.log, "pebs_nvmm", "%s", verdict->words);
}

/* The samples of all others go on. */
static void explain_refusals(struct pebs_nvmm *self)
{
    const struct sampling *sampling = &self->sampling[ACCESS_STORE];
    struct verdict *verdict = &self->in.status->verdict;
    verdict_set(verdict, verdict->reason,
                "the memory of process %" PRIu64 " does not answer: its container's samples, and "
                "those of %" PRIu64
                " containers in all, count as unknown for a while: look at that "
                "process, and at what serves its files",
                sampling->hung_pid, sampling->refused);
    log_warn(self->in.env.log, "pebs_nvmm", "%s", verdict->words);
}

/* A recording may have no samples, which shows only as it plays. */
static void judge(struct pebs_nvmm *self, int sampler_err)
{
    bool any = lanes_next(&self->lanes, &(size_t){0}) != NULL;
    bool counted =
        (self->in.seen[ACCESS_STORE] && self->in.active[ACCESS_STORE]) || self->in.rfo_seen;
    bool silent = any && !counted && self->in.state != NVMM_UNOPENED;
    self->in.status->unavailable = silent;
    enum nvmm_state state = sampler_err                            ? NVMM_STUCK
                            : silent                               ? NVMM_SILENT
                            : self->sampling[ACCESS_STORE].refused ? NVMM_REFUSING
                                                                   : NVMM_OK;
    self->stuck = sampler_err != 0;
    if (state == self->in.state || self->in.state == NVMM_UNOPENED)
        return;
    self->in.state = state;
    self->in.status->verdict = self->in.verdict;
    if (state == NVMM_STUCK)
        explain_stuck(self, sampler_err);
    else if (state == NVMM_REFUSING)
        explain_refusals(self);
    else if (silent)
        verdict_set(&self->in.status->verdict, REASON_NO_DEVICE,
                    "the source does not count the containers' stores, or has no samples of them");
}

static int pebs_nvmm_collect(void *opaque, const struct tick *tick)
{
    struct pebs_nvmm *self = opaque;
    int result = 0;
    struct nvmm_lane *lane;
    self->now_ns = tick->mono_ns;
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        int err = nvmm_lane_read(&self->in, lane, tick);
        result = result ? result : err;
    }
    take_samples(self);
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));) {
        lane->writers = 0;
        for (int access = 0; access < ACCESS_KINDS; access++)
            nvmm_use_settle(&lane->use[access], self->sampling[access].settled_ns);
    }
    uint64_t now_ns = self->sampling[ACCESS_STORE].settled_ns;
    now_ns = now_ns < tick->mono_ns ? now_ns : tick->mono_ns;
    share_out(self, now_ns);
    int sampler_err = sampler_alive(self, tick);
    judge(self, sampler_err);
    for (size_t i = 0; (lane = lanes_next(&self->lanes, &i));)
        lane_publish(self, lane);
    nvmm_list_threads(self->lists, &self->in, &self->lanes, tick, &self->window);
    show_node(self);
    uint64_t kept_ns = 2 * second_ns + 2 * NVMM_RING * tick->interval_ns;
    nvmm_threads_forget(self->in.threads, now_ns > second_ns ? now_ns - second_ns : 0,
                        tick->mono_ns > kept_ns ? tick->mono_ns - kept_ns : 0);
    return result ? result : sampler_err;
}

/* ---- life ---- */

static void pebs_nvmm_stop(void *opaque)
{
    struct pebs_nvmm *self = opaque;
    if (!self)
        return;
    lanes_release(&self->lanes);
    named_series_release(self->node.at, NVMM_NODE_SERIES);
    nvmm_threads_free(self->in.threads);
    nvmm_processes_free(self->in.processes);
    double_buffer_free(self->lists);
    free(self);
}

static int render(void *opaque, const char *source, struct textbuf *out)
{
    const struct pebs_nvmm *self = opaque;
    return nvmm_page_render(self ? self->lists : NULL, source, out);
}

static const struct collector_page page = {
    .path = "/api/v1/nvmm",
    .handler = "nvmm",
    .title = "Persistent memory by process and thread",
    .render = render,
};

static int pebs_nvmm_start(const struct collector_env *env, struct collector_status *status,
                           void **out);

const struct collector_ops pebs_nvmm_collector = {
    .name = "pebs_nvmm",
    .summary = "use of persistent memory per container, from precise samples",
    .default_on = COLLECTOR_AUTO,
    .needs = NEEDS_SAMPLES,
    .options = options,
    .metrics = nvmm_metrics,
    .page = &page,
    .sampling = pebs_nvmm_sampling,
    .discards = DISCARDS_OF_WINDOWS,
    .probe = pebs_nvmm_probe,
    .start = pebs_nvmm_start,
    .reconcile = pebs_nvmm_reconcile,
    .collect = pebs_nvmm_collect,
    .stop = pebs_nvmm_stop,
};

/* What is possible here, and what was requested but is not. */
static void choose(struct pebs_nvmm *self)
{
    const struct nvmm_config *config = self->in.env.config;
    struct verdict why = {0};
    for (int access = 0; access < ACCESS_KINDS; access++)
        self->in.sampled[access] =
            source_set_samples(self->in.env.sources, (enum access)access, access ? NULL : &why);
    if (!self->in.sampled[ACCESS_STORE])
        verdict_set(&self->in.verdict, why.reason, "only reads for ownership are counted: %s",
                    why.words);
    if (config->rfo) {
        self->in.rfo = rfo_possible(&self->in.env, &why);
        if (!self->in.rfo)
            verdict_set(&self->in.verdict, why.reason, "reads for ownership are not counted: %s",
                        why.words);
    }
    self->in.status->verdict = self->in.verdict;
    for (int access = 0; access < ACCESS_KINDS; access++)
        self->in.families.sampled[access] = self->in.sampled[access];
    self->in.families.rfo = self->in.rfo;
}

static int pebs_nvmm_start(const struct collector_env *env, struct collector_status *status,
                           void **out)
{
    const struct nvmm_config *config = env->config;
    struct pebs_nvmm *self = calloc(1, sizeof *self);
    int err = -ENOMEM;
    if (!self)
        return err;
    self->in.env = *env;
    self->in.status = status;
    lanes_init(&self->lanes, &nvmm_lane_ops, &self->in);
    choose(self);
    self->in.threads = nvmm_threads_new();
    if (self->in.threads)
        err = nvmm_list_new(&self->lists);
    if (!err)
        err = nvmm_families_register(&self->in.families, env->store, pebs_nvmm_collector.name);
    if (!err)
        err = nvmm_node_set_make(&self->node, &self->in.families);
    if (!err && config->per_process)
        err = nvmm_processes_new(&self->in.families, self->in.active, &self->in.processes);
    if (err) {
        pebs_nvmm_stop(self);
        return err;
    }
    *out = self;
    return 0;
}
