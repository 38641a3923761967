/*
 * What CPU time containers are entitled to: shares by weight, level by level of the cgroup tree.
 * Pure.
 *
 * Of a cgroup's CPU time each child may have its weight over the sum of its siblings' weights. Only
 * cgroups with a monitored container are siblings here, so that the host's own services are not
 * taken for somebody who wants their share; and only those whose CPUs are among the container's,
 * for others do not compete with it. Idle siblings count: it is what is left when all want it.
 *
 * Worked: two CPUs; /pods (weight 300) with a (100) and b (200); /c (weight 100). a is entitled to
 * 2 x 300/400 x 100/300 = 0.5 CPUs, b to 1, c to 0.5.
 */
#ifndef IE_SOURCE_WAITS_ENTITLE_H
#define IE_SOURCE_WAITS_ENTITLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENTITLE_LEVELS = 12 }; /* deeper ones share nothing out */

struct entitled {
    const char *path;                /* below the hierarchy's root, with a leading slash */
    uint64_t cpu_set;                /* a bit for each CPU; see cpu_set_parse() */
    uint32_t weight[ENTITLE_LEVELS]; /* of the directory of each level, the first below the root */
    double share;                    /* of the CPUs in its set; what comes out */
    bool done;
};

/* In ascending order of paths, by strcmp. */
void entitle(struct entitled *const *at, size_t n);

#endif
