/*
 * The governor's actuators on a simulated node: knobs of its containers, as the kernel's files are
 * knobs of cgroups. A change holds from the node's next tick on.
 *
 * A container's path is "/" and its key in the scenario. One thread.
 */
#ifndef IE_SIMNODE_CONTROL_ACTUATE_H
#define IE_SIMNODE_CONTROL_ACTUATE_H

#include "exporter/governor/act/restore.h"
#include "tests/simnode/model/simnode.h"

struct node_knobs;

/* Both are borrowed and must outlive the knobs. 0 or -ENOMEM. */
int node_knobs_new(struct simnode *node, const struct scenario *scenario, struct node_knobs **out);
void node_knobs_free(struct node_knobs *knobs);

/* As actuators_open(), of this node: CPU quota, ways of the last-level cache and memory bandwidth;
 * nothing has to be closed. */
void node_knobs_actuators(struct node_knobs *knobs, struct actuators *out);

/* What a container has now: CPUs that its threads may use together, ways, percent. */
double node_knobs_value(const struct node_knobs *knobs, enum knob knob, size_t container);

/* Of all actuators of a simulated node, which come with the node: nothing can be opened. */
int node_knob_open(const struct actuator_env *env, void **self, struct verdict *why);
void node_knob_close(void *self);

#endif
