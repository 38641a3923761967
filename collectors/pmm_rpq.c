/*
 * Latency of persistent memory (PMM) reads as the memory controllers see it: Shen & Li 2020 section
 * 4.1, FORMULAS.md section 2. An entry stays in this queue until it is served.
 */
#include "collectors/parts/rpq.h"
#include "collectors/table.h"

static const struct metric_desc descs[RPQ_METRICS] = {
    [RPQ_INSERTS] = METRIC(COUNTER, U64, "interference_pmm_read_queue_inserts", "socket, imc",
                           "Reads that entered the memory controller's queue for persistent "
                           "memory. High: programs read persistent memory a lot."),
    [RPQ_OCCUPANCY] =
        METRIC(COUNTER, U64, "interference_pmm_read_queue_occupancy_cycles", "socket, imc",
               "Sum, over the controller's clock ticks, of the persistent memory "
               "reads in its queue. High: the reads are many, or each waits long. "
               "Divided by inserts: ticks that a read takes."),
    [RPQ_LATENCY] = METRIC(GAUGE, DOUBLE, "interference_pmm_read_latency_seconds", "socket, imc",
                           "Mean time of a persistent memory read in the last window, from the "
                           "memory controller on. High: the modules are contended, often by "
                           "writers. Sapphire Rapids: unverified, it may be off by a factor of "
                           "two until collectors/VALIDATION.md was followed on one."),
};

static const struct metric_desc *const metrics[] = {&descs[RPQ_INSERTS], &descs[RPQ_OCCUPANCY],
                                                    &descs[RPQ_LATENCY], NULL};

static const struct rpq_kind kind = {
    .collector = "pmm_rpq",
    .reads = "reads of persistent memory",
    .group = GROUP_PMM_RPQ,
    .descs = {[RPQ_INSERTS] = &descs[RPQ_INSERTS],
              [RPQ_OCCUPANCY] = &descs[RPQ_OCCUPANCY],
              [RPQ_LATENCY] = &descs[RPQ_LATENCY]},
};

static bool pmm_rpq_probe(const struct collector_env *env, struct verdict *why)
{
    return rpq_probe(env, &kind, why);
}

static int pmm_rpq_start(const struct collector_env *env, struct collector_status *status,
                         void **self)
{
    return rpq_start(env, status, &kind, 0, self);
}

const struct collector_ops pmm_rpq_collector = {
    .name = "pmm_rpq",
    .summary = "latency of persistent memory, from each memory controller's queue",
    .default_on = COLLECTOR_AUTO,
    .metrics = metrics,
    .discards = DISCARDS_OF_WINDOWS,
    .probe = pmm_rpq_probe,
    .start = pmm_rpq_start,
    .collect = rpq_collect,
    .stop = rpq_stop,
};
