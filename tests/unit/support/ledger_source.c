#include "tests/unit/support/ledger_source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool fake_check(struct source *source, enum scope_kind kind, enum group group,
                       struct verdict *why)
{
    (void)source;
    if (kind == SCOPE_CGROUP && group == GROUP_LOADS) {
        verdict_set(why, REASON_NO_PMU, "no loads here");
        return false;
    }
    return true;
}

static int fake_open(struct source *source, const struct scope *scope, enum group group,
                     uint64_t *handle, struct verdict *why)
{
    struct fake *fake = (struct fake *)source;

    if (fake->open_error) {
        verdict_set(why, REASON_NO_PERMISSION, "told to fail");
        return fake->open_error;
    }
    for (size_t i = 0; i < FAKE_GROUPS; i++) {
        if (fake->groups[i].open)
            continue;
        fake->groups[i] = (struct fake_group){.open = true, .group = group, .cpus = 1};
        fake->ledger->opens++;
        snprintf(fake->ledger->last_key, sizeof fake->ledger->last_key, "%s", scope->key);
        *handle = 1000 + i;
        return 0;
    }
    return -EMFILE;
}

static struct fake_group *fake_group(struct source *source, uint64_t handle)
{
    struct fake_group *group = &((struct fake *)source)->groups[handle - 1000];
    assert_true(group->open);
    return group;
}

static size_t fake_width(struct source *source, uint64_t handle)
{
    return fake_group(source, handle)->cpus;
}

static int fake_begin(struct source *source, const struct tick *tick)
{
    (void)tick;
    ((struct fake *)source)->ledger->begins++;
    return ((struct fake *)source)->begin_error;
}

static int fake_read(struct source *source, uint64_t handle, struct reading *out)
{
    struct fake_group *group = fake_group(source, handle);

    ((struct fake *)source)->ledger->reads++;
    if (group->error)
        return group->error;
    if (out->cap < group->cpus)
        return -ENOSPC;
    out->n = group->cpus;
    for (size_t i = 0; i < group->cpus; i++) {
        struct reading_row *row = reading_row(out, i);
        memset(row, 0, out->stride_bytes);
        row->cpu = (int32_t)i;
        row->present = 1;
        row->enabled_ns = row->running_ns = row->count[0] = group->count[i];
    }
    return 0;
}

static int fake_probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct fake *fake = (struct fake *)source;

    for (*n = 0; *n < cap && fake->probes_left > 0; fake->probes_left--)
        out[(*n)++] = (struct probe_reading){.latency_ns = (double)fake->probes_left};
    return 0;
}

static void fake_close(struct source *source, uint64_t handle)
{
    fake_group(source, handle)->open = false;
    ((struct fake *)source)->ledger->closes++;
}

static size_t fake_open_counters(struct source *source)
{
    return ((struct fake *)source)->fds;
}

static void fake_free(struct source *source)
{
    ((struct fake *)source)->ledger->frees++;
    free(source);
}

static const struct source_ops fake_ops = {
    .name = "fake",
    .check = fake_check,
    .open = fake_open,
    .width = fake_width,
    .begin = fake_begin,
    .read = fake_read,
    .probes = fake_probes,
    .close = fake_close,
    .open_counters = fake_open_counters,
    .free = fake_free,
};

struct fake *fake_new(struct ledger *ledger)
{
    struct fake *fake = calloc(1, sizeof *fake);

    assert_non_null(fake);
    fake->source.ops = &fake_ops;
    fake->ledger = ledger;
    return fake;
}
