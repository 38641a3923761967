/* The document /api/v1/nvmm: who used persistent memory in the last second, down to threads. */
#ifndef IE_PAGES_NVMM_H
#define IE_PAGES_NVMM_H

#include <jansson.h>

#include "collectors/nvmm/board.h"

/* NULL stands for a list that was never written; 'source' says whether it was measured here. A new
 * reference; NULL: out of memory. */
json_t *pages_nvmm_json(const struct nvmm_board_list *list, const char *source);

#endif
