#include <errno.h>
#include <string.h>

#include "exporter/governor/write/writer_internal.h"

static bool is_original(const struct claim *claim, const cpu_set_t *cpus)
{
    cpu_set_t any, original;
    memset(&any, 0xff, sizeof any);
    return CPU_EQUAL(cpus, &any) ||
           (rules_cpus(claim->original, &original) && CPU_EQUAL(cpus, &original));
}

/* Born of one that is claimed, with what it was kept on. */
static bool is_born(const struct writer *writer, int tid, const cpu_set_t *cpus)
{
    const cpu_set_t *kept = &writer->config.bounds->cpus;
    cpu_set_t now;
    uint64_t start;
    if (look_cpus(writer, tid, &now) || look_start(writer, tid, &start))
        return false;
    CPU_OR(&now, &now, kept);
    for (size_t i = 0; i < writer->n && CPU_EQUAL(&now, kept); i++) {
        const struct claim *claim = &writer->claims[i];
        if (claim->knob == KNOB_AFFINITY && start >= claim->tid_claimed &&
            is_original(claim, cpus) && look_is_member(writer, claim, tid, true))
            return true;
    }
    return false;
}

int threads_set(const struct writer *writer, int tid, const cpu_set_t *cpus)
{
    const struct fswrite *write = writer->config.write;
    const struct claim *claim = NULL;
    cpu_set_t set;
    for (size_t i = 0; i < writer->n && !claim; i++)
        if (writer->claims[i].knob == KNOB_AFFINITY && writer->claims[i].tid == tid)
            claim = &writer->claims[i];
    bool back = claim && is_original(claim, cpus);
    bool may = claim ? look_is_thread(writer, claim) &&
                           (back || (rules_cpus(claim->set, &set) && CPU_EQUAL(cpus, &set) &&
                                     look_is_member(writer, claim, tid, false)))
                     : tid > 0 && is_born(writer, tid, cpus);
    int err = may ? write->set_affinity(write->context, tid, cpus) : ORDER_REFUSED;
    if (!err && claim)
        held_of(writer, claim)->given_back = back;
    return err;
}
