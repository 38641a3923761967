/* What could be changed, without changing anything. */
#include <math.h>

#include "exporter/governor/act/enforcer_internal.h"

enum guard_verdict enforcer_would(const struct enforcer *enforcer, const struct holding *holding)
{
    if (holding->unsure)
        return GUARD_BACK_OFF;
    return guard_would(&holding->memory, enforcer->tick, enforcer->now_ns);
}

struct room enforcer_room(const struct enforcer *enforcer)
{
    const struct guard_limits *limits = &enforcer->guard.limits;
    size_t open = enforcer_open(enforcer);
    double writes = guard_writes(&enforcer->guard, enforcer->now_ns);
    for (size_t i = 0; i < enforcer->n; i++)
        writes -= !isnan(enforcer->holdings[i].wanted) &&
                  enforcer->holdings[i].wanted != enforcer->holdings[i].claim.value;
    return (struct room){.claims = limits->claims > open ? limits->claims - open : 0,
                         .writes = writes >= 1 ? (size_t)writes : 0,
                         .most_writes = (size_t)fmax(limits->writes_per_second, 1)};
}
