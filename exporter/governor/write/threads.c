#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/process_stat.h"
#include "exporter/governor/act/cgroup/cgroup_tasks.h"
#include "exporter/governor/terms/cpus.h"
#include "exporter/governor/write/writer_internal.h"

/* ---- what the kernel says ---- */

static int is_this_one(void *context, unsigned tid)
{
    return tid == *(const unsigned *)context;
}

static int is_in(void *context, int cgroup)
{
    return cgroup_tasks(cgroup, is_this_one, context);
}

bool thread_is_member(const struct writer *writer, const struct claim *claim, int tid, bool below)
{
    unsigned number = (unsigned)tid;
    int directory = look_open(writer, claim);
    if (directory < 0)
        return false;
    bool found = is_in(&number, directory) == 1 ||
                 (below && cgroup_each_below(directory, is_in, &number) == 1);
    close(directory);
    return found;
}

/* What it is kept on, and when it began; false: it has ended. */
static bool look(const struct writer *writer, int tid, cpu_set_t *cpus, uint64_t *start)
{
    const struct fswrite *write = writer->config.write;
    char path[CLAIM_PATH_MAX], text[PROCESS_STAT_BYTES];
    int n = snprintf(path, sizeof path, "%s/%d/stat", writer->config.proc, tid);
    return n > 0 && (size_t)n < sizeof path && look_text(AT_FDCWD, path, text, sizeof text) == 0 &&
           process_start_ticks(text, start) == 0 &&
           write->get_affinity(write->context, tid, cpus) == 0;
}

/* Of the thread that was claimed, and no other that has its number now. */
static bool look_at(const struct writer *writer, const struct claim *claim, cpu_set_t *cpus)
{
    uint64_t start;
    return look(writer, claim->tid, cpus, &start) && start == claim->tid_start;
}

static bool is_set(const char *text, const cpu_set_t *cpus)
{
    cpu_set_t set;
    return rules_cpus(text, &set) && CPU_EQUAL(cpus, &set);
}

/* ---- claims ---- */

int thread_check(const struct writer *writer, const struct claim *claim)
{
    cpu_set_t now;
    if (claim->tid <= 0 || !look_at(writer, claim, &now) ||
        !thread_is_member(writer, claim, claim->tid, false))
        return ORDER_REFUSED;
    return strcmp(claim->original, CPUS_ALL) == 0 || is_set(claim->original, &now) ? 0 : -ESTALE;
}

bool thread_is_held(const struct writer *writer, const struct claim *claim)
{
    cpu_set_t now;
    return look_at(writer, claim, &now) &&
           (is_set(claim->set, &now) ||
            (strcmp(claim->from, claim->original) != 0 && is_set(claim->from, &now)));
}

/* ---- orders ---- */

static bool is_original(const struct claim *claim, const cpu_set_t *cpus)
{
    cpu_set_t any;
    memset(&any, 0xff, sizeof any);
    return CPU_EQUAL(cpus, &any) || is_set(claim->original, cpus);
}

/* Born of one that is claimed, with what it was kept on. */
static bool is_born(const struct writer *writer, int tid, const cpu_set_t *cpus)
{
    const cpu_set_t *kept = &writer->config.bounds->cpus;
    cpu_set_t now;
    uint64_t start;
    if (tid <= 0 || !look(writer, tid, &now, &start))
        return false;
    CPU_OR(&now, &now, kept);
    for (size_t i = 0; i < writer->open.n && CPU_EQUAL(&now, kept); i++) {
        const struct claim *claim = &writer->open.claims[i];
        if (claim->knob == KNOB_AFFINITY && start >= claim->tid_claimed &&
            is_original(claim, cpus) && thread_is_member(writer, claim, tid, true))
            return true;
    }
    return false;
}

int threads_set(const struct writer *writer, int tid, const cpu_set_t *cpus)
{
    const struct fswrite *write = writer->config.write;
    struct claim *claim = writer->open.claims, *end = claim + writer->open.n;
    cpu_set_t now;
    while (claim < end && (claim->knob != KNOB_AFFINITY || claim->tid != tid))
        claim++;
    bool back = claim < end && is_original(claim, cpus);
    bool may = claim == end ? is_born(writer, tid, cpus)
                            : look_at(writer, claim, &now) &&
                                  (back || (is_set(claim->set, cpus) &&
                                            thread_is_member(writer, claim, tid, false)));
    int err = may ? write->set_affinity(write->context, tid, cpus) : ORDER_REFUSED;
    if (!err && claim < end)
        claim->given_back = back;
    return err;
}
