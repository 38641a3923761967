/*
 * Why a window, or a run of the probe, gave no result.
 */
#ifndef IE_COLLECTORS_CONTRACT_DISCARD_H
#define IE_COLLECTORS_CONTRACT_DISCARD_H

/* In the order of the labels of interference_exporter_windows_discarded_total. */
enum discard_reason {
    DISCARD_STARVED,     /* enabled, but the PMU never ran the group */
    DISCARD_RESET,       /* a total fell */
    DISCARD_READ_ERROR,  /* the kernel did not let us read */
    DISCARD_IMPLAUSIBLE, /* reads without cycles: no frequency to divide by */
    DISCARD_PREEMPTED,   /* the probe's: its thread lost the CPU */
    DISCARD_MIGRATED,    /* the probe's: its thread changed CPU */
    DISCARD_STOLEN,      /* the probe's: the hypervisor took time */
    DISCARD_LEARNING,    /* slowdown's: too few calm windows so far to know the container alone */
    DISCARD_NEVER_CALM,  /* slowdown's: no window of the container was ever calm */
    DISCARD_NO_EPOCH,    /* slowdown's: none of the quantum's epochs were the container's */
    DISCARD_NO_MISSES,   /* slowdown's: no accesses, or none that missed: nothing to compare */
    DISCARD_DENOMINATOR, /* slowdown's: more interference than cycles */
    DISCARD_NO_TARGET,   /* placement's: what memory takes where its memory is now is not known */
    DISCARD_COUNT
};

/* Sets of them, for collector_ops.discards. */
#define DISCARD_BIT(reason) (1u << (reason))
/* What any window of counters may be. */
#define DISCARDS_OF_WINDOWS                                                                        \
    (DISCARD_BIT(DISCARD_STARVED) | DISCARD_BIT(DISCARD_RESET) | DISCARD_BIT(DISCARD_READ_ERROR))

/* The label. */
const char *discard_name(enum discard_reason reason);

#endif
