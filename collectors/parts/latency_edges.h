/* Bucket edges of the histograms of containers' and nodes' memory read latency, in seconds
 * (DESIGN.md, CONTRACT: metrics). */
#ifndef IE_COLLECTORS_PARTS_LATENCY_EDGES_H
#define IE_COLLECTORS_PARTS_LATENCY_EDGES_H

#define LATENCY_EDGES                                                                              \
    60e-9, 70e-9, 80e-9, 90e-9, 100e-9, 120e-9, 140e-9, 170e-9, 200e-9, 250e-9, 300e-9, 400e-9,    \
        500e-9, 700e-9, 1000e-9, 1400e-9, 2000e-9
enum { LATENCY_EDGES_N = 17 };

#endif
