#include "tests/simnode/control/measured.h"

#include <errno.h>
#include <stdlib.h>

#include "collectors/table.h"

struct measured {
    void *latency, *slowdown;
    struct collector_status *status; /* of both, for the rig; and of the second one: */
    struct collector_status slowdown_status;
    struct collector_env slowdown_env;
};

static const struct collector_config defaults;

static bool measured_probe(const struct collector_env *env, struct verdict *why)
{
    return core_latency_collector.probe(env, why) && slowdown_collector.probe(env, why);
}

static void measured_stop(void *opaque)
{
    struct measured *self = opaque;

    if (!self)
        return;
    slowdown_collector.stop(self->slowdown);
    core_latency_collector.stop(self->latency);
    free(self);
}

static int measured_start(const struct collector_env *env, struct collector_status *status,
                          void **out)
{
    struct measured *self = calloc(1, sizeof(*self));

    if (!self)
        return -ENOMEM;
    self->status = status;
    self->slowdown_env = *env;
    self->slowdown_env.config = &defaults;
    int err = core_latency_collector.start(env, status, &self->latency);
    if (!err)
        err =
            slowdown_collector.start(&self->slowdown_env, &self->slowdown_status, &self->slowdown);
    if (err)
        measured_stop(self);
    else
        *out = self;
    return err;
}

static void measured_reconcile(void *opaque, const struct container_diff *diff)
{
    struct measured *self = opaque;

    core_latency_collector.reconcile(self->latency, diff);
    slowdown_collector.reconcile(self->slowdown, diff);
}

static int measured_collect(void *opaque, const struct tick *tick)
{
    struct measured *self = opaque;
    int err = core_latency_collector.collect(self->latency, tick);
    int other = slowdown_collector.collect(self->slowdown, tick);

    self->status->wants_reconcile |= self->slowdown_status.wants_reconcile;
    return err ? err : other;
}

const struct collector_ops measured_collectors = {
    .name = "measured",
    .probe = measured_probe,
    .start = measured_start,
    .reconcile = measured_reconcile,
    .collect = measured_collect,
    .stop = measured_stop,
};
