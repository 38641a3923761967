#include "collectors/attribution/ledger/episodes.h"

#include <math.h>
#include <string.h>

#include "collectors/attribution/ledger/one_of.h"
#include "collectors/attribution/ledger/readings.h"

/* Of a cause: what is expected of how its effect begins. */
static const double of_shape = 0.5, of_step = 0.3, of_late_step = 0.2;
enum {
    WINDOW_BEFORE = 30,
    LATE = 30,
    YOUNG_EPISODES = 3,
    TOGETHER = 3,
    GROUP = 5,
    CROWD = 3,
    LAST = 4,
    EARLY = 10,
    FEW = 6
};
static const double least_factor = -3, most_factor = 6.6, most_provisional = 2,
                    most_while_learning = 2;
static const double resolving = 0.95;
static const double least_effect = 0.03, certain_effect = 4; /* standard errors */
static const double usual_step = 0.1;
static const double waiting = 2;
static const double slope_memory = 0.9;
static const double least_weight = 0.005; /* whose starts the latency has not followed before */

/* What is looked at: one episode's minute. */
struct scene {
    struct ledger *ledger;
    struct onset_window window;
    uint64_t first; /* reading of the window's first */
};

/* ln of a sum of exponentials, one after another. */
static double add_logs(double a, double b)
{
    if (a < b) {
        double swap = a;
        a = b;
        b = swap;
    }
    return isinf(b) ? a : a + log1p(exp(b - a));
}

static void look_at(struct scene *scene, struct ledger *ledger, const struct ledger_episode *e)
{
    uint64_t from = e->jump[0].at, first = ledger_first(ledger, ONSET_WINDOW);
    if (from > first + WINDOW_BEFORE)
        first = from - WINDOW_BEFORE;
    scene->ledger = ledger;
    scene->first = first;
    ledger_window(ledger, first, e->workload, &scene->window);
    onset_window_steps(&scene->window, 1, scene->window.n);
}

/* ---- one cause ---- */

/* Its activity over the window, in units of its jump. */
static void shape_of(const struct scene *scene, const struct ledger_episode *e, double *q)
{
    const struct ledger_workload *w = &scene->ledger->at[e->workload];
    double unit = fabs((double)e->size);
    for (unsigned i = 0; i < scene->window.n; i++)
        q[i] = ledger_x(w, scene->first + i) / unit;
}

/* One-sided: the latency stepped to the same side at this reading. */
static double step_at(const struct scene *scene, uint64_t reading, bool up)
{
    if (reading <= scene->first || reading >= scene->first + scene->window.n)
        return -INFINITY;
    unsigned u = (unsigned)(reading - scene->first);
    bool same = (scene->window.below[u] < 0) == up;
    return same ? log(2) + scene->window.step[u] : -INFINITY;
}

/* Whether it goes on as it began. */
static bool lasts(const struct scene *scene, const struct ledger_episode *e)
{
    const struct ledger_workload *w = &scene->ledger->at[e->workload];
    double now = ledger_mean_x(w, scene->ledger->readings + 1 - LAST, LAST);
    return (now - (double)e->before) / (double)e->size >= 0.5;
}

struct cause {
    double factor;     /* ln C */
    double effect, se; /* of its jump: log latency */
};

/* One more explanation; the likelier one says by how much. */
static void add_explanation(const struct scene *scene, struct cause *out, double factor,
                            uint64_t reading)
{
    if (factor > out->factor) {
        struct onset_fit fit = onset_fit_step(&scene->window, (unsigned)(reading - scene->first));
        out->effect = fabs(fit.coefficient);
        out->se = fit.se;
    }
    out->factor = add_logs(out->factor, factor);
}

static void add_steps(const struct scene *scene, const struct ledger_episode *e, struct cause *out)
{
    double sum = -INFINITY, best = -INFINITY;
    uint64_t best_at = 0;
    unsigned n = 0;
    for (unsigned k = 0; k < e->n_jumps; k++)
        for (int off = -1; off <= 1; off++, n++) {
            uint64_t at = e->jump[k].at + (uint64_t)off;
            double step = step_at(scene, at, e->jump[k].up);
            sum = add_logs(sum, step);
            if (step > best) {
                best = step;
                best_at = at;
            }
        }
    /* Of several jumps no one says how much all of them do. */
    double steps = log(of_step / n) + sum;
    if (e->n_jumps == 1)
        add_explanation(scene, out, steps, best_at);
    else
        out->factor = add_logs(out->factor, steps);
}

/* A start that needs a while: the latency follows within half a minute, rather soon than late. */
static void add_late_steps(const struct scene *scene, const struct ledger_episode *e,
                           struct cause *out)
{
    double sum = -INFINITY, best = -INFINITY, all = 0;
    uint64_t best_at = 0;
    for (unsigned k = 0; k < LATE; k++) {
        double step = step_at(scene, e->jump[0].at + k, e->size > 0) - log(k + 2);
        all += 1.0 / (k + 2);
        sum = add_logs(sum, step);
        if (step > best) {
            best = step;
            best_at = e->jump[0].at + k;
        }
    }
    add_explanation(scene, out, log(of_late_step / all) + sum, best_at);
}

static struct cause judge_cause(const struct scene *scene, const struct ledger_episode *e)
{
    double q[ONSET_WINDOW];
    shape_of(scene, e, q);
    struct onset_fit fit = onset_fit_shape(&scene->window, q);
    struct cause out = {log(of_shape) + fit.one_sided, fit.coefficient, fit.se};
    if (!lasts(scene, e))
        return out;
    add_steps(scene, e, &out);
    if (scene->ledger->at[e->workload].episodes <= YOUNG_EPISODES)
        add_late_steps(scene, e, &out);
    return out;
}

/* ---- others ---- */

static bool jumps_with(const struct ledger_episode *e, const struct ledger_episode *other,
                       unsigned within)
{
    for (unsigned i = 0; i < e->n_jumps; i++)
        for (unsigned k = 0; k < other->n_jumps; k++)
            if (e->jump[i].at <= other->jump[k].at + within &&
                other->jump[k].at <= e->jump[i].at + within)
                return true;
    return false;
}

static bool is_in(const struct scene *scene, const struct ledger_episode *e)
{
    return e->jump[e->n_jumps - 1].at > scene->first;
}

/* A pair that always goes together learns nothing: each may be the other. */
static double weight_of(const struct ledger *ledger, const struct ledger_episode *e,
                        const struct ledger_episode *other)
{
    const struct ledger_workload *w = &ledger->at[e->workload];
    for (unsigned i = 0; i < LEDGER_PARTNERS; i++)
        if (w->agreed > 0 && w->partner[i].workload == other->workload &&
            2 * w->partner[i].times >= w->agreed)
            return 1;
    /* What was known before: who of several is judged first must not have the better of it. */
    return ledger_probability(&ledger->at[other->workload],
                              ledger_past_evidence(ledger, other->workload));
}

/* All others together, where several jumped at once the same way. */
static double judge_crowd(const struct scene *scene, const struct ledger_episode *e)
{
    const struct ledger *ledger = scene->ledger;
    unsigned crowd = 0;
    for (unsigned i = 0; i < ledger->n_episodes; i++) {
        const struct ledger_episode *other = &ledger->episode[i];
        crowd += other->workload != e->workload && !other->waits &&
                 (other->size > 0) == (e->size > 0) && jumps_with(e, other, TOGETHER);
    }
    if (crowd < CROWD)
        return -INFINITY;
    double q[ONSET_WINDOW], low = INFINITY, high = -INFINITY;
    for (unsigned i = 0; i < scene->window.n; i++) {
        q[i] = (double)ledger->all[(scene->first + i) % ONSET_WINDOW] -
               ledger_x(&ledger->at[e->workload], scene->first + i);
        low = fmin(low, q[i]);
        high = fmax(high, q[i]);
    }
    for (unsigned i = 0; i < scene->window.n; i++)
        q[i] /= fmax(1e-6, high - low);
    return log(of_shape) + onset_fit_shape(&scene->window, q).one_sided;
}

/* Nobody: the node's latency stepped by itself, somewhere in the window. Small steps are more
 * frequent than large ones. */
static double judge_nobody(const struct scene *scene, double effect)
{
    double rate = ledger_lambda(scene->ledger);
    double smaller = usual_step / fmax(0.01, fabs(effect));
    const double *step = scene->window.step;
    double most = -INFINITY, sum = 0;
    for (unsigned u = 1; u < scene->window.n; u++)
        most = fmax(most, step[u]);
    for (unsigned u = 1; u < scene->window.n; u++)
        sum += exp(step[u] - most);
    return sum > 0 ? add_logs(0, log(rate * fmax(1, smaller * smaller) * sum) + most) : 0;
}

/* ---- the episode ---- */

struct judgement {
    struct cause own;
    double factor; /* ln of its Bayes factor */
    double moved;  /* ln, of the latency having moved with it at all, whoever did it */
};

/* By how much the latency rose, whoever did it: also if that is no longer in the window. */
static double rise(const struct scene *scene, const struct ledger_episode *e)
{
    const struct ledger *ledger = scene->ledger;
    double before = 0, after = 0;
    uint64_t from = e->jump[0].at, t = ledger->readings;
    for (uint64_t at = scene->first; at <= t; at++)
        *(at < from ? &before : &after) += (double)ledger->y[at % ONSET_WINDOW];
    uint64_t n_before = from - scene->first, n_after = t + 1 - from;
    return n_before > 0 ? fabs(after / (double)n_after - before / (double)n_before) : 0;
}

/* Who waits needs longer for the same work. */
static bool only_waits(const struct scene *scene, const struct ledger_episode *e, double effect)
{
    const struct ledger_workload *w = &scene->ledger->at[e->workload];
    if (!scene->ledger->waiting_grows)
        return false;
    uint64_t t = scene->ledger->readings, half = (t + 1 - e->jump[0].at + 1) / 2;
    effect = fmax(effect, rise(scene, e));
    double before = fmax(1e-6, (double)e->before);
    double after = fmax(1e-6, ledger_mean_x(w, t + 1 - half, (unsigned)half));
    return fabs(log(after / before)) < waiting * effect;
}

static bool is_certain(const struct scene *scene, const struct ledger_episode *e, double effect)
{
    uint64_t t = scene->ledger->readings;
    unsigned before = (unsigned)(e->jump[0].at - scene->first);
    unsigned after = (unsigned)(t + 1 - e->jump[0].at);
    double errors = t < e->jump[0].at + EARLY ? FEW : certain_effect;
    return before > 0 && effect >= least_effect &&
           effect >= errors * scene->window.sigma * sqrt(1.0 / before + 1.0 / after);
}

static void judge(struct ledger *ledger, struct ledger_episode *e, struct judgement *out,
                  struct one_of *members)
{
    struct scene looked_at, *scene = &looked_at;
    look_at(scene, ledger, e);
    out->own = judge_cause(scene, e);
    e->waits = only_waits(scene, e, out->own.effect);
    double nobody = judge_nobody(scene, out->own.effect), others = nobody, apart = nobody;
    one_of_begin(members, e->workload, out->own.factor, weight_of(ledger, e, e), e->size);
    for (unsigned i = 0; i < ledger->n_episodes; i++) {
        const struct ledger_episode *other = &ledger->episode[i];
        if (other->workload == e->workload || other->waits || !is_in(scene, other) ||
            ledger_has_told(ledger, other->workload))
            continue;
        double weight = weight_of(ledger, e, other);
        if (weight < least_weight)
            continue;
        struct cause cause = judge_cause(scene, other);
        others = add_logs(others, log(weight) + cause.factor);
        if (jumps_with(e, other, GROUP))
            one_of_add(members, other->workload, cause.factor, weight, other->size);
        else
            apart = add_logs(apart, log(weight) + cause.factor);
    }
    others = add_logs(others, judge_crowd(scene, e));
    one_of_end(members, apart, out->own.effect, out->own.se);
    out->factor = fmin(most_factor, fmax(least_factor, out->own.factor - others));
    out->moved = fmin(-least_factor, fmax(least_factor, out->own.factor));
    if (!is_certain(scene, e, out->own.effect))
        out->factor = fmin(0, out->factor);
    if (e->waits)
        out->factor = 0;
    double part = fabs((double)e->size) /
                  fmax(fabs((double)e->size), (double)ledger->at[e->workload].largest);
    if (out->factor < 0)
        out->factor *= fmin(1, part * part);
}

/* Its slope, as of the episodes with the larger jumps; with this one, and for good if so. */
static void learn_slope(struct ledger_workload *w, const struct ledger_episode *e,
                        const struct judgement *j, bool commit)
{
    double size = fabs((double)e->size), slope = (double)w->slope, weight = (double)w->slope_weight;
    if (2 * size >= (double)w->largest && j->own.se > 0) {
        double se = j->own.se / size, own = 1 / (se * se);
        weight *= slope_memory;
        slope = (weight * slope + own * fmax(0, j->own.effect) / size) / (weight + own);
        weight += own;
    }
    w->slope_now = (float)slope;
    w->slope_se = (float)(weight > 0 ? 1 / sqrt(weight) : 0);
    if (commit) {
        w->slope = (float)slope;
        w->slope_weight = (float)weight;
    }
}

static void remember_partner(struct ledger_workload *w, uint32_t other)
{
    struct ledger_partner *least = w->partner;
    for (unsigned i = 0; i < LEDGER_PARTNERS; i++) {
        struct ledger_partner *p = &w->partner[i];
        if (p->times > 0 && p->workload == other) {
            p->times++;
            return;
        }
        if (p->times < least->times)
            least = p;
    }
    *least = (struct ledger_partner){other, 1};
}

static void remember_partners(struct ledger *ledger, const struct ledger_episode *e)
{
    for (unsigned i = 0; i < ledger->n_episodes; i++) {
        const struct ledger_episode *other = &ledger->episode[i];
        if (other->workload != e->workload && jumps_with(e, other, TOGETHER))
            remember_partner(&ledger->at[e->workload], other->workload);
    }
}

void evidence_provisional(struct ledger *ledger, struct ledger_episode *e)
{
    struct ledger_workload *w = &ledger->at[e->workload];
    struct judgement j;
    struct one_of members;
    judge(ledger, e, &j, &members);
    w->provisional =
        (float)(w->episodes >= YOUNG_EPISODES ? fmin(most_provisional, j.factor) : j.factor);
    learn_slope(w, e, &j, false);
    if (ledger->readings >= e->jump[0].at + EARLY && !e->waits)
        one_of_keep(ledger, &members);
}

void evidence_commit(struct ledger *ledger, struct ledger_episode *e)
{
    struct ledger_workload *w = &ledger->at[e->workload];
    struct judgement j;
    struct one_of members;
    judge(ledger, e, &j, &members);
    e->open = false;
    w->provisional = 0;
    float before = w->evidence;
    w->moved = (float)fmin(-least_evidence, fmax(least_evidence, (double)w->moved + j.moved));
    if (!ledger_knows(ledger)) /* what is usual here is not known yet */
        j.factor = fmin(most_while_learning, j.factor);
    w->evidence = (float)fmin(most_evidence, fmax(least_evidence, (double)w->evidence + j.factor));
    e->factor = w->evidence - before;
    if (!e->waits)
        one_of_learn(ledger, e,
                     &(struct one_of_news){members.n == 1, j.factor, j.own.effect, j.own.se});
    w->episodes++;
    w->largest = fmaxf(w->largest, fabsf(e->size));
    if (j.factor > 0) {
        w->agreed++;
        remember_partners(ledger, e);
    }
    if (ledger_probability(w, (double)w->evidence) >= resolving)
        one_of_resolve(ledger, e->workload);
    learn_slope(w, e, &j, true);
    if (!e->waits)
        one_of_keep(ledger, &members);
}
