/*
 * Threads of others: when they began, and the CPUs that they may run on. A thread is its number and
 * the time at which it began, in clock ticks since boot. Errors are -errno; -ENODEV: there is no
 * such thread.
 */
#ifndef IE_GOVERNOR_THREADS_H
#define IE_GOVERNOR_THREADS_H

#include "exporter/governor/act/actuators/actuator.h"

/* Now, as thread_start() counts. */
uint64_t thread_clock(void);
int thread_start(const struct actuator_env *env, int tid, uint64_t *out);

int thread_cpus(const struct actuator_env *env, int tid, cpu_set_t *out);
/* Of the claim's thread, and of no other that has its number now. */
int thread_claimed(const struct actuator_env *env, const struct claim *claim, cpu_set_t *out);

/* The kernel takes what the cgroup allows of it. -EINVAL: that is nothing. */
int thread_set(const struct actuator_env *env, int tid, const cpu_set_t *cpus);
/* Back to a text of cpus.h: to what of it is allowed now, or to all where nothing of it is. */
int thread_put_back(const struct actuator_env *env, int tid, const char *text);

#endif
