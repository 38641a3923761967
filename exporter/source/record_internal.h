/* Between record.c, which writes the file, and record_source.c, which sees the readings pass. */
#ifndef IE_SOURCE_RECORD_INTERNAL_H
#define IE_SOURCE_RECORD_INTERNAL_H

#include "exporter/source/record.h"

/* Whether readings belong into the file now: within a tick, while nothing failed. */
bool recorder_takes_readings(const struct recorder *recorder);
void recorder_read(struct recorder *recorder, const char *key, enum group group,
                   const struct reading_row *row);
void recorder_probe(struct recorder *recorder, const struct probe_reading *probe);

#endif
