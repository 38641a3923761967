/*
 * A source whose containers all work: totals that grow with every tick, on as many CPUs as asked.
 *
 * After the first tick they read little from memory for a while, so that every container learns
 * what it does when left alone; SYNTHETIC_WARM_TICKS later all series that it can have are there.
 *
 * Its read only writes rows, so that what a tick costs on top of it is the exporter's own.
 */
#ifndef IE_BENCH_SYNTHETIC_H
#define IE_BENCH_SYNTHETIC_H

#include "exporter/source/source.h"

enum { SYNTHETIC_WARM_TICKS = 40 };

/* Opens any number of groups of cgroups; each works on 'busy' of the CPUs, all of the time. NULL
 * without memory; freed by its free op. */
struct source *synthetic_source_new(size_t cpus, size_t busy);

#endif
