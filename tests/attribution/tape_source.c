#include "tests/attribution/tape_source.h"

#include <errno.h>
#include <string.h>

static struct tape_source *of(struct source *source)
{
    return (struct tape_source *)source;
}

static bool check(struct source *source, enum scope_kind kind, enum group group,
                  struct verdict *why)
{
    (void)source;
    if (group == GROUP_ACTIVITY && (kind == SCOPE_CGROUP || kind == SCOPE_MACHINE))
        return true;
    verdict_set(why, REASON_NO_DEVICE, "a tape has CPU time only");
    return false;
}

/* A handle is the key's number plus 1. */
static int open_group(struct source *source, const struct scope *scope, enum group group,
                      uint64_t *handle, struct verdict *why)
{
    if (!check(source, scope->kind, group, why))
        return -ENODEV;
    *handle = tape_find(of(source)->tape, scope->kind == SCOPE_MACHINE ? "host" : scope->key) + 1;
    return 0;
}

static size_t width(struct source *source, uint64_t handle)
{
    return of(source)->tape->keys[handle - 1].n_rows;
}

static int read_group(struct source *source, uint64_t handle, struct reading *out)
{
    const struct tape_key *key = &of(source)->tape->keys[handle - 1];
    size_t tick = of(source)->tick;
    if (!key->read[tick])
        return -ENODATA;
    if (out->cap < key->n_rows)
        return -ENOSPC;
    for (out->n = 0; out->n < key->n_rows; out->n++) {
        struct reading_row *row = reading_row(out, out->n);
        uint64_t ns = key->rows[out->n].ns[tick];
        row->cpu = key->rows[out->n].cpu;
        row->present = 1;
        row->enabled_ns = row->running_ns = row->count[0] = ns;
    }
    return 0;
}

static void close_group(struct source *source, uint64_t handle)
{
    (void)source;
    (void)handle;
}

static int probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct tape_source *self = of(source);
    const struct tape_tick *tick = &self->tape->ticks[self->tick];
    for (*n = 0; *n < cap && self->next_burst < tick->n_bursts; self->next_burst++)
        out[(*n)++] = tick->bursts[self->next_burst];
    return 0;
}

static void free_nothing(struct source *source)
{
    (void)source;
}

static const struct source_ops ops = {
    .name = "tape",
    .check = check,
    .open = open_group,
    .width = width,
    .read = read_group,
    .close = close_group,
    .probes = probes,
    .free = free_nothing,
};

void tape_source_init(struct tape_source *self, const struct tape *tape)
{
    *self = (struct tape_source){.source.ops = &ops, .tape = tape};
}

void tape_source_at(struct tape_source *self, size_t tick)
{
    self->tick = tick;
    self->next_burst = 0;
}
