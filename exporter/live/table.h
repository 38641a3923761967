/* What holds of the node and its containers now, as plain text for a terminal. Pure. */
#ifndef IE_LIVE_TABLE_H
#define IE_LIVE_TABLE_H

#include "exporter/base/textbuf.h"
#include "exporter/live/live.h"

/* The verdict in one line, then a line for each container, who loses most first, with the CPUs that
 * it uses, the share of time that it loses, and why. 'view' is sorted (order.h). 0 or -ENOMEM. */
int live_table(const struct live_view *view, struct textbuf *out);

#endif
