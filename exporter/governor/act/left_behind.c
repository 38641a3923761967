#include "exporter/governor/act/left_behind.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMED = 8 }; /* in the line; the others are counted */

bool left_behind_may_be(const struct holding *holding)
{
    const struct claim *claim = &holding->claim;
    bool has_quota = claim->original[0] >= '0' && claim->original[0] <= '9'; /* not "max", "-1" */
    return claim->knob == KNOB_CPU && !claim->id && holding->why == -ERANGE && has_quota &&
           fabs(claim->most - holding->floor) < 1e-6;
}

void left_behind_tell(const struct enforcer *enforcer, const struct log *log)
{
    size_t n, found = 0, at = 0;
    char names[NAMED * 64] = "";
    const struct holding *holdings = enforcer_holdings(enforcer, &n);
    for (size_t i = 0; i < n; i++) {
        if (!left_behind_may_be(&holdings[i]))
            continue;
        if (found++ < NAMED && at < sizeof names)
            at +=
                (size_t)snprintf(names + at, sizeof names - at, " %s", holdings[i].claim.container);
    }
    if (found > 0)
        log_warn(
            log, "enforcer",
            "%zu containers have exactly their class's base as their quota, and no journal says "
            "that it was set here:%s%s. Unless that is their own limit, an earlier governor's "
            "journal was lost: give it back by hand",
            found, names, found > NAMED ? " ..." : "");
}
