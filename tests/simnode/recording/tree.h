/*
 * A node's control files as plain ones, for programs that act on a simulated node from outside:
 * FOLDER/cgroup as a v2 hierarchy, a cgroup for each container, whose cpu.max is its quota.
 */
#ifndef IE_SIMNODE_RECORDING_TREE_H
#define IE_SIMNODE_RECORDING_TREE_H

#include "tests/simnode/model/simnode.h"

struct tree;

/* Makes the folder, which is not to exist. Paths are those of the recording (record_cgroup()). 0 or
 * -errno. */
int tree_new(const struct scenario *scenario, const char *folder, struct tree **out);
/* The folder stays. Accepts NULL. */
void tree_free(struct tree *tree);

/* What the files say now holds for the node from here on. What cannot be read, for it is being
 * written, is as it was. 0 or -errno of the node. */
int tree_apply(struct tree *tree, struct simnode *node);

/* CPUs that a container may use together, as last applied. */
double tree_cores(const struct tree *tree, size_t container);

#endif
