/*
 * Sets of CPUs as text: a list, "0-3,8", or "all" of those that are allowed, whichever these are.
 * Pure.
 */
#ifndef IE_GOVERNOR_CPUS_H
#define IE_GOVERNOR_CPUS_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#define CPUS_ALL "all"

/* 0; -EINVAL: no list, an empty one, or a CPU beyond CPU_SETSIZE. */
int cpus_parse(const char *text, cpu_set_t *out);
/* As the kernel writes it, without the line's end. -ENOSPC: it does not fit. */
int cpus_format(const cpu_set_t *cpus, char *out, size_t size);

/* The CPUs that a thread has after they were set to this text: the allowed ones of them, or all
 * that are allowed where none of them is. False: it is no such text. */
bool cpus_resolve(const char *text, const cpu_set_t *allowed, cpu_set_t *out);
/* Whether the thread has just these CPUs. */
bool cpus_are(const char *text, const cpu_set_t *allowed, const cpu_set_t *cpus);
/* The text of what a thread has. -ENOSPC. */
int cpus_spell(const cpu_set_t *cpus, const cpu_set_t *allowed, char *out, size_t size);

#endif
