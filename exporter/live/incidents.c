#include "exporter/live/internal.h"

/* Slow memory is told by who waits for it. */
static bool loses(const struct live_lost *lost)
{
    return lost->told && lost->judged && lost->cause < LOSSES && lost->cause != LOSS_MEMORY_SLOW;
}

void live_incidents(const struct live *live,
                    void (*each)(void *context, const struct live_incident *incident),
                    void *context)
{
    for (size_t i = 0; i < live->shown.n; i++) {
        const struct live_container *c = &live->shown.containers[i];
        if (c->waits)
            each(context, &(struct live_incident){LIVE_INCIDENT_WAITS, c->tag, 0});
        if (c->suspicion == LIVE_NAMED)
            each(context, &(struct live_incident){LIVE_INCIDENT_NAMED, c->tag, 0});
        if (loses(&c->lost))
            each(context, &(struct live_incident){LIVE_INCIDENT_LOSES, c->tag, c->lost.cause});
    }
    for (size_t i = 0; i < live->n_domains; i++)
        if (live->domains[i]->cause == LIVE_CAUSE_UNKNOWN)
            each(context, &(struct live_incident){LIVE_INCIDENT_UNNAMED, 0,
                                                  (uint64_t)live->domains[i]->numa_node});
}
