/* What the files of this folder share. */
#ifndef IE_LIVE_INTERNAL_H
#define IE_LIVE_INTERNAL_H

#include <pthread.h>

#include "exporter/live/live.h"

/* What collectors put in, by slot. */
struct row {
    uint64_t tag; /* whose it is; 0: nobody's */
    double number[LIVE_NUMBERS];
    bool socket_known;
    float socket_share[LIVE_SOCKETS];
    struct live_elsewhere elsewhere[LIVE_TARGETS];
    enum live_suspicion suspicion;
    int caused_numa_node;
    double probability;
    const char *normal_basis, *why_no_normal, *why_no_slowdown;
    struct live_lost lost;
    uint64_t normal_since_mono_ns;
    bool waits;
    uint64_t waits_since_mono_ns, waited_mono_ns;
};

/* The ring is by second of the tick's clock. */
struct domain_history {
    int numa_node;
    double latency_seconds, usual_seconds, host_seconds, steps_per_hour, outside_seconds;
    uint64_t latency_mono_ns; /* 0: never */
    enum live_cause cause;
    float ring[LIVE_HISTORY];
    uint64_t second; /* of the newest entry */
};

/* From the CPUs of a NUMA node to the memory of one. */
struct path {
    int initiator, target;
    double latency_seconds;
    uint64_t latency_mono_ns;
};

/* Who waited before a restart, and since when. */
struct kept_wait {
    char id[sizeof((struct live_container *)0)->id];
    uint64_t cgroup_id, since_mono_ns;
};

struct live {
    struct kept_wait *kept; /* until they come, or for good if they do not */
    size_t n_kept;
    uint64_t kept_mono_ns; /* when they waited */
    struct row *rows;
    size_t n_rows, rows_cap;
    struct domain_history *domains[LIVE_DOMAINS];
    size_t n_domains;
    struct path *paths; /* room for LIVE_PATHS; NULL before the first */
    size_t n_paths;
    bool host_known;
    struct live_host host;
    char target[LIVE_TARGETS][LIVE_TARGET_BYTES];

    pthread_mutex_t lock; /* guards what follows; held while it is copied */
    struct live_view shown;
    size_t shown_cap, domains_cap, paths_cap;
};

/* What is remembered of a NUMA node, made if it is new. NULL: there is no room. */
struct domain_history *live_domain_of(struct live *live, int numa_node);

#endif
