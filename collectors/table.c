#include "collectors/contract/collector.h"

extern const struct collector_ops core_latency_collector;
extern const struct collector_ops imc_rpq_collector;
extern const struct collector_ops pebs_nvmm_collector;
extern const struct collector_ops pmm_rpq_collector;
extern const struct collector_ops probe_collector;
extern const struct collector_ops slowdown_collector;

const struct collector_ops *const collector_table[] = {
    &core_latency_collector,
    &slowdown_collector,
    &imc_rpq_collector,
    &pmm_rpq_collector,
    &pebs_nvmm_collector,
    &probe_collector,
    NULL,
};

const char *discard_name(enum discard discard)
{
    static const char *const names[DISCARD_COUNT] = {
        [DISCARD_STARVED] = "starved",       [DISCARD_RESET] = "reset",
        [DISCARD_READ_ERROR] = "read_error", [DISCARD_IMPLAUSIBLE] = "implausible",
        [DISCARD_PREEMPTED] = "preempted",   [DISCARD_MIGRATED] = "migrated",
        [DISCARD_STOLEN] = "stolen",         [DISCARD_LEARNING] = "learning",
        [DISCARD_NEVER_CALM] = "never_calm", [DISCARD_NO_EPOCH] = "no_epoch",
        [DISCARD_NO_MISSES] = "no_misses",   [DISCARD_DENOMINATOR] = "denominator",
    };
    return names[discard];
}
