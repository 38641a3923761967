/* Between recorder.c, which writes the file, and recorder_source.c, which sees the readings pass.
 */
#ifndef IE_SOURCE_RECORDING_RECORDER_INTERNAL_H
#define IE_SOURCE_RECORDING_RECORDER_INTERNAL_H

#include "exporter/source/recording/recorder.h"

/* Whether readings are written now: within a tick, while nothing has failed. */
bool recorder_takes_readings(const struct recorder *recorder);
/* Another one: what was written last is to be written again. */
unsigned recorder_repeats(const struct recorder *recorder);
void recorder_row(struct recorder *recorder, const char *key, enum group group,
                  const struct reading_row *row);
/* The key of an owner's scope is known while a group is open with that owner, in any of the
 * sources. 0 or -ENOMEM; an owner of 0 is ignored. */
int recorder_own(struct recorder *recorder, uint64_t owner, const char *key);
void recorder_disown(struct recorder *recorder, uint64_t owner);
const char *recorder_key(const struct recorder *recorder, uint64_t owner);
/* 'key' is the key of the sample's container. */
void recorder_sample(struct recorder *recorder, const char *key,
                     const struct access_sample *sample);
/* What was lost and how often sampling was paused since 'before'. */
void recorder_sampling(struct recorder *recorder, enum access access, const struct sampling *before,
                       const struct sampling *now);
void recorder_probe(struct recorder *recorder, const struct probe_reading *probe);

#endif
