#include "tests/unit/support/governor_hours_nodes.h"

#include <math.h>

#define NORMAL 100.0
#define CIRCLE (2 * 3.14159265358979323846)

double hours_line(const struct hours_model *model, size_t victim, const double *cores,
                  double seconds)
{
    return NORMAL * (1 + 0.25 * cores[0] / model->a);
}

/* Half of 'a' is there at 1.4 cores. */
static double saturating(const struct hours_model *model, size_t victim, const double *cores,
                         double seconds)
{
    return NORMAL * (1 + model->a * (1 - exp(-cores[0] / 2)));
}

/* Somebody else, whom nobody may hold, is there for 10 of 30 minutes, and costs 12 ns. */
static double visits(const struct hours_model *model, double seconds)
{
    return fmod(seconds, 1800) < 600 ? 1 : 0;
}

static double visited(const struct hours_model *model, size_t victim, const double *cores,
                      double seconds)
{
    return hours_line(model, victim, cores, seconds) + 12 * cores[1];
}

/* By day the node itself is slower by up to 12 %; six hours are one day. */
static double by_day(const struct hours_model *model, size_t victim, const double *cores,
                     double seconds)
{
    double hour = CIRCLE * seconds / HOURS_SECONDS;
    return hours_line(model, victim, cores, seconds) * (1 + 0.06 * (1 - cos(hour)));
}

static double always(const struct hours_model *model, size_t victim, const double *cores,
                     double seconds)
{
    return model->a;
}

double hours_moody(const struct hours_model *model, size_t victim, const double *cores,
                   double seconds)
{
    if (victim == 1)
        return NORMAL;
    uint64_t n = (uint64_t)seconds * UINT64_C(0x9e3779b97f4a7c15);
    n ^= n >> 29;
    n *= UINT64_C(0xbf58476d1ce4e5b9);
    n ^= n >> 32;
    return (double)(n % 1000) < 1000 * model->a ? 140 : NORMAL;
}

/* Over theta at base, and far worse without: CONTROL.md, A1. */
static double steep(const struct hours_model *model, size_t victim, const double *cores,
                    double seconds)
{
    return 120 + model->a * cores[0];
}

#define NODE(function, x, scatter)                                                                 \
    {                                                                                              \
        .normal = NORMAL, .noise = scatter, .latency = function, .a = x, .n_tenants = 1,           \
        .tenants = {                                                                               \
            {.cores = 6}                                                                           \
        }                                                                                          \
    }
#define STEEP(x, scatter)                                                                          \
    {                                                                                              \
        .normal = NORMAL, .noise = scatter, .latency = steep, .a = x, .base = 0.1, .step = 0.1,    \
        .n_tenants = 1, .tenants = {                                                               \
            {.cores = 1}                                                                           \
        }                                                                                          \
    }

const struct hours_node hours_nodes[] = {
    {"a line, noise 3 %", NODE(hours_line, 5.0, 0.03), 5.0, 3.0, 0.01},
    {"a line, noise 3 %", NODE(hours_line, 3.1, 0.03), 3.1, 1.9, 0.01},
    {"a line, noise 3 %", NODE(hours_line, 2.5, 0.03), 2.5, 1.5, 0.01},
    {"a line, noise 3 %", NODE(hours_line, 1.7, 0.03), 1.7, 1.0, 0.01},
    {"a line, no noise", NODE(hours_line, 2.6, 0), 2.6, 2.4, 0.01},
    {"it saturates, noise 1.5 %", NODE(saturating, 0.35, 0.015), 2.5, 1.5, 0.01},
    {"a visitor for 10 of 30 minutes, noise 1.5 %",
     {.normal = NORMAL,
      .noise = 0.015,
      .latency = visited,
      .a = 5,
      .n_tenants = 2,
      .tenants = {{.cores = 6}, {.cores = 1, .demand = visits, .unheld = true}}},
     4.2,
     2.52,
     0.01},
    {"day and night, noise 1.5 %", NODE(by_day, 5.0, 0.015), 3.6, 2.16, 0.01},
    {"120 + 100 q ns", STEEP(100, 0), 0.05, 0.1, 0.01},
    {"120 + 100 q ns, noise 3 %", STEEP(100, 0.03), 0.05, 0.1, 0.02},
    {"120 + 26 q ns", STEEP(26, 0), 0.19, 0.1, 0.01},
    {"120 + 24 q ns", STEEP(24, 0), 0.21, 0.1, 0.01},
    {"140 ns, whatever is cut", NODE(always, 140, 0.03), 6, 5.8, 0.01},
    {"140 ns in 75 % of seconds, whatever is cut", NODE(hours_moody, 0.75, 0.03), 6, 5.7, 0.01},
    {"140 ns in 30 % of seconds, whatever is cut", NODE(hours_moody, 0.3, 0.03), 6, 5.4, 0.01},
    {"100 ns, whatever is cut", NODE(always, 100, 0.03), 6, 6, 0.01},
};
const size_t hours_nodes_n = sizeof hours_nodes / sizeof *hours_nodes;
