/* The document /api/v1/interference: who makes memory slow now, and how sure that is. */
#ifndef IE_COLLECTORS_ATTRIBUTION_PAGE_H
#define IE_COLLECTORS_ATTRIBUTION_PAGE_H

#include "collectors/attribution/board.h"
#include "exporter/base/textbuf.h"

/* Any thread. board NULL: the collector does not run. 0 or -ENOMEM. */
int attribution_page_render(struct board *board, const char *source, struct textbuf *out);

#endif
