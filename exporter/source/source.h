/*
 * Where raw counts and samples come from.
 *
 * A source hands out raw totals per CPU; it knows no metric and never scales. All ops are called
 * from the loop's thread.
 */
#ifndef IE_SOURCE_SOURCE_H
#define IE_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/clock.h"
#include "exporter/base/reason.h"
#include "exporter/source/machine.h"
#include "exporter/source/role.h"
#include "exporter/source/sample.h"

enum scope_kind {
    SCOPE_CGROUP,
    SCOPE_THREAD,
    SCOPE_UNIT,
    SCOPE_CPU,
    /* All CPUs, with a row for each: what a SCOPE_CGROUP of everything would be. A kind of its own,
     * since no one CPU stands for it, and its CPUs come and go while it is open. Only the group
     * activity has it. */
    SCOPE_MACHINE,
    SCOPE_KINDS
};

/* What is counted. Borrowed for the call that takes it, 'key' included; but cgroup_fd until the
 * cgroup has ended and was read for the last time. */
struct scope {
    enum scope_kind kind;
    const char *key; /* unique among open scopes; the name that recordings use */
    int cgroup_fd; /* SCOPE_CGROUP: directory in the hierarchy that owns perf_event; otherwise -1 */
    /* SCOPE_CGROUP: below a hierarchy's root, where other hierarchies have the same cgroup; NULL:
     * not known */
    const char *cgroup_path;
    int tid;                        /* SCOPE_THREAD */
    int cpu;                        /* SCOPE_CPU */
    int channel;                    /* SCOPE_UNIT: which of its groups, from 0 */
    const struct source_unit *unit; /* SCOPE_UNIT */
    /* SCOPE_CGROUP, for who knows containers by these; NULL or "": not known, or it is none */
    const char *container_id; /* as the runtime has it */
    const char *pod_uid;
    uint64_t owner; /* what samples of this scope carry; 0: they are not wanted */
};

/*
 * One group on one CPU: raw totals since the group was opened. A row keeps its CPU for the life of
 * the handle; while that CPU is offline its totals stand still.
 */
struct reading_row {
    int32_t cpu;      /* -1: the sum over all CPUs (recordings by the simulated node) */
    uint32_t present; /* bit i: count[i] was counted; 0: this row holds no reading yet */
    uint64_t enabled_ns;
    uint64_t running_ns;
    uint64_t count[]; /* group_descs[group].n of them */
};

/* Rows of one group, laid out with a stride, because the number of roles differs between groups. */
struct reading {
    size_t n;            /* rows in use */
    size_t cap;          /* rows that fit */
    size_t stride_bytes; /* from reading_stride() */
    void *rows;
    /* Of a source that knows which rows change: a number, one higher than that of the handle's
     * reading before; and the indices of those that differ from it, the source's until the next
     * reading. 0 and NULL in a new one, and of any other source. */
    uint64_t as_of;
    const uint16_t *changed;
    size_t n_changed;
};

static inline size_t reading_stride(enum group group)
{
    return sizeof(struct reading_row) + group_descs[group].n * sizeof(uint64_t);
}

static inline struct reading_row *reading_row(const struct reading *reading, size_t i)
{
    return (struct reading_row *)((char *)reading->rows + i * reading->stride_bytes);
}

/* The group whose events are sampled as accesses of this kind. */
static inline enum group access_group(enum access access)
{
    return access == ACCESS_STORE ? GROUP_STORES : GROUP_LOADS;
}

/* A finished burst of the memory probe. */
struct probe_reading {
    int initiator_numa_node;
    int target_numa_node;
    double latency_ns;
    double llc_hit_ns; /* latency of a load that hits the last-level cache; 0: not measured */
    double l2_hit_ns;  /* likewise the L2 */
    int cpu;           /* on which it ran; -1: not known */
};

/* A CPU that one scope had after it was taken from another one, whose task wanted to go on: until
 * it was handed on. A limit of CPU time that is reached is no such taking. */
struct cpu_taking {
    uint64_t from; /* a scope's owner */
    uint64_t by;   /* likewise; 0: of none whose owner is known */
    uint64_t ns;
};

/* Why a run of the probe does not count. */
enum probe_discard {
    PROBE_PREEMPTED, /* another thread ran on the CPU meanwhile */
    PROBE_MIGRATED,  /* the thread was on another CPU, or the kernel had moved the memory */
    PROBE_STOLEN,    /* the hypervisor or interrupts took CPU time */
    PROBE_DISCARDS
};

struct source;

/*
 * A source does one or more of three things, and leaves out (NULL) the ops of what it does not do:
 *
 *   counting   check, open, width, read, close: all five, or it does not count
 *   probing    probes; probe_discards, unless that is not known
 *   sampling   samples, drain, sampling: all three, or it does not sample
 *
 * A source that counts delays may have takings, too.
 *
 * The source set never calls an op that is missing: it answers for the source that nothing here
 * does that. 'begin', 'open_counters', 'unread' and 'end' may be left out by any source, 'name' and
 * 'free' by none.
 */
struct source_ops {
    const char *name; /* as in interference_exporter_source_info{source}: "perf", "replay", ... */

    /* ---- counting ---- */

    /* Whether such groups can be counted at all. May take some milliseconds: it runs at start. */
    bool (*check)(struct source *source, enum scope_kind kind, enum group group,
                  struct verdict *why);

    /* Opens a group, all or nothing. On failure -errno, *why set, *handle untouched. -ESRCH: the
     * container or thread has ended already, which happens every day. */
    int (*open)(struct source *source, const struct scope *scope, enum group group,
                uint64_t *handle, struct verdict *why);

    /* Rows that a reading of this handle may need; for sizing the buffers of read. Asked when it is
     * opened, and after each begin. */
    size_t (*width)(struct source *source, uint64_t handle);

    /*
     * Fills out->rows and out->n. 0; -ENODATA when there is no reading for this tick (replay);
     * -ENOSPC when out->cap is too small (ask width again); other -errno when the kernel fails.
     * Allocates nothing.
     */
    int (*read)(struct source *source, uint64_t handle, struct reading *out);

    void (*close)(struct source *source, uint64_t handle);

    /* ---- probing ---- */

    /* The bursts that finished since the last call, up to cap of them. */
    int (*probes)(struct source *source, struct probe_reading *out, size_t cap, size_t *n);
    /* Runs that did not count, since the start, by cause. */
    void (*probe_discards)(struct source *source, uint64_t discarded[PROBE_DISCARDS]);

    /* Who took CPUs from whom in the tick that ended, of scopes whose group delays is open with an
     * owner; pairs may come more than once. Returns how many there are, up to cap; left out: that
     * is not known. Once a tick. */
    size_t (*takings)(struct source *source, struct cpu_taking *out, size_t cap);

    /* ---- sampling ---- */

    /* Whether accesses of this kind are sampled; if so, those of all scopes whose group of that
     * kind (stores, loads) is open with an owner. */
    bool (*samples)(struct source *source, enum access access, struct verdict *why);
    /* Up to cap samples taken since the last call; returns how many. Fewer than cap: no more. */
    size_t (*drain)(struct source *source, struct access_sample *out, size_t cap);
    /* For kinds that are sampled only. When called before drain, 'settled_ns' holds for the
     * samples that drain then hands out. */
    void (*sampling)(struct source *source, enum access access, struct sampling *out);

    /* ---- all ---- */

    /* Called once a tick, before any read: for backends that read everything at once, and for CPUs
     * that come and go. May open and allocate only when the machine changed. */
    int (*begin)(struct source *source, const struct tick *tick);

    /* File descriptors held for counters; left out: 0. */
    size_t (*open_counters)(struct source *source);

    /* Intervals on one CPU, since the start, of which nobody has what was counted: the events could
     * not be read, or they were two cgroups'; left out: 0. */
    uint64_t (*unread)(struct source *source);

    /* Ends the source's threads, for which it waits a second; left out: it has none that could wait
     * for strangers. 0, or -ETIMEDOUT: one does not end; the source must not be freed then. */
    int (*end)(struct source *source);

    void (*free)(struct source *source);
};

/* Embedded first in every backend. */
struct source {
    const struct source_ops *ops;
};

#endif
