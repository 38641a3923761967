#include <errno.h>
#include <stdlib.h>

#include "exporter/source/recording/replay_internal.h"

struct replay_source {
    struct source source;
    struct replay *replay;
    uint32_t lacks;      /* bit g: the recorded machine has no events for the group */
    uint64_t probe_turn; /* the tick whose probe readings are being handed out */
    size_t next_probe;
};

static struct replay *replay_of(struct source *source)
{
    return ((struct replay_source *)source)->replay;
}

static struct replay_group *group_of(uint64_t handle)
{
    return (struct replay_group *)(uintptr_t)handle;
}

static bool replay_check(struct source *source, enum scope_kind kind, enum group group,
                         struct verdict *why)
{
    const struct replay *replay = replay_of(source);
    if (((const struct replay_source *)source)->lacks >> group & 1) {
        verdict_set(why, REASON_UNSUPPORTED_CPU,
                    "group %s: the recording is of a machine (%s) that has no events for it",
                    group_descs[group].name, replay->machine.microarchitecture);
        return false;
    }
    if (kind == SCOPE_CGROUP ||
        (kind == SCOPE_MACHINE && (group == GROUP_ACTIVITY || group == GROUP_BANDWIDTH)) ||
        (kind == SCOPE_UNIT && replay->n_units > 0) ||
        (kind == SCOPE_THREAD && replay->n_threads > 0))
        return true;
    verdict_set(why, REASON_NO_DEVICE, "the recording has no %s",
                kind == SCOPE_UNIT     ? "memory controllers"
                : kind == SCOPE_THREAD ? "probe threads"
                                       : "such counters of whole CPUs");
    return false;
}

static int replay_source_open(struct source *source, const struct scope *scope, enum group group,
                              uint64_t *handle, struct verdict *why)
{
    struct replay_keys *keys = &replay_of(source)->keys;
    struct replay_key *key = scope->kind == SCOPE_MACHINE ? replay_keys_machine(keys)
                                                          : replay_keys_find(keys, scope->key);
    if (!key || key->kind != scope->kind) {
        verdict_set(why, REASON_NO_DEVICE, "the recording has nothing with the key %s", scope->key);
        return -ENOENT;
    }
    struct replay_group *found = replay_key_group(key, group);
    if (!found) {
        verdict_set(why, REASON_NO_DEVICE, "out of memory while opening %s", scope->key);
        return -ENOMEM;
    }
    replay_group_hold(found);
    found->owner = scope->owner;
    *handle = (uint64_t)(uintptr_t)found;
    return 0;
}

static size_t replay_width(struct source *source, uint64_t handle)
{
    (void)source;
    return group_of(handle)->rows.n;
}

static int replay_read(struct source *source, uint64_t handle, struct reading *out)
{
    return replay_group_read(group_of(handle), replay_of(source)->turn, out);
}

static int replay_probes(struct source *source, struct probe_reading *out, size_t cap, size_t *n)
{
    struct replay_source *self = (struct replay_source *)source;
    const struct replay *replay = self->replay;
    if (self->probe_turn != replay->turn) {
        self->probe_turn = replay->turn;
        self->next_probe = 0;
    }
    for (*n = 0; *n < cap && self->next_probe < replay->n_probes; self->next_probe++)
        out[(*n)++] = replay->probes[self->next_probe];
    return 0;
}

static void replay_close(struct source *source, uint64_t handle)
{
    (void)source;
    group_of(handle)->owner = 0;
    replay_group_drop(group_of(handle));
}

/* Whether a recording has samples shows only as it plays. */
static bool replay_sampled(struct source *source, enum access access, struct verdict *why)
{
    (void)source;
    (void)access;
    (void)why;
    return true;
}

static size_t replay_drain(struct source *source, struct access_sample *out, size_t cap)
{
    return replay_samples_take(&replay_of(source)->samples, out, cap);
}

static void replay_sampling(struct source *source, enum access access, struct sampling *out)
{
    *out = replay_of(source)->samples.sampling[access];
}

static void replay_source_free(struct source *source)
{
    free(source);
}

static const struct source_ops replay_ops = {
    .name = "replay",
    .check = replay_check,
    .open = replay_source_open,
    .width = replay_width,
    .read = replay_read,
    .probes = replay_probes,
    .samples = replay_sampled,
    .drain = replay_drain,
    .sampling = replay_sampling,
    .close = replay_close,
    .free = replay_source_free,
};

int replay_source_new(struct replay *replay, struct source **out)
{
    struct replay_source *source = calloc(1, sizeof *source);
    if (!source)
        return -ENOMEM;
    source->source.ops = &replay_ops;
    source->replay = replay;
    *out = &source->source;
    return 0;
}

void replay_source_lacks(struct source *source, uint32_t groups)
{
    ((struct replay_source *)source)->lacks = groups;
}
