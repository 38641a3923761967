/* Between the files that read a scenario. */
#ifndef IE_SIMNODE_SCENARIO_PARTS_H
#define IE_SIMNODE_SCENARIO_PARTS_H

#include "tests/simnode/scenario/fields.h"
#include "tests/simnode/scenario/scenario.h"

int scenario_read_machine(struct field_reader *reader, json_t *object, struct machine_spec *out);
/* Traces are looked for in 'folder' ("" or ending in '/'). */
int scenario_read_workloads(struct field_reader *reader, json_t *object, const char *folder,
                            struct scenario *out);
/* A way mask as /sys/fs/resctrl writes it: hexadecimal. An absent one leaves *out. */
int scenario_read_ways(struct field_reader *reader, json_t *value,
                       const struct machine_spec *machine, uint32_t *out);
int scenario_read_actions(struct field_reader *reader, json_t *array, struct scenario *out);
int scenario_read_containers(struct field_reader *reader, json_t *array, struct scenario *out);

#endif
