#include "exporter/source/recording/replay_samples.h"

#include <errno.h>
#include <stdlib.h>

#include "exporter/base/array.h"

void replay_samples_release(struct replay_samples *samples)
{
    free(samples->at);
    *samples = (struct replay_samples){0};
}

void replay_samples_begin(struct replay_samples *samples, const struct tick *tick)
{
    samples->n = samples->next = 0;
    if (!tick)
        return;
    samples->tick_ns = tick->mono_ns;
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (!samples->told[access])
            samples->sampling[access].settled_ns = tick->mono_ns;
}

int replay_samples_put(struct replay_samples *samples, const struct recording_sample *line,
                       const struct replay_key *key)
{
    struct sampling *sampling = &samples->sampling[line->sample.access];
    if (line->period > 0)
        sampling->period = line->period;
    if (samples->n == REPLAY_MAX_SAMPLES) {
        sampling->lost++;
        return 0;
    }
    if (array_reserve(&samples->at, &samples->cap, samples->n + 1, sizeof *samples->at))
        return -ENOMEM;
    struct replay_sample *sample = &samples->at[samples->n++];
    *sample = (struct replay_sample){.sample = line->sample, .key = key};
    if (!line->timed)
        sample->sample.time_ns = samples->tick_ns > 0 ? samples->tick_ns - 1 : 0;
    return 0;
}

void replay_samples_lost(struct replay_samples *samples, const struct recording_lost *lost)
{
    struct sampling *sampling = &samples->sampling[lost->access];
    sampling->lost += lost->count;
    sampling->throttles += lost->throttles;
    if (lost->period > 0)
        sampling->period = lost->period;
    if (lost->settled) {
        sampling->settled_ns = lost->settled_ns;
        samples->told[lost->access] = true;
    }
}

/* The owner of an open group that wants the sample; 0: there is none. */
static uint64_t owner_of(const struct replay_sample *sample)
{
    const struct replay_group *group = sample->key->groups[access_group(sample->sample.access)];
    return group ? group->owner : 0;
}

size_t replay_samples_take(struct replay_samples *samples, struct access_sample *out, size_t cap)
{
    size_t n = 0;
    for (; n < cap && samples->next < samples->n; samples->next++) {
        const struct replay_sample *sample = &samples->at[samples->next];
        uint64_t owner = owner_of(sample);
        if (owner == 0)
            continue;
        out[n] = sample->sample;
        out[n++].owner = owner;
    }
    return n;
}
