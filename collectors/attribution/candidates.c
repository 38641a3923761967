#include "collectors/attribution/candidates.h"

#include <math.h>

#include "collectors/attribution/posterior.h"

static const double min_variance = 0.01 * 0.01; /* act_min^2 */
static const double evict_ratio = 2;

void candidates_clear(struct attribution_domain *d, unsigned slot)
{
    d->slots[slot] = (struct attribution_slot){0};
    d->z[slot] = d->above[slot] = 0;
    posterior_clear(d, slot);
}

void candidates_fade(struct attribution_domain *d, unsigned slot, double lambda)
{
    d->slots[slot].activity_variance *= lambda;
    if (d->slots[slot].activity_variance < min_variance)
        candidates_clear(d, slot);
}

static bool is_taken(const struct attribution_slot *slot)
{
    return slot->ticket && !slot->retired;
}

static bool gives_way(const struct attribution_slot *slot, const struct attribution_slot *other)
{
    if (is_taken(slot) != is_taken(other))
        return is_taken(other);
    return slot->activity_variance < other->activity_variance;
}

/* A free slot, else a retired one, else that of the candidate that varies least. */
static unsigned least_slot(const struct attribution_domain *d)
{
    unsigned least = 0;
    for (unsigned i = 0; i < d->config.slots; i++) {
        if (d->slots[i].ticket == 0)
            return i;
        if (gives_way(&d->slots[i], &d->slots[least]))
            least = i;
    }
    return least;
}

void candidates_begin(struct attribution_domain *d)
{
    d->n_contenders = 0;
    d->bar = min_variance;
    /* A candidate's variance can shrink by this much at most in the tick that begins. */
    const struct attribution_slot *least = &d->slots[least_slot(d)];
    if (is_taken(least))
        d->bar = fmax(d->bar, evict_ratio * (1 - d->spread_gain) * least->activity_variance);
}

/* The bound is the number of slots: whom 64 others surpass cannot be admitted. */
void candidates_consider(struct attribution_domain *d, struct attribution_member *member,
                         double deviation, double activity)
{
    if (!(member->variance > min_variance))
        return;
    struct attribution_contender found = {member, deviation, activity};
    if (d->n_contenders < ATTRIBUTION_SLOTS) {
        d->contenders[d->n_contenders++] = found;
        return;
    }
    struct attribution_contender *least = d->contenders;
    for (unsigned i = 1; i < d->n_contenders; i++)
        if (d->contenders[i].member->variance < least->member->variance)
            least = &d->contenders[i];
    if (member->variance > least->member->variance)
        *least = found;
    else
        d->bar = least->member->variance;
}

static void seat(struct attribution_domain *d, unsigned slot, const struct attribution_contender *c)
{
    struct attribution_slot *s = &d->slots[slot];
    if (s->ticket && s->present) {
        d->rest_deviation += d->z[slot];
        d->rest_sum += s->activity;
        d->rest_lowest += s->activity;
    }
    candidates_clear(d, slot);
    s->ticket = c->member->ticket = ++d->tickets;
    c->member->slot = slot;
    s->present = true;
    s->activity = c->activity;
    s->activity_variance = c->member->variance;
    s->ground = c->member->ground;
    d->z[slot] = c->deviation;
    d->above[slot] = fmax(0, c->activity - c->member->lowest);
    d->rest_deviation -= c->deviation;
    d->rest_sum -= c->activity;
}

void candidates_admit(struct attribution_domain *d)
{
    while (d->n_contenders > 0) {
        unsigned best = 0;
        for (unsigned i = 1; i < d->n_contenders; i++)
            if (d->contenders[i].member->variance > d->contenders[best].member->variance)
                best = i;
        struct attribution_contender c = d->contenders[best];
        unsigned slot = least_slot(d);
        if (is_taken(&d->slots[slot]) &&
            c.member->variance < evict_ratio * d->slots[slot].activity_variance)
            return;
        seat(d, slot, &c);
        d->contenders[best] = d->contenders[--d->n_contenders];
    }
}
