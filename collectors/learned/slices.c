#include "collectors/learned/slices.h"

#include <string.h>

static const uint64_t slice_ns = SLICE_SECONDS * 1000000000ull;

/* Moves to the slice of this time, forgetting what lay where it and skipped ones lie now. */
static void move(struct slices *slices, uint64_t mono_ns, uint16_t *count, size_t buckets)
{
    uint64_t slice = mono_ns / slice_ns + 1;
    if (slices->newest == 0)
        slices->newest = slice;
    if (slice > slices->newest && slice - slices->newest >= SLICES) {
        memset(count, 0, SLICES * buckets * sizeof *count);
        slices->newest = slice;
    }
    while (slices->newest < slice)
        memset(count + ++slices->newest % SLICES * buckets, 0, buckets * sizeof *count);
}

void slices_count(struct slices *slices, uint64_t mono_ns, uint16_t *count, size_t buckets,
                  size_t bucket)
{
    move(slices, mono_ns, count, buckets);
    uint16_t *now = &count[slices->newest % SLICES * buckets + bucket];
    if (*now < UINT16_MAX)
        (*now)++;
}
