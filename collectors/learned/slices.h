/*
 * A sliding hour of counts by bucket, in bounded memory: by slices of ten minutes, the current one
 * and the six before, so that the hour is between 60 and 70 minutes long. Pure, embedded.
 */
#ifndef IE_COLLECTORS_LEARNED_SLICES_H
#define IE_COLLECTORS_LEARNED_SLICES_H

#include <stddef.h>
#include <stdint.h>

enum { SLICES = 7, SLICE_SECONDS = 600 };

/* Beside the counts, uint16_t count[SLICES][buckets], of its owner. Zeroed, both are empty. */
struct slices {
    uint64_t newest; /* number of the newest slice, from 1; 0: none */
};

/* Counts one more in the bucket (saturating), in the slice of this time; forgets slices that are
 * too old by then. Time that runs backwards counts as now. */
void slices_count(struct slices *slices, uint64_t mono_ns, uint16_t *count, size_t buckets,
                  size_t bucket);

#endif
