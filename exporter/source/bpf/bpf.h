/*
 * Counters of containers by a program in the kernel: one set of events per CPU for all of them.
 *
 * exporter/source/bpf/README.md says how, and in what its counts differ from those of perf's cgroup
 * events. Serves containers only, and of v2 only.
 */
#ifndef IE_SOURCE_BPF_BPF_H
#define IE_SOURCE_BPF_BPF_H

#include "exporter/source/perf/perf.h"
#include "exporter/source/source.h"

/*
 * Slots beside those of the containers that live. One that has ended holds its own until it was
 * read and the program has run once more: two ticks at most. Where none is left for a new one, the
 * counts of all that have ended are copied out of the table and their slots are free, so none goes
 * uncounted, however many come and go. With spare slots that is done once for so many, and not for
 * each. The table itself cannot grow: the right to load one is given up at the start.
 */
enum { BPF_SPARE = 64 };

struct bpf_config {
    struct perf_config perf; /* how events are opened */
    size_t containers;       /* that live at once */
};

/* 0; or -errno, with *why, where the kernel takes no such program: counters by perf are to be used
 * then. Needs CAP_BPF and CAP_PERFMON, here and in the first check of each group, which must come
 * before the first tick. Both stay needed: where kernel.unprivileged_bpf_disabled is set, kernels
 * refuse any command of bpf() without CAP_BPF. */
int bpf_source_new(const struct bpf_config *config, struct source **out, struct verdict *why);

/* How many groups it counts: those that have passed a check. */
size_t bpf_source_groups(const struct source *source);

/* Whether it counts this group of containers; others stay with perf. */
bool bpf_serves(enum group group);

#endif
