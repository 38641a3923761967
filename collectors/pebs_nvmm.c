/*
 * Who writes (and reads) persistent memory, how much, from how many threads: estimated from precise
 * samples, FORMULAS.md section 4; or, for CPUs that count it, from reads for ownership.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/nvmm/board.h"
#include "collectors/nvmm/page.h"
#include "collectors/nvmm/processes.h"
#include "collectors/nvmm/series.h"
#include "collectors/nvmm/threads.h"
#include "collectors/parts/lanes.h"
#include "collectors/parts/window_read.h"
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
     .help = "Also export series per process, for at most 1024 processes at a time. /api/v1/nvmm "
             "lists what processes and threads did in the last second, with or without this flag."},
    {.name = "collector.pebs_nvmm.rfo",
     .type = FLAG_BOOL,
     .offset = offsetof(struct nvmm_config, rfo),
     .help = "Also count reads for ownership that persistent memory serves (Cascade Lake and Ice "
             "Lake only). They do not include non-temporal stores of whole cache lines."},
    {.name = NULL},
};

static const uint64_t second_ns = 1000000000u;

/* ---- state ---- */

/* A container's loads, or its stores. */
struct use {
    group_handle handle; /* 0: not open */
    struct nvmm_windows windows;
    bool counted;            /* there was a reading once */
    uint64_t samples[MEDIA]; /* totals, like the next two */
    double accesses, bytes;
    struct nvmm_settled settled[NVMM_RING]; /* in this tick */
    size_t n_settled;
};

/* One container. */
struct lane {
    const struct container *container;
    uint64_t tag; /* what its samples carry */
    struct use use[ACCESS_KINDS];
    group_handle rfo;
    bool complete; /* all that is wanted was opened */
    bool rfo_counted;
    uint64_t rfo_total;
    unsigned writers;     /* of this tick */
    bool ending;          /* its next readings are its last */
    unsigned ended_ticks; /* since those were read; 0: not yet */
    bool listed;          /* on the board that is being written */
    struct nvmm_set series;
};

/* What holds for the node, in words of the verdict. */
enum state { STATE_OK, STATE_UNOPENED, STATE_SILENT, STATE_STUCK };

struct pebs_nvmm {
    struct collector_env env;
    struct collector_status *status;
    struct nvmm_board *board; /* for the page */
    struct verdict verdict;   /* while all is well: it may say what is missing */
    struct nvmm_families families;
    struct nvmm_node_set node;
    struct lanes lanes;
    struct nvmm_threads *threads;
    struct nvmm_processes *processes; /* NULL unless asked for */
    bool processes_full;              /* was, once */
    bool sampled[ACCESS_KINDS], rfo;
    enum state state;
    uint64_t now_ns;                   /* of the last tick */
    bool seen[ACCESS_KINDS], rfo_seen; /* was counted for some container once */
    bool active[ACCESS_KINDS];         /* is sampled: a recording may have counts only */

    struct sampling sampling[ACCESS_KINDS]; /* of this tick */
    uint64_t settled_ns, moved_ns;          /* the latest settled; when stores were counted last */
    bool stuck;
    uint64_t undecoded[ACCESS_KINDS][ACCESS_SIZES];
    uint64_t shown_ns; /* up to where the board has told */
    bool crowded;      /* threads had no room in this tick: their number is not known */
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

static void close_group(struct pebs_nvmm *self, group_handle *handle)
{
    if (*handle)
        source_set_close(self->env.sources, *handle);
    *handle = 0;
}

static void lane_close(struct pebs_nvmm *self, struct lane *lane)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        close_group(self, &lane->use[access].handle);
    close_group(self, &lane->rfo);
}

static void lane_free(void *collector, void *opaque)
{
    struct pebs_nvmm *self = collector;
    struct lane *lane = opaque;
    lane_close(self, lane);
    nvmm_threads_forget_owner(self->threads, lane->tag);
    nvmm_processes_forget(self->processes, lane->tag);
    nvmm_set_release(&lane->series);
    free(lane);
}

static bool open_group(struct pebs_nvmm *self, const struct lane *lane, enum group group,
                       group_handle *handle)
{
    struct verdict why;
    const struct scope scope = {
        .kind = SCOPE_CGROUP,
        .key = lane->container->key,
        .cgroup_fd = lane->container->cgroup_fd,
        .owner = group == GROUP_PMM_RFO ? 0 : lane->tag,
    };
    int err = *handle ? 0 : source_set_open(self->env.sources, &scope, group, handle, &why);
    if (!err)
        return true;
    self->status->open_failures[why.reason]++;
    if (err == -ESRCH) /* the container is gone already */
        return false;
    if (self->status->verdict.reason != why.reason)
        log_warn(self->env.log, "pebs_nvmm", "%s: %s is not counted: %s", lane->container->path,
                 group_descs[group].name, why.words);
    self->status->verdict = why;
    self->state = STATE_UNOPENED;
    return false;
}

static bool lane_open(void *collector, void *opaque)
{
    struct pebs_nvmm *self = collector;
    struct lane *lane = opaque;
    bool opened = true;
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (self->sampled[access])
            opened &= open_group(self, lane, access_group((enum access)access),
                                 &lane->use[access].handle);
    if (self->rfo)
        opened &= open_group(self, lane, GROUP_PMM_RFO, &lane->rfo);
    lane->complete = opened;
    return opened;
}

static bool lane_is_complete(const void *opaque)
{
    return ((const struct lane *)opaque)->complete;
}

static bool holds_any(const struct lane *lane)
{
    bool any = lane->rfo != 0;
    for (int access = 0; access < ACCESS_KINDS; access++)
        any |= lane->use[access].handle != 0;
    return any;
}

/* What lasts: counters. A kind of access is shown once it was counted, and sampled. */
static void lane_show(const struct pebs_nvmm *self, struct lane *lane)
{
    struct nvmm_set *set = &lane->series;
    for (int access = 0; access < ACCESS_KINDS && set->made; access++) {
        const struct use *use = &lane->use[access];
        if (!use->counted || !self->active[access] || !set->use[access].accesses)
            continue;
        series_set_u64(set->use[access].accesses, nvmm_whole(use->accesses));
        series_set_u64(set->use[access].bytes, nvmm_whole(use->bytes));
        for (int medium = 0; medium < MEDIA; medium++)
            series_set_u64(set->use[access].samples[medium], use->samples[medium]);
    }
    if (set->rfo && lane->rfo_counted)
        series_set_u64(set->rfo, lane->rfo_total);
}

static void lane_name(void *collector, void *opaque)
{
    struct pebs_nvmm *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    if (!labels || lane->series.made)
        return;
    int err = nvmm_set_make(&lane->series, &self->families, labels);
    if (err)
        log_warn(self->env.log, "pebs_nvmm", "no series for %s: error %d", lane->container->path,
                 -err);
    lane_show(self, lane);
}

/* The labels changed: the same numbers under new names. */
static void lane_rename(void *collector, void *opaque)
{
    struct pebs_nvmm *self = collector;
    struct lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->container);
    nvmm_set_relabel(&lane->series, labels);
    nvmm_processes_relabel(self->processes, lane->tag, labels);
}

static void *lane_make(void *collector, const struct container *container)
{
    (void)collector;
    struct lane *lane = calloc(1, sizeof *lane);
    if (!lane)
        return NULL;
    lane->container = container;
    lane->tag = container_tag(container->slot, container->gen);
    return lane;
}

static void lane_end(void *lane)
{
    ((struct lane *)lane)->ending = true;
}

static const struct lane_ops lane_ops = {
    .collector = "pebs_nvmm",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_is_complete,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_end,
    .free = lane_free,
};

static void reconcile_processes(struct pebs_nvmm *self)
{
    nvmm_processes_expire(self->processes, self->now_ns);
    for (size_t i = 0; self->processes && i < self->lanes.n; i++) {
        const struct lane *lane = lanes_at(&self->lanes, i);
        if (lane)
            nvmm_processes_make(self->processes, lane->tag,
                                container_labels_get(self->env.labels, lane->container));
    }
}

static void pebs_nvmm_reconcile(void *opaque, const struct container_diff *diff)
{
    struct pebs_nvmm *self = opaque;
    if (lanes_reconcile(&self->lanes, diff, self->status, self->env.log) &&
        self->state == STATE_UNOPENED) {
        self->status->verdict = self->verdict;
        self->state = STATE_OK;
    }
    reconcile_processes(self);
}

/* ---- a tick: counts ---- */

static int use_read(struct pebs_nvmm *self, const struct lane *lane, enum access access,
                    const struct tick *tick)
{
    struct use *use = &((struct lane *)lane)->use[access];
    struct window_sum sum;
    enum window_status status;
    uint64_t events = 0;
    if (!use->handle || (nvmm_windows_full(&use->windows) && !lane->ending))
        return 0;
    int err = window_read(self->env.sources, use->handle, self->status, &sum, &status);
    if (err)
        return err == -ENODATA ? 0 : err;
    use->counted = true;
    if (status == WINDOW_OK)
        window_count(&sum, access_group(access), access == ACCESS_STORE ? ROLE_STORES : ROLE_LOADS,
                     &events);
    if (access == ACCESS_STORE && events > 0)
        self->moved_ns = tick->mono_ns;
    nvmm_windows_count(&use->windows, events, tick->mono_ns);
    return 0;
}

static int rfo_read(struct pebs_nvmm *self, struct lane *lane)
{
    struct window_sum sum;
    enum window_status status;
    uint64_t count = 0;
    if (!lane->rfo)
        return 0;
    int err = window_read(self->env.sources, lane->rfo, self->status, &sum, &status);
    if (err)
        return err == -ENODATA ? 0 : err;
    lane->rfo_counted = true;
    if (status == WINDOW_OK)
        window_count(&sum, GROUP_PMM_RFO, ROLE_PMM_RFO, &count);
    lane->rfo_total += count;
    return 0;
}

static int lane_read(struct pebs_nvmm *self, struct lane *lane, const struct tick *tick)
{
    int result = 0;
    if (lane->ended_ticks > 0)
        return 0;
    for (int access = 0; access < ACCESS_KINDS; access++) {
        int err = use_read(self, lane, (enum access)access, tick);
        result = result ? result : err;
    }
    int err = rfo_read(self, lane);
    for (int access = 0; access < ACCESS_KINDS; access++)
        self->seen[access] |= lane->use[access].counted;
    self->rfo_seen |= lane->rfo_counted;
    return result ? result : err;
}

/* ---- a tick: samples ---- */

static struct lane *lane_of(const struct pebs_nvmm *self, uint64_t tag)
{
    size_t slot = (uint32_t)tag;
    struct lane *lane = slot < self->lanes.n ? lanes_at(&self->lanes, slot) : NULL;
    return lane && lane->tag == tag ? lane : NULL;
}

static void take_sample(struct pebs_nvmm *self, const struct access_sample *sample)
{
    self->active[sample->access] = true;
    struct lane *lane = lane_of(self, sample->owner);
    if (!lane)
        return;
    struct use *use = &lane->use[sample->access];
    uint32_t number = nvmm_windows_number(&use->windows, sample->time_ns);
    use->samples[sample->medium]++;
    nvmm_windows_add(&use->windows, number, sample);
    if (sample->medium != MEDIUM_NVMM)
        return;
    if (sample->bytes == 0)
        self->undecoded[sample->access][sample->size]++;
    nvmm_threads_add(self->threads, sample, number);
}

static void take_samples(struct pebs_nvmm *self)
{
    uint64_t turned_away = self->threads->turned_away;
    size_t n;
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (self->sampled[access])
            source_set_sampling(self->env.sources, (enum access)access, &self->sampling[access]);
    for (int access = 0; access < ACCESS_KINDS; access++)
        self->active[access] |= self->sampling[access].period > 0;
    const struct access_sample *samples = source_set_read_samples(self->env.sources, &n);
    for (size_t i = 0; i < n; i++)
        take_sample(self, &samples[i]);
    self->crowded = self->threads->turned_away > turned_away;
}

/* ---- a tick: estimates ---- */

static void use_settle(struct use *use, uint64_t settled_ns)
{
    use->n_settled = 0;
    while (nvmm_windows_settle(&use->windows, settled_ns, &use->settled[use->n_settled])) {
        const struct nvmm_usage *usage = &use->settled[use->n_settled++].usage;
        use->accesses += usage->accesses;
        use->bytes += usage->bytes;
    }
}

/* The thread's share of what its container is now known to have done. */
static void share(struct pebs_nvmm *self, const struct lane *lane, struct nvmm_thread *thread,
                  enum access access)
{
    const struct use *use = &lane->use[access];
    struct nvmm_thread_use *own = &thread->use[access];
    double accesses = own->accesses, bytes = own->bytes;
    for (size_t k = 0; k < use->n_settled; k++)
        nvmm_thread_share(thread, access, &use->settled[k]);
    if (nvmm_processes_add(self->processes, thread->owner, thread->pid, access,
                           own->accesses - accesses, own->bytes - bytes, self->now_ns) ||
        self->processes_full)
        return;
    self->processes_full = true;
    log_warn(self->env.log, "pebs_nvmm",
             "more than %d processes use persistent memory: the others have no series",
             NVMM_MAX_PROCESSES);
}

static void share_out(struct pebs_nvmm *self, uint64_t now_ns)
{
    for (size_t i = 0; i < self->threads->n; i++) {
        struct nvmm_thread *thread = &self->threads->at[i];
        struct lane *lane = lane_of(self, thread->owner);
        if (!lane)
            continue;
        for (int access = 0; access < ACCESS_KINDS; access++)
            share(self, lane, thread, (enum access)access);
        lane->writers += thread->stored_ns > 0 && thread->stored_ns + second_ns >= now_ns;
    }
    if (nvmm_processes_show(self->processes, self->now_ns))
        self->status->wants_reconcile = true;
}

/* ---- a tick: what is shown ---- */

static bool used(const struct nvmm_thread *thread)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (thread->use[access].accesses > 0 || thread->use[access].bytes > 0)
            return true;
    return false;
}

/* The threads of one container, from the first of them on. */
static void list_container(struct pebs_nvmm *self, struct nvmm_board_list *list, size_t first)
{
    uint64_t owner = self->threads->at[first].owner;
    for (size_t i = first; i < self->threads->n; i++) {
        struct nvmm_thread *thread = &self->threads->at[i];
        if (thread->owner != owner || !used(thread))
            continue;
        struct nvmm_board_row row = {.pid = thread->pid, .tid = thread->tid};
        for (int access = 0; access < ACCESS_KINDS; access++) {
            row.accesses[access] = thread->use[access].accesses / list->seconds;
            row.bytes[access] = thread->use[access].bytes / list->seconds;
        }
        nvmm_board_row(list, &row);
    }
}

/* Once a second, however short the ticks are. */
static void write_board(struct pebs_nvmm *self, const struct tick *tick)
{
    if (self->shown_ns == 0 && tick->mono_ns > tick->interval_ns)
        self->shown_ns = tick->mono_ns - tick->interval_ns;
    uint64_t since_ns = self->shown_ns;
    if (tick->mono_ns <= since_ns || tick->mono_ns - since_ns + tick->interval_ns / 2 < second_ns)
        return;
    struct nvmm_board_list *list = nvmm_board_begin(self->board);
    list->wall_ns = tick->wall_ns;
    list->seconds = (double)(tick->mono_ns - since_ns) * 1e-9;
    list->loads = self->sampled[ACCESS_LOAD];
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (lane)
            lane->listed = false;
    }
    for (size_t i = 0; i < self->threads->n; i++) {
        struct lane *lane = lane_of(self, self->threads->at[i].owner);
        if (!lane || lane->listed || !used(&self->threads->at[i]))
            continue;
        lane->listed = true;
        const struct labelset *labels = container_labels_get(self->env.labels, lane->container);
        if (labels && nvmm_board_container(list, labels))
            list_container(self, list, i);
    }
    list->cut |= self->threads->n == NVMM_MAX_THREADS;
    if (!nvmm_board_show(self->board))
        return; /* the next tick's list holds all of this */
    self->shown_ns = tick->mono_ns;
    for (size_t i = 0; i < self->threads->n; i++)
        for (int access = 0; access < ACCESS_KINDS; access++)
            self->threads->at[i].use[access].accesses = self->threads->at[i].use[access].bytes = 0;
}

static void show_node(struct pebs_nvmm *self)
{
    int dimms = self->env.facts->machine.pmem_dimms;
    if (dimms > 0)
        series_set_u64(self->node.dimms, (uint64_t)dimms);
    for (int access = 0; access < ACCESS_KINDS; access++) {
        if (!self->seen[access] || !self->active[access])
            continue;
        series_set_u64(self->node.use[access].lost, self->sampling[access].lost);
        series_set_u64(self->node.use[access].throttles, self->sampling[access].throttles);
        for (int size = ACCESS_SIZE_KNOWN + 1; size < ACCESS_SIZES; size++)
            series_set_u64(self->node.use[access].undecoded[size], self->undecoded[access][size]);
    }
}

/* An ended container waits for its last samples, but not for a sampler that stands still. */
static bool may_close(const struct lane *lane)
{
    bool waits = false;
    for (int access = 0; access < ACCESS_KINDS; access++)
        waits |= lane->use[access].handle && !nvmm_windows_empty(&lane->use[access].windows);
    return !waits || lane->ended_ticks > NVMM_RING;
}

static void lane_publish(struct pebs_nvmm *self, struct lane *lane)
{
    lane_show(self, lane);
    if (lane->series.writers && lane->use[ACCESS_STORE].counted && self->active[ACCESS_STORE] &&
        !lane->ending && !self->stuck && !self->crowded)
        series_set_u64(lane->series.writers, lane->writers);
    else if (lane->series.writers)
        series_clear(lane->series.writers);
    if (!lane->ending)
        return;
    lane->ended_ticks++;
    if (!holds_any(lane) || !may_close(lane))
        return;
    lane_close(self, lane);
    self->status->wants_reconcile |= self->lanes.unopened > 0;
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
    return self->moved_ns > self->settled_ns && tick->mono_ns > self->settled_ns + patience_ns
               ? -ETIMEDOUT
               : 0;
}

static void explain_stuck(struct pebs_nvmm *self, int err)
{
    struct verdict *verdict = &self->status->verdict;
    if (err == -ETIMEDOUT)
        verdict_set(verdict, REASON_NO_DEVICE,
                    "stores are counted, but their samples no longer arrive: the thread that reads "
                    "them is stuck; if this lasts, restart the exporter");
    else
        verdict_set(verdict, err == -EMFILE || err == -ENFILE ? REASON_FD_LIMIT : REASON_NO_DEVICE,
                    "samples from some or all CPUs are missing: %s", strerror(-err));
    log_warn(self->env.log, "pebs_nvmm", "%s", verdict->words);
}

/* A recording may have no samples, which shows only as it plays. */
static void judge(struct pebs_nvmm *self, int sampler_err)
{
    bool any = false;
    for (size_t i = 0; i < self->lanes.n && !any; i++)
        any = lanes_at(&self->lanes, i) != NULL;
    bool counted = (self->seen[ACCESS_STORE] && self->active[ACCESS_STORE]) || self->rfo_seen;
    bool silent = any && !counted && self->state != STATE_UNOPENED;
    self->status->unavailable = silent;
    enum state state = sampler_err ? STATE_STUCK : silent ? STATE_SILENT : STATE_OK;
    self->stuck = sampler_err != 0;
    if (state == self->state || self->state == STATE_UNOPENED)
        return;
    self->state = state;
    self->status->verdict = self->verdict;
    if (state == STATE_STUCK)
        explain_stuck(self, sampler_err);
    else if (silent)
        verdict_set(&self->status->verdict, REASON_NO_DEVICE,
                    "the source does not count the containers' stores, or has no samples of them");
}

static int pebs_nvmm_collect(void *opaque, const struct tick *tick)
{
    struct pebs_nvmm *self = opaque;
    int result = 0;
    self->now_ns = tick->mono_ns;
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        int err = lane ? lane_read(self, lane, tick) : 0;
        result = result ? result : err;
    }
    take_samples(self);
    for (size_t i = 0; i < self->lanes.n; i++) {
        struct lane *lane = lanes_at(&self->lanes, i);
        if (!lane)
            continue;
        lane->writers = 0;
        for (int access = 0; access < ACCESS_KINDS; access++)
            use_settle(&lane->use[access], self->sampling[access].settled_ns);
    }
    uint64_t now_ns = self->sampling[ACCESS_STORE].settled_ns;
    now_ns = now_ns < tick->mono_ns ? now_ns : tick->mono_ns;
    share_out(self, now_ns);
    int sampler_err = sampler_alive(self, tick);
    judge(self, sampler_err);
    for (size_t i = 0; i < self->lanes.n; i++)
        if (lanes_at(&self->lanes, i))
            lane_publish(self, lanes_at(&self->lanes, i));
    write_board(self, tick);
    show_node(self);
    uint64_t kept_ns = 2 * second_ns + 2 * NVMM_RING * tick->interval_ns;
    nvmm_threads_forget(self->threads, now_ns > second_ns ? now_ns - second_ns : 0,
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
    nvmm_node_set_release(&self->node);
    nvmm_threads_free(self->threads);
    nvmm_processes_free(self->processes);
    nvmm_board_free(self->board);
    free(self);
}

static int render(void *opaque, const char *source, struct textbuf *out)
{
    const struct pebs_nvmm *self = opaque;
    return nvmm_page_render(self ? self->board : NULL, source, out);
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
    .probe = pebs_nvmm_probe,
    .start = pebs_nvmm_start,
    .reconcile = pebs_nvmm_reconcile,
    .collect = pebs_nvmm_collect,
    .stop = pebs_nvmm_stop,
};

/* What can be had here, and what was asked for and cannot. */
static void choose(struct pebs_nvmm *self)
{
    const struct nvmm_config *config = self->env.config;
    struct verdict why = {0};
    for (int access = 0; access < ACCESS_KINDS; access++)
        self->sampled[access] =
            source_set_samples(self->env.sources, (enum access)access, access ? NULL : &why);
    if (!self->sampled[ACCESS_STORE])
        verdict_set(&self->verdict, why.reason, "only reads for ownership are counted: %s",
                    why.words);
    if (config->rfo) {
        self->rfo = rfo_possible(&self->env, &why);
        if (!self->rfo)
            verdict_set(&self->verdict, why.reason, "reads for ownership are not counted: %s",
                        why.words);
    }
    self->status->verdict = self->verdict;
    for (int access = 0; access < ACCESS_KINDS; access++)
        self->families.sampled[access] = self->sampled[access];
    self->families.rfo = self->rfo;
}

static int pebs_nvmm_start(const struct collector_env *env, struct collector_status *status,
                           void **out)
{
    const struct nvmm_config *config = env->config;
    struct pebs_nvmm *self = calloc(1, sizeof *self);
    int err = -ENOMEM;
    if (!self)
        return err;
    self->env = *env;
    self->status = status;
    lanes_init(&self->lanes, &lane_ops, self);
    choose(self);
    self->threads = nvmm_threads_new();
    if (self->threads)
        err = nvmm_board_new(&self->board);
    if (!err)
        err = nvmm_families_register(&self->families, env->store, pebs_nvmm_collector.name);
    if (!err)
        err = nvmm_node_set_make(&self->node, &self->families);
    if (!err && config->per_process)
        err = nvmm_processes_new(&self->families, self->active, &self->processes);
    if (err) {
        pebs_nvmm_stop(self);
        return err;
    }
    *out = self;
    return 0;
}
