#include "tests/unit/support/fake_source.h"
#include "tests/unit/support/unit.h"

static struct fake_source *fake_of(struct source *source)
{
    return (struct fake_source *)source;
}

static bool check(struct source *source, enum scope_kind kind, enum group group,
                  struct verdict *why)
{
    fake_of(source)->ledger.checks |= 1u << group;
    *why = fake_of(source)->check;
    if (fake_of(source)->lacks >> group & 1)
        verdict_set(why, REASON_UNSUPPORTED_CPU, "group %s: no verified events",
                    group_descs[group].name);
    return why->reason == REASON_OK || why->reason == REASON_NMI_WATCHDOG;
}

static int open_group(struct source *source, const struct scope *scope, enum group group,
                      uint64_t *handle, struct verdict *why)
{
    struct fake_source *fake = fake_of(source);
    if (fake->open_error.reason != REASON_OK &&
        (fake->open_error_of == GROUP_COUNT || fake->open_error_of == group) &&
        (!fake->open_error_key || strcmp(fake->open_error_key, scope->key) == 0)) {
        *why = fake->open_error;
        return fake->open_errno ? fake->open_errno : -EMFILE;
    }
    struct fake_group *found = fake_group(fake, scope->key, group);
    assert_false(found->open);
    found->open = true;
    fake->n_open++;
    fake->ledger.opens++;
    snprintf(fake->ledger.last_key, sizeof fake->ledger.last_key, "%s", scope->key);
    *handle = (uint64_t)(found - fake->groups) + 1;
    return 0;
}

static struct fake_group *group_of(struct source *source, uint64_t handle)
{
    struct fake_group *group = &fake_of(source)->groups[handle - 1];
    assert_true(group->open);
    return group;
}

static size_t width(struct source *source, uint64_t handle)
{
    return group_of(source, handle)->cpus;
}

static int begin(struct source *source, const struct tick *tick)
{
    fake_of(source)->ledger.begins++;
    return fake_of(source)->begin_error;
}

static int read_group(struct source *source, uint64_t handle, struct reading *out)
{
    const struct fake_group *group = group_of(source, handle);
    fake_of(source)->ledger.reads++;
    if (group->read_error)
        return group->read_error;
    if (group->no_reading)
        return -ENODATA;
    if (out->cap < group->cpus)
        return -ENOSPC;
    for (size_t cpu = 0; cpu < group->cpus; cpu++) {
        struct reading_row *row = reading_row(out, cpu);
        row->cpu = (int32_t)cpu;
        row->present = group->present;
        row->enabled_ns = group->enabled_ns[cpu];
        row->running_ns = group->running_ns[cpu];
        memcpy(row->count, group->count[cpu],
               group_descs[group->group].n * sizeof *group->count[cpu]);
    }
    out->n = group->cpus;
    return 0;
}

static void probe_discards(struct source *source, uint64_t discarded[PROBE_DISCARDS])
{
    const struct fake_source *fake = (const struct fake_source *)source;
    memcpy(discarded, fake->probe_discards, sizeof fake->probe_discards);
}

static int probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct fake_source *fake = fake_of(source);
    *n = fake->n_probes < cap ? fake->n_probes : cap;
    memcpy(out, fake->probes, *n * sizeof *out);
    fake->n_probes -= *n;
    memmove(fake->probes, fake->probes + *n, fake->n_probes * sizeof *out);
    return 0;
}

static size_t takings(struct source *source, struct cpu_taking *out, size_t cap)
{
    struct fake_source *fake = fake_of(source);
    size_t n = fake->n_takings < cap ? fake->n_takings : cap;
    memcpy(out, fake->takings, n * sizeof *out);
    fake->n_takings = 0;
    return n;
}

static bool samples(struct source *source, enum access access, struct verdict *why)
{
    *why = fake_of(source)->sampled[access];
    return why->reason == REASON_OK;
}

static size_t drain(struct source *source, struct access_sample *out, size_t cap)
{
    struct fake_source *fake = fake_of(source);
    size_t n = fake->n_samples < cap ? fake->n_samples : cap;
    memcpy(out, fake->samples, n * sizeof *out);
    fake->n_samples -= n;
    memmove(fake->samples, fake->samples + n, fake->n_samples * sizeof *out);
    return n;
}

static void sampling(struct source *source, enum access access, struct sampling *out)
{
    *out = fake_of(source)->sampling[access];
}

static void close_group(struct source *source, uint64_t handle)
{
    struct fake_source *fake = fake_of(source);
    group_of(source, handle)->open = false;
    fake->n_open--;
    fake->ledger.closes++;
}

static size_t open_counters(struct source *source)
{
    return fake_of(source)->n_open;
}

static uint64_t unread(struct source *source)
{
    return fake_of(source)->unread;
}

static void free_source(struct source *source)
{
    fake_of(source)->ledger.frees++;
}

static const struct source_ops ops = {
    .name = "fake",
    .check = check,
    .open = open_group,
    .width = width,
    .begin = begin,
    .read = read_group,
    .takings = takings,
    .probes = probes,
    .probe_discards = probe_discards,
    .samples = samples,
    .drain = drain,
    .sampling = sampling,
    .close = close_group,
    .open_counters = open_counters,
    .unread = unread,
    .free = free_source,
};

void fake_source_init(struct fake_source *fake)
{
    *fake = (struct fake_source){.source.ops = &ops,
                                 .lacks = 1u << GROUP_BANDWIDTH | 1u << GROUP_POD_BANDWIDTH,
                                 .open_error_of = GROUP_COUNT};
}

/* One that was never used, or, where there is none, one that was closed. */
static struct fake_group *free_group(struct fake_source *fake)
{
    if (fake->n_groups < FAKE_GROUPS)
        return &fake->groups[fake->n_groups++];
    for (size_t i = 0; i < FAKE_GROUPS; i++)
        if (!fake->groups[i].open)
            return &fake->groups[i];
    fail_msg("more than %d groups open at once", FAKE_GROUPS);
    return NULL;
}

struct fake_group *fake_group(struct fake_source *fake, const char *key, enum group group)
{
    for (size_t i = 0; i < fake->n_groups; i++)
        if (fake->groups[i].group == group && strcmp(fake->groups[i].key, key) == 0)
            return &fake->groups[i];
    struct fake_group *made = free_group(fake);
    *made = (struct fake_group){
        .group = group, .cpus = FAKE_CPUS, .present = (uint32_t)((1u << group_descs[group].n) - 1)};
    snprintf(made->key, sizeof made->key, "%s", key);
    return made;
}

void fake_group_run(struct fake_group *group, int cpu, uint64_t ns)
{
    group->enabled_ns[cpu] += ns;
    group->running_ns[cpu] += ns;
}

void fake_group_add(struct fake_group *group, int cpu, enum role role, uint64_t count)
{
    group->count[cpu][group_index(group->group, role)] += count;
}

void fake_group_window(struct fake_group *group, int cpu, uint64_t ns,
                       const struct fake_count *counts, size_t n)
{
    fake_group_run(group, cpu, ns);
    for (size_t i = 0; i < n; i++)
        fake_group_add(group, cpu, counts[i].role, counts[i].count);
}
