/*
 * Where a container reads memory from: each socket, and all of them together, the node.
 *
 * A read is taken for one of the memory beside the CPU that it was counted on. That is the
 * assumption of everything per socket: the kernel and Kubernetes place memory so where they can. Of
 * a container whose memory is on another socket, the wrong neighbours are watched; core_lane.h
 * notices some of these.
 */
#ifndef IE_COLLECTORS_PARTS_SOCKETS_H
#define IE_COLLECTORS_PARTS_SOCKETS_H

#include <stdbool.h>

#include "exporter/source/machine.h"
#include "exporter/source/source_set.h"

/* As sockets are numbered; all of them together come last. */
enum { SOCKETS_ALL = MACHINE_SOCKETS, SOCKETS_AND_ALL };

/* What a row's counts of a window are multiplied by, as window_add() scales them; 0: the CPU was
 * idle or starved. 'then' may be NULL. */
double row_scale(const struct reading_row *then, const struct reading_row *now);

/* The row of the same index in the reading before; NULL: there is none. */
const struct reading_row *row_before(const struct group_window *window, size_t k);

/*
 * Whether sockets are told apart: there are several, and each has NUMA nodes of its own. Virtual
 * machines show sockets that share one memory.
 */
bool sockets_are_apart(const struct machine *machine);

/*
 * The window's scaled count of a role by socket, as struct window_sum has it for the node; CPUs
 * that starved count nothing. For windows that were not reset. False where something was counted on
 * a CPU whose socket is not known: 'out' is then not to be used.
 */
bool window_by_socket(const struct group_window *window, enum role role,
                      const struct machine *machine, double out[MACHINE_SOCKETS]);

/* The same by NUMA node. False also where something was counted on a node that 'out' of n numbers
 * does not have. */
bool window_by_numa_node(const struct group_window *window, enum role role,
                         const struct machine *machine, double *out, int n);

#endif
