/*
 * What containers wait for, and what they may have: the groups waits and bounds, from their
 * cgroups' files, of v2, v1, or both of the same processes (LOST_TIME.md, section 1).
 *
 * Of waits a row holds totals since the opening: CPU time; periods under a limit of CPU time, of
 * the cgroup or of one above it, whichever was reached more often; pressure (PSI); and of the
 * machine what goes with them. Where the kernel has no PSI, the delays of its tasks take the place
 * of its pressure. How often its memory reached its limit, and what it read again, is read only
 * while it waits for memory or disks. A row's clocks are the time that passed. What a file does not
 * say is not in the row; CPU time always is.
 *
 * Bounds are levels, read once a minute, containers in turns: the CPU time that its weight entitles
 * it to (entitle.h), its limit, its CPUs, its memory and that one's limit.
 *
 * Files stay open, four to seven per container, borrowed from the pool like those of memory.h,
 * which comes before; bounds have none. When counters need them back, the handles that give them up
 * read as -EMFILE from then on. When the cgroup is gone, -ESRCH. Needs no privilege. Loop thread
 * only.
 */
#ifndef IE_SOURCE_WAITS_WAITS_H
#define IE_SOURCE_WAITS_WAITS_H

#include "exporter/base/fsroot.h"
#include "exporter/source/pool.h"
#include "exporter/source/source.h"

enum { BOUNDS_PERIOD_SECONDS = 60 };

/* Where hierarchies are mounted; "": nowhere. */
struct waits_mounts {
    const char *unified, *cpu, *cpuacct, *cpuset, *memory;
};

struct waits_config { /* borrowed for the source's life */
    const struct fsroot *fs;
    struct waits_mounts mounts;
    struct descriptor_pool *pool; /* NULL: no limit */
};

/*
 * 0 or -ENOMEM. Its check says in *why, with REASON_OK, which causes cannot be told here and why
 * not; "" where all can.
 */
int waits_source_new(const struct waits_config *config, struct source **out);

#endif
