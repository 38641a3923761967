#include "exporter/governor/decide/policies/policy.h"

static const struct policy_ops *const policy_table[POLICY_KINDS] = {
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
        if (config->enabled[i])
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

void policies_report(const struct policies *policies, struct policy_report *out)
{
    for (int i = 0; i < POLICY_KINDS; i++)
        if (policies->of[i])
            policy_table[i]->report(policies->of[i], out);
}

void policies_tell(struct policies *policies, const struct log *log)
{
    struct policy_report report = {.tries = false};
    policies_report(policies, &report);
    for (int i = 0; i < POLICY_KINDS; i++) {
        bool any = report.obstacle[i] && report.obstacle[i][0];
        if (any && !policies->told[i])
            log_warn(log, policy_kind_names[i], "waits: %s", report.obstacle[i]);
        policies->told[i] = any;
    }
}
