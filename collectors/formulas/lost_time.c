#include "collectors/formulas/lost_time.h"

#include <math.h>

/* Fewer are a passing thread, of its own or of others. */
static const double some_cpus = 0.05;
/* Pages a second; fewer may be a start. */
static const double many_refaults = 100;
/* Who gets less than so much of its share is kept from it. */
static const double nearly = 0.9;

/* False for what is not known. */
static bool reaches(double share, double limit)
{
    return share >= limit;
}

static void hold(struct lost_split *out, enum loss cause, double per_second)
{
    out->holds[cause] = true;
    out->per_second[cause] = per_second;
}

/* Of the delays, too, what throttled periods explain is the limit's. */
static void hold_neighbour(const struct lost_window *w, double rest, double waits,
                           struct lost_split *out)
{
    hold(out, LOSS_CPU_NEIGHBOUR, rest);
    out->neighbour_delay = isnan(w->run_delay) ? rest : w->run_delay * rest / waits;
}

static void split_cpu(const struct lost_window *w, const struct lost_limits *limits,
                      struct lost_split *out)
{
    double waits = w->cpu_some, quota = 0;
    if (reaches(w->throttled, limits->throttled)) {
        quota = isnan(waits) ? 0 : waits * fmin(w->throttled, 1);
        if (isnan(waits) || w->throttled >= waits / 2)
            hold(out, LOSS_OWN_QUOTA, quota);
        else
            out->per_second[LOSS_OWN_QUOTA] = quota;
    }
    double rest = waits - quota;
    bool kept = w->cpus < nearly * w->entitled_cpus && w->others_excess_cpus >= some_cpus;
    if (!reaches(rest, limits->cpu))
        return;
    if (isnan(w->cpu_full) && !kept)
        out->unexplained = true;
    else if (!kept && w->cpu_full - quota < rest / 2)
        hold(out, LOSS_ITSELF, rest);
    else if (!reaches(w->steal, limits->steal))
        hold_neighbour(w, rest, waits, out);
    else
        out->unexplained = true; /* by others here, or by the hypervisor */
}

/* What ran for so long took more, by what the hypervisor took meanwhile. */
static void split_steal(const struct lost_window *w, const struct lost_limits *limits,
                        struct lost_split *out)
{
    if (reaches(w->steal, limits->steal) && w->steal < 1 && w->cpus >= some_cpus)
        hold(out, LOSS_HYPERVISOR, fmin(w->cpus * w->steal / (1 - w->steal), 1));
}

static void split_memory(const struct lost_window *w, const struct lost_limits *limits,
                         struct lost_split *out)
{
    bool reads_disks = reaches(w->disk_some, limits->disk);
    bool reads_again = reads_disks && w->refaults >= many_refaults && w->limit_events > 0;
    if (reaches(w->memory_some, limits->memory) || reads_again) {
        if (w->limit_events > 0)
            hold(out, LOSS_OWN_MEMORY_LIMIT,
                 reads_again ? fmax(w->disk_some, w->memory_some) : w->memory_some);
        else if (w->limit_events >= 0 && reaches(w->node_memory_some, limits->memory) &&
                 w->node_reclaimed > 0)
            hold(out, LOSS_MEMORY_FULL, w->memory_some);
        else
            out->unexplained = true;
    } else if (reads_disks) {
        hold(out, LOSS_DISK, w->disk_some);
    }
    if (w->slow_reads > 0)
        hold(out, LOSS_MEMORY_SLOW, w->slow_reads);
}

void lost_split_make(const struct lost_window *window, const struct lost_limits *limits,
                     struct lost_split *out)
{
    *out = (struct lost_split){.waits_are_known = !isnan(window->cpu_some) &&
                                                  !isnan(window->memory_some) &&
                                                  !isnan(window->disk_some)};
    split_cpu(window, limits, out);
    split_steal(window, limits, out);
    split_memory(window, limits, out);
}

void lost_history_add(struct lost_history *history, const struct lost_split *split)
{
    history->at[history->next] = *split;
    history->next = (history->next + 1) % LOST_WINDOWS;
    history->n += history->n < LOST_WINDOWS;
}

void lost_verdict_make(const struct lost_history *history, struct lost_verdict *out)
{
    size_t clear = 0;
    double most = -1;
    *out = (struct lost_verdict){.cause = LOSSES};
    for (size_t i = 0; i < history->n; i++) {
        const struct lost_split *split = &history->at[i];
        bool any = split->unexplained;
        for (int c = 0; c < LOSSES; c++)
            any |= split->holds[c];
        clear += split->waits_are_known && !any;
    }
    for (int c = 0; c < LOSSES; c++) {
        size_t held = 0;
        for (size_t i = 0; i < history->n; i++) {
            held += history->at[i].holds[c];
            out->per_second[c] += history->at[i].per_second[c] / (double)history->n;
        }
        if (held < LOST_ENOUGH || !(out->per_second[c] > most))
            continue;
        most = out->per_second[c];
        out->cause = (enum loss)c;
    }
    /* What costs more may be the cause, in a window or two. */
    for (int c = 0; c < LOSSES; c++)
        if (out->cause != LOSSES && out->per_second[c] > most) {
            out->cause = LOSSES;
            clear = 0;
        }
    out->known = out->cause != LOSSES || clear >= LOST_ENOUGH;
}
