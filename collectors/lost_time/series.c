#include "collectors/lost_time/series.h"

#include "collectors/parts/named_series.h"

static const struct metric_desc descs[LOST_METRICS] = {
    [LOST_SECONDS] =
        {.name = "interference_container_lost_seconds",
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .labels = "container, cause",
         .help = "Time that the container lost, by cause, in windows of 5 s in which the "
                 "cause reached its threshold: own_quota: waits for a CPU that throttled "
                 "periods explain; cpu_neighbour: other ones, while others ran; itself: while"
                 " its own tasks did; hypervisor: stolen while it ran; own_memory_limit, "
                 "memory_full: waits for free memory, by its limit or the node's; disk: for "
                 "disks; memory_slow: reads that took long. Delays and reads add up over "
                 "tasks. A rate near 1: some task always waits for that."},
    [LOST_EXPOSED] =
        {.name = "interference_container_exposed_cpu_seconds",
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .labels = "container",
         .help = "CPU time that the container used while memory of the node was slower than when "
                 "it is calm; where its own reads are not counted, so that what it lost by that is "
                 "not known. With several NUMA nodes, times the share of them that were slow. "
                 "High: much of its work may have taken longer."},
    [LOST_TAKEN] =
        {.name = "interference_container_cpu_taken_seconds",
         .type = METRIC_COUNTER,
         .number = METRIC_DOUBLE,
         .labels = "container",
         .help = "Waits of other containers (cause cpu_neighbour) that this one is behind: it used "
                 "more CPU time than its weight and limit entitle it to, on CPUs of theirs. What "
                 "each lost is shared out by who used how much too much. High: moving it, or "
                 "limiting it, takes so many seconds of waiting a second from others. Where BPF "
                 "counts, and saw enough of it: whoever had their CPUs after a task of theirs was "
                 "kept from going on, by how long."},
};

const struct metric_desc *const lost_metrics[] = {&descs[LOST_SECONDS], &descs[LOST_EXPOSED],
                                                  &descs[LOST_TAKEN], NULL};

static bool is_lacking(const struct lost_series *series, int i)
{
    return series->total[i] > 0 && !series->at[i];
}

bool lost_series_lacks(const struct lost_series *series)
{
    for (int i = 0; i < LOST_SERIES; i++)
        if (is_lacking(series, i))
            return true;
    return false;
}

int lost_series_extend(struct lost_series *series, struct family *const family[LOST_METRICS],
                       struct labelset *labels)
{
    int err = 0;
    for (int i = 0; i < LOST_SERIES && !err; i++) {
        const struct label cause = {"cause", i < LOSSES ? loss_name((enum loss)i) : ""};
        if (is_lacking(series, i))
            err = series_new(family[i < LOSSES ? LOST_SECONDS : i - LOSSES + LOST_EXPOSED], labels,
                             &cause, i < LOSSES, &series->at[i]);
    }
    lost_series_show(series);
    return err;
}

void lost_series_show(struct lost_series *series)
{
    for (int i = 0; i < LOST_SERIES; i++)
        if (series->at[i])
            series_set(series->at[i], series->total[i]);
}

void lost_series_relabel(struct lost_series *series, struct labelset *labels)
{
    (void)named_series_relabel(series->at, LOST_SERIES, labels);
}

void lost_series_release(struct lost_series *series)
{
    named_series_release(series->at, LOST_SERIES);
}
