#include "collectors/attribution/ledger/episodes.h"

#include <math.h>
#include <string.h>

#include "collectors/attribution/ledger/readings.h"

/* Readings. */
enum {
    JUMP = 3,         /* whose mean is compared with what was before */
    BEFORE = 15,      /* that is what was before, at most */
    LEAST_BEFORE = 3, /* and at least */
    SETTLED = 4,      /* behind a jump, before the next can be seen */
    NEXT_JUMP = 20,   /* of the same episode */
    LAST_JUMP = 40,   /* from its first */
    COMMIT = 20,      /* behind the last jump */
    YOUNG = 50,
    FIRST_START = 60, /* a pod's containers may begin that late */
    AT_ONCE = 16,     /* episodes that are judged in a reading; others in the next */
};

static const unsigned judged_at[] = {5, 10, 20}; /* behind the first jump */

static const double scales = 5 * 1.4826, relative_jump = 0.3;
static const float cleared = -5;
static const double young_gain = 0.1, scale_gain = 0.01, least_scale = 0.002;

/* ---- finding them ---- */

static void follow_scale(struct ledger *ledger, struct ledger_workload *w, double distance)
{
    double gain = ledger->readings - w->since < YOUNG ? young_gain : scale_gain;
    double scale = (double)w->scale * (distance > (double)w->scale ? 1 + gain : 1 - gain);
    w->scale = (float)fmax(least_scale, scale);
}

static struct ledger_episode *open_episode(struct ledger *ledger, uint32_t workload)
{
    for (unsigned i = 0; i < ledger->n_episodes; i++)
        if (ledger->episode[i].workload == workload && ledger->episode[i].open)
            return &ledger->episode[i];
    return NULL;
}

static void remove_episode(struct ledger *ledger, unsigned i)
{
    ledger->n_episodes--;
    memmove(&ledger->episode[i], &ledger->episode[i + 1],
            (ledger->n_episodes - i) * sizeof *ledger->episode);
}

/* What was said of it so far is not known for good. */
static void drop_provisional(struct ledger *ledger, const struct ledger_episode *e)
{
    struct ledger_workload *w = &ledger->at[e->workload];
    if (!e->open)
        return;
    w->provisional = 0;
    w->slope_now = w->slope;
}

/* Of those that were judged the oldest, else the one with the smallest jump. */
static unsigned least_wanted(const struct ledger *ledger)
{
    unsigned least = 0;
    for (unsigned i = 0; i < ledger->n_episodes; i++) {
        if (!ledger->episode[i].open)
            return i;
        if (fabsf(ledger->episode[i].size) < fabsf(ledger->episode[least].size))
            least = i;
    }
    return least;
}

/* They are in order of their first jumps. NULL: the others are more likely to make memory slow. */
static struct ledger_episode *new_episode(struct ledger *ledger, double size)
{
    if (ledger->n_episodes == LEDGER_EPISODES) {
        unsigned least = least_wanted(ledger);
        const struct ledger_episode *e = &ledger->episode[least];
        if (e->open && fabs(size) <= fabs((double)e->size))
            return NULL;
        drop_provisional(ledger, e);
        remove_episode(ledger, least);
    }
    return &ledger->episode[ledger->n_episodes++];
}

static float level_before(const struct ledger *ledger, uint32_t workload, uint64_t at)
{
    uint64_t first = ledger_first(ledger, BEFORE + SETTLED);
    return first < at ? (float)ledger_mean_y(ledger, first, (unsigned)(at - first), workload) : 0;
}

static void add_jump(struct ledger *ledger, uint32_t workload, uint64_t at, double before,
                     double size)
{
    struct ledger_workload *w = &ledger->at[workload];
    struct ledger_episode *e = open_episode(ledger, workload);
    bool same = e && e->n_jumps < LEDGER_JUMPS && at <= e->jump[e->n_jumps - 1].at + NEXT_JUMP &&
                at <= e->jump[0].at + LAST_JUMP;
    if (e && !same)
        evidence_commit(ledger, e);
    if (!same && (e = new_episode(ledger, size)))
        *e = (struct ledger_episode){
            .open = true, .workload = workload, .before = (float)before, .size = (float)size};
    if (e)
        e->jump[e->n_jumps++] = (struct ledger_jump){at, size > 0};
    if (size > 0 && ((!same && w->agreed == 0) || before < (double)w->before))
        w->before = (float)before;
    w->started |= w->last_jump == 0 && at <= w->since + FIRST_START && before <= 0;
    w->last_jump = at;
    if (size > 0) {
        w->last_start = at;
        w->level = level_before(ledger, workload, at);
    }
}

/* The first of three readings that has gone half of the way. */
static uint64_t half_way(const struct ledger_workload *w, uint64_t p, double before, double size)
{
    for (uint64_t at = p; at < p + JUMP - 1; at++)
        if ((ledger_x(w, at) - before) / size >= 0.5)
            return at;
    return p + JUMP - 1;
}

/* Of the BEFORE readings before p, one more each time. Activities have eight significant bits: the
 * sum is exact unless one is 2^40 times another. */
static double sum_before(struct ledger_workload *w, uint64_t p)
{
    if (w->summed + 1 == p && p > BEFORE + 1)
        w->sum_before += ledger_x(w, p - 1) - ledger_x(w, p - 1 - BEFORE);
    else
        w->sum_before = BEFORE * ledger_mean_x(w, p - BEFORE, BEFORE);
    w->summed = p;
    return w->sum_before;
}

static void find(struct ledger *ledger, uint32_t workload)
{
    struct ledger_workload *w = &ledger->at[workload];
    uint64_t p = ledger->readings + 1 - JUMP;
    uint64_t first = ledger_first(ledger, BEFORE + JUMP);
    if (w->last_jump && first < w->last_jump + SETTLED)
        first = w->last_jump + SETTLED;
    if (p < first + LEAST_BEFORE)
        return;
    double before = p - first == BEFORE ? fmax(0, sum_before(w, p)) / BEFORE
                                        : ledger_mean_x(w, first, (unsigned)(p - first));
    double size = ledger_mean_x(w, p, JUMP) - before;
    double least =
        fmax(ledger->least_jump, fmax(scales * (double)w->scale, relative_jump * before));
    follow_scale(ledger, w, fabs(size));
    if (fabs(size) > least)
        add_jump(ledger, workload, half_way(w, p, before, size), before, size);
}

void episodes_find(struct ledger *ledger)
{
    if (ledger_first(ledger, JUMP + LEAST_BEFORE) + JUMP + LEAST_BEFORE > ledger->readings + 1)
        return;
    for (size_t i = 0; i < ledger->n; i++)
        if (ledger->at[i].known)
            find(ledger, (uint32_t)i);
}

void episodes_cut(struct ledger *ledger)
{
    for (unsigned i = 0; i < ledger->n_episodes; i++)
        drop_provisional(ledger, &ledger->episode[i]);
    ledger->n_episodes = 0;
}

void episodes_lose(struct ledger *ledger, uint32_t workload)
{
    for (unsigned i = ledger->n_episodes; i-- > 0;)
        if (ledger->episode[i].workload == workload && ledger->episode[i].open) {
            drop_provisional(ledger, &ledger->episode[i]);
            remove_episode(ledger, i);
        }
}

void episodes_forget(struct ledger *ledger, uint32_t workload)
{
    for (unsigned i = ledger->n_episodes; i-- > 0;)
        if (ledger->episode[i].workload == workload)
            remove_episode(ledger, i);
    for (unsigned i = 0; i < ledger->n_groups; i++)
        for (unsigned k = 0; k < ledger->group[i].n; k++)
            if (ledger->group[i].workload[k] == workload)
                ledger->group[i].n = 0; /* goes with the next answers */
    for (size_t i = 0; i < ledger->n; i++)
        for (unsigned k = 0; k < LEDGER_PARTNERS; k++)
            if (ledger->at[i].partner[k].workload == workload)
                ledger->at[i].partner[k] = (struct ledger_partner){0};
}

bool episodes_explain(const struct ledger *ledger, uint64_t reading, unsigned near)
{
    for (unsigned i = 0; i < ledger->n_episodes; i++) {
        const struct ledger_episode *e = &ledger->episode[i];
        if (ledger->at[e->workload].probability <= 0.5f)
            continue;
        for (unsigned k = 0; k < e->n_jumps; k++)
            if (e->jump[k].at <= reading + near && reading <= e->jump[k].at + near)
                return true;
    }
    return false;
}

/* ---- their time has come ---- */

/* What it came to: a jump is seen before it is over. */
static void measure(const struct ledger *ledger, struct ledger_episode *e)
{
    const struct ledger_workload *w = &ledger->at[e->workload];
    for (uint64_t at = e->jump[0].at; at + JUMP <= ledger->readings + 1; at++) {
        double size = ledger_mean_x(w, at, JUMP) - (double)e->before;
        if (fabs(size) > fabs((double)e->size))
            e->size = (float)size;
    }
}

/* Of who has shown often that he is none, only the whole counts. */
static bool is_due(const struct ledger *ledger, const struct ledger_episode *e)
{
    return e->judged < sizeof judged_at / sizeof *judged_at &&
           ledger->readings >= e->jump[0].at + judged_at[e->judged] &&
           ledger->at[e->workload].evidence > cleared;
}

void episodes_judge(struct ledger *ledger)
{
    uint64_t t = ledger->readings;
    unsigned judged = 0;
    for (unsigned i = 0; i < ledger->n_episodes && judged < AT_ONCE; i++) {
        struct ledger_episode *e = &ledger->episode[i];
        if (!e->open)
            continue;
        bool over = t >= e->jump[e->n_jumps - 1].at + COMMIT;
        if (!over && !is_due(ledger, e))
            continue;
        judged++;
        e->judged++;
        measure(ledger, e);
        if (over)
            evidence_commit(ledger, e);
        else
            evidence_provisional(ledger, e);
    }
    for (unsigned i = ledger->n_episodes; i-- > 0;)
        if (!ledger->episode[i].open && t - ledger->episode[i].jump[0].at >= ONSET_WINDOW - 1)
            remove_episode(ledger, i);
}
