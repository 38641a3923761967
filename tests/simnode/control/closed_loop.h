/*
 * A simulated node under the governor, in one process and without a clock:
 *
 *     node -> live source -> core_latency, slowdown -> containers' document -> view
 *          -> governor -> node
 *
 * What lies between the node's counters and its knobs is the code that ships, but for HTTP, files
 * of cgroups and real time. A run is a function of its scenario and the configuration.
 */
#ifndef IE_SIMNODE_CONTROL_CLOSED_LOOP_H
#define IE_SIMNODE_CONTROL_CLOSED_LOOP_H

#include "exporter/governor/terms/claim.h"
#include "tests/simnode/model/simnode.h"

struct closed_loop;

/*
 * 'config' is the governor's, JSON, without exporter, mode and state_directory, which are the
 * loop's; containers are matched by their keys. NULL: nobody governs. The scenario is borrowed; its
 * ticks times its stretch should last about a second. 0 or -errno, said on stderr.
 */
int closed_loop_new(const struct scenario *scenario, const char *config, struct closed_loop **out);
/* Lets everything go first. */
void closed_loop_free(struct closed_loop *loop);

/* The node runs, the exporter counts, the governor decides; what it sets holds in the next tick. */
int closed_loop_tick(struct closed_loop *loop);

struct simnode *closed_loop_node(struct closed_loop *loop);
/* What a knob of a container has now: CPUs that it may use, ways, percent of bandwidth. */
double closed_loop_value(const struct closed_loop *loop, enum knob knob, size_t container);
/* What the exporter says of a container in the last tick; NaN: nothing. */
double closed_loop_latency_ns(const struct closed_loop *loop, size_t container);
double closed_loop_baseline_ns(const struct closed_loop *loop, size_t container);
double closed_loop_slowdown(const struct closed_loop *loop, size_t container, const char *model);
/* What is normal for it, as the governor learned by holding best effort; NaN: nothing yet. */
double closed_loop_learned_ns(const struct closed_loop *loop, size_t container);
/* How slow the governor's epochs say that it is; NaN: nothing yet. */
double closed_loop_measured(const struct closed_loop *loop, size_t container);
/* Steps so far in which a bound was not kept and nothing was left to take. */
uint64_t closed_loop_missed(const struct closed_loop *loop);
/* That the governor made so far. */
uint64_t closed_loop_changes(const struct closed_loop *loop);

#endif
