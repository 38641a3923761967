#include "exporter/governor/decide/policies/threshold.h"

#include <math.h>
#include <string.h>

struct threshold_app *threshold_find(struct threshold_policy *policy, const char *path)
{
    for (size_t i = 0; i < policy->n; i++)
        if (strcmp(policy->apps[i].path, path) == 0)
            return &policy->apps[i];
    if (policy->n == CLAIMS_MAX || strlen(path) >= CLAIM_PATH_MAX)
        return NULL;
    struct threshold_app *app = &policy->apps[policy->n++];
    *app = (struct threshold_app){.latencies = {.counted = NAN, .last = NAN}, .used = NAN};
    strcpy(app->path, path);
    return app;
}

struct holding *threshold_holding(const struct governed *governed)
{
    struct holding *holding = governed->holdings[KNOB_CPU];
    return holding && holding->policy == POLICY_THRESHOLD ? holding : NULL;
}
