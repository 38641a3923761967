#include "tests/unit/support/wanderer.h"

#include "tests/unit/support/unit.h"

static uint64_t noise(uint64_t seed)
{
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9ull;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111ebull;
    return seed ^ seed >> 31;
}

static bool wanderer_check(struct source *source, enum scope_kind kind, enum group group,
                           struct verdict *why)
{
    return true;
}

static int wanderer_open(struct source *source, const struct scope *scope, enum group group,
                         uint64_t *handle, struct verdict *why)
{
    struct wanderer *self = (struct wanderer *)source;

    if (strcmp(scope->key, "refused") == 0) {
        verdict_set(why, REASON_NO_PERMISSION, "refused");
        return -EACCES;
    }
    assert_true(self->opened < WANDERER_MAX_OPEN);
    self->group[self->opened] = group;
    *handle = self->opened++;
    return 0;
}

static size_t wanderer_width(struct source *source, uint64_t handle)
{
    return ((struct wanderer *)source)->cpus;
}

static int wanderer_begin(struct source *source, const struct tick *at)
{
    ((struct wanderer *)source)->tick = at->number;
    return 0;
}

/* CPU 1 wakes in tick 3; some roles are not counted; counts lie anywhere below 2^63. */
static int wanderer_read(struct source *source, uint64_t handle, struct reading *out)
{
    struct wanderer *self = (struct wanderer *)source;
    uint64_t now = self->frozen ? 1 : self->tick;

    if (noise(handle * 1000 + now) % 5 == 0 && !self->frozen)
        return -ENODATA;
    if (out->cap < self->cpus)
        return -ENOSPC;
    out->n = self->cpus;
    for (size_t i = 0; i < out->n; i++) {
        struct reading_row *row = reading_row(out, i);
        uint64_t seed = noise(now + 100 * i + 10000 * handle);
        size_t roles = group_descs[self->group[handle]].n;
        memset(row, 0, out->stride_bytes);
        row->cpu = (int32_t)(i * 3);
        if (i == 1 && now < 3)
            continue;
        row->present = (uint32_t)((1u << roles) - 1) & (handle % 2 ? 0x55u : 0xffu);
        if (i == 2) /* this CPU stands still */
            seed = noise(handle);
        row->enabled_ns = seed >> 1;
        row->running_ns = seed >> 2;
        if (self->group[handle] == GROUP_ACTIVITY) { /* one clock */
            row->present = 1;
            row->count[0] = row->running_ns = row->enabled_ns;
            continue;
        }
        for (size_t role = 0; role < roles; role++)
            if (row->present >> role & 1)
                row->count[role] = noise(seed + role) >> (1 + seed % 60);
    }
    return 0;
}

static int wanderer_probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct wanderer *self = (struct wanderer *)source;

    assert_true(cap > 0);
    *n = self->tick % 2;
    out[0] = (struct probe_reading){1,
                                    2,
                                    (double)noise(self->tick) / 1e17,
                                    self->tick % 3 ? 0 : (double)noise(self->tick) / 3e17,
                                    self->tick % 5 ? 0 : (double)noise(self->tick) / 7e17,
                                    (int)(self->tick % 4) - 1};
    return 0;
}

static void wanderer_close(struct source *source, uint64_t handle)
{
}

static size_t wanderer_counters(struct source *source)
{
    return 42;
}

static void wanderer_free(struct source *source)
{
    free(source);
}

const struct source_ops wanderer_ops = {
    .name = "wanderer",
    .check = wanderer_check,
    .open = wanderer_open,
    .width = wanderer_width,
    .begin = wanderer_begin,
    .read = wanderer_read,
    .probes = wanderer_probes,
    .close = wanderer_close,
    .open_counters = wanderer_counters,
    .free = wanderer_free,
};

struct source *wanderer_new(void)
{
    struct wanderer *self = calloc(1, sizeof *self);

    assert_non_null(self);
    self->source.ops = &wanderer_ops;
    self->cpus = WANDERER_CPUS;
    return &self->source;
}

struct source_set *set_over(struct source *source)
{
    struct source_set *set = source_set_new(NULL);

    assert_non_null(set);
    for (int kind = 0; kind < SCOPE_KINDS; kind++)
        for (int group = 0; group < GROUP_COUNT; group++)
            assert_int_equal(source_set_route(set, kind, group, source), 0);
    assert_int_equal(source_set_route_probes(set, source), 0);
    return set;
}

group_handle open_key(struct source_set *set, enum scope_kind kind, const char *key,
                      enum group group)
{
    const struct scope scope = {.kind = kind, .key = key, .cgroup_fd = -1};
    group_handle handle = 0;
    struct verdict why;

    assert_int_equal(source_set_open(set, &scope, group, &handle, &why), 0);
    return handle;
}
