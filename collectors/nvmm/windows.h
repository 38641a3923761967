/*
 * Counts of a container's loads or stores, paired with the samples of the same time.
 *
 * Counts are read at ticks; samples arrive a little later, and some of the next window's with them.
 * A window is estimated when its samples are all there, and is held back until then. While too many
 * are held the counts are not to be read: the next reading reaches back over it, and loses nothing.
 * Windows have numbers, so that others can keep their part of a window until it is estimated.
 */
#ifndef IE_COLLECTORS_NVMM_WINDOWS_H
#define IE_COLLECTORS_NVMM_WINDOWS_H

#include <stdbool.h>

#include "collectors/formulas/nvmm.h"
#include "exporter/source/sample.h"

/* Maximum number of ended windows held; the open window comes on top. */
enum { NVMM_HELD = 3, NVMM_RING = NVMM_HELD + 1 };

/* All zero at the start. */
struct nvmm_windows {
    uint32_t first; /* number of the oldest window that is held */
    uint32_t open;  /* of the one that has not ended */
    struct {
        uint64_t end_ns;
        struct nvmm_window sums;
    } ring[NVMM_RING]; /* by number */
    struct nvmm_carry carry;
};

static inline bool nvmm_windows_full(const struct nvmm_windows *windows)
{
    return windows->open - windows->first == NVMM_HELD;
}

static inline bool nvmm_windows_empty(const struct nvmm_windows *windows)
{
    return windows->open == windows->first;
}

/* A reading at 'end_ns' counted 'events' since the last one: it ends the open window, or, when no
 * more windows can be held, makes the last of them longer. */
void nvmm_windows_count(struct nvmm_windows *windows, uint64_t events, uint64_t end_ns);

/* The number of the window that a sample at this time belongs to. */
uint32_t nvmm_windows_number(const struct nvmm_windows *windows, uint64_t time_ns);
/* Adds a sample to that window. */
void nvmm_windows_add(struct nvmm_windows *windows, uint32_t number,
                      const struct access_sample *sample);

struct nvmm_settled {
    uint32_t number;
    struct nvmm_window window;
    struct nvmm_usage usage; /* 0 where there was no sample of known medium */
};

/* Takes the oldest window out, if all samples before 'settled_ns' make it complete. */
bool nvmm_windows_settle(struct nvmm_windows *windows, uint64_t settled_ns,
                         struct nvmm_settled *out);

#endif
