/*
 * A group of events at one place: opened all or none, closed.
 *
 * Its events stand in slots. Slot i is that of the group's role i; a role of a unit
 * may be a sum of events, and what is added to the first of them stands in the slots behind.
 */
#ifndef IE_SOURCE_PERF_GROUP_H
#define IE_SOURCE_PERF_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/base/reason.h"
#include "exporter/source/event/encode.h"
#include "exporter/source/event/file.h"
#include "exporter/source/event/table.h"
#include "exporter/source/perf/kernel.h"
#include "exporter/source/perf/said.h"
#include "exporter/source/pool.h"
#include "exporter/source/role.h"
#include "exporter/source/source.h"

/*
 * What opening events needs to know of this machine, and the descriptors that the open ones hold.
 *
 * One context per source that opens events. Loop thread only.
 */

struct perf_context {
    const struct fsroot *fs; /* borrowed for the context's life, like all pointers here */
    const struct log *log;
    const struct perf_kernel *kernel;
    const struct event_table *table; /* NULL: an unsupported CPU */
    const struct events_file *file;  /* NULL: no --events.file */
    size_t fd_limit;                 /* as in struct perf_config */
    struct descriptor_pool *pool;    /* likewise */
    struct perf_said *said;          /* likewise */
    bool no_pmem;                    /* likewise */
    size_t open_counters;
    size_t cgroup_handles; /* groups of containers that are open: each holds its directory */
    size_t shared;         /* other descriptors, of what all counters use together */
    size_t told;           /* the sum, as the pool knows it */
    bool for_all;          /* a group counts all containers: fewer of them need no fewer events */
};

/* Tells the pool what counters hold now. Contexts with the same pool add up. */
void perf_fd_account(struct perf_context *context);

/* 0, with what others hold of it called in; or -EMFILE with *why when a group of that many events
 * on that many CPUs does not fit beside all counters of the pool. */
int perf_fd_budget(struct perf_context *context, enum group group, size_t events, size_t cpus,
                   struct verdict *why);

static inline size_t perf_n_roles(enum group group)
{
    return group_descs[group].n;
}

/* Events of a unit's group beyond one per role. */
enum { PERF_SUMMANDS = 2 };

/* No more than GROUP_MAX_ROLES. */
static inline size_t perf_n_slots(enum group group)
{
    return perf_n_roles(group) + (group_descs[group].unit ? PERF_SUMMANDS : 0);
}

static inline bool perf_in(uint32_t mask, size_t i)
{
    return (mask >> i & 1u) != 0;
}

/* Where a group is opened: perf_event_open's arguments. */
struct perf_target {
    pid_t pid;
    int cpu;
    unsigned long flags;
    bool user_only; /* leave out the kernel's part, which takes more privilege */
    bool pinned;    /* before all groups that are not, as far as the kernel's order of contexts
                       lets it; it fails where it does not fit: read() then gives 0 bytes */
};

/* Of our own threads. The clocks that AMD's and Arm's groups take for ref_cycles count in the
 * kernel, too: then so must the rest. */
static inline bool perf_user_only(enum scope_kind kind, enum group group)
{
    return kind == SCOPE_THREAD && group != GROUP_FILLS && group != GROUP_IN_FLIGHT &&
           group != GROUP_MISSES;
}

/*
 * Opens the slots of 'mask' as one group, all or none; fds (one per slot of the group) are -1
 * where mask has no bit. On failure -errno and *failed is the slot.
 */
int perf_events_open(struct perf_context *context, enum group group, uint32_t mask,
                     const struct encoded_event *const *events, const struct perf_target *target,
                     int *fds, size_t *failed);
void perf_events_close(struct perf_context *context, enum group group, int *fds);
/* Whether the kernel's own code counts all slots of the mask. */
bool perf_events_software(enum group group, uint32_t mask,
                          const struct encoded_event *const *events);

#endif
