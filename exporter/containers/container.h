/*
 * A container as the rest of the exporter sees it, and what changed since the last look.
 */
#ifndef IE_CONTAINERS_CONTAINER_H
#define IE_CONTAINERS_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum container_state {
    CONTAINER_LIVE,      /* counted */
    CONTAINER_ENDED,     /* its cgroup is gone; its last counts are still to be read */
    CONTAINER_LINGERING, /* read for the last time; counters stay in the exposition */
};

/* How many there are of each kind. */
enum container_count {
    CONTAINERS_MONITORED, /* live, with a slot */
    CONTAINERS_LINGERING, /* ended, with a slot */
    CONTAINERS_EXCLUDED,
    CONTAINERS_OVER_LIMIT,
    CONTAINER_COUNTS
};

/* Owned by the container table; valid until the table reports it forgotten and the reconcile with
 * that report has returned. Strings are never NULL. Changed only on the loop's thread. */
struct container {
    uint32_t slot; /* small, reused: for arrays beside the table */
    uint32_t gen;  /* differs between users of one slot */
    enum container_state state;
    /* Series may be made: its names are resolved, or 2 s have passed, and no other container that
     * has series has the same namespace, pod, name and short_id. Of live ones with the same names
     * and id only one that lies around all others has them; the others have what is known of their
     * cgroups: its last component for a name, and 12 digits of its inode for an id. */
    bool named;

    uint64_t cgroup_id;     /* the inode of the cgroup directory; 0 under replay */
    int cgroup_fd;          /* directory in perf's hierarchy; -1 under replay */
    char key[32];           /* the recording's name for it; live: "c<slot>.<gen>" */
    char short_id[13];      /* label container_id */
    const char *path;       /* below the hierarchy's root, with a leading slash */
    const char *id;         /* the runtime's 64 hex digits, or "" for a plain cgroup */
    const char *namespace_; /* "" outside Kubernetes */
    const char *pod;
    const char *name;     /* without one from the runtime: the cgroup's last component */
    const char *workload; /* its owner, of workload.h: how the pod's name begins, or its own */
    const char *image;
    const char *pod_uid;
    const char *runtime;   /* containerd, cri-o, docker, podman, or "" */
    const char *qos_class; /* guaranteed, burstable, besteffort, or "" */

    uint64_t found_mono_ns;
    uint64_t ended_mono_ns; /* 0 while live */
};

/* Never 0; the same for a container from first to last, and different for any other one. */
static inline uint64_t container_tag(uint32_t slot, uint32_t gen)
{
    return (uint64_t)gen << 32 | slot;
}

/* Why a cgroup is left alone: the share of whoever makes it is used up. */
enum cgroup_refusal {
    REFUSED_DIRECTORY, /* not looked at, and nothing below it */
    REFUSED_PLACE,     /* not counted by itself */
    REFUSED_WATCH,     /* looked at by the slow rescan only */
    CGROUP_REFUSALS
};

/* As in the label reason. */
static inline const char *cgroup_refusal_name(enum cgroup_refusal why)
{
    static const char *const names[CGROUP_REFUSALS] = {
        [REFUSED_DIRECTORY] = "directories",
        [REFUSED_PLACE] = "places",
        [REFUSED_WATCH] = "watches",
    };
    return names[why];
}

/*
 * What happened since the last diff, each list in order of happening. Consumers handle the lists
 * in the order of the members below.
 *
 * forgotten comes first because a container in it may have the labels of one in named. Such a
 * container is in no other list of this diff; one that came and went for good between two looks is
 * in none. Any other container may be in several lists (found and named at once; found and ended
 * between two looks).
 */
struct container_list {
    struct container *const *at;
    size_t n;
};

struct container_diff {
    struct container_list forgotten; /* drop everything; not counted any more */
    struct container_list added;     /* start counting */
    struct container_list named;     /* series may be made */
    struct container_list renamed;   /* was named, its labels changed: series must be made anew */
    struct container_list ended;     /* read once more at the next collect, then close */
};

static inline bool container_diff_is_empty(const struct container_diff *diff)
{
    return diff->added.n + diff->named.n + diff->renamed.n + diff->ended.n + diff->forgotten.n == 0;
}

#endif
