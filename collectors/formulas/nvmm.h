/*
 * Use of persistent memory, estimated from precise samples: Schmidt 2022 chapter 5, with another
 * estimator than the thesis's (FORMULAS.md section 4).
 *
 *     accesses = events * nvmm / known
 *     bytes    = accesses * (nvmm - unsizable) / nvmm * bytes / sized
 *
 * 'events' is a plain count of what is sampled, so lost samples and throttling cancel as long as
 * they affect both media alike; otherwise the estimate is biased. The thesis multiplies samples by
 * the period instead and was off by +42 % (period 2503) to -16.85 % (9973).
 *
 * Worked: events 5.0e8, known 50000, nvmm 12500, mean size 64 -> 1.25e8 accesses, 8.0e9 bytes.
 *
 * A window without any sample passes its events on to the next one: 1,000 accesses a window at a
 * period of 10007 have a sample in one window of ten. One with samples of which no medium is known
 * does not: that may go on for hours, and the first sample that is known says nothing about them.
 * Its events are left out, and accesses are then a lower bound. Sizes come later, too: accesses of
 * a window in which no instruction could be decoded get the mean size of the next that could.
 * 'unsizable' accesses (repeated string instructions, whose size is unknown) get no bytes at all:
 * bytes are then a lower bound.
 */
#ifndef IE_FORMULAS_NVMM_H
#define IE_FORMULAS_NVMM_H

#include <stdint.h>

/* One container's loads or stores in one window. sized + unsizable <= nvmm <= known. */
struct nvmm_window {
    uint64_t events;    /* counted, not sampled */
    uint64_t unknown;   /* samples whose medium is not known */
    uint64_t known;     /* those whose medium is */
    uint64_t nvmm;      /* of these, in persistent memory */
    uint64_t sized;     /* of these, with a size that is known */
    uint64_t unsizable; /* of 'nvmm', with a size that cannot be known */
    uint64_t bytes;     /* sum of the sizes of the 'sized' ones */
};

/* What earlier windows left behind. All zero at the start. */
struct nvmm_carry {
    uint64_t events;         /* of windows without any sample */
    double unsized_accesses; /* to persistent memory, of windows without a size */
};

struct nvmm_usage {
    double accesses;
    double bytes;
};

/*
 * 0 with the usage to add to the totals; -ENODATA for a window without a sample of known medium:
 * its events are carried, if it has no other samples either; *out is untouched. -EINVAL for counts
 * that contradict each other, nothing is changed.
 */
int nvmm_estimate(struct nvmm_carry *carry, const struct nvmm_window *window,
                  struct nvmm_usage *out);

/* A total as a counter shows it: a sum of parts that are not whole may fall short of the whole by a
 * rounding, and 15.999... bytes are 16. */
static inline uint64_t nvmm_whole(double total)
{
    return (uint64_t)(total + 0.5);
}

#endif
