/*
 * What the whole machine waits for; read once a tick, when the first container is.
 */
#ifndef IE_SOURCE_WAITS_MACHINE_H
#define IE_SOURCE_WAITS_MACHINE_H

#include "exporter/base/fsroot.h"
#include "exporter/source/waits/parse.h"

enum waits_machine_file { MACHINE_STAT, MACHINE_MEMORY, MACHINE_VMSTAT, MACHINE_FILES };

struct waits_machine {
    int fd[MACHINE_FILES]; /* -1: cannot be read */
    unsigned ticks;        /* a second, of /proc/stat */
    bool read;             /* in this tick */
    bool has_steal, has_memory, has_reclaimed;
    struct steal_totals steal;
    uint64_t memory_some_ns, reclaimed;
};

void waits_machine_init(struct waits_machine *machine, const struct fsroot *fs);
void waits_machine_release(struct waits_machine *machine);
/* Unless that was done since 'read' was cleared. 'text' is room of 'size' bytes. */
void waits_machine_read(struct waits_machine *machine, char *text, size_t size);
/* Stolen from the CPUs of the set, their mean. False: not known. */
bool waits_machine_steal(const struct waits_machine *machine, uint64_t set, uint64_t *ns);

#endif
