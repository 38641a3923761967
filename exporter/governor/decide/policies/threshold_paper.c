/* Algorithm 1 as it is printed (control/control_threshold.h). */
#include <math.h>

#include "exporter/governor/decide/policies/threshold.h"

/* A raise and a cut: how soon algorithm 1 itself cuts again. */
enum { OWN_PERIOD_WINDOWS = 2 };

void threshold_paper_step(struct threshold_policy *policy, const struct policy_tick *tick,
                          struct threshold_app *app, size_t i)
{
    const struct governed *governed = &tick->governed[i];
    const struct class *class = &policy->config->classes[governed->class];
    const struct threshold_victim *worst = policy->n_victims ? &policy->victims[0] : NULL;
    struct holding *holding = threshold_holding(governed);
    const struct control_threshold_config config = {
        .base_cores = fmax(class->base_cores, holding->claim.least),
        .step_cores = class->step_cores};
    bool culprit = culprits_include(policy->culprits, i), first = !app->started;
    struct because because = {.cause = worst ? worst->name : "",
                              .measured = worst ? worst->measured : NAN,
                              .limit = worst ? worst->limit : NAN,
                              .culprit = policy->window == CONTROL_OVER && culprit,
                              .period_seconds = OWN_PERIOD_WINDOWS * tick->interval};
    if (first)
        control_threshold_init(&app->paper, &config, holding->claim.most);
    if (!first && app->mode != CONTROL_PAPER) /* it keeps what it has */
        app->paper.quota_cores = app->safe.quota_cores;
    app->mode = CONTROL_PAPER;
    if (holding->crowded_out)
        app->paper.quota_cores = holding->claim.most;
    app->started = true;
    if (control_threshold_step(&app->paper, &config, holding->claim.most, policy->window,
                               culprit) == CONTROL_CUT)
        app->chosen_by = culprits_chosen_by(policy->culprits);
    because.chosen_by = app->chosen_by;
    if (first) { /* nobody is to blame */
        because.cause = "";
        because.measured = because.limit = NAN;
        because.why = "start";
    }
    enforcer_want(holding, app->paper.quota_cores, &because);
}
