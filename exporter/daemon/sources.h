/*
 * Which counters this run has: the kernel's and the probe's, or a recording's; and, if asked for,
 * a recorder around them.
 */
#ifndef IE_DAEMON_SOURCES_H
#define IE_DAEMON_SOURCES_H

#include "collectors/contract/facts.h"
#include "exporter/base/fsroot.h"
#include "exporter/base/log.h"
#include "exporter/daemon/sample_owners.h"
#include "exporter/options/options.h"
#include "exporter/source/event/file.h"
#include "exporter/source/inventory.h"
#include "exporter/source/pmem/pmem.h"
#include "exporter/source/recording/recorder.h"
#include "exporter/source/recording/replay.h"
#include "exporter/source/source_set.h"

struct sources {
    struct source_set *set;     /* owned, with every source in it */
    struct inventory inventory; /* owned */
    struct replay *replay;      /* owned; NULL when live */
    struct recorder *recorder;  /* owned; NULL unless asked for */
    struct source *chase;       /* borrowed from the set; NULL: no probe running */
    struct events_file events;  /* owned; all zero unless given */
    struct pmem *pmem;          /* owned; NULL unless samples are taken */
    struct container_owners owners;
    const char *name; /* label 'source': "perf" or "replay" */
};

/* What collectors that are switched on will ask for. */
struct sources_needs {
    size_t counters_max; /* descriptors that counters may take */
    bool probe, samples;
    bool samples_by_name;   /* a flag asked for them: what keeps them away is then a fault */
    struct cgroup_map *map; /* borrowed for the sources' life; from cgroups to containers */
};

/*
 * Opens everything and learns the machine's facts. -EINVAL for what a flag got wrong, else -errno;
 * the message is in error, nothing is left open. A machine without counters or probe is no failure:
 * facts and checks say so.
 */
int sources_init(struct sources *sources, const struct options *options, const struct fsroot *fs,
                 const struct log *log, struct facts *facts, const struct sources_needs *needs,
                 char *error, size_t error_size);
/* Ends all threads. Before what was borrowed is freed. */
void sources_release(struct sources *sources);

/* Whether a collector that samples accesses would find anything to sample here: then, and only
 * then, this process must be allowed to look into others. */
bool sources_can_sample(const struct options *options);

#endif
