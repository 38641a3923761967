#include "collectors/placement/estimate.h"

#include <math.h>

_Static_assert((int)PLACEMENT_TARGETS <= (int)LIVE_TARGETS &&
                   (int)PLACEMENT_NAME_BYTES <= (int)LIVE_TARGET_BYTES,
               "each target is shown, by its name");

/* Of all known targets or of none, so that their totals are of the same windows. */
static enum placement_status add_targets(const struct placement_latencies *latencies, int initiator,
                                         const struct placement_time *time, double now,
                                         struct placement_estimate *out)
{
    for (int t = 0; t < PLACEMENT_TARGETS; t++) {
        double predicted = time->cpu;
        enum placement_status status = PLACEMENT_OK;
        if (latencies->known[t] && time->serial_reads > 0)
            status = placement_predict(time, now, latencies->seconds[initiator][t], &predicted);
        if (status != PLACEMENT_OK)
            return status;
        out->predicted_seconds[t] += predicted;
    }
    return PLACEMENT_OK;
}

static const enum discard_reason discard_of[] = {
    [PLACEMENT_OK] = DISCARD_COUNT,
    [PLACEMENT_UNKNOWN] = DISCARD_NO_TARGET,
    [PLACEMENT_IMPLAUSIBLE] = DISCARD_IMPLAUSIBLE,
};

/* One initiator's part of a window. */
static enum discard_reason add_initiator(const struct placement_basis *basis, int initiator,
                                         const struct placement_counts *counts,
                                         struct placement_blind *blind,
                                         struct placement_estimate *out, bool *known)
{
    struct placement_reads reads = {0};
    double now = 0;
    enum placement_status status = placement_serial_reads(counts, &reads);
    *known = status == PLACEMENT_OK;
    if (status == PLACEMENT_UNKNOWN) /* not calibrated yet */
        return DISCARD_COUNT;
    if (status == PLACEMENT_OK && reads.serial > 0)
        status = placement_mix_now(basis->mix, basis->latencies, basis->machine, initiator, &now);
    const struct placement_time time = {counts->cpu, counts->active, reads.serial};
    if (status == PLACEMENT_OK)
        status = add_targets(basis->latencies, initiator, &time, now, out);
    if (status == PLACEMENT_UNKNOWN && !placement_latencies_from(basis->latencies, initiator))
        placement_blind_see(blind, initiator);
    out->serial_reads += reads.serial;
    out->cpu_seconds += counts->cpu;
    out->occupancy_seconds += counts->occupancy;
    out->active_seconds += counts->active;
    return discard_of[status];
}

enum discard_reason placement_estimate_make(const struct placement_basis *basis,
                                            const struct placement_window *window,
                                            struct placement_blind *blind,
                                            struct placement_estimate *out, bool *known)
{
    enum discard_reason reason = window->clockless ? DISCARD_IMPLAUSIBLE : DISCARD_COUNT;
    *known = true;
    *out = (struct placement_estimate){.serial_reads = 0};
    for (int i = 0; i < PLACEMENT_INITIATORS && reason == DISCARD_COUNT && *known; i++)
        if (window->of[i].cpu > 0)
            reason = add_initiator(basis, i, &window->of[i], blind, out, known);
    return reason;
}

void placement_estimate_add(const struct placement_estimate *estimate,
                            const struct placement_latencies *latencies,
                            struct placement_totals *totals)
{
    totals->serial_reads += estimate->serial_reads;
    totals->observed_seconds += estimate->cpu_seconds;
    for (int t = 0; t < PLACEMENT_TARGETS; t++)
        if (latencies->known[t])
            totals->predicted_seconds[t] += estimate->predicted_seconds[t];
}

void placement_estimate_tell(const struct placement_estimate *e,
                             const struct placement_latencies *latencies, struct live *live,
                             const struct container *container)
{
    double parallelism =
        e->active_seconds > 0 ? fmax(1, e->occupancy_seconds / e->active_seconds) : 1;
    if (!(e->cpu_seconds > 0))
        return;
    if (e->active_seconds > 0)
        live_put(live, container, LIVE_PARALLELISM, parallelism);
    for (int t = 0; t < PLACEMENT_TARGETS; t++) {
        char name[PLACEMENT_NAME_BYTES];
        if (!latencies->known[t])
            continue;
        double ratio = e->predicted_seconds[t] / e->cpu_seconds;
        struct placement_bounds half = placement_share(.5, ratio, parallelism);
        const struct live_elsewhere there = {ratio, half.lower, half.upper};
        live_set_elsewhere(live, container, placement_target_name(latencies, t, name), &there);
    }
}
