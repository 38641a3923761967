/* Writes the page's list: what every thread did in the last seconds, and when it stored last. */
#ifndef IE_COLLECTORS_NVMM_LISTING_H
#define IE_COLLECTORS_NVMM_LISTING_H

#include "collectors/nvmm/lane.h"
#include "collectors/nvmm/list.h"

/* When the threads' sums were begun. All zero before the first list. */
struct nvmm_window_times {
    uint64_t begun_ns, begun_before_ns;
};

/*
 * Shows a list: rates over a window of one to two seconds that ends with this tick, or over the
 * tick where that is longer, and the times of the last stores. About once a second the sums are
 * begun anew. While a page copies the list before, nothing is shown, and the next tick shows both.
 *
 * Looks at each thread once, and once more where sums are begun.
 */
void nvmm_list_threads(struct double_buffer *lists, const struct nvmm_context *self,
                       const struct lanes *lanes, const struct tick *tick,
                       struct nvmm_window_times *window);

#endif
