/*
 * Persistent memory of this machine: how much there is, and whether an access went to it.
 *
 * A mapping is persistent memory when its file lies on a pmem disk (also through partitions and
 * device mapper) that can do DAX, and the file itself is a DAX file; or when it is a device-dax of
 * the NVDIMM bus. A file without DAX on such a disk is page cache, in DRAM. A private mapping's
 * stores go to DRAM, copied on write.
 *
 * A file is looked at through the mapping (map_files, for which the kernel demands
 * CHECKPOINT_RESTORE) and never along a path of the process's; it is believed when device and inode
 * are those of the mapping. Where that is not possible the answer is "unknown".
 */
#ifndef IE_SOURCE_PMEM_PMEM_H
#define IE_SOURCE_PMEM_PMEM_H

#include <sys/stat.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/reason.h"
#include "exporter/source/accesses/medium.h"

/* What sysfs shows. */
struct pmem_node {
    size_t dimms;       /* NVDIMMs, also those in use as ordinary memory */
    size_t dax_disks;   /* pmem disks that can do DAX */
    size_t other_disks; /* pmem disks that cannot: raw and sector mode */
    size_t dax_devices; /* device-dax on the NVDIMM bus */
};

/* Counts; what cannot be read is counted as absent. */
void pmem_node_detect(const struct fsroot *fs, struct pmem_node *out);

/* Whether programs can map persistent memory here; if not, why. */
bool pmem_node_usable(const struct pmem_node *node, struct verdict *why);

/* Stands for statx(2) without asking whoever serves the file, so that tests can have DAX files.
 * -errno on failure. */
struct pmem_files {
    int (*status)(void *context, const char *path, struct statx *out);
    uint64_t (*now_ns)(void *context); /* CLOCK_MONOTONIC, for how long mounts are believed */
    void *context;
};

extern const struct pmem_files pmem_files_linux;

struct pmem;

/* 'fs' and 'files' are borrowed for its life. 0 or -ENOMEM. */
int pmem_new(const struct fsroot *fs, const struct pmem_files *files, struct pmem **out);
void pmem_free(struct pmem *pmem);

/* The rule, owned by pmem. */
struct medium_rule *pmem_rule(struct pmem *pmem);

/* Forgets what is known about devices: disks can come, go and be mapped differently. */
void pmem_refresh(struct pmem *pmem);

/* ---- the parts, for tests ---- */

enum pmem_disk {
    PMEM_DISK_NO,
    PMEM_DISK_DAX,
    PMEM_DISK_UNKNOWN, /* of several disks, or sysfs does not tell */
};

enum pmem_disk pmem_disk_of(const struct fsroot *fs, uint32_t major, uint32_t minor);
/* A character device of the NVDIMM bus. Device-dax of other memory is no persistent memory. */
bool pmem_is_dax_device(const struct fsroot *fs, uint32_t major, uint32_t minor);

#endif
