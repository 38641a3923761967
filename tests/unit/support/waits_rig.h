/*
 * The worked numbers of ATTRIBUTION.md section 6, on an interference rig: three containers whose
 * weights are 6, 3 and 1, and a teacher from whose turns the slope of all traffic is learned.
 */
#ifndef IE_TESTS_WAITS_RIG_H
#define IE_TESTS_WAITS_RIG_H

#include "tests/unit/support/interference_rig.h"

#define WAIT "interference_container_caused_wait_seconds"
#define SECOND_NS UINT64_C(1000000000)

extern const double worked_traffic[3]; /* lines a second */
extern const char *const worked_name[3];

void near(double got, double want, double share);

/* A container whose traffic is counted. */
struct container *waits_container(struct rig *rig, const char *name);
/* The three and the teacher. */
void waits_containers(struct rig *rig);
/* It reads so many lines in the tick that comes. */
void waits_use(struct rig *rig, const char *name, int cpu, double lines);
/* The three do as always, the teacher as he is told. */
void waits_use_all(struct rig *rig, double on);
/* The latency follows all traffic together. */
void waits_burst(struct rig *rig, double lines);
/* core_latency collects in it. */
void waits_tick(struct rig *rig);

/* What core_latency says of it in the tick that comes: so much above its baseline of 80 ns; NaN:
 * the baseline is not known. */
struct read_latency *waits_for(struct rig *rig, const char *name, double reads, double excess_ns);
/* The same of the three, by the worked numbers. */
void waits_for_worked(struct rig *rig);
double waits_counter(struct rig *rig, const char *name);
size_t waits_slot(const struct rig *rig, const char *name);

/* How often the collector allocates in a tick, which is not published. */
uint64_t waits_allocates(struct rig *rig);

/* The collector begins with its context. */
struct attribution_node *waits_node(const struct rig *rig);

#endif
