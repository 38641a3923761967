#include "collectors/attribution/node/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "exporter/base/array.h"

/* ATTRIBUTION.md section 2, "effect". */
static const double least_effect = 0.03;

const char *waits_why_not(enum waits_state state)
{
    static const char *const words[] = {
        [WAITS_BY_CPU_TIME] = "memory traffic is not counted: see --collector.attribution.traffic",
        [WAITS_NO_SLOPE] = "the latency does not follow the containers' traffic, or not clearly "
                           "enough yet",
        [WAITS_UNSEEN] = "there are containers whose traffic is not counted (excluded, over the "
                         "limit, or without counters), nor is that of the whole node: what they "
                         "cause would be laid on others",
        [WAITS_MISSING] = "too much of the containers' traffic was not read just now",
        [WAITS_NO_LATENCY] = "the collector core_latency, which knows who waits, is off or has no "
                             "latencies here",
        [WAITS_KNOWN] = NULL,
    };
    return words[state];
}

int waits_reserve(struct waits *waits, size_t n)
{
    if (n > waits->n && array_reserve(&waits->all, &waits->n, n, sizeof *waits->all))
        return -ENOMEM;
    return 0;
}

void waits_release(struct waits *waits)
{
    free(waits->all);
    *waits = (struct waits){.all = NULL};
}

/* ---- shares ---- */

static void leave_to_themselves(struct waits *waits)
{
    double all = attribution_sums(waits->all, waits->n, waits->host.weight).weight;
    for (size_t i = 0; i < waits->n; i++)
        if (all - waits->all[i].weight < least_effect)
            waits->all[i].excess_seconds = 0;
}

/* ---- the largest ---- */

static void consider(struct waits_top *top, size_t slot, double value)
{
    unsigned least = 0;
    if (!(value > 0))
        return;
    if (top->n < WAITS_TOP) {
        least = top->n++;
    } else {
        for (unsigned i = 1; i < top->n; i++)
            if (top->at[i].value < top->at[least].value)
                least = i;
        if (value <= top->at[least].value)
            return;
    }
    top->at[least].slot = slot;
    top->at[least].value = value;
}

static void find_largest(struct waits *waits)
{
    static const struct attribution_traffic one = {.weight = 1};
    waits->aggressors.n = waits->burdened.n = 0;
    waits->seconds = 0;
    for (size_t i = 0; i < waits->n; i++) {
        const struct attribution_traffic *at = &waits->all[i];
        double charged = at->reads * attribution_caused_seconds(&waits->sums, &one, at);
        consider(&waits->aggressors, i, at->weight);
        consider(&waits->burdened, i, charged);
        waits->seconds += at->reads * at->excess_seconds;
    }
}

void waits_share(struct waits *waits)
{
    leave_to_themselves(waits);
    waits->sums = attribution_sums(waits->all, waits->n, waits->host.weight);
    waits->host_seconds = attribution_wait_seconds(&waits->sums, &waits->host);
    find_largest(waits);
}
