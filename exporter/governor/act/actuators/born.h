/*
 * Who is born of a thread inherits its CPUs, in whichever process. Those that were born since a
 * claim, have exactly what it set and are not claimed themselves are given back with it; of several
 * claims that have set the same, the oldest one's original.
 */
#ifndef IE_GOVERNOR_BORN_H
#define IE_GOVERNOR_BORN_H

#include "exporter/governor/act/actuators/actuator.h"

/* Whether it is the first of all open claims that have set the same in this cgroup. */
bool born_are_of(const struct actuator_env *env, const struct claim *claim);

/* Those in the cgroup, whose directory that is, and below it, that have 'set' of what is allowed
 * there. A cgroup or thread that has ended is no error. */
int born_give_back(const struct actuator_env *env, const struct claim *claim, const char *set,
                   int directory, const cpu_set_t *allowed);

#endif
