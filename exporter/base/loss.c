#include "exporter/base/loss.h"

const char *loss_name(enum loss loss)
{
    static const char *const names[LOSSES] = {
        [LOSS_OWN_QUOTA] = "own_quota",
        [LOSS_CPU_NEIGHBOUR] = "cpu_neighbour",
        [LOSS_ITSELF] = "itself",
        [LOSS_HYPERVISOR] = "hypervisor",
        [LOSS_OWN_MEMORY_LIMIT] = "own_memory_limit",
        [LOSS_MEMORY_FULL] = "memory_full",
        [LOSS_DISK] = "disk",
        [LOSS_MEMORY_SLOW] = "memory_slow",
    };
    return names[loss];
}
