/*
 * What the exporter says of a node's containers in one tick: /api/v1/containers, read back.
 *
 * What is not said is not known, never a default: an exporter that does not say which tick this is,
 * or where its counts come from, gives a view that nobody may act on.
 */
#ifndef IE_GOVERNOR_VIEW_H
#define IE_GOVERNOR_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/governor/terms/claim.h"

enum { VIEW_CONTAINERS_MAX = 16384 };

/* What estimates how much slower a container is for others. */
enum view_model { VIEW_PASSIVE, VIEW_SHADOW, VIEW_MODELS };

/* Counters in cycles; NaN: none. */
struct view_loss {
    double observed;      /* of windows with an estimate ... */
    double memory, cache; /* ... and of those, lost to others */
};

/* Texts are the view's, and never NULL: "" where there is none. */
struct view_container {
    const char *container_id, *namespace_, *pod, *container;
    const char *path;        /* of its cgroup */
    const char *pod_uid;     /* as the exporter says it */
    const char *qos_class;   /* "guaranteed", "burstable", "besteffort" */
    uint64_t cgroup_id;      /* the directory's inode in perf_event's hierarchy; 0: none */
    double latency_seconds;  /* of the last window; NaN: none */
    double baseline_seconds; /* what is normal for it; NaN: none, or only a lower bound */
    /* Counters since it began; NaN: none. */
    double memory_reads, llc_reads, cycles, reference_cycles;
    double caused_latency_seconds; /* of all NUMA nodes, over the readings in which it was named */
    double caused_wait_seconds;    /* of the memory reads of others */
    /* Now; NaN: not known, or it is not named. */
    double cpus;                              /* that it uses */
    double caused_seconds, caused_sd_seconds; /* how much longer a read takes because of it */
    double probability;                       /* that it does, by CPU time alone; NaN: not said */
    bool in_group;                            /* it is one of several, and it is not known which */
    struct view_loss losses[VIEW_MODELS];
};

struct view {
    const char *source; /* "perf", "bpf", "replay"; "" where it is not said */
    bool replay_ended;
    uint64_t own_cgroup;   /* the exporter's own, as cgroup_id; 0: it does not say */
    double base_hz;        /* at which reference cycles are counted; NaN: it does not say */
    bool has_tick;         /* and then: */
    uint64_t tick;         /* its number */
    uint64_t monotonic_ns; /* CLOCK_MONOTONIC when it began */
    uint64_t interval_ns;  /* > 0 */
    struct view_container *containers;
    size_t n;
    /* Kept from one document to the next, which allocates nothing if it is not larger. */
    char *texts;
    size_t texts_cap, containers_cap;
};

/* Replaces what the view says, all zero at first, by what the document's text does. 0; -EINVAL with
 * one line in error; -ENOMEM; -E2BIG: more containers than VIEW_CONTAINERS_MAX. Then it says
 * nothing. */
int view_parse(const char *text, size_t len, struct view *view, char *error, size_t error_size);
void view_release(struct view *view);
/* Whether the exporter counts this machine now (by perf or BPF), and does not replay a recording.
 */
bool view_is_counted(const struct view *view);

/* namespace/pod/container, for people. */
void view_name(const struct view_container *container, char out[CLAIM_NAME_MAX]);
/* Of the cgroup: a path may be reused, and then the inode is another. */
uint64_t view_key(const struct view_container *container);
/* The same for all containers of its owner: the same container of all replicas of a Deployment, and
 * of all runs of a CronJob (exporter/containers/workload.h). Never 0. */
uint64_t view_owner(const struct view_container *container);

/* What a counter grew by; NaN: one of the two is not known, or it began anew. */
double view_grown(double before, double now);

#endif
