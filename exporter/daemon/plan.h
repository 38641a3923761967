/*
 * What a run takes of the machine, decided once from its flags: before privileges are dropped, and
 * before anything is opened or started.
 */
#ifndef IE_DAEMON_PLAN_H
#define IE_DAEMON_PLAN_H

#include "collectors/contract/collector.h"
#include "exporter/base/fsroot.h"
#include "exporter/options/options.h"
#include "exporter/source/accesses/medium.h"
#include "exporter/source/event/file.h"
#include "exporter/source/perf/kernel.h"

struct blackbox;
struct inspector;

struct plan {
    const struct options *options; /* borrowed */
    struct fsroot fs;
    struct events_file events; /* all zero unless given, and counts are live */

    bool wanted[COLLECTORS_MAX]; /* switched on, by a flag or by default; as collector_table */
    /* What the wanted collectors need. Under replay the recording has it, or it is not there. */
    bool probe, samples;
    bool samples_by_name; /* a flag asked for them: what keeps them away is then a fault */
    struct sampling_request sampling;
    const struct perf_kernel *kernel; /* borrowed; tests put another in the place of Linux */
    struct medium_rule *medium_rule;  /* borrowed; NULL: what is persistent memory really is */
    struct verdict nothing_to_sample; /* not REASON_OK: why */
    struct inspector *inspector;      /* borrowed; NULL: this process looks into others itself */
    struct blackbox *blackbox;        /* borrowed; NULL: there is none */
};

/*
 * 'options' must outlive the plan. 'medium_rule' is for programs of tests, where it says what
 * stands for persistent memory; NULL otherwise. -EINVAL for what a flag got wrong, with the message
 * in error; then nothing is to be released.
 */
int plan_init(struct plan *plan, const struct options *options, struct medium_rule *medium_rule,
              char *error, size_t error_size);
void plan_release(struct plan *plan);

/* Whether samples will be taken here: wanted, live, and of something. */
bool plan_samples(const struct plan *plan);

/* No file is changed from now on but in the directories where a flag asked for one. Not where this
 * process looks into others. Before threads start; CONFINED_ bits (service/confine.h). */
unsigned plan_confine(const struct plan *plan);

/* Becomes the user that a flag named. 0, or -EPERM or another -errno with the message in error.
 * Before plan_drop_privileges(). */
int plan_become_user(const struct plan *plan, char *error, size_t error_size);

/* Gives back every privilege that the plan does not take (service/privileges.h). 0 or -errno. */
int plan_drop_privileges(const struct plan *plan);
/* Keeps the memory from others, and from writing files if the plan has none. 0 or -errno. */
int plan_enclose(const struct plan *plan);

#endif
