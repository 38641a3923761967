/*
 * Windows: what a group of counters counted between two readings, scaled for multiplexing.
 *
 * The kernel gives totals since the opening, and two clocks: how long the group was enabled, and
 * how long it really ran on the hardware. Per CPU, with d() the difference over the window,
 *
 *     counted = d(count) * d(enabled) / d(running)
 *
 * and the window's count is the sum of that over the CPUs: scaled per CPU, then summed, never the
 * reverse, since a CPU on which the group was multiplexed says nothing about the others. Where
 * enabled and running advanced alike, nothing is scaled and the result is the exact integer;
 * otherwise it is rounded to the nearest integer, in 128-bit arithmetic (FORMULAS.md, "Windows and
 * scaling").
 *
 * Worked: d(count) 3,000,000, d(enabled) 1,000,000,000 ns, d(running) 750,000,000 ns -> 4,000,000.
 *
 * Usage: window_sum_rows, or window_init and window_add once per CPU; then window_status. Pure: no
 * clock, no store, no memory of the previous window.
 */
#ifndef IE_SOURCE_WINDOW_H
#define IE_SOURCE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/source/role.h"

struct reading;

enum window_status {
    WINDOW_OK,
    WINDOW_IDLE,    /* no CPU was enabled: nothing ran, nothing to count, nothing discarded */
    WINDOW_STARVED, /* enabled, but the hardware counters were never ours on any CPU: discard */
    WINDOW_RESET,   /* a total fell on some CPU: discard; the new totals are the next baseline */
};

/* A CPU that counted for less than a hundredth of the time says nothing about the rest of it. */
enum { WINDOW_MAX_SCALE = 100 };

struct window_sum {
    size_t n;         /* counts per row: the group's roles, in its order */
    uint32_t present; /* bit i: count[i] was counted on every CPU that contributed */
    uint64_t count[GROUP_MAX_ROLES];
    /* Where the group counts cycles and ref_cycles: the sum over the CPUs of count[i] times this
     * CPU's ref_cycles / cycles. Divided by the base frequency, a count of core cycles is then in
     * seconds, each CPU's by its own frequency. */
    double reference[GROUP_MAX_ROLES];
    unsigned clockless;  /* CPUs that counted something, but not both kinds of cycles */
    uint64_t enabled_ns; /* sums over CPUs, starved ones included: these are clocks, not counts */
    uint64_t running_ns;
    uint64_t starved_ns; /* of enabled_ns, on starved CPUs: what was counted then is not known */
    unsigned ran;        /* CPUs that contributed */
    unsigned starved;    /* CPUs with d(enabled) more than WINDOW_MAX_SCALE times d(running) */
    unsigned reset;      /* CPUs on which a total fell */
};

/* 'n' counts per row, up to GROUP_MAX_ROLES. */
void window_init(struct window_sum *sum, size_t n);

/*
 * Adds one CPU. 'before_count' is NULL where there is no earlier reading of this CPU (the group was
 * just opened, or the CPU came online): everything since the opening lies in the window. Bit i of
 * 'present' says that count[i] was counted, in both readings where there are two; other counts are
 * ignored.
 *
 * Per CPU, the first that applies:
 *   reset    a clock or a present count is lower than before, or the scaled count leaves 64 bits
 *   idle     d(enabled) == 0: contributes nothing
 *   starved  d(running) below d(enabled) / WINDOW_MAX_SCALE: contributes nothing but its clocks
 *   ran      contributes its scaled counts
 */
void window_add(struct window_sum *sum, uint64_t before_enabled_ns, uint64_t before_running_ns,
                const uint64_t *before_count, uint64_t enabled_ns, uint64_t running_ns,
                const uint64_t *count, uint32_t present);

/* All of the above for two readings of a group: the sum over the rows of 'after', each with the row
 * of the same index in 'before', if there is one and it holds a reading. */
void window_sum_rows(struct window_sum *sum, enum group group, const struct reading *before,
                     const struct reading *after);

/*
 * The verdict over all CPUs. RESET if any CPU was reset, since the sum then lacks that CPU and a
 * ratio of sums would be of another mix of CPUs than the window before. OK if at least one CPU ran:
 * starved CPUs beside it are missing from every count alike, so ratios stay those of the CPUs that
 * ran and counters err on the low side. STARVED if none ran but some were enabled; otherwise IDLE.
 */
enum window_status window_status(const struct window_sum *sum);

#endif
