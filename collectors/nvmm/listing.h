/* Writes the board: what every thread did since it was shown last. */
#ifndef IE_COLLECTORS_NVMM_LISTING_H
#define IE_COLLECTORS_NVMM_LISTING_H

#include "collectors/nvmm/board.h"
#include "collectors/nvmm/lane.h"

/*
 * Shows a list once a second, however short the ticks are, and then starts every thread's sums
 * anew; while a page copies the list before, the next tick shows both. *shown_ns is up to where the
 * board has told; 0 before the first call.
 */
void nvmm_list(struct board *board, const struct nvmm_context *self, const struct lanes *lanes,
               const struct tick *tick, uint64_t *shown_ns);

#endif
