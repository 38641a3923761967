/* What people are shown of it (exporter/live): who makes which node's memory slow. Loop thread. */
#ifndef IE_COLLECTORS_ATTRIBUTION_PAGE_SHOW_H
#define IE_COLLECTORS_ATTRIBUTION_PAGE_SHOW_H

#include "collectors/attribution/lanes/lane.h"

/* After a tick's readings. */
void attribution_show(const struct attribution_context *collector, const struct lanes *lanes);

#endif
