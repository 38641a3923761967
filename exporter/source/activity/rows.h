/*
 * Totals per CPU since an opening, from the kernel's since boot.
 */
#ifndef IE_SOURCE_ACTIVITY_ROWS_H
#define IE_SOURCE_ACTIVITY_ROWS_H

#include "exporter/source/activity/parse.h"
#include "exporter/source/source.h"

/* All zero is empty. A row keeps its place for good. */
struct activity_rows {
    size_t n, cap;
    struct activity_row *at; /* owned */
};

void activity_rows_release(struct activity_rows *rows);

/* Nothing, where the CPU has a row. 0 or -ENOMEM. -1 is the sum. */
int activity_rows_add(struct activity_rows *rows, int cpu);

/* What the kernel says now. The first that it says of a CPU is where its total starts; totals never
 * fall. CPUs without a row are left out: they were not online since the opening. */
void activity_rows_put(struct activity_rows *rows, const struct cpu_time *times, size_t n);

/* As the read op of a source; out must have room. */
void activity_rows_give(const struct activity_rows *rows, struct reading *out);

#endif
