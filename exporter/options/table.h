/*
 * All flags, for parsing, --help and the tests: the one table of the exporter's own, and those that
 * collectors bring (collector_ops.options). The flags that switch collectors on and off are in
 * neither: they are made from collector_table.
 */
#ifndef IE_OPTIONS_TABLE_H
#define IE_OPTIONS_TABLE_H

#include "collectors/contract/collector.h"

extern const struct option_flag flag_table[];
extern const size_t flag_count;

/* In front of it --help has the collectors' switches, behind it their options. */
#define FLAG_OF_ALL_COLLECTORS "collector.disable-defaults"

enum { FLAG_OWN = -1 };

/* All flags in the order of --help. All zero before the first. */
struct flag_walk {
    int collector; /* of the flag returned last: index in collector_table; or FLAG_OWN */
    size_t own, next_collector, next_option;
};

/* NULL: there are no more. */
const struct option_flag *flag_next(struct flag_walk *walk);

#endif
