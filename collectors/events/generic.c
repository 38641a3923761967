#include "collectors/events/events.h"

/*
 * Any CPU whose PMU the kernel drives: what its generic events count is the kernel's to know. There
 * is no latency from these.
 */
const struct event_table event_table_generic = {
    .microarchitecture = "generic",
    .models = "any other whose PMU the kernel drives",
    .known_error = "no latency",
    .generic = true,
    .event =
        {
            [ROLE_CYCLES] = "perf::CYCLES",
            [ROLE_REF_CYCLES] = "perf::REF-CYCLES",
            [ROLE_INSTRUCTIONS] = "perf::INSTRUCTIONS",
        },
};
