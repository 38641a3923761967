#include "collectors/collector.h"

extern const struct collector_ops core_latency_collector;
extern const struct collector_ops imc_rpq_collector;
extern const struct collector_ops pmm_rpq_collector;
extern const struct collector_ops probe_collector;

const struct collector_ops *const collector_table[] = {
    &core_latency_collector, &imc_rpq_collector, &pmm_rpq_collector, &probe_collector, NULL,
};

const char *discard_name(enum discard discard)
{
    static const char *const names[DISCARD_COUNT] = {
        [DISCARD_STARVED] = "starved",       [DISCARD_RESET] = "reset",
        [DISCARD_READ_ERROR] = "read_error", [DISCARD_IMPLAUSIBLE] = "implausible",
        [DISCARD_PREEMPTED] = "preempted",   [DISCARD_MIGRATED] = "migrated",
        [DISCARD_STOLEN] = "stolen",
    };
    return names[discard];
}
