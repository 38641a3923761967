/* The document /api/v1/nvmm: who used persistent memory lately, down to threads. */
#ifndef IE_COLLECTORS_NVMM_PAGE_H
#define IE_COLLECTORS_NVMM_PAGE_H

#include "collectors/nvmm/board.h"
#include "exporter/base/textbuf.h"

/* Any thread. Adds the document to 'out'; without a board (NULL: the collector does not run), or
 * before it shows anything, the document names no containers. 'source' says whether this machine
 * was measured. 0 or -ENOMEM. */
int nvmm_page_render(struct board *board, const char *source, struct textbuf *out);

#endif
