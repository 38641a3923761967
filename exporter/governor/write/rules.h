/*
 * What may be written at all: the fixed formats of paths, quotas and groups, read by nobody else's
 * code. Pure.
 */
#ifndef IE_GOVERNOR_RULES_H
#define IE_GOVERNOR_RULES_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of the text ends within 'size', and can be a line of the journal's: printable ASCII. */
bool rules_text(const char *text, size_t size);

/* A path below a root whose last name is a container's by its form, or, outside of pods, one of
 * these; a slice never is. */
bool rules_path(const char *path, const char *const *names, size_t n);

/* "400000 100000 burst 100000", "max 100000" of v2; "400000 burst 100000", "-1" of v1, whose period
 * is in no text: 0. */
struct rules_quota {
    uint64_t us, period_us, burst_us;
    bool unlimited;
};
bool rules_quota(int version, const char *text, struct rules_quota *out);

/* "ig_7ff_100". */
bool rules_group(const char *name, unsigned *mask, unsigned *percent);
/* What a group's schemata becomes gives no mask but its own, and no less bandwidth. */
bool rules_schemata(const char *text, unsigned mask, unsigned percent);
/* What the first domain of a schemata has of a resource, "L3:" or "MB:"; 0: it is not there. */
unsigned rules_whole(const char *schemata, const char *resource, int base);

/* "0-3,8". */
bool rules_cpus(const char *text, cpu_set_t *out);

/* Digits and no more: a number up to 'most'. */
bool rules_number(const char *text, int base, uint64_t most, uint64_t *out);

#endif
