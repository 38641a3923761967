/* Who makes memory slow, in a sentence per NUMA node, for the landing page. */
#ifndef IE_COLLECTORS_ATTRIBUTION_HEADLINE_H
#define IE_COLLECTORS_ATTRIBUTION_HEADLINE_H

#include "collectors/attribution/board.h"
#include "exporter/base/textbuf.h"

/* Any thread. Plain text; nothing where nothing is known yet, or out of memory. */
void attribution_headline(struct board *board, struct textbuf *out);

#endif
