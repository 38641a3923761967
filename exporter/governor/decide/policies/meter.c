#include "exporter/governor/decide/policies/meter.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps without a slowdown in which a container may still be waiting. */
enum { SILENT_STEPS = 3 };

struct app {
    char path[CLAIM_PATH_MAX];
    bool seen, measured; /* in this step; 'measured': it has a reading */
    bool had;            /* a slowdown, once */
    unsigned silent;     /* steps since then */
    struct view_loss loss;
    double reads;
    struct meter_reading reading;
};

struct meter {
    double step_seconds, ends;
    bool started;
    enum view_model model;
    struct app *apps; /* CLAIMS_MAX */
    size_t n;
};

int meter_new(double step_seconds, enum view_model model, struct meter **out)
{
    struct meter *meter = calloc(1, sizeof *meter);
    if (!meter)
        return -ENOMEM;
    meter->step_seconds = step_seconds;
    meter->model = model;
    meter->apps = calloc(CLAIMS_MAX, sizeof *meter->apps);
    if (!meter->apps) {
        free(meter);
        return -ENOMEM;
    }
    *out = meter;
    return 0;
}

void meter_free(struct meter *meter)
{
    if (!meter)
        return;
    free(meter->apps);
    free(meter);
}

/* ---- a step ---- */

static struct app *find(const struct meter *meter, const char *path)
{
    for (size_t i = 0; i < meter->n; i++)
        if (strcmp(meter->apps[i].path, path) == 0)
            return &meter->apps[i];
    return NULL;
}

static struct app *add(struct meter *meter, const char *path)
{
    if (meter->n == CLAIMS_MAX || strlen(path) >= CLAIM_PATH_MAX)
        return NULL;
    struct app *app = &meter->apps[meter->n++];
    *app = (struct app){.seen = false};
    strcpy(app->path, path);
    return app;
}

static void read_step(struct app *app, const struct view_loss *loss, double reads)
{
    struct meter_reading *reading = &app->reading;
    *reading = (struct meter_reading){.reads = view_grown(app->reads, reads),
                                      .observed = view_grown(app->loss.observed, loss->observed)};
    reading->known = control_loss(reading->observed, view_grown(app->loss.memory, loss->memory),
                                  view_grown(app->loss.cache, loss->cache), &reading->loss);
    app->had |= reading->known;
    app->silent = reading->known ? 0 : app->silent + 1;
    reading->waits = app->had && app->silent <= SILENT_STEPS;
}

static void end_step(struct meter *meter, const struct policy_tick *tick,
                     const struct view_container *container)
{
    const struct view_loss *loss = &container->losses[meter->model];
    struct app *app = find(meter, container->path);
    bool is_new = !app;
    if (is_new)
        app = add(meter, container->path);
    if (!app) {
        enforcer_leave_out(tick->enforcer);
        return;
    }
    app->seen = true;
    app->measured = !is_new;
    if (!is_new)
        read_step(app, loss, container->memory_reads);
    app->loss = *loss;
    app->reads = container->memory_reads;
}

bool meter_tick(struct meter *meter, const struct policy_tick *tick)
{
    if (meter->started && tick->now < meter->ends)
        return false;
    bool first = !meter->started;
    meter->started = true;
    meter->ends = tick->now + meter->step_seconds - tick->interval / 2;
    for (size_t i = 0; i < meter->n; i++)
        meter->apps[i].seen = false;
    for (size_t i = 0; i < tick->n; i++)
        if (tick->governed[i].class != CLASS_NONE)
            end_step(meter, tick, tick->governed[i].container);
    for (size_t i = meter->n; i-- > 0;)
        if (!meter->apps[i].seen)
            meter->apps[i] = meter->apps[--meter->n];
    return !first;
}

const struct meter_reading *meter_find(const struct meter *meter, const char *path)
{
    const struct app *app = find(meter, path);
    return app && app->measured ? &app->reading : NULL;
}

/* ---- who is worst off ---- */

static void compare(const struct meter_reading *reading, const struct view_container *container,
                    double bound, struct meter_worst *worst)
{
    struct control_loss loss = {.slowdown = 1};
    if (reading->known)
        loss = reading->loss;
    else if (reading->waits)
        return; /* it may be waiting, and how much is not known */
    double ratio = loss.slowdown / bound;
    if (ratio <= worst->ratio)
        return;
    worst->ratio = ratio;
    worst->slowdown = loss.slowdown;
    worst->bound = bound;
    worst->loss = loss;
    view_name(container, worst->cause);
}

void meter_protected(const struct meter *meter, const struct config *config,
                     const struct policy_tick *tick, struct meter_worst *out)
{
    *out = (struct meter_worst){.ratio = NAN, .slowdown = NAN, .bound = NAN};
    for (size_t i = 0; i < tick->n; i++) {
        const struct governed *governed = &tick->governed[i];
        if (!config_is_protected(config, governed->class))
            continue;
        double bound = config->classes[governed->class].slowdown_bound;
        const struct app *app = find(meter, governed->container->path);
        if (!(bound > 0) || !app || !app->measured || !app->had)
            continue;
        out->any = true;
        compare(&app->reading, governed->container, bound, out);
    }
}
