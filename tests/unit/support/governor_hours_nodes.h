/*
 * Nodes of which hours are looked at (governor_hours.h): what a read takes by the cores of best
 * effort. Theta is 125 ns, and 100 ns are normal.
 */
#ifndef IE_TESTS_GOVERNOR_HOURS_NODES_H
#define IE_TESTS_GOVERNOR_HOURS_NODES_H

#include "tests/unit/support/governor_hours.h"

struct hours_node {
    const char *name;
    struct hours_model model;
    double could; /* cores at which it reaches theta, or all of them where it never does */
    double asked; /* of these cores */
    double over;  /* share of windows over theta, at most, beyond those at a static base */
};
extern const struct hours_node hours_nodes[];
extern const size_t hours_nodes_n;

/* Reaches theta at 'a' cores. */
double hours_line(const struct hours_model *model, size_t victim, const double *cores,
                  double seconds);
/* Over theta in a share 'a' of its seconds, whatever others do; the second victim never. */
double hours_moody(const struct hours_model *model, size_t victim, const double *cores,
                   double seconds);

#endif
