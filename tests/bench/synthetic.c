#include "tests/bench/synthetic.h"

#include <stdlib.h>
#include <string.h>

struct synthetic {
    struct source source;
    size_t cpus, busy;
    uint64_t opened;
    uint64_t ticks;
};

static struct synthetic *self_of(struct source *source)
{
    return (struct synthetic *)source;
}

static bool check(struct source *source, enum scope_kind kind, enum group group,
                  struct verdict *why)
{
    return kind == SCOPE_CGROUP && group == GROUP_CORE;
}

static int open_group(struct source *source, const struct scope *scope, enum group group,
                      uint64_t *handle, struct verdict *why)
{
    *handle = ++self_of(source)->opened;
    return 0;
}

static size_t width(struct source *source, uint64_t handle)
{
    return self_of(source)->cpus;
}

static int begin(struct source *source, const struct tick *tick)
{
    self_of(source)->ticks++;
    return 0;
}

/* Twentieths of a busy tick's reads, so far. */
static uint64_t reads_so_far(uint64_t ticks)
{
    enum { BUSY = 20, CALM_UNTIL = 30 };
    if (ticks <= 1)
        return ticks * BUSY;
    if (ticks <= CALM_UNTIL)
        return BUSY + (ticks - 1);
    return BUSY + (CALM_UNTIL - 1) + (ticks - CALM_UNTIL) * BUSY;
}

/* About 100 ns a read at 2.1 GHz, a little different for each container and tick. */
static int read_group(struct source *source, uint64_t handle, struct reading *out)
{
    const struct synthetic *self = self_of(source);
    size_t n = group_descs[GROUP_CORE].n;
    uint64_t so_far = reads_so_far(self->ticks);
    uint64_t wobble = (handle * 31 + self->ticks * 17) % 61;
    uint64_t reads = so_far * (50000 + 50 * (handle % 997)) / self->busy;
    for (size_t cpu = 0; cpu < self->cpus; cpu++) {
        struct reading_row *row = reading_row(out, cpu);
        row->cpu = (int32_t)cpu;
        row->present = (UINT32_C(1) << n) - 1;
        if ((cpu + handle * 7) % self->cpus >= self->busy) {
            row->enabled_ns = row->running_ns = 0;
            memset(row->count, 0, n * sizeof *row->count);
            continue;
        }
        row->enabled_ns = row->running_ns = self->ticks * 1000000000;
        row->count[0] = row->count[1] = self->ticks * 2100000000;
        row->count[2] = self->ticks * 1700000000;
        row->count[3] = reads;
        row->count[4] = reads * 160 + wobble * 1000 / self->busy;
        row->count[5] = reads * 3;
        row->count[6] = reads * 70;
    }
    out->n = self->cpus;
    return 0;
}

static void close_group(struct source *source, uint64_t handle)
{
}

static void free_source(struct source *source)
{
    free(self_of(source));
}

static const struct source_ops ops = {
    .name = "synthetic",
    .check = check,
    .open = open_group,
    .width = width,
    .begin = begin,
    .read = read_group,
    .close = close_group,
    .free = free_source,
};

struct source *synthetic_source_new(size_t cpus, size_t busy)
{
    struct synthetic *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    *self = (struct synthetic){.source.ops = &ops, .cpus = cpus, .busy = busy};
    return &self->source;
}
