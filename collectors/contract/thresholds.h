/*
 * --thresholds.file: limits of latency and slowdown per container; of each kind, the first match
 * that has one wins.
 */
#ifndef IE_COLLECTORS_CONTRACT_THRESHOLDS_H
#define IE_COLLECTORS_CONTRACT_THRESHOLDS_H

#include <stdbool.h>
#include <stddef.h>

struct threshold {
    char *namespace_, *pod, *container; /* globs (fnmatch); owned */
    double latency_seconds;             /* 0: it has none, like the next */
    double slowdown_ratio;
};

struct thresholds {
    struct threshold *at;
    size_t n;
    unsigned version; /* grows with every reload, so that users know to look again */
};

/*
 * JSON: [{"namespace":GLOB,"pod":GLOB,"container":GLOB,"latency_seconds":X,"slowdown_ratio":Y},
 * ...]; a missing glob matches everything, X is above 0 and at most 1, Y above 1 and at most 100,
 * and one of the two may be missing. Unknown and repeated keys are refused: a misspelt "pod" would
 * set the limit of every pod. -EINVAL with the reason ("line 3: ...", "entry 2: ...", counted from
 * 1) in error, or -ENOMEM; *out untouched on failure, and not released before it is overwritten.
 */
int thresholds_parse(const char *text, size_t len, struct thresholds *out, char *error,
                     size_t error_size);
/* Reads the file (at most 1 MiB); errors name it; -errno when it cannot be read. Replaces the
 * contents of *inout and raises its version only on success. */
int thresholds_load(const char *path, struct thresholds *inout, char *error, size_t error_size);
/* Back to the empty list that a zeroed struct is. */
void thresholds_release(struct thresholds *thresholds);

/* The first match's limit in seconds. */
bool thresholds_find(const struct thresholds *thresholds, const char *namespace_, const char *pod,
                     const char *container, double *latency_seconds);
/* Likewise, above how many times as long as alone it is slowed down. */
bool thresholds_find_slowdown(const struct thresholds *thresholds, const char *namespace_,
                              const char *pod, const char *container, double *ratio);

#endif
