#include "tests/attribution/node_hour.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/attribution_rig.h"

static const double ever = 1e9;

static double uniform(struct node_hour *n, double from, double to)
{
    return from + (to - from) * rig_uniform(&n->seed);
}

static double normal(struct node_hour *n)
{
    return rig_normal(&n->seed);
}

/* ---- names ---- */

static void tail(struct node_hour *n, char *out, const char *letters, unsigned count)
{
    size_t m = strlen(letters);
    for (unsigned i = 0; i < count; i++)
        out[i] = letters[(size_t)(rig_uniform(&n->seed) * (double)m)];
    out[count] = '\0';
}

enum pod_of { DEPLOYMENT, DAEMONSET, STATEFULSET, CRONJOB };

static void pod_name(struct node_hour *n, struct worker *w, const char *owner, enum pod_of of)
{
    static const char drawn[] = "bcdfghjklmnpqrstvwxz2456789", hash[] = "bcdf456789";
    char one[12], two[12];
    tail(n, one, hash, 9);
    tail(n, two, drawn, 5);
    if (of == DEPLOYMENT)
        snprintf(w->pod, sizeof w->pod, "%s-%s-%s", owner, one, two);
    else if (of == DAEMONSET)
        snprintf(w->pod, sizeof w->pod, "%s-%s", owner, two);
    else if (of == STATEFULSET)
        snprintf(w->pod, sizeof w->pod, "%s-0", owner);
    else
        snprintf(w->pod, sizeof w->pod, "%s-%u-%s", owner, 28911240 + n->n, two);
}

static struct worker *add(struct node_hour *n, const char *owner, enum pod_of of,
                          enum worker_class class, double level)
{
    if (n->n == HOUR_WORKERS)
        return NULL;
    struct worker *w = &n->worker[n->n];
    *w = (struct worker){.class = class, .goes = ever, .comes = -1, .level = level, .jitter = 0.05};
    snprintf(w->namespace_, sizeof w->namespace_, "%s", of == DAEMONSET ? "kube-system" : "shop");
    snprintf(w->name, sizeof w->name, "main");
    snprintf(w->image, sizeof w->image, "registry/%.12s:1.%u", owner, n->n % 7);
    pod_name(n, w, owner, of);
    n->n++;
    return w;
}

/* ---- what is on every node ---- */

static void populate(struct node_hour *n, unsigned containers)
{
    static const char *const services[] = {"cart", "search", "web",  "auth",
                                           "mail", "quote",  "ship", "pay"};
    for (unsigned i = 0; i < containers; i++) {
        char owner[32];
        double r = rig_uniform(&n->seed);
        snprintf(owner, sizeof owner, "%s-%u", services[i % 8], i);
        struct worker *w = NULL;
        if (r < 0.35)
            w = add(n, owner, DEPLOYMENT, W_SERVICE, uniform(n, 0.05, 1.2));
        else if (r < 0.50)
            w = add(n, owner, DEPLOYMENT, W_STEADY, uniform(n, 0.02, 0.7));
        else if (r < 0.62) {
            w = add(n, owner, DEPLOYMENT, W_SWITCHES, uniform(n, 0.2, 1.5));
            w->on_s = exp(uniform(n, log(8), log(300)));
            w->off_s = exp(uniform(n, log(20), log(600)));
        } else if (r < 0.74)
            w = add(n, owner, STATEFULSET, W_JVM, uniform(n, 0.1, 0.8));
        else if (r < 0.80)
            w = add(n, owner, DEPLOYMENT, W_WAITS, uniform(n, 0.2, 1.0));
        else if (r < 0.84)
            w = add(n, owner, DAEMONSET, W_SHIPPER, 0.02);
        else
            w = add(n, owner, DAEMONSET, W_IDLE, 0.003);
        w->effect = w->class == W_IDLE ? 0 : uniform(n, 0, 0.006);
        w->jitter = uniform(n, 0.02, 0.15);
    }
    /* A job every few minutes. */
    for (double at = uniform(n, 20, 200); at < 5400; at += 300) {
        struct worker *w = add(n, "tidy", CRONJOB, W_PLAN, 0);
        if (!w)
            return;
        w->comes = at;
        w->goes = at + uniform(n, 10, 40);
        w->plan[w->plans++] = (struct plan){at, w->goes, uniform(n, 0.3, 0.9), 0};
        w->effect = 0.006;
    }
}

static struct worker *deploy(struct node_hour *n, const char *owner, double at, double level,
                             double effect)
{
    struct worker *w = add(n, owner, DEPLOYMENT, W_PLAN, 0);
    if (!w)
        return NULL;
    double starts = at + uniform(n, 0, 3);
    w->comes = at;
    w->effect = effect / level;
    w->jitter = 0.04;
    w->plan[w->plans++] = (struct plan){starts, ever, level, rig_uniform(&n->seed) < 0.3 ? 8 : 0};
    return w;
}

/* Others come, and what they replace goes. */
static void deployments(struct node_hour *n, unsigned in_an_hour)
{
    for (unsigned i = 0; i < in_an_hour; i++) {
        char owner[32];
        snprintf(owner, sizeof owner, "api-%u", i % 7);
        struct worker *w = deploy(n, owner, uniform(n, 30, 3570), uniform(n, 0.1, 1.5), 0);
        if (!w)
            return;
        w->effect = uniform(n, 0, 0.01);
        w->class = rig_uniform(&n->seed) < 0.3 ? W_PLAN : W_STEADY;
        w->level = w->plan[0].level;
        if (rig_uniform(&n->seed) < 0.6)
            w->goes = w->comes + uniform(n, 60, 1500);
    }
}

static double some_time(struct node_hour *n)
{
    return floor(uniform(n, 600, 1500));
}

static void steps_outside(struct node_hour *n, double least, double most)
{
    n->steps_per_hour = uniform(n, 4, 12);
    n->step_least = least;
    n->step_most = most;
}

/* ---- kinds ---- */

static void new_pod(struct node_hour *n, double percent)
{
    n->onset = some_time(n);
    deploy(n, "report", n->onset, uniform(n, 0.8, 3), log1p(percent / 100));
}

static void new_pod_15(struct node_hour *n)
{
    new_pod(n, 15);
}

static void new_pod_30(struct node_hour *n)
{
    new_pod(n, 30);
}

static void new_pod_60(struct node_hour *n)
{
    new_pod(n, 60);
}

static void step_up(struct node_hour *n)
{
    struct worker *w = add(n, "etl", STATEFULSET, W_PLAN, 0);
    n->onset = some_time(n);
    w->plan[w->plans++] = (struct plan){-1, n->onset, 0.2, 0};
    w->plan[w->plans++] = (struct plan){n->onset, ever, 2, 0};
    w->effect = log(1.3) / 2;
}

static void rolling(struct node_hour *n)
{
    deployments(n, 20);
    new_pod(n, 30);
}

static void drain(struct node_hour *n)
{
    n->onset = some_time(n);
    for (unsigned i = 0; i < 6; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "moved-%u", i);
        struct worker *w = deploy(n, owner, n->onset + uniform(n, 0, 3), uniform(n, 0.5, 2), 0.001);
        w->effect = i ? uniform(n, 0, 0.01) : log(1.3) / w->plan[0].level;
    }
}

static void outside_and_pod(struct node_hour *n)
{
    steps_outside(n, 0.05, 0.3);
    new_pod(n, 30);
}

static void backup(struct node_hour *n)
{
    n->onset = some_time(n);
    struct worker *w = add(n, "backup", CRONJOB, W_PLAN, 0);
    w->comes = n->onset;
    w->goes = n->onset + uniform(n, 600, 1200);
    w->plan[w->plans++] = (struct plan){n->onset, w->goes, 1.2, 0};
    w->effect = log(1.3) / 1.2;
}

static void minute_job(struct node_hour *n)
{
    double phase = uniform(n, 0, 60), seconds = uniform(n, 15, 30);
    for (unsigned i = 0; i < 89; i++) {
        struct worker *w = add(n, "minute", CRONJOB, W_PLAN, 0);
        double at = floor(phase + 60.0 * i);
        w->comes = at;
        w->goes = at + seconds + 2;
        w->plan[w->plans++] = (struct plan){at, at + seconds, 1, 0};
        w->effect = log(1.2);
    }
    n->onset = 120;
}

static void on_off(struct node_hour *n)
{
    struct worker *w = add(n, "batch", DEPLOYMENT, W_SWITCHES, 1);
    w->on_s = 30;
    w->off_s = 40;
    w->effect = log(1.2);
    n->onset = 60;
}

static void chain_of(struct node_hour *n, double effect)
{
    struct worker *front = add(n, "front", DEPLOYMENT, W_SERVICE, 1.2);
    unsigned leader = n->n - 1;
    front->jitter = 0.05;
    n->load_swing = 0.6;
    for (unsigned i = 0; i < 3; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "back-%u", i);
        struct worker *w = add(n, owner, DEPLOYMENT, W_FOLLOWS, uniform(n, 0.4, 1.4));
        w->leader = leader;
        w->share = 1;
    }
    struct worker *w = add(n, "analytics", DEPLOYMENT, W_FOLLOWS, 2);
    w->leader = leader;
    w->share = 1;
    w->effect = effect / 2;
}

static void chain(struct node_hour *n)
{
    chain_of(n, log(1.3));
}

static void chain_quiet(struct node_hour *n)
{
    chain_of(n, 0);
    steps_outside(n, 0.05, 0.3);
}

static void always_on(struct node_hour *n)
{
    struct worker *w = add(n, "stream", DEPLOYMENT, W_STEADY, 1.5);
    w->effect = log(1.3) / 1.5;
    w->jitter = 0.03;
}

static void ramp(struct node_hour *n)
{
    n->onset = some_time(n);
    struct worker *w = deploy(n, "ramp", n->onset, 2, log(1.3));
    w->plan[0].ramp = 1200;
}

static void phase(struct node_hour *n)
{
    struct worker *w = add(n, "phase", DEPLOYMENT, W_STEADY, 1);
    n->onset = some_time(n);
    w->constant = true;
    w->plan[w->plans++] = (struct plan){n->onset, ever, 1, 0};
    w->effect = log(1.3);
}

static void two_hogs(struct node_hour *n)
{
    new_pod(n, 30);
    deploy(n, "train", n->onset + uniform(n, 300, 1200), 2, log(1.2));
}

static void hog_leaves(struct node_hour *n)
{
    n->onset = some_time(n);
    struct worker *w = deploy(n, "report", n->onset, 1.5, log(1.3));
    w->goes = n->onset + 1200;
}

static void nothing(struct node_hour *n)
{
    (void)n;
}

static void only_deploys(struct node_hour *n)
{
    deployments(n, 20);
}

static void waiters(struct node_hour *n)
{
    for (unsigned i = 0; i < 8; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "waits-%u", i);
        add(n, owner, DEPLOYMENT, W_WAITS, 2);
    }
    n->steps_per_hour = 30;
    n->step_least = 0.05;
    n->step_most = 0.3;
}

static void outside(struct node_hour *n)
{
    steps_outside(n, 0.05, 0.3);
}

static void outside_deploys(struct node_hour *n)
{
    steps_outside(n, 0.05, 0.3);
    deployments(n, 20);
}

static void drift(struct node_hour *n)
{
    n->level_walk = 0.003;
    n->load_swing = 0.8;
}

/* ---- framing (CONTROL D) ---- */

static void frame(struct node_hour *n, double share, double lag)
{
    struct worker *innocent = add(n, "innocent", DEPLOYMENT, W_SWITCHES, 1);
    innocent->on_s = 30;
    innocent->off_s = 40;
    struct worker *w = add(n, "spinner", DEPLOYMENT, W_FOLLOWS, 1);
    w->leader = n->n - 2;
    w->share = share;
    w->lag = lag;
    w->constant = true;
    w->jitter = 0.01;
    w->effect = log(1.2);
    n->onset = 60;
}

static void frame_step(struct node_hour *n)
{
    frame(n, 1, 0);
}

static void frame_80(struct node_hour *n)
{
    frame(n, 0.8, 0);
}

static void frame_behind(struct node_hour *n)
{
    frame(n, 1, rig_uniform(&n->seed) < 0.5 ? 1 : 2);
}

static void frame_host(struct node_hour *n)
{
    struct worker *innocent = add(n, "innocent", DEPLOYMENT, W_SWITCHES, 1);
    innocent->on_s = 30;
    innocent->off_s = 40;
    n->host_follows = n->n;
    n->host_effect = log(1.2);
}

/* ---- hours ---- */

static void point(struct node_hour *n, double second, double level)
{
    n->background[n->points++] = (struct point){second, level};
}

/* The background falls, as at night, and rises again, while the hog stays. */
static void night(struct node_hour *n, double percent)
{
    new_pod(n, percent);
    n->level_walk = 0.0002;
    double fall = uniform(n, 0.10, 0.20);
    point(n, 5400, 0);
    point(n, 5400 + 10800, -fall);
    point(n, 5400 + 14400, -fall);
    point(n, 5400 + 21600, 0);
    n->seconds = 8 * 3600;
}

static void night_15(struct node_hour *n)
{
    night(n, 15);
}

static void night_30(struct node_hour *n)
{
    night(n, 30);
}

/* What is from outside goes up and down all the time, by as much as the hog does. */
static void restless_15(struct node_hour *n)
{
    new_pod(n, 15);
    n->level_walk = 0.0012;
    n->seconds = 6 * 3600;
}

/* A day without an aggressor. */
static void day(struct node_hour *n)
{
    n->level_walk = 0.0002;
    for (unsigned i = 0; i < 7; i++)
        point(n, i * 14400, 0.15 * sin(i * 3.14159265358979 / 3));
    n->seconds = 24 * 3600;
}

/* Little is done at first, then what is usual. */
static void boot(struct node_hour *n)
{
    n->level_walk = 0.0002;
    double idle = uniform(n, 120, 500);
    point(n, idle, -0.26);
    point(n, idle + 20, 0);
    n->seconds = 4 * 3600;
}

/* One begins with a step from outside, which ends; hours later somebody else makes memory slow. */
static void borrowed(struct node_hour *n)
{
    double at = some_time(n);
    n->scripted = (struct plan){at, at + uniform(n, 600, 1500), uniform(n, 0.15, 0.3), 0};
    n->onset = at + 5400;
    struct worker *w = deploy(n, "innocent", at, uniform(n, 0.8, 2), 0.001);
    w->plan[0].from = at;
    w->plan[0].ramp = 0;
    deploy(n, "report", n->onset, uniform(n, 0.8, 3), log(1.3));
    n->seconds = 3 * 3600;
}

/* It begins while the probe is silent, and the latency has risen before. */
static void gap(struct node_hour *n)
{
    double at = some_time(n);
    n->silent_from = at;
    n->silent_to = at + 300;
    n->scripted = (struct plan){at + 5, 1e9, 0.25, 0};
    deploy(n, "innocent", at + 240, 1.5, 0.001);
}

/* It makes memory slow for a while, and then computes as much. */
static void computes_then(struct node_hour *n)
{
    n->onset = some_time(n);
    struct worker *w = deploy(n, "report", n->onset, 1, 0);
    w->effect = log(1.3);
    w->plan[0].ramp = 0;
    w->stops_hurting = n->onset + uniform(n, 600, 1200);
}

static const struct {
    const char *name;
    void (*make)(struct node_hour *node);
} kinds[] = {
    {"new-pod-15", new_pod_15},
    {"new-pod-30", new_pod_30},
    {"new-pod-60", new_pod_60},
    {"step-up", step_up},
    {"rolling", rolling},
    {"drain", drain},
    {"outside-and-pod", outside_and_pod},
    {"backup", backup},
    {"minute-job", minute_job},
    {"on-off", on_off},
    {"chain", chain},
    {"two-hogs", two_hogs},
    {"hog-leaves", hog_leaves},
    {"always-on", always_on},
    {"ramp", ramp},
    {"phase", phase},
    {"quiet", nothing},
    {"deploys", only_deploys},
    {"waiters", waiters},
    {"outside", outside},
    {"outside-deploys", outside_deploys},
    {"drift", drift},
    {"chain-quiet", chain_quiet},
    {"frame-step", frame_step},
    {"frame-80", frame_80},
    {"frame-behind", frame_behind},
    {"frame-host", frame_host},
    {"night-15", night_15},
    {"night-30", night_30},
    {"restless-15", restless_15},
    {"day", day},
    {"boot", boot},
    {"borrowed", borrowed},
    {"gap", gap},
    {"computes-then", computes_then},
};

const char *node_hour_kind(size_t i)
{
    return i < sizeof kinds / sizeof *kinds ? kinds[i].name : NULL;
}

bool node_hour_init(struct node_hour *n, const char *kind, uint64_t seed)
{
    memset(n, 0, sizeof *n);
    n->seed = (seed + 1) * 0x9e3779b97f4a7c15u;
    n->kind = kind;
    for (unsigned i = 0; i < 8; i++)
        rig_uniform(&n->seed);
    n->noise = uniform(n, 0.02, 0.04);
    n->ar = uniform(n, 0, 0.5);
    n->outlier = uniform(n, 0, 0.02);
    n->level_walk = uniform(n, 0.0002, 0.0012);
    n->load_swing = uniform(n, 0.1, 0.3);
    n->saturates = rig_uniform(&n->seed) < 0.3 ? 0.5 : 0;
    n->level = log(uniform(n, 85, 170));
    n->load = 1;
    n->seconds = 5400;
    double containers = exp(uniform(n, log(20), log(200)));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, kind) != 0)
            continue;
        populate(n, (unsigned)containers);
        kinds[i].make(n);
        return true;
    }
    return false;
}

/* ---- a second ---- */

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
        w->until = n->second + 5 + uniform(n, 0.3, 1.7) * (w->on ? w->on_s : w->off_s);
    }
    return w->on;
}

static double jvm(struct node_hour *n, struct worker *w)
{
    if (rig_uniform(&n->seed) < 0.02)
        w->own = uniform(n, 1, 3);
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
    n->level += n->level_walk * normal(n);
    n->load += 0.005 * (1 - n->load) + n->load_swing * 0.1 * normal(n);
    n->load = fmin(2.5, fmax(0.2, n->load));
    if (rig_uniform(&n->seed) < n->steps_per_hour / 3600)
        n->outside = n->outside > 0 && rig_uniform(&n->seed) < 0.6
                         ? 0
                         : uniform(n, n->step_least, n->step_most);
}

static void move_workers(struct node_hour *n)
{
    double others = 0, slower = n->outside;
    for (unsigned i = 0; i < n->n; i++)
        slower += n->worker[i].class == W_WAITS ? 0 : n->worker[i].caused;
    for (unsigned i = 0; i < n->n; i++) {
        struct worker *w = &n->worker[i];
        double x = worker_is_live(n, w) ? activity(n, w, others, slower) : 0;
        double uses = x, jitter = 1 + w->jitter * normal(n);
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
    n->host = 0.15 * (1 + 0.2 * normal(n));
    if (n->host_follows) {
        bool on = n->worker[n->host_follows - 1].recent[0] > 0.5;
        n->host += on ? 1 + 0.03 * normal(n) : 0;
        effect += on ? n->host_effect : 0;
    }
    if (n->saturates > 0) /* near the limit the last ones cost more */
        effect *= 1 + n->saturates * effect;
    n->ar_state = n->ar * n->ar_state + sqrt(1 - n->ar * n->ar) * normal(n);
    double noise = n->noise * n->ar_state;
    if (rig_uniform(&n->seed) < n->outlier)
        noise += uniform(n, 0.05, 0.4);
    n->host = fmax(0, n->host);
    n->latency_ns = exp(n->level + background(n) + effect + noise);
    if (rig_uniform(&n->seed) < 0.015 || (n->second >= n->silent_from && n->second < n->silent_to))
        n->latency_ns = NAN;
}
