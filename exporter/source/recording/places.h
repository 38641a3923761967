/*
 * Which CPUs each socket and each NUMA node has, in the header of a recording: optional members of
 * "machine", "socket_cpus" and "numa_node_cpus". Each is an array that has a list of CPUs, written
 * as the kernel does, for each number from 0 on: ["0-15,32-47","16-31,48-63"]. A CPU in no list is
 * not known.
 */
#ifndef IE_SOURCE_RECORDING_PLACES_H
#define IE_SOURCE_RECORDING_PLACES_H

#include "exporter/base/textbuf.h"
#include "exporter/source/machine.h"
#include "exporter/source/recording/fields.h"

/* 'in' stands in the machine. */
void places_parse(struct fields *in, struct machine *machine);

/* As further members of an object. Left out where there is but one socket or node: nobody asks. */
void places_write(struct textbuf *out, const struct machine *machine);

#endif
