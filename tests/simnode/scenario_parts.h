/* Between the files that read a scenario. */
#ifndef SIMNODE_SCENARIO_PARTS_H
#define SIMNODE_SCENARIO_PARTS_H

#include "tests/simnode/fields.h"
#include "tests/simnode/scenario.h"

int scenario_read_machine(struct field_reader *reader, json_t *object, struct machine_spec *out);
/* Traces are looked for in 'folder' ("" or ending in '/'). */
int scenario_read_workloads(struct field_reader *reader, json_t *object, const char *folder,
                            struct scenario *out);
int scenario_read_containers(struct field_reader *reader, json_t *array, struct scenario *out);

#endif
