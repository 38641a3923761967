/*
 * The traffic of DRAM as its controllers count it, in lines of 64 bytes per second, reads and
 * writes: of the monitored containers and of everybody else, with prefetches, write-backs and
 * devices.
 *
 * Known only where all of it is: every controller of every socket is counted, all in alike windows.
 * Not on machines with persistent memory, whose traffic these events do not see. What CXL devices,
 * memory on the package (HBM) or another core's cache served is not in it either.
 *
 * The group takes two of a controller's four counters, beside rpq's three or four: the kernel lets
 * them take turns, and both are scaled for it. Its windows are in no collector's statistics, since
 * no metric is made of them. Embedded; loop thread only.
 */
#ifndef IE_COLLECTORS_PARTS_CAS_TRAFFIC_H
#define IE_COLLECTORS_PARTS_CAS_TRAFFIC_H

#include "collectors/contract/collector.h"
#include "collectors/parts/sockets.h"

/* Zeroed: never known. */
struct cas_traffic {
    struct source_set *sources;
    struct cas_unit {
        group_handle handle;
        int socket;
    } * units; /* of all controllers, or none */
    size_t n;

    /* Of this tick. */
    bool known;
    double seconds;               /* that the counts span */
    double rate[SOCKETS_AND_ALL]; /* lines per second */
};

/* Opens all controllers' groups, or none, and then says why: at the collector's start. */
bool cas_traffic_open(struct cas_traffic *cas, const struct collector_env *env,
                      struct verdict *why);
void cas_traffic_close(struct cas_traffic *cas);

/* Once a tick. */
void cas_traffic_read(struct cas_traffic *cas);
/* Whether a container's window lies in the time that the counts span, so that the one may be taken
 * from the other. */
bool cas_traffic_covers(const struct cas_traffic *cas, double window_seconds);

#endif
