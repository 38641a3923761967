/*
 * Whose activity is one column: workloads, of which containers come and go (ONSETS.md L1).
 *
 * A workload is there as long as one of its containers is, and LINGER after that, so that a job
 * which runs every hour has a history; of those without containers, at most WORKLOADS_ENDED. Its
 * number is an index, small and used again. A container that has no names yet is a workload of its
 * own. Loop thread only.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LANES_WORKLOADS_H
#define IE_COLLECTORS_ATTRIBUTION_LANES_WORKLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/containers/container.h"

enum { WORKLOADS_ENDED = 1024 };
#define WORKLOADS_LINGER_NS (6 * 3600 * UINT64_C(1000000000))

struct workload {
    char *key; /* owned; NULL: nobody has this number */
    uint64_t hash;
    uint32_t containers;
    uint64_t left_ns; /* when the last one ended */
};

struct workloads {
    struct workload *at;
    size_t n, cap, ended;
};

/* Zeroed: empty. */
void workloads_release(struct workloads *workloads);

enum workloads_joined { WORKLOADS_OLD, WORKLOADS_NEW };

/* The container's workload has one more: WORKLOADS_OLD, WORKLOADS_NEW (with a number that nobody
 * has), or -ENOMEM. */
int workloads_join(struct workloads *workloads, const struct container *container, uint32_t *out);
/* Takes one container away. True: the workload is forgotten, since its name will not come again. */
bool workloads_leave(struct workloads *workloads, uint32_t number, uint64_t now_ns);

/* The one to forget next, whose number is then free: too old, or too many; false: none is. */
bool workloads_expire(struct workloads *workloads, uint64_t now_ns, uint32_t *out);

/* The only container of 'number' has other names now: the workload is called by them and keeps its
 * number; or another one is called so already and is returned, and 'number' is to be left.
 * -ENOMEM: as it was. */
int workloads_name(struct workloads *workloads, const struct container *container, uint32_t number,
                   uint32_t *out);

/* Whether it has one container. */
bool workloads_is_alone(const struct workloads *workloads, uint32_t number);
/* Whether the key outlives a container. */
bool workloads_has_name(const struct workloads *workloads, uint32_t number);

#endif
