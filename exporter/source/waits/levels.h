/*
 * What a container may have, from files that are opened, read and closed: of its cgroup and of
 * those above it. None of it costs a descriptor.
 */
#ifndef IE_SOURCE_WAITS_LEVELS_H
#define IE_SOURCE_WAITS_LEVELS_H

#include "exporter/source/waits/entitle.h"
#include "exporter/source/waits/waits.h"

struct waits_levels {
    uint64_t cpu_set; /* all ones: any */
    size_t cpus;      /* in it; 0: not known */
    bool has_weights;
    uint32_t weight[ENTITLE_LEVELS];
    uint64_t quota_ns;           /* per second, the least of its own and those above; 0: none */
    uint64_t memory_bytes;       /* 0: not known */
    uint64_t memory_limit_bytes; /* likewise; 0: none */
};

/* 'text' is room for a file. Of what cannot be read nothing is known. */
void waits_levels_read(const struct waits_mounts *mounts, const char *path, char *text, size_t size,
                       struct waits_levels *out);

/* cpuset.cpus.effective of the cgroup, or of the nearest above that has it. */
void waits_levels_cpus(const struct waits_mounts *mounts, const char *path, char *text, size_t size,
                       uint64_t *set, size_t *cpus);

/* The limit of CPU time of the first 'len' bytes of the path: 0 with nanoseconds per second;
 * -ENODATA: none; other -errno. */
int waits_levels_quota(const struct waits_mounts *mounts, const char *path, size_t len, char *text,
                       size_t size, uint64_t *quota_ns);

/* How far the directory above reaches in a path of 'len' bytes; 0: it is the root. */
size_t waits_levels_above(const char *path, size_t len);

#endif
