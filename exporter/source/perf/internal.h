/*
 * What the files of the perf source share. Included by perf*.c only.
 *
 *   perf.c           the ops, handles, and what happens once a tick
 *   perf_events.c    a group of events at one place: opened all or none, closed
 *   perf_handle.c    a group on all CPUs: rows, totals, CPUs that come and go
 *   perf_ladder.c    which roles of a group this machine can count, at start and later
 *   perf_unit.c      memory controllers
 *   perf_cpus.c      which CPUs are online
 *   perf_samples.c   samples of loads and stores: another source, with the CPUs of this one
 *   perf_explain.c   errors in words
 *   perf_kernel.c    the real kernel
 */
#ifndef IE_SOURCE_PERF_INTERNAL_H
#define IE_SOURCE_PERF_INTERNAL_H

#include "exporter/source/event/encode.h"
#include "exporter/source/perf/perf.h"

enum {
    PERF_STARVED_TICKS = 5,         /* consecutive, before a group steps down at run time */
    PERF_STARVED_NS = 50 * 1000000, /* and this much time without a counter: rotation between
                                       groups takes 4 ms a turn */
    PERF_ROW_TIMES = 2,             /* enabled and running stand before the counts */
};

/* The CPUs that are online now, from a descriptor that stays open. */
struct perf_cpus {
    int fd; /* -1: sysfs does not tell */
    size_t n, cap;
    int *at; /* ascending; owned */
    size_t text_len;
    char text[4096];
};

int perf_cpus_init(struct perf_cpus *cpus, const struct fsroot *fs);
void perf_cpus_release(struct perf_cpus *cpus);
/* Looks again; *changed says whether anything is different. One pread when nothing is. */
int perf_cpus_refresh(struct perf_cpus *cpus, bool *changed);
bool perf_cpus_has(const struct perf_cpus *cpus, int cpu);

/* One role's event, encoded when first needed. */
struct perf_event {
    bool tried;
    int error;
    struct encoded_event encoded;
    struct verdict why;
};

/* What is known about a group on this machine. */
struct perf_group {
    bool prepared;
    int prepare_error;
    struct verdict prepare_why;
    uint32_t available; /* roles with an event */
    uint32_t roles;     /* of the rung in force; 0 before a check */
    unsigned rung;
    bool starved; /* the last step down was for want of a counter, not a refusal */
    struct {
        bool done;
        int error;
        struct verdict why;
    } checked[SCOPE_KINDS];

    /* Of the reads since the last begin. */
    size_t active_rows, starved_rows;
    uint64_t starved_ns;
    /* Of the ticks in a row in which no active row ran. */
    unsigned streak;
    uint64_t streak_ns;
    bool reported; /* that the last rung starves too */
};

/* A group on one CPU, or the only row of a thread or unit. */
struct perf_row {
    int32_t cpu; /* as in readings: -1 for threads and units */
    int32_t on;  /* where its events are opened; -1: wherever the thread runs */
    bool open;
    bool detached;    /* its CPU was offline meanwhile: the kernel took the group apart */
    uint32_t present; /* roles with a total; 0 before the first reading */
};

struct perf_handle {
    enum scope_kind kind;
    enum group group;
    pid_t pid;     /* a cgroup directory's descriptor of our own, a thread, or -1 */
    uint32_t mask; /* the roles that are open */
    size_t n, cap;
    struct perf_row *rows;
    int *fds;       /* per row: one per role of the group, -1 where not open */
    uint64_t *last; /* per row: enabled, running, counts: what was handed out last */
    uint64_t *base; /* the same layout, added to what the kernel says; NULL: all 0 */
};

struct perf_slot {
    struct perf_handle *handle; /* NULL: free */
    uint32_t generation;
    uint32_t next_free;
};

struct perf_source {
    struct source source; /* first */
    struct perf_config config;
    struct perf_cpus cpus;
    struct perf_event events[ROLE_COUNT]; /* of the cores */
    struct perf_group groups[GROUP_COUNT];
    size_t n_slots;
    struct perf_slot *slots;
    uint32_t first_free; /* index + 1; 0: none */
    size_t open_counters;
    size_t cgroup_handles;
    bool recheck; /* a row lost its CPU: look at all rows in the next begin */
};

static inline size_t perf_n_roles(enum group group)
{
    return group_descs[group].n;
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
    bool user_only; /* leave out the kernel's part: needs less privilege */
};

/*
 * Opens the roles of 'mask' as one group, all or none; fds (one per role of the group) are -1
 * where mask has no bit. On failure -errno and *failed is the index of the role.
 */
int perf_events_open(struct perf_source *source, enum group group, uint32_t mask,
                     const struct encoded_event *const *events, const struct perf_target *target,
                     int *fds, size_t *failed);
void perf_events_close(struct perf_source *source, enum group group, int *fds);
/* The core's events by index in the group; NULL for roles that are not available. */
void perf_events_of_core(struct perf_source *source, enum group group,
                         const struct encoded_event **events);
bool perf_events_software(enum group group, uint32_t mask,
                          const struct encoded_event *const *events);

/* Encodes the events of a group of the cores, once. 0, or the error of a required role. */
int perf_group_prepare(struct perf_source *source, enum group group, struct verdict *why);
/* Finds the highest rung that runs here. Caches its answer. */
int perf_ladder_check(struct perf_source *source, enum scope_kind kind, enum group group,
                      struct verdict *why);
/* The roles of a rung, counted from 0, or 0 below the last one. Pure. */
uint32_t perf_ladder_rung(enum group group, uint32_t available, unsigned rung);
/* One row's time since the last read. */
void perf_ladder_account(struct perf_group *state, uint64_t enabled_ns, uint64_t running_ns);
/* Once a tick: true when the group must be reopened with state->roles. */
bool perf_ladder_tick(struct perf_source *source, enum group group);

int perf_handle_new(struct perf_source *source, const struct scope *scope, enum group group,
                    struct perf_handle **out, struct verdict *why);
void perf_handle_free(struct perf_source *source, struct perf_handle *handle);
int perf_handle_read(struct perf_source *source, struct perf_handle *handle, struct reading *out);
/* Opens and closes rows as CPUs came and went. 0, or the error of a row that could not be opened:
 * its totals stand still. */
int perf_handle_sync(struct perf_source *source, struct perf_handle *handle);
/* Opens all rows again with fewer roles; totals go on. Errors as above. */
int perf_handle_step_down(struct perf_source *source, struct perf_handle *handle, uint32_t mask);

/* A memory controller's events for one pseudo-channel, its roles, and the CPU to open them on.
 * -ENODEV when there is no such channel. Release the GROUP_MAX_ROLES events also on failure. */
int perf_unit_events(struct perf_source *source, const struct unit *unit, enum group group,
                     int channel, struct encoded_event *events, uint32_t *mask, int *cpu,
                     struct verdict *why);
void perf_unit_events_release(struct encoded_event *events);
int perf_unit_check(struct perf_source *source, enum group group, struct verdict *why);

/* What the kernel said, or -ESRCH when it said so because the cgroup is gone. */
int perf_open_error(const struct scope *scope, int error);
/* Why opening failed, with what only the source knows: limits, cgroups, kinds of events. */
void perf_explain_open(struct perf_source *source, const struct scope *scope, enum group group,
                       const struct encoded_event *const *events, size_t failed, int error,
                       struct verdict *why);
/* No text says how the role is counted. */
void perf_explain_no_event(const struct fsroot *fs, const struct event_table *table,
                           enum group group, enum role role, struct verdict *why);
/* kernel.perf_event_paranoid, or PERF_PARANOID_UNKNOWN. */
int perf_paranoid_level(const struct fsroot *fs);
/* 0, or -EMFILE with *why when a group of so many events on so many CPUs does not fit. */
int perf_fd_budget(const struct perf_source *source, enum group group, size_t events, size_t cpus,
                   struct verdict *why);
/* False when the directory is no cgroup, or one that was removed. */
bool perf_cgroup_alive(int cgroup_fd);

#endif
