#include "exporter/governor/decide/policies/policy.h"

const struct policy_ops *const policy_table[POLICY_KINDS] = {
    [POLICY_THRESHOLD] = &threshold_policy,
    [POLICY_WAYS] = &ways_policy,
    [POLICY_MBA] = &mba_policy,
    [POLICY_EPOCHS] = &epochs_policy,
    [POLICY_NVMM_CORES] = &nvmm_policy,
    [POLICY_ADVICE] = &advice_policy,
};

int policies_init(struct policies *policies, const struct config *config)
{
    struct policies made = {0};
    int err = 0;
    for (int i = 0; i < POLICY_KINDS && !err; i++)
        if (policy_table[i]->enabled(config))
            err = policy_table[i]->init(config, &made.of[i]);
    if (err)
        policies_release(&made);
    else
        *policies = made;
    return err;
}

void policies_release(struct policies *policies)
{
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i])
            policy_table[i]->free(policies->of[i]);
    *policies = (struct policies){0};
}

void policies_inherit(const struct policies *policies, const struct policies *before)
{
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i] && before->of[i] && policy_table[i]->inherit)
            policy_table[i]->inherit(policies->of[i], before->of[i]);
}

void policies_decide(const struct policies *policies, const struct policy_tick *tick)
{
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i])
            policy_table[i]->decide(policies->of[i], tick);
}

void policies_count(const struct policies *policies, struct policy_counts *counts)
{
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i] && policy_table[i]->count)
            policy_table[i]->count(policies->of[i], counts);
}

const struct advice *policies_advice(const struct policies *policies)
{
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i] && policy_table[i]->advise)
            return policy_table[i]->advise(policies->of[i]);
    return NULL;
}

size_t policies_slowdowns(const struct policies *policies, const struct policy_slowdown **list)
{
    *list = NULL;
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i] && policy_table[i]->slowdowns)
            return policy_table[i]->slowdowns(policies->of[i], list);
    return 0;
}

const struct policy_writers *policies_writers(const struct policies *policies)
{
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i] && policy_table[i]->writers)
            return policy_table[i]->writers(policies->of[i]);
    return NULL;
}

size_t policies_calibrations(const struct policies *policies,
                             const struct policy_calibration **list)
{
    *list = NULL;
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i] && policy_table[i]->calibrations)
            return policy_table[i]->calibrations(policies->of[i], list);
    return 0;
}

bool policies_try(const struct policies *policies)
{
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i] && policy_table[i]->tries && policy_table[i]->tries(policies->of[i]))
            return true;
    return false;
}

bool policies_active(const struct policies *policies, enum policy_kind kind)
{
    return policies->of[kind] && policy_table[kind]->active(policies->of[kind]);
}

void policies_tell(struct policies *policies, const struct log *log)
{
    for (int i = 0; i < POLICY_KINDS; i++) {
        const char *obstacle = policies->of[i] && policy_table[i]->obstacle
                                   ? policy_table[i]->obstacle(policies->of[i])
                                   : "";
        if (obstacle[0] && !policies->told[i])
            log_warn(log, policy_kind_names[i], "waits: %s", obstacle);
        policies->told[i] = obstacle[0] != '\0';
    }
}
