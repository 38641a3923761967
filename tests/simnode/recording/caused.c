#include "tests/simnode/recording/caused.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/simnode/model/simnode.h"

enum { WARM_UP_CYCLES = 6000000, CYCLES = 4000000, LEAST_READS = 200 };

struct caused {
    size_t n;
    /* Mean latency by subset and victim; NaN: it is not there, or has hardly any reads. */
    double latency_ns[1 << SCENARIO_MAX_CAUSED][SCENARIO_MAX_CAUSED];
};

static int run_subset(const struct scenario *full, uint32_t subset, double *latency_ns)
{
    struct container_spec containers[SCENARIO_MAX_CAUSED];
    struct simnode_truth before[SCENARIO_MAX_CAUSED], after;
    struct scenario scenario = *full;
    struct simnode *node;

    for (size_t i = 0; i < full->n_containers; i++) {
        containers[i] = full->containers[i];
        containers[i].start_tick = subset & 1U << i ? 0 : INT64_MAX;
        containers[i].stop_tick = 0;
        containers[i].sample_period = 0;
        containers[i].n_pauses = 0;
    }
    scenario.containers = containers;

    int err = simnode_new(&scenario, &node);

    if (err)
        return err;
    err = simnode_run_cycles(node, WARM_UP_CYCLES);
    for (size_t i = 0; i < full->n_containers; i++)
        simnode_truth(node, i, &before[i]);
    if (!err)
        err = simnode_run_cycles(node, CYCLES);
    for (size_t i = 0; i < full->n_containers; i++) {
        simnode_truth(node, i, &after);

        uint64_t reads = after.reads - before[i].reads;

        latency_ns[i] = reads < LEAST_READS
                            ? NAN
                            : (after.latency_ns_sum - before[i].latency_ns_sum) / (double)reads;
    }
    simnode_free(node);
    return err;
}

int caused_new(const struct scenario *scenario, struct caused **out)
{
    struct caused *caused;
    int err = 0;

    if (scenario->n_containers > SCENARIO_MAX_CAUSED)
        return -E2BIG;
    caused = calloc(1, sizeof(*caused));
    if (!caused)
        return -ENOMEM;
    caused->n = scenario->n_containers;
    for (uint32_t subset = 1; !err && subset < 1U << caused->n; subset++)
        err = run_subset(scenario, subset, caused->latency_ns[subset]);
    if (err) {
        free(caused);
        return err;
    }
    *out = caused;
    return 0;
}

void caused_free(struct caused *caused)
{
    free(caused);
}

static double factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

bool caused_ns(const struct caused *caused, size_t victim, uint32_t there, double *out)
{
    uint32_t self = 1U << victim, others = there & ~self;
    int n = __builtin_popcount(others);
    double sum = 0;

    for (size_t i = 0; i < caused->n; i++) {
        uint32_t me = 1U << i;

        out[i] = 0;
        for (uint32_t s = 0; s <= others && others & me; s++) {
            int size = __builtin_popcount(s);

            if ((s & ~others) || (s & me))
                continue;
            out[i] +=
                factorial(size) * factorial(n - size - 1) / factorial(n) *
                (caused->latency_ns[s | me | self][victim] - caused->latency_ns[s | self][victim]);
        }
        sum += out[i];
    }
    return !isnan(sum) && !isnan(caused->latency_ns[self][victim]);
}
