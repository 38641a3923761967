#include "collectors/placement/series.h"

#include "collectors/parts/named_series.h"

static const struct metric_desc serial_reads_desc =
    METRIC(COUNTER, DOUBLE, "interference_container_memory_serial_reads", "container",
           "Reads of memory that the container waited for one after another, in the windows of "
           "interference_container_placement_observed_seconds_total. Times x seconds: the CPU "
           "time that it would lose if memory were x seconds slower. High: it must stay on fast "
           "memory.");

static const struct metric_desc observed_desc =
    METRIC(COUNTER, DOUBLE, "interference_container_placement_observed_seconds", "container",
           "CPU time of windows with a prediction: what "
           "interference_container_placement_predicted_seconds_total is to be compared with. "
           "High: it computes much.");

static const struct metric_desc predicted_desc = METRIC(
    COUNTER, DOUBLE, "interference_container_placement_predicted_seconds", "container, target",
    "CPU time that the windows of "
    "interference_container_placement_observed_seconds_total would have taken with all of "
    "the container's memory at the target, from the target's first latency on. Divided by "
    "it: the slowdown; high: it would run "
    "slower there, below 1: faster. Too near to 1 for what mainly stores or is prefetched "
    "(too low for a slower target, too high for a faster one); too low for whom the "
    "target's bandwidth would limit.");

static const struct metric_desc target_latency_desc = METRIC(
    GAUGE, DOUBLE, "interference_placement_target_latency_seconds", "initiator_numa_node, target",
    "Latency of a read of the target's memory from CPUs of the initiator, as predictions "
    "use it: the mean of up to 60 readings of the memory probe, or what "
    "--collector.placement.tier says. Absent while the probe has had no reading for a "
    "minute, or for longer on more than five nodes: predictions go on with the last. High "
    "compared with another target: memory there "
    "makes slower.");

const struct metric_desc *const placement_metrics[PLACEMENT_METRICS + 1] = {
    [PLACEMENT_SERIAL_READS] = &serial_reads_desc,
    [PLACEMENT_OBSERVED] = &observed_desc,
    [PLACEMENT_PREDICTED] = &predicted_desc,
    [PLACEMENT_TARGET_LATENCY] = &target_latency_desc,
};

enum { PLAIN = PLACEMENT_OBSERVED + 1 };

int placement_set_make(struct placement_set *set, struct family *const families[PLACEMENT_METRICS],
                       struct labelset *labels)
{
    int err = 0;
    for (int m = 0; m < PLAIN && !err; m++)
        err = series_new(families[m], labels, NULL, 0, &set->series[m]);
    if (err)
        named_series_release(set->series, PLAIN);
    set->made = !err;
    return err;
}

int placement_set_extend(struct placement_set *set, struct family *predicted,
                         struct labelset *labels, const struct placement_latencies *latencies)
{
    int err = 0;
    for (int t = 0; t < PLACEMENT_TARGETS && set->made && !err; t++) {
        char name[PLACEMENT_NAME_BYTES];
        if (!latencies->known[t] || set->predicted[t])
            continue;
        const struct label own = {"target", placement_target_name(latencies, t, name)};
        err = series_new(predicted, labels, &own, 1, &set->predicted[t]);
    }
    return err;
}

bool placement_set_lacks(const struct placement_set *set,
                         const struct placement_latencies *latencies)
{
    bool lacks = false;
    for (int t = 0; t < PLACEMENT_TARGETS; t++)
        lacks |= set->made && latencies->known[t] && !set->predicted[t];
    return lacks;
}

void placement_set_show(struct placement_set *set, const struct placement_totals *totals,
                        const struct placement_latencies *latencies, bool shown)
{
    if (!set->made)
        return;
    series_show(set->series[PLACEMENT_SERIAL_READS], shown, totals->serial_reads);
    series_show(set->series[PLACEMENT_OBSERVED], shown, totals->observed_seconds);
    for (int t = 0; t < PLACEMENT_TARGETS; t++)
        if (set->predicted[t])
            series_show(set->predicted[t], shown && latencies->known[t],
                        totals->predicted_seconds[t]);
}

void placement_set_relabel(struct placement_set *set, struct labelset *labels)
{
    if (set->made && named_series_relabel(set->series, PLAIN, labels) &&
        named_series_relabel(set->predicted, PLACEMENT_TARGETS, labels))
        return;
    placement_set_release(set);
}

void placement_set_release(struct placement_set *set)
{
    named_series_release(set->series, PLAIN);
    named_series_release(set->predicted, PLACEMENT_TARGETS);
    set->made = false;
}
