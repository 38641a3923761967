#include "tests/attribution/node_hour.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/attribution_rig.h"

static const double ever = 1e9;

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
            w = add(n, owner, DEPLOYMENT, W_SERVICE, node_hour_uniform(n, 0.05, 1.2));
        else if (r < 0.50)
            w = add(n, owner, DEPLOYMENT, W_STEADY, node_hour_uniform(n, 0.02, 0.7));
        else if (r < 0.62) {
            w = add(n, owner, DEPLOYMENT, W_SWITCHES, node_hour_uniform(n, 0.2, 1.5));
            w->on_s = exp(node_hour_uniform(n, log(8), log(300)));
            w->off_s = exp(node_hour_uniform(n, log(20), log(600)));
        } else if (r < 0.74)
            w = add(n, owner, STATEFULSET, W_JVM, node_hour_uniform(n, 0.1, 0.8));
        else if (r < 0.80)
            w = add(n, owner, DEPLOYMENT, W_WAITS, node_hour_uniform(n, 0.2, 1.0));
        else if (r < 0.84)
            w = add(n, owner, DAEMONSET, W_SHIPPER, 0.02);
        else
            w = add(n, owner, DAEMONSET, W_IDLE, 0.003);
        w->effect = w->class == W_IDLE ? 0 : node_hour_uniform(n, 0, 0.006);
        w->jitter = node_hour_uniform(n, 0.02, 0.15);
    }
    /* A job every few minutes. */
    for (double at = node_hour_uniform(n, 20, 200); at < 5400; at += 300) {
        struct worker *w = add(n, "tidy", CRONJOB, W_PLAN, 0);
        if (!w)
            return;
        w->comes = at;
        w->goes = at + node_hour_uniform(n, 10, 40);
        w->plan[w->plans++] = (struct plan){at, w->goes, node_hour_uniform(n, 0.3, 0.9), 0};
        w->effect = 0.006;
    }
}

static struct worker *deploy(struct node_hour *n, const char *owner, double at, double level,
                             double effect)
{
    struct worker *w = add(n, owner, DEPLOYMENT, W_PLAN, 0);
    if (!w)
        return NULL;
    double starts = at + node_hour_uniform(n, 0, 3);
    w->comes = at;
    w->effect = effect / level;
    w->jitter = 0.04;
    w->plan[w->plans++] = (struct plan){starts, ever, level, rig_uniform(&n->seed) < 0.3 ? 8 : 0};
    return w;
}

/* Others come, and what they replace goes: twenty an hour. */
static void deployments(struct node_hour *n)
{
    for (unsigned i = 0; i < 20; i++) {
        char owner[32];
        snprintf(owner, sizeof owner, "api-%u", i % 7);
        struct worker *w =
            deploy(n, owner, node_hour_uniform(n, 30, 3570), node_hour_uniform(n, 0.1, 1.5), 0);
        if (!w)
            return;
        w->effect = node_hour_uniform(n, 0, 0.01);
        w->class = rig_uniform(&n->seed) < 0.3 ? W_PLAN : W_STEADY;
        w->level = w->plan[0].level;
        if (rig_uniform(&n->seed) < 0.6)
            w->goes = w->comes + node_hour_uniform(n, 60, 1500);
    }
}

static double some_time(struct node_hour *n)
{
    return floor(node_hour_uniform(n, 600, 1500));
}

static void steps_outside(struct node_hour *n)
{
    n->steps_per_hour = node_hour_uniform(n, 4, 12);
    n->step_least = 0.05;
    n->step_most = 0.3;
}

/* ---- kinds ---- */

static void new_pod(struct node_hour *n)
{
    n->onset = some_time(n);
    deploy(n, "report", n->onset, node_hour_uniform(n, 0.8, 3), log1p(n->percent / 100));
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
    deployments(n);
    new_pod(n);
}

static void drain(struct node_hour *n)
{
    n->onset = some_time(n);
    for (unsigned i = 0; i < 6; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "moved-%u", i);
        struct worker *w = deploy(n, owner, n->onset + node_hour_uniform(n, 0, 3),
                                  node_hour_uniform(n, 0.5, 2), 0.001);
        w->effect = i ? node_hour_uniform(n, 0, 0.01) : log(1.3) / w->plan[0].level;
    }
}

static void outside_and_pod(struct node_hour *n)
{
    steps_outside(n);
    new_pod(n);
}

static void backup(struct node_hour *n)
{
    n->onset = some_time(n);
    struct worker *w = add(n, "backup", CRONJOB, W_PLAN, 0);
    w->comes = n->onset;
    w->goes = n->onset + node_hour_uniform(n, 600, 1200);
    w->plan[w->plans++] = (struct plan){n->onset, w->goes, 1.2, 0};
    w->effect = log(1.3) / 1.2;
}

static void minute_job(struct node_hour *n)
{
    double phase = node_hour_uniform(n, 0, 60), seconds = node_hour_uniform(n, 15, 30);
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

static struct worker *switching(struct node_hour *n, const char *owner)
{
    struct worker *w = add(n, owner, DEPLOYMENT, W_SWITCHES, 1);
    w->on_s = 30;
    w->off_s = 40;
    return w;
}

static void on_off(struct node_hour *n)
{
    switching(n, "batch")->effect = log(1.2);
    n->onset = 60;
}

static void chain(struct node_hour *n)
{
    struct worker *front = add(n, "front", DEPLOYMENT, W_SERVICE, 1.2);
    unsigned leader = n->n - 1;
    front->jitter = 0.05;
    n->load_swing = 0.6;
    for (unsigned i = 0; i < 3; i++) {
        char owner[16];
        snprintf(owner, sizeof owner, "back-%u", i);
        struct worker *w = add(n, owner, DEPLOYMENT, W_FOLLOWS, node_hour_uniform(n, 0.4, 1.4));
        w->leader = leader;
        w->share = 1;
    }
    struct worker *w = add(n, "analytics", DEPLOYMENT, W_FOLLOWS, 2);
    w->leader = leader;
    w->share = 1;
    w->effect = log1p(n->percent / 100) / 2;
    if (w->effect == 0)
        steps_outside(n);
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
    new_pod(n);
    deploy(n, "train", n->onset + node_hour_uniform(n, 300, 1200), 2, log(1.2));
}

static void hog_leaves(struct node_hour *n)
{
    n->onset = some_time(n);
    struct worker *w = deploy(n, "report", n->onset, 1.5, log(1.3));
    w->goes = n->onset + 1200;
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

static void outside_deploys(struct node_hour *n)
{
    steps_outside(n);
    deployments(n);
}

static void drift(struct node_hour *n)
{
    n->level_walk = 0.003;
    n->load_swing = 0.8;
}

/* ---- framing (CONTROL D) ---- */

static void frame(struct node_hour *n)
{
    switching(n, "innocent");
    struct worker *w = add(n, "spinner", DEPLOYMENT, W_FOLLOWS, 1);
    w->leader = n->n - 2;
    w->share = n->percent / 100;
    w->constant = true;
    w->jitter = 0.01;
    w->effect = log(1.2);
    n->onset = 60;
}

static void frame_behind(struct node_hour *n)
{
    double lag = rig_uniform(&n->seed) < 0.5 ? 1 : 2;
    frame(n);
    n->worker[n->n - 1].lag = lag;
}

static void frame_host(struct node_hour *n)
{
    switching(n, "innocent");
    n->host_follows = n->n;
    n->host_effect = log(1.2);
}

/* ---- hours ---- */

static void point(struct node_hour *n, double second, double level)
{
    n->background[n->points++] = (struct point){second, level};
}

/* The background falls, as at night, and rises again, while the hog stays. */
static void night(struct node_hour *n)
{
    new_pod(n);
    n->level_walk = 0.0002;
    double fall = node_hour_uniform(n, 0.10, 0.20);
    point(n, 5400, 0);
    point(n, 5400 + 10800, -fall);
    point(n, 5400 + 14400, -fall);
    point(n, 5400 + 21600, 0);
    n->seconds = 8 * 3600;
}

/* What is from outside goes up and down all the time, by as much as the hog does. */
static void restless(struct node_hour *n)
{
    new_pod(n);
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
    double idle = node_hour_uniform(n, 120, 500);
    point(n, idle, -0.26);
    point(n, idle + 20, 0);
    n->seconds = 4 * 3600;
}

/* One begins with a step from outside, which ends; hours later somebody else makes memory slow. */
static void borrowed(struct node_hour *n)
{
    double at = some_time(n);
    n->scripted =
        (struct plan){at, at + node_hour_uniform(n, 600, 1500), node_hour_uniform(n, 0.15, 0.3), 0};
    n->onset = at + 5400;
    struct worker *w = deploy(n, "innocent", at, node_hour_uniform(n, 0.8, 2), 0.001);
    w->plan[0].from = at;
    w->plan[0].ramp = 0;
    deploy(n, "report", n->onset, node_hour_uniform(n, 0.8, 3), log(1.3));
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
    w->stops_hurting = n->onset + node_hour_uniform(n, 600, 1200);
}

static const struct {
    const char *name;
    void (*make)(struct node_hour *node); /* NULL: nothing is beside the usual */
    double percent;                       /* see node_hour.h */
} kinds[] = {
    {"new-pod-15", new_pod, 15},
    {"new-pod-30", new_pod, 30},
    {"new-pod-60", new_pod, 60},
    {"step-up", step_up, 0},
    {"rolling", rolling, 30},
    {"drain", drain, 0},
    {"outside-and-pod", outside_and_pod, 30},
    {"backup", backup, 0},
    {"minute-job", minute_job, 0},
    {"on-off", on_off, 0},
    {"chain", chain, 30},
    {"two-hogs", two_hogs, 30},
    {"hog-leaves", hog_leaves, 0},
    {"always-on", always_on, 0},
    {"ramp", ramp, 0},
    {"phase", phase, 0},
    {"quiet", NULL, 0},
    {"deploys", deployments, 0},
    {"waiters", waiters, 0},
    {"outside", steps_outside, 0},
    {"outside-deploys", outside_deploys, 0},
    {"drift", drift, 0},
    {"chain-quiet", chain, 0},
    {"frame-step", frame, 100},
    {"frame-80", frame, 80},
    {"frame-behind", frame_behind, 100},
    {"frame-host", frame_host, 0},
    {"night-15", night, 15},
    {"night-30", night, 30},
    {"restless-15", restless, 15},
    {"day", day, 0},
    {"boot", boot, 0},
    {"borrowed", borrowed, 0},
    {"gap", gap, 0},
    {"computes-then", computes_then, 0},
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
    n->noise = node_hour_uniform(n, 0.02, 0.04);
    n->ar = node_hour_uniform(n, 0, 0.5);
    n->outlier = node_hour_uniform(n, 0, 0.02);
    n->level_walk = node_hour_uniform(n, 0.0002, 0.0012);
    n->load_swing = node_hour_uniform(n, 0.1, 0.3);
    n->saturates = rig_uniform(&n->seed) < 0.3 ? 0.5 : 0;
    n->level = log(node_hour_uniform(n, 85, 170));
    n->load = 1;
    n->seconds = 5400;
    double containers = exp(node_hour_uniform(n, log(20), log(200)));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, kind) != 0)
            continue;
        populate(n, (unsigned)containers);
        n->percent = kinds[i].percent;
        if (kinds[i].make)
            kinds[i].make(n);
        return true;
    }
    return false;
}
