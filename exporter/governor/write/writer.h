/*
 * The part of the governor that writes: control files, groups of resctrl, CPUs of threads, and the
 * journal of all that.
 *
 * It does what a decider asks for, one order at a time, and believes nothing of it: a claim is of a
 * cgroup that it has opened and read itself; nothing is set that is not in the journal, is more
 * than that or below the least that it was told at its start; what is released has been given back.
 * It has no network, and reads what the kernel says and fixed formats (rules.h), no text of a
 * stranger's. One thread.
 *
 * tests/architecture.py counts the lines of all that an order can reach.
 */
#ifndef IE_GOVERNOR_WRITER_H
#define IE_GOVERNOR_WRITER_H

#include "exporter/governor/write/order.h"

/* What was said at the start; another one needs another start. */
struct writer_bounds {
    double least[KNOB_COUNT]; /* of any class; INFINITY: no policy has the knob, nothing is held */
    cpu_set_t cpus;           /* that threads are kept on */
    const char *const *names; /* of cgroups that are no container's, and are meant literally */
    size_t n_names;
    bool any_path; /* of replays, whose cgroups are called anything */
};

/* Borrowed; of the paths each may be "": there is no such thing here. */
struct writer_config {
    const struct writer_bounds *bounds;
    const struct fswrite *write; /* as its */
    int version;                 /* of the hierarchy with quotas: 1 or 2 */
    const char *quotas;          /* its mount */
    const char *hierarchy;       /* that threads and groups are told by: the exporter's */
    const char *resctrl, *proc;
    struct journal_file file; /* of a file that holds no claim */
};

struct writer;

/* 0 or -ENOMEM. */
int writer_new(const struct writer_config *config, struct writer **out);
/* Gives nothing back. Accepts NULL. */
void writer_free(struct writer *writer);

/* What becomes of it: 0, ORDER_REFUSED, or -errno of what was tried. */
int writer_obey(struct writer *writer, const struct order *order);
/* Claims that are open in the journal, and groups that are there: what is to be given back. */
size_t writer_open(const struct writer *writer);

#endif
