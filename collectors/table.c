#include "collectors/table.h"

#define COLLECTOR_ENTRY(name) &name##_collector,

const struct collector_ops *const collector_table[] = {COLLECTORS(COLLECTOR_ENTRY) NULL};

_Static_assert(sizeof collector_table / sizeof *collector_table - 1 <= COLLECTORS_MAX,
               "more collectors than the arrays beside the table have room for");
