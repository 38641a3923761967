/*
 * The memory controllers and L3s of this machine, as the units that collectors open.
 */
#ifndef IE_DAEMON_UNITS_H
#define IE_DAEMON_UNITS_H

#include "exporter/base/fsroot.h"
#include "exporter/source/event/table.h"
#include "exporter/source/inventory.h"
#include "exporter/source/recording/recorder.h"

/*
 * Adds every memory controller and L3 that sysfs shows to the inventory, and to the recording
 * (NULL: none). One unit each; where a controller's counts are divided into groups, one for each of
 * them, with ".0",
 * ".1" behind the key. 'table' is the CPU's, NULL when it has none. 0 or -ENOMEM; a machine that
 * shows none, or whose sysfs cannot be read, has no units: the source's check then says why.
 */
int units_add(struct inventory *inventory, const struct fsroot *fs, const struct event_table *table,
              struct recorder *recorder);

#endif
