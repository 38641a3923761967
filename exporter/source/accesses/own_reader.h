/* Reads other processes in this one, which waits for whatever that takes. */
#ifndef IE_SOURCE_ACCESSES_OWN_READER_H
#define IE_SOURCE_ACCESSES_OWN_READER_H

#include "exporter/base/fsroot.h"
#include "exporter/source/accesses/process_reader.h"

/* 'fs' is borrowed for its life. 0 or -ENOMEM. */
int own_reader_new(const struct fsroot *fs, struct process_reader **out);
/* Accepts NULL. */
void own_reader_free(struct process_reader *reader);

#endif
