/*
 * What a monitoring group counted between two readings (GROUP_BANDWIDTH, GROUP_POD_BANDWIDTH). Not
 * window.h's: of its values one is a level, and each is known or not by itself.
 */
#ifndef IE_SOURCE_BANDWIDTH_WINDOW_H
#define IE_SOURCE_BANDWIDTH_WINDOW_H

#include "exporter/source/open_groups.h"

struct bandwidth_row {
    int cpu;                    /* the first of its domains; -1: of all of them */
    double seconds;             /* over which bytes were counted; 0: they were not */
    uint32_t known;             /* bit v, of enum mon_value */
    uint64_t value[MON_VALUES]; /* since the reading before; a level: now */
};

/* Row i of the window's newer reading. */
void bandwidth_row_make(const struct group_window *window, size_t i, struct bandwidth_row *out);

#endif
