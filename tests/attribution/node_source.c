#include "tests/attribution/node_source.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOST = HOUR_WORKERS };

static struct node_source *of(struct source *source)
{
    return (struct node_source *)source;
}

static bool check(struct source *source, enum scope_kind kind, enum group group,
                  struct verdict *why)
{
    (void)source;
    if (group == GROUP_ACTIVITY && (kind == SCOPE_CGROUP || kind == SCOPE_MACHINE))
        return true;
    verdict_set(why, REASON_NO_DEVICE, "CPU time only");
    return false;
}

void node_source_key(unsigned worker, char *out, size_t size)
{
    snprintf(out, size, "w%u", worker);
}

/* A handle is the worker's number plus 1. */
static int open_group(struct source *source, const struct scope *scope, enum group group,
                      uint64_t *handle, struct verdict *why)
{
    if (!check(source, scope->kind, group, why))
        return -ENODEV;
    *handle = scope->kind == SCOPE_MACHINE ? HOST + 1 : strtoull(scope->key + 1, NULL, 10) + 1;
    return 0;
}

static size_t width(struct source *source, uint64_t handle)
{
    (void)source;
    (void)handle;
    return 1;
}

static int read_group(struct source *source, uint64_t handle, struct reading *out)
{
    const struct node_source *self = of(source);
    uint64_t ns = handle - 1 == HOST ? self->host_ns : self->used_ns[handle - 1];
    if (out->cap < 1)
        return -ENOSPC;
    out->n = 1;
    struct reading_row *row = reading_row(out, 0);
    row->cpu = -1;
    row->present = 1;
    row->enabled_ns = row->running_ns = row->count[0] = ns;
    return 0;
}

static void close_group(struct source *source, uint64_t handle)
{
    (void)source;
    (void)handle;
}

static int probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct node_source *self = of(source);
    *n = 0;
    if (cap > 0 && !self->told && !isnan(self->node->latency_ns))
        out[(*n)++] = (struct probe_reading){.latency_ns = self->node->latency_ns, .cpu = -1};
    self->told = true;
    return 0;
}

static void free_nothing(struct source *source)
{
    (void)source;
}

static const struct source_ops ops = {
    .name = "node",
    .check = check,
    .open = open_group,
    .width = width,
    .read = read_group,
    .close = close_group,
    .probes = probes,
    .free = free_nothing,
};

void node_source_init(struct node_source *self, const struct node_hour *node)
{
    *self = (struct node_source){.source.ops = &ops, .node = node};
}

void node_source_move(struct node_source *self)
{
    double all = self->node->host;
    for (unsigned i = 0; i < self->node->n; i++) {
        self->used_ns[i] += (uint64_t)(self->node->worker[i].x * 1e9);
        all += self->node->worker[i].x;
    }
    self->host_ns += (uint64_t)(all * 1e9);
    self->told = false;
}
