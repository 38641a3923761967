/*
 * Where a container's time went: the causes for which it waits instead of working.
 */
#ifndef IE_BASE_LOSS_H
#define IE_BASE_LOSS_H

/* In the order in which one of two that cost the same is named. */
enum loss {
    LOSS_OWN_QUOTA,     /* it reached its own limit of CPU time */
    LOSS_CPU_NEIGHBOUR, /* others ran on its CPUs */
    LOSS_ITSELF,        /* its own tasks did */
    LOSS_HYPERVISOR,    /* the hypervisor gave its CPUs to others */
    LOSS_OWN_MEMORY_LIMIT,
    LOSS_MEMORY_FULL, /* the machine's */
    LOSS_DISK,
    LOSS_MEMORY_SLOW, /* reads take longer than is normal */
    LOSSES
};

/* As in the label cause, e.g. "own_quota". */
static inline const char *loss_name(enum loss loss)
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

#endif
