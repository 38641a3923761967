/*
 * Which kind of memory an address of a process belongs to, as an interface: pmem.h is the real
 * rule, tests have one of their own. Called from one thread at a time, the sampler's.
 */
#ifndef IE_SOURCE_ACCESSES_MEDIUM_H
#define IE_SOURCE_ACCESSES_MEDIUM_H

#include <stdint.h>
#include <sys/types.h>

#include "exporter/source/accesses/maps.h"
#include "exporter/source/sample.h"

struct medium_rule {
    /* What a load or store through this mapping of 'pid' reaches. May read files of the process;
     * the line may be older than what they say, which the rule must notice. */
    enum medium (*mapping)(struct medium_rule *rule, pid_t pid, const struct maps_line *line,
                           enum access access);
    /* Once a minute: what is known about devices may have changed. May be NULL. */
    void (*refresh)(struct medium_rule *rule);
};

#endif
