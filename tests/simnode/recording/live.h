/*
 * A simulated node as a live counter source, for tests of what stands behind the interface: its
 * containers, probe threads ("probe") and memory controllers ("imc0", ...) by their keys.
 *
 * Each 'begin' lets the node run one tick; readings have one row, the sum over CPUs. With a
 * stretch, times and totals are those of so many ticks alike for each one, as in a recording.
 */
#ifndef IE_SIMNODE_RECORDING_LIVE_H
#define IE_SIMNODE_RECORDING_LIVE_H

#include "exporter/source/source.h"
#include "tests/simnode/model/simnode.h"

/* Both are borrowed and must outlive the source; other code may read the node, too. 0 or -ENOMEM.
 */
int simnode_source_new(struct simnode *node, const struct scenario *scenario, struct source **out);

#endif
