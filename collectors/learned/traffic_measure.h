/*
 * What co-runners' traffic is measured by (parts/node_traffic.h). What was learned by one measure
 * says nothing about the other: its owner begins anew.
 */
#ifndef IE_COLLECTORS_LEARNED_TRAFFIC_MEASURE_H
#define IE_COLLECTORS_LEARNED_TRAFFIC_MEASURE_H

enum traffic_measure {
    TRAFFIC_READS,            /* demand reads of the monitored containers, on the node */
    TRAFFIC_READS_OF_SOCKETS, /* on the container's sockets */
    TRAFFIC_LINES,            /* what the memory controllers moved, on the node */
    TRAFFIC_LINES_OF_SOCKETS,
    TRAFFIC_MEASURES
};

#endif
