#include "exporter/blackbox/incidents.h"

static const uint64_t second_ns = 1000000000;
enum { HOLD_SECONDS = 15, INCIDENT_SECONDS = 1800, AGAIN_SECONDS = 3600 };

static struct incident *find(struct incidents *incidents, unsigned why, uint64_t id)
{
    for (size_t i = 0; i < incidents->n; i++)
        if (incidents->at[i].why == why && incidents->at[i].id == id)
            return &incidents->at[i];
    return NULL;
}

static bool goes_on(const struct incident *incident, uint64_t now_ns)
{
    return now_ns - incident->seen_ns <= HOLD_SECONDS * second_ns;
}

/* NULL: all that there is room for goes on. */
static struct incident *make(struct incidents *incidents, uint64_t now_ns)
{
    struct incident *oldest = &incidents->at[0];
    if (incidents->n < INCIDENTS_MAX)
        return &incidents->at[incidents->n++];
    for (size_t i = 1; i < incidents->n; i++)
        if (incidents->at[i].seen_ns < oldest->seen_ns)
            oldest = &incidents->at[i];
    return goes_on(oldest, now_ns) ? NULL : oldest;
}

bool incidents_see(struct incidents *incidents, unsigned why, uint64_t id, uint64_t now_ns,
                   bool *opens)
{
    struct incident *incident = find(incidents, why, id);
    bool begins = !incident || !goes_on(incident, now_ns);
    *opens = false;
    if (!incident) {
        incident = make(incidents, now_ns);
        if (!incident)
            return false;
        *incident = (struct incident){.why = why, .id = id};
    }
    incident->seen_ns = now_ns;
    *opens = begins && (incident->opened_ns == 0 ||
                        now_ns - incident->opened_ns >= AGAIN_SECONDS * second_ns);
    if (begins)
        incident->began_ns = now_ns;
    if (*opens)
        incident->opened_ns = now_ns;
    return begins;
}

bool incidents_go_on(const struct incidents *incidents, uint64_t now_ns)
{
    for (size_t i = 0; i < incidents->n; i++)
        if (goes_on(&incidents->at[i], now_ns) &&
            now_ns - incidents->at[i].began_ns < INCIDENT_SECONDS * second_ns)
            return true;
    return false;
}
