#include "tests/attribution/node_hour.h"

#include <math.h>
#include <string.h>

#include "tests/unit/support/attribution_rig.h"

double node_hour_uniform(struct node_hour *n, double from, double to)
{
    return from + (to - from) * rig_uniform(&n->seed);
}

static double planned(const struct worker *w, double second)
{
    for (unsigned i = 0; i < w->plans; i++) {
        const struct plan *p = &w->plan[i];
        if (second < p->from || second >= p->to)
            continue;
        return p->ramp > 0 ? p->level * fmin(1, (second - p->from + 1) / p->ramp) : p->level;
    }
    return 0;
}

static bool switches(struct node_hour *n, struct worker *w)
{
    if (n->second >= w->until) {
        w->on = n->second > 1 && !w->on;
        w->until = n->second + 5 + node_hour_uniform(n, 0.3, 1.7) * (w->on ? w->on_s : w->off_s);
    }
    return w->on;
}

static double jvm(struct node_hour *n, struct worker *w)
{
    if (rig_uniform(&n->seed) < 0.02)
        w->own = node_hour_uniform(n, 1, 3);
    w->own *= 0.4;
    return w->level * n->load + w->own;
}

/* As its leader does, mostly: what it does to memory. */
static double follow(struct node_hour *n, struct worker *w)
{
    const struct worker *leader = &n->worker[w->leader];
    if (leader->class != W_SWITCHES)
        return w->level * leader->x / leader->level;
    if (n->second % 10 == 0 || n->second == 1)
        w->own = rig_uniform(&n->seed) < w->share;
    bool on = leader->recent[(unsigned)w->lag] > 0.5;
    return (w->own > 0.5 ? on : !on) ? w->level : 0;
}

static double activity(struct node_hour *n, struct worker *w, double others, double slower)
{
    switch (w->class) {
    case W_SERVICE:
        return w->level * n->load;
    case W_STEADY:
        return w->level;
    case W_SWITCHES:
        return switches(n, w) ? w->level : 0;
    case W_JVM:
        return jvm(n, w);
    case W_WAITS:
        return w->level * n->load * (1 + 0.8 * (exp(slower) - 1));
    case W_SHIPPER:
        return w->level * (0.5 + 0.1 * others);
    case W_IDLE:
        return w->level;
    case W_PLAN:
        return planned(w, n->second);
    case W_FOLLOWS:
        return follow(n, w);
    }
    return 0;
}

static double background(const struct node_hour *n)
{
    const struct point *p = n->background;
    for (unsigned i = 0; i < n->points; i++, p++) {
        if (n->second >= p->second)
            continue;
        if (i == 0)
            return p->level;
        double part = (n->second - p[-1].second) / (p->second - p[-1].second);
        return p[-1].level + part * (p->level - p[-1].level);
    }
    return n->points ? p[-1].level : 0;
}

static void move_outside(struct node_hour *n)
{
    n->level += n->level_walk * rig_normal(&n->seed);
    n->load += 0.005 * (1 - n->load) + n->load_swing * 0.1 * rig_normal(&n->seed);
    n->load = fmin(2.5, fmax(0.2, n->load));
    if (rig_uniform(&n->seed) < n->steps_per_hour / 3600)
        n->outside = n->outside > 0 && rig_uniform(&n->seed) < 0.6
                         ? 0
                         : node_hour_uniform(n, n->step_least, n->step_most);
}

static void move_workers(struct node_hour *n)
{
    double others = 0, slower = n->outside;
    for (unsigned i = 0; i < n->n; i++)
        slower += n->worker[i].class == W_WAITS ? 0 : n->worker[i].caused;
    for (unsigned i = 0; i < n->n; i++) {
        struct worker *w = &n->worker[i];
        double x = worker_is_live(n, w) ? activity(n, w, others, slower) : 0;
        double uses = x, jitter = 1 + w->jitter * rig_normal(&n->seed);
        if (w->constant) { /* what it does to memory is not what it uses */
            uses = w->plans ? planned(w, n->second) : x;
            x = w->level;
        }
        w->x = worker_is_live(n, w) ? fmax(0, x * jitter) : 0;
        w->caused = w->effect * (w->constant ? uses : w->x);
        if (w->stops_hurting > 0 && n->second >= w->stops_hurting)
            w->caused = 0;
        memmove(w->recent + 1, w->recent, sizeof w->recent - sizeof *w->recent);
        w->recent[0] = x;
        others += w->x;
    }
}

void node_hour_next(struct node_hour *n)
{
    n->second++;
    move_outside(n);
    move_workers(n);
    const struct plan *s = &n->scripted;
    double scripted = n->second >= s->from && n->second < s->to ? s->level : 0;
    double effect = n->outside + scripted;
    n->outside_now = effect > 0;
    for (unsigned i = 0; i < n->n; i++)
        effect += n->worker[i].caused;
    n->host = 0.15 * (1 + 0.2 * rig_normal(&n->seed));
    if (n->host_follows) {
        bool on = n->worker[n->host_follows - 1].recent[0] > 0.5;
        n->host += on ? 1 + 0.03 * rig_normal(&n->seed) : 0;
        effect += on ? n->host_effect : 0;
    }
    if (n->saturates > 0) /* near the limit the last ones cost more */
        effect *= 1 + n->saturates * effect;
    n->ar_state = n->ar * n->ar_state + sqrt(1 - n->ar * n->ar) * rig_normal(&n->seed);
    double noise = n->noise * n->ar_state;
    if (rig_uniform(&n->seed) < n->outlier)
        noise += node_hour_uniform(n, 0.05, 0.4);
    n->host = fmax(0, n->host);
    n->latency_ns = exp(n->level + background(n) + effect + noise);
    if (rig_uniform(&n->seed) < 0.015 || (n->second >= n->silent_from && n->second < n->silent_to))
        n->latency_ns = NAN;
}
