/*
 * AMD's L3s that a PMU of their own counts: one of each core complex.
 */
#ifndef IE_SOURCE_PERF_L3_H
#define IE_SOURCE_PERF_L3_H

#include <stddef.h>

#include "exporter/base/fsroot.h"
#include "exporter/source/machine.h"

/* One unit of kind "l3" per CPU of the PMU's cpumask, in that order. Stores up to 'cap' of them,
 * and their full number in *n. 0 or -errno; no such PMU is none, and no error. */
int perf_l3s(const struct fsroot *fs, struct source_unit *out, size_t cap, size_t *n);

/* The CPU to open the L3's events on; -1: there is no such L3. */
int perf_l3_cpu(const struct fsroot *fs, int l3);

#endif
