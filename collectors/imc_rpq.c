/*
 * Memory latency as the memory controllers see it: Shen & Li 2020 section 4.1, FORMULAS.md section
 * 2. Shared by all cores, without caches and interconnect: the alternative, beside core_latency.
 */
#include "collectors/parts/rpq.h"
#include "collectors/table.h"

/* What the flags say. */
struct imc_rpq_config {
    double cas_latency_seconds; /* 0: from the recording, otherwise unknown */
};

_Static_assert(sizeof(struct imc_rpq_config) <= COLLECTOR_CONFIG_BYTES, "the flags fill it");

static const struct option_flag options[] = {
    {.name = "collector.imc_rpq.cas-latency",
     .type = FLAG_SECONDS,
     .offset = offsetof(struct imc_rpq_config, cas_latency_seconds),
     .min = 1,
     .max = 1000,
     .unit = "DURATION",
     .help = "CAS latency of the DIMMs, for example 14.3ns for DDR4-2933 CL21. It overrides the "
             "value in a recording. Without either value, the metrics of the memory controllers "
             "include queue lengths but no latency."},
    {.name = NULL},
};

static const struct metric_desc descs[RPQ_METRICS] = {
    [RPQ_CLOCKTICKS] = METRIC(COUNTER, U64, "interference_imc_clockticks", "socket, imc",
                              "Clock ticks of the memory controller. Their rate is its "
                              "frequency. High only means fast memory."),
    [RPQ_INSERTS] = METRIC(COUNTER, U64, "interference_imc_read_queue_inserts", "socket, imc",
                           "Reads that entered the memory controller's read queue. High: "
                           "programs read memory a lot."),
    [RPQ_OCCUPANCY] =
        METRIC(COUNTER, U64, "interference_imc_read_queue_occupancy_cycles", "socket, imc",
               "Sum, over the controller's clock ticks, of the reads in its queue. "
               "Divided by inserts: ticks that a read waits. High: the queue is long."),
    [RPQ_LATENCY] =
        METRIC(GAUGE, DOUBLE, "interference_imc_read_latency_seconds", "socket, imc",
               "Mean time of a DRAM read inside the memory controller in the last "
               "window, including the column access, but not caches and interconnect: "
               "below the latency that cores see. High: its channels are contended. "
               "Sapphire Rapids and later: unverified, it may be off by a factor of two "
               "until collectors/VALIDATION.md was followed on such a CPU."),
    [RPQ_CAS] = METRIC(GAUGE, DOUBLE, "interference_imc_cas_latency_seconds", "socket, imc",
                       "Column access time that is part of the read latency: from "
                       "--collector.imc_rpq.cas-latency, otherwise from the recording. Without "
                       "either, this metric and the latency are absent. High: slow DIMMs. An "
                       "error in it shifts the latency by the same time."),
};

static const struct metric_desc frequency_desc =
    METRIC(GAUGE, DOUBLE, "interference_imc_frequency_hertz", "socket",
           "Clock of the socket's memory controllers: the highest tick rate seen. The clock is "
           "fixed, but it stops while the socket sleeps; ticks divided by time show it only on a "
           "socket that is awake. Absent, like the latency, until a rate was seen that memory "
           "can have (790 MHz). High only means fast memory.");

static const struct metric_desc *const metrics[] = {&descs[RPQ_CLOCKTICKS],
                                                    &descs[RPQ_INSERTS],
                                                    &descs[RPQ_OCCUPANCY],
                                                    &descs[RPQ_LATENCY],
                                                    &descs[RPQ_CAS],
                                                    &frequency_desc,
                                                    NULL};

static const struct rpq_kind kind = {
    .collector = "imc_rpq",
    .reads = "reads of DRAM",
    .group = GROUP_RPQ,
    .descs = {&descs[RPQ_CLOCKTICKS], &descs[RPQ_INSERTS], &descs[RPQ_OCCUPANCY],
              &descs[RPQ_LATENCY], &descs[RPQ_CAS]},
    .frequency = &frequency_desc,
    .adds_cas_latency = true,
};

static bool imc_rpq_probe(const struct collector_env *env, struct verdict *why)
{
    return rpq_probe(env, &kind, why);
}

static int imc_rpq_start(const struct collector_env *env, struct collector_status *status,
                         void **self)
{
    const struct imc_rpq_config *config = env->config;
    return rpq_start(env, status, &kind, config->cas_latency_seconds, self);
}

const struct collector_ops imc_rpq_collector = {
    .name = "imc_rpq",
    .summary = "read latency inside each memory controller, from its read queue",
    .default_on = COLLECTOR_AUTO,
    .options = options,
    .metrics = metrics,
    .discards = DISCARDS_OF_WINDOWS,
    .probe = imc_rpq_probe,
    .start = imc_rpq_start,
    .collect = rpq_collect,
    .stop = rpq_stop,
};
