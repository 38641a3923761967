#include "exporter/governor/act/restore.h"

#include <errno.h>
#include <string.h>

static const struct actuator_ops *const table[KNOB_COUNT] = {[KNOB_CPU] = &cpu_actuator,
                                                             [KNOB_WAYS] = &ways_actuator,
                                                             [KNOB_MBA] = &mba_actuator,
                                                             [KNOB_AFFINITY] = &affinity_actuator};

const char *const claim_restored_names[RESTORED_OUTCOMES] = {
    [RESTORED] = "restored",        [RESTORED_CLAMPED] = "clamped", [RESTORED_ALREADY] = "already",
    [RESTORED_FOREIGN] = "foreign", [RESTORED_GONE] = "gone",
};

size_t actuators_open(struct actuators *actuators, const struct actuator_env *env,
                      const struct log *log)
{
    size_t n = 0;
    *actuators = (struct actuators){0};
    for (size_t i = 0; i < KNOB_COUNT; i++) {
        struct verdict why;
        verdict_clear(&why);
        int err = table[i]->open(env, &actuators->of[i].self, &why);
        if (err) {
            log_warn(log, "restore", "no actuator %s: %s", table[i]->name,
                     why.words[0] ? why.words : strerror(-err));
            continue;
        }
        actuators->of[i].ops = table[i];
        n++;
    }
    return n;
}

void actuators_close(struct actuators *actuators)
{
    for (size_t i = 0; i < KNOB_COUNT; i++)
        if (actuators->of[i].ops)
            actuators->of[i].ops->close(actuators->of[i].self);
    *actuators = (struct actuators){0};
}

void actuators_tidy(const struct actuators *actuators)
{
    for (size_t i = 0; i < KNOB_COUNT; i++)
        if (actuators->of[i].ops && actuators->of[i].ops->tidy)
            actuators->of[i].ops->tidy(actuators->of[i].self);
}

static const char *words_of(int err)
{
    return err == -EXDEV ? "its cgroup hierarchy is not mounted where this one looks: "
                           "--path.cgroupfs must lead to the one that it was claimed in"
                         : strerror(-err);
}

int restore_claim(struct journal *journal, const struct actuators *actuators, uint64_t id,
                  const struct log *log, struct restore_counts *counts, char put[CLAIM_TEXT_MAX])
{
    const struct claim *claim = journal_claims_find(&journal->open, id);
    if (!claim)
        return -ENOENT;
    const struct actuator *actuator = &actuators->of[claim->knob];
    enum claim_restored restored = RESTORED_ALREADY;
    enum claim_state state;
    int err = actuator->ops ? actuator->ops->release(actuator->self, claim, &restored) : -ENODEV;
    if (err) {
        counts->failed++;
        log_error(log, "restore", "container=%s knob=%s cannot be put back to \"%s\": %s",
                  claim->container, knob_name(claim->knob), claim->original, words_of(err));
        return err;
    }
    counts->outcomes[restored]++;
    log_info(log, "restore", "container=%s knob=%s original=\"%s\" outcome=%s", claim->container,
             knob_name(claim->knob), claim->original, claim_restored_names[restored]);
    memcpy(put, claim->original, CLAIM_TEXT_MAX);
    if (restored == RESTORED_CLAMPED &&
        actuator->ops->check(actuator->self, claim, &state, put) == 0)
        log_warn(log, "restore", "container=%s has \"%s\", for its parent allows no more",
                 claim->container, put);
    /* A line that cannot be written leaves it open in the file: who reads that finds the original
     * there. */
    journal_release(journal, id);
    return 0;
}

void restore_all(struct journal *journal, const struct actuators *actuators, const struct log *log,
                 struct restore_counts *counts)
{
    char put[CLAIM_TEXT_MAX];
    for (size_t i = journal->open.n; i-- > 0;)
        restore_claim(journal, actuators, journal->open.claims[i].id, log, counts, put);
    actuators_tidy(actuators);
}
