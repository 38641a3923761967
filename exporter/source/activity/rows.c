#include "exporter/source/activity/rows.h"

#include <errno.h>
#include <stdlib.h>

struct activity_row {
    int32_t cpu;
    bool seen; /* 'base' is there */
    uint64_t base, total;
};

void activity_rows_release(struct activity_rows *rows)
{
    free(rows->at);
    *rows = (struct activity_rows){0};
}

/* CPUs come in order, so that the row is nearly always the one at 'from'. */
static struct activity_row *find(const struct activity_rows *rows, int cpu, size_t from)
{
    for (size_t i = 0; i < rows->n; i++) {
        struct activity_row *row = &rows->at[(from + i) % rows->n];
        if (row->cpu == cpu)
            return row;
    }
    return NULL;
}

int activity_rows_add(struct activity_rows *rows, int cpu)
{
    if (find(rows, cpu, 0))
        return 0;
    if (rows->n == rows->cap) {
        size_t cap = rows->cap ? 2 * rows->cap : 2;
        struct activity_row *larger = realloc(rows->at, cap * sizeof *larger);
        if (!larger)
            return -ENOMEM;
        rows->at = larger;
        rows->cap = cap;
    }
    rows->at[rows->n++] = (struct activity_row){.cpu = cpu};
    return 0;
}

void activity_rows_put(struct activity_rows *rows, const struct cpu_time *times, size_t n)
{
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        struct activity_row *row = find(rows, times[i].cpu, next);
        if (!row)
            continue;
        next = (size_t)(row - rows->at) + 1;
        if (!row->seen)
            row->base = times[i].ns;
        row->seen = true;
        if (times[i].ns > row->base && times[i].ns - row->base > row->total)
            row->total = times[i].ns - row->base;
    }
}

void activity_rows_give(const struct activity_rows *rows, struct reading *out)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct activity_row *from = &rows->at[i];
        struct reading_row *row = reading_row(out, i);
        row->cpu = from->cpu;
        row->present = from->seen;
        row->enabled_ns = row->running_ns = row->count[0] = from->total;
    }
    out->n = rows->n;
}
