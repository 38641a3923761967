/*
 * What other nodes found: for each workload, how likely it is to be one that makes memory slow,
 * before anything was seen of it here (--collector.attribution.prior.file).
 *
 * The file is the answer of Prometheus' API to one query, as it comes (README.md has the query): a
 * vector whose samples have the labels namespace and workload, and a probability each, which is
 * taken as at least 0.01 and at most 0.5, so that no file names or clears anybody by itself.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LANES_ELSEWHERE_H
#define IE_COLLECTORS_ATTRIBUTION_LANES_ELSEWHERE_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/log.h"

struct elsewhere_workload {
    char *name; /* namespace, 0x1f, workload; owned */
    double probability;
};

/* Zeroed: nothing is known. */
struct elsewhere {
    struct elsewhere_workload *at; /* ascending by name */
    size_t n;
};

/* 0; -EINVAL with one line in error, or -ENOMEM. *out untouched on failure, and not released before
 * it is overwritten. Of a workload that is there twice (in two clusters) the lower one counts. */
int elsewhere_parse(const char *text, size_t len, struct elsewhere *out, char *error,
                    size_t error_size);
/* Reads the file (at most 1 MiB), and replaces *inout only on success; -errno when it cannot be
 * read. */
int elsewhere_load(const char *path, struct elsewhere *inout, char *error, size_t error_size);
void elsewhere_release(struct elsewhere *elsewhere);

/* Of the workload with this key (exporter/containers/workload.h), of which the first two fields
 * count; NaN: the file has nothing about it. */
double elsewhere_find(const struct elsewhere *elsewhere, const char *key);

/* The flag's file. */
struct elsewhere_file {
    const char *path; /* borrowed; NULL: there is none */
    struct elsewhere found;
    unsigned ticks; /* since it was looked at; 0: it should be */
    bool failed;    /* that was said */
};

/* Reads it where it should be looked at, and says so in the log when that fails, or no longer
 * does. A file that is wrong, or gone, changes nothing. */
void elsewhere_file_look(struct elsewhere_file *file, const struct log *log);
/* Once a tick; true every ten minutes: it should be looked at. */
bool elsewhere_file_is_due(struct elsewhere_file *file);

#endif
