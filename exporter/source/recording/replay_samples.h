/*
 * The samples of a recording's current tick, and how sampling went.
 *
 * Lines below a tick belong to the window that ends with it, unless the recording says otherwise: a
 * line without a time gets the tick's last nanosecond. Memory is that of the fullest tick, up to
 * REPLAY_MAX_SAMPLES; samples beyond count as lost.
 */
#ifndef IE_SOURCE_RECORDING_REPLAY_SAMPLES_H
#define IE_SOURCE_RECORDING_REPLAY_SAMPLES_H

#include "exporter/source/recording/format.h"
#include "exporter/source/recording/replay_keys.h"

enum { REPLAY_MAX_SAMPLES = 1 << 20 };

struct replay_samples {
    struct replay_sample {
        struct access_sample sample;
        const struct replay_key *key;
    } * at;
    size_t n, cap, next;
    uint64_t tick_ns;
    struct sampling sampling[ACCESS_KINDS];
    bool told[ACCESS_KINDS]; /* settled_ns comes from the recording's own lines */
};

/* All zero is empty. */
void replay_samples_release(struct replay_samples *samples);

/* A tick begins: the last one's samples are gone, before their keys are. NULL: it was the last. */
void replay_samples_begin(struct replay_samples *samples, const struct tick *tick);

/* A line of the tick. 0 or -ENOMEM. */
int replay_samples_put(struct replay_samples *samples, const struct recording_sample *line,
                       const struct replay_key *key);
void replay_samples_lost(struct replay_samples *samples, const struct recording_lost *lost);

/* As the drain op of a source. */
size_t replay_samples_take(struct replay_samples *samples, struct access_sample *out, size_t cap);

#endif
