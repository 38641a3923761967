#include "collectors/nvmm/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/parts/window_read.h"

static void close_group(struct nvmm_context *self, group_handle *handle)
{
    if (*handle)
        source_set_close(self->env.sources, *handle);
    *handle = 0;
}

void nvmm_lane_close(struct nvmm_context *self, struct nvmm_lane *lane)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        close_group(self, &lane->use[access].handle);
    close_group(self, &lane->rfo);
}

static void lane_free(void *collector, void *opaque)
{
    struct nvmm_context *self = collector;
    struct nvmm_lane *lane = opaque;
    nvmm_lane_close(self, lane);
    nvmm_threads_forget_owner(self->threads, lane->tag);
    nvmm_processes_forget(self->processes, lane->tag);
    nvmm_set_release(&lane->series);
    free(lane);
}

static bool open_group(struct nvmm_context *self, const struct nvmm_lane *lane, enum group group,
                       group_handle *handle)
{
    struct verdict why;
    uint64_t owner = group == GROUP_PMM_RFO ? 0 : lane->tag;
    int err = *handle ? 0
                      : container_group_open(self->env.sources, self->status, lane->base.container,
                                             group, owner, handle, &why);
    if (!err)
        return true;
    if (container_group_lacking(self->status, err, &why))
        log_warn(self->env.log, "pebs_nvmm", "%s: %s is not counted: %s",
                 lane->base.container->path, group_descs[group].name, why.words);
    if (err != -ESRCH) /* then the container is gone already */
        self->state = NVMM_UNOPENED;
    return false;
}

static bool lane_open(void *collector, void *opaque)
{
    struct nvmm_context *self = collector;
    struct nvmm_lane *lane = opaque;
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
    return ((const struct nvmm_lane *)opaque)->complete;
}

bool nvmm_lane_is_open(const struct nvmm_lane *lane)
{
    bool any = lane->rfo != 0;
    for (int access = 0; access < ACCESS_KINDS; access++)
        any |= lane->use[access].handle != 0;
    return any;
}

void nvmm_lane_show(const struct nvmm_context *self, struct nvmm_lane *lane)
{
    struct nvmm_set *set = &lane->series;
    for (int access = 0; access < ACCESS_KINDS && set->made; access++) {
        const struct nvmm_use *use = &lane->use[access];
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
    struct nvmm_context *self = collector;
    struct nvmm_lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->base.container);
    if (!labels || lane->series.made)
        return;
    (void)lane_base_named(&lane->base, &self->env, "pebs_nvmm",
                          nvmm_set_make(&lane->series, &self->families, labels));
    nvmm_lane_show(self, lane);
}

/* The labels changed: the same numbers under new names. */
static void lane_rename(void *collector, void *opaque)
{
    struct nvmm_context *self = collector;
    struct nvmm_lane *lane = opaque;
    struct labelset *labels = container_labels_get(self->env.labels, lane->base.container);
    nvmm_set_relabel(&lane->series, labels);
    nvmm_processes_relabel(self->processes, lane->tag, labels);
}

static void *lane_make(void *collector, const struct container *container)
{
    (void)collector;
    struct nvmm_lane *lane = lane_base_new(sizeof *lane, container, 0);
    if (lane)
        lane->tag = container_tag(container->slot, container->gen);
    return lane;
}

const struct lane_ops nvmm_lane_ops = {
    .collector = "pebs_nvmm",
    .make = lane_make,
    .open = lane_open,
    .is_open = lane_is_complete,
    .name = lane_name,
    .rename = lane_rename,
    .end = lane_base_end,
    .free = lane_free,
};

static int use_read(struct nvmm_context *self, const struct nvmm_lane *lane, enum access access,
                    const struct tick *tick)
{
    struct nvmm_use *use = &((struct nvmm_lane *)lane)->use[access];
    struct window_sum sum;
    enum window_status status;
    uint64_t events = 0;
    if (!use->handle || (nvmm_windows_full(&use->windows) && !lane->base.ending))
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

static int rfo_read(struct nvmm_context *self, struct nvmm_lane *lane)
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

int nvmm_lane_read(struct nvmm_context *self, struct nvmm_lane *lane, const struct tick *tick)
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

struct nvmm_lane *nvmm_lane_of(const struct lanes *lanes, uint64_t tag)
{
    size_t slot = (uint32_t)tag;
    struct nvmm_lane *lane = slot < lanes->n ? lanes_at(lanes, slot) : NULL;
    return lane && lane->tag == tag ? lane : NULL;
}

void nvmm_use_settle(struct nvmm_use *use, uint64_t settled_ns)
{
    use->n_settled = 0;
    while (nvmm_windows_settle(&use->windows, settled_ns, &use->settled[use->n_settled])) {
        const struct nvmm_usage *usage = &use->settled[use->n_settled++].usage;
        use->accesses += usage->accesses;
        use->bytes += usage->bytes;
    }
}

bool nvmm_lane_may_close(const struct nvmm_lane *lane)
{
    bool waits = false;
    for (int access = 0; access < ACCESS_KINDS; access++)
        waits |= lane->use[access].handle && !nvmm_windows_empty(&lane->use[access].windows);
    return !waits || lane->ended_ticks > NVMM_RING;
}
