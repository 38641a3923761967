#include "collectors/parts/core_lane.h"

#include <errno.h>

#include "collectors/parts/container_group.h"
#include "collectors/parts/window_read.h"

void core_lane_init(struct core_lane *lane, const struct container *container)
{
    *lane = (struct core_lane){.container = container, .last_mono_ns = container->found_mono_ns};
}

int core_lane_open(struct core_lane *lane, const struct collector_env *env,
                   struct collector_status *status, const char *collector, const char *lacks)
{
    struct verdict why;
    int err = container_group_open(env->sources, status, lane->container, GROUP_CORE, 0,
                                   &lane->handle, &why);
    lane->opened |= err == 0;
    if (err && container_group_lacking(status, err, &why))
        log_warn(env->log, collector, "%s %s: %s", lane->container->path, lacks, why.words);
    return err;
}

void core_lane_close(struct core_lane *lane, struct source_set *sources)
{
    if (lane->handle)
        source_set_close(sources, lane->handle);
    lane->handle = 0;
}

bool core_lane_is_open(const void *lane)
{
    return ((const struct core_lane *)lane)->handle != 0;
}

void core_lane_end(void *lane)
{
    ((struct core_lane *)lane)->ending = true;
}

static double window_seconds(const struct core_lane *lane, const struct tick *tick)
{
    uint64_t length_ns = tick->mono_ns - lane->last_mono_ns;
    if (tick->mono_ns <= lane->last_mono_ns || (!lane->read_once && length_ns > tick->interval_ns))
        length_ns = tick->interval_ns;
    return (double)length_ns * 1e-9;
}

int core_lane_read(struct core_lane *lane, struct source_set *sources,
                   struct collector_status *status, const struct tick *tick, struct window_sum *sum,
                   enum window_status *window)
{
    if (!lane->handle)
        return -ENODATA;
    int err = window_read(sources, lane->handle, status, sum, window);
    if (err)
        return err;
    lane->window_seconds = window_seconds(lane, tick);
    lane->last_mono_ns = tick->mono_ns;
    lane->read_once = true;
    return 0;
}

bool core_lane_calm(struct core_lane *lane, const struct tick *tick, uint64_t own_reads,
                    uint64_t node_reads, const struct node_peak *peak)
{
    double corunner_rate = (double)(node_reads - own_reads) / lane->window_seconds;
    return calm_window(&lane->calm, tick->mono_ns, corunner_rate, peak->rate);
}

void core_group_is_filtered(struct verdict *verdict)
{
    verdict_set(
        verdict, REASON_EVENT_FILTERED,
        "a counter of memory reads, or of how long they take, opens but counts nothing while the "
        "probe reads memory: the hypervisor filters it; use an instance type that exposes it (bare "
        "metal does)");
}
