/*
 * One monitoring group: its files, and what they counted between two readings.
 *
 * Readings are judged. A number that falls is another RMID's, or has wrapped; one that grew by more
 * than any memory moves is left from somebody else; both begin a new window. The first window of a
 * group is dropped whole: for a while an RMID shows what its last group left behind.
 */
#ifndef IE_SOURCE_RESCTRL_GROUP_H
#define IE_SOURCE_RESCTRL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/base/fsroot.h"
#include "exporter/source/machine.h"
#include "exporter/source/role.h"

/* resctrl's domains, each known by one of its CPUs. */
enum mon_domain {
    MON_L3,      /* mon_L3_XX: the id of an L3 */
    MON_NODE,    /* mon_sub_L3_XX: a NUMA node that has a part of an L3 */
    MON_PACKAGE, /* mon_PERF_PKG_XX */
};

struct mon_domains {
    bool loaded;
    int16_t l3[MACHINE_CPUS], package[MACHINE_CPUS]; /* of each CPU; -1: not known */
    int16_t first[MACHINE_NODES];                    /* CPU of each NUMA node; likewise */
};

/* Once; of CPUs that were offline then nothing is known. */
void mon_domains_load(struct mon_domains *domains, const struct fsroot *fs);

/* The first CPU of the domain with this number; -1: not known. */
int mon_domains_cpu(const struct mon_domains *domains, enum mon_domain kind, int id);

/* Directories of a group, and rows: a CPU stands for each domain. */
enum { MON_DIRECTORIES = 256, MON_ROWS = 128 };

/* What one or several domains counted, those with the same first CPU. */
struct mon_row {
    int cpu;        /* -1: of all domains, since of one it is not known where it is */
    uint32_t has;   /* bit v: some domain has a file of this value */
    uint32_t known; /* bit v: of all of them, over the whole window; else value[v] is nothing */
    uint64_t value[MON_VALUES]; /* of the window; of a level, now */
};

struct mon_directory {
    char directory[48]; /* below mon_data */
    bool package;
    size_t row;
    uint64_t last[MON_VALUES];
    uint32_t had; /* bits */
};

struct mon_group {
    int fd; /* of mon_data (O_PATH); -1: closed */
    bool gone;
    unsigned readings; /* at most 2: the third is the first with a window */
    uint64_t read_ns;
    uint64_t window_ns; /* 0: there is no window */
    size_t n_directories, n_rows;
    struct mon_directory *directories; /* owned */
    struct mon_row *rows;              /* owned */
};

/* 'fd' is taken over, on failure, too. 0; -ENOENT: it has no domain; -ENOMEM; other -errno. */
int mon_group_init(struct mon_group *group, int fd, const struct mon_domains *domains);
void mon_group_close(struct mon_group *group);
void mon_group_release(struct mon_group *group);

/* 0, also with nothing known; -ESRCH: the group is gone; -EBADF: it is closed. 'now_ns' grows. */
int mon_group_read(struct mon_group *group, uint64_t now_ns);

#endif
