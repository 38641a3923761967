/*
 * What containers move to and from memory, and have in the last-level cache: the group bandwidth,
 * from monitoring groups of the kernel's resctrl that others made. Nothing is made, moved, removed
 * or mounted here.
 *
 * A container's own group has its id for a name, as runtimes make it (SCOPE_CGROUP,
 * GROUP_BANDWIDTH); its pod's group has the pod's UID, of all of its containers together
 * (SCOPE_CGROUP, GROUP_POD_BANDWIDTH, by any of them). The machine's is the sum over the root
 * group and all classes, in which their monitoring groups are (SCOPE_MACHINE). A row is of the
 * domains whose first CPU it has; its clocks are the time over which it was counted. Totals begin
 * at 0 when the group is opened; what a row does not know of the last window is not present, and
 * is missing from the totals. Occupancy is a level. Domains that come online later are not seen.
 *
 * All that is open is read in the same tick, every RESCTRL_PERIOD_SECONDS by the clock, since each
 * file interrupts a CPU of its domain; in other ticks, and until a group's third reading, there is
 * none: -ENODATA. When the group is gone, -ESRCH; another of the same name can be opened then.
 *
 * A descriptor for each group, at most RESCTRL_GROUPS of them, borrowed from the pool as memory.h
 * says it; files are opened relative to it, read and closed. Needs no privilege where the mount can
 * be read. Loop thread only.
 */
#ifndef IE_SOURCE_RESCTRL_RESCTRL_H
#define IE_SOURCE_RESCTRL_RESCTRL_H

#include "exporter/base/fsroot.h"
#include "exporter/source/pool.h"
#include "exporter/source/source.h"

enum { RESCTRL_PERIOD_SECONDS = 5, RESCTRL_GROUPS = 2048 };

struct resctrl_config { /* borrowed for the source's life */
    const struct fsroot *fs;
    struct descriptor_pool *pool; /* NULL: no limit */
};

/*
 * 0 or -ENOMEM. Its check of the machine is whether there is such a mount. That of containers may
 * be asked again at any time, and costs little: whether groups of pods or containers are there
 * (REASON_NO_GROUPS: none), and with REASON_OK in *why whose.
 */
int resctrl_source_new(const struct resctrl_config *config, struct source **out);

#endif
