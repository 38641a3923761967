/*
 * --thresholds.file: latency limits per container, first match wins.
 */
#ifndef IE_COLLECTORS_THRESHOLDS_H
#define IE_COLLECTORS_THRESHOLDS_H

#include <stdbool.h>
#include <stddef.h>

struct threshold {
    char *namespace_, *pod, *container; /* globs (fnmatch); owned */
    double latency_seconds;
};

struct thresholds {
    struct threshold *at;
    size_t n;
    unsigned version; /* grows with every reload, so that users know to look again */
};

/*
 * JSON: [{"namespace":GLOB,"pod":GLOB,"container":GLOB,"latency_seconds":X}, ...]; a missing glob
 * matches everything. -EINVAL with the reason in error; *out untouched on failure.
 */
int thresholds_parse(const char *text, size_t len, struct thresholds *out, char *error,
                     size_t error_size);
/* Reads the file (at most 1 MiB); errors name it. Replaces the contents of *inout and raises its
 * version only on success. */
int thresholds_load(const char *path, struct thresholds *inout, char *error, size_t error_size);
void thresholds_release(struct thresholds *thresholds);

/* The first match's limit in seconds. */
bool thresholds_find(const struct thresholds *thresholds, const char *namespace_, const char *pod,
                     const char *container, double *latency_seconds);

#endif
