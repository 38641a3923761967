#include "exporter/source/tick_samples.h"

#include <errno.h>
#include <stdlib.h>

enum { BEYOND = 64 };

void tick_samples_release(struct tick_samples *samples)
{
    free(samples->at);
    *samples = (struct tick_samples){0};
}

int tick_samples_reserve(struct tick_samples *samples)
{
    if (!samples->at)
        samples->at = malloc(TICK_SAMPLES_MAX * sizeof *samples->at);
    return samples->at ? 0 : -ENOMEM;
}

/* Samples are dropped here rather than left for the next tick: what is settled by now would
 * otherwise come after its time. Returns whether there may be more. */
static bool drop_some(struct tick_samples *samples, struct source *source)
{
    struct access_sample beyond[BEYOND];
    size_t n = source->ops->drain(source, beyond, BEYOND);
    for (size_t i = 0; i < n; i++)
        samples->dropped[beyond[i].access]++;
    return n == BEYOND;
}

/* Returns whether there may be more. */
static bool take_some(struct tick_samples *samples, struct source *source)
{
    size_t room = TICK_SAMPLES_MAX - samples->n;
    if (room == 0 || tick_samples_reserve(samples) != 0)
        return drop_some(samples, source);
    size_t n = source->ops->drain(source, samples->at + samples->n, room);
    samples->n += n;
    return n == room;
}

static void ask_sampling(struct tick_samples *samples, struct source *source, enum access access)
{
    struct verdict why;
    samples->sampling[access] = (struct sampling){0};
    if (source && source->ops->samples(source, access, &why))
        source->ops->sampling(source, access, &samples->sampling[access]);
}

void tick_samples_drain(struct tick_samples *samples, struct source *source)
{
    samples->n = 0;
    for (int access = 0; access < ACCESS_KINDS; access++)
        ask_sampling(samples, source, (enum access)access);
    while (source && take_some(samples, source))
        ;
    for (int access = 0; access < ACCESS_KINDS; access++)
        samples->sampling[access].lost += samples->dropped[access];
}
