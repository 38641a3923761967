#include "exporter/governor/view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAMILY "interference_container_"

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* A whole number of at least 0 that a double holds exactly, or 0. */
static uint64_t whole_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    double number = json_number_value(value);
    if (json_is_integer(value))
        return json_integer_value(value) > 0 ? (uint64_t)json_integer_value(value) : 0;
    return number >= 1 && number < 0x1p53 && floor(number) == number ? (uint64_t)number : 0;
}

/* Seconds as nanoseconds; 0 for what is none, or beyond a thousand years. */
static uint64_t nanoseconds_of(const json_t *object, const char *name)
{
    double seconds = json_number_value(json_object_get(object, name));
    return seconds > 0 && seconds < 3e10 / 4 ? (uint64_t)llround(seconds * 1e9) : 0;
}

/* A value by itself, or the first of a list with labels; NaN unless it is a finite number >= 0. */
static double number_of(const json_t *values, const char *name)
{
    const json_t *value = json_object_get(values, name);
    if (json_is_array(value))
        value = json_object_get(json_array_get(value, 0), "value");
    double number = json_number_value(value);
    return json_is_number(value) && number >= 0 && isfinite(number) ? number : NAN;
}

static double positive_of(const json_t *values, const char *name)
{
    double number = number_of(values, name);
    return number > 0 ? number : NAN;
}

static void read_container(const json_t *item, struct view_container *out)
{
    const json_t *values = json_object_get(item, "values");
    const json_t *info =
        json_object_get(json_array_get(json_object_get(values, FAMILY "info"), 0), "labels");
    *out = (struct view_container){
        .container_id = text_of(item, "container_id"),
        .namespace_ = text_of(item, "namespace"),
        .pod = text_of(item, "pod"),
        .container = text_of(item, "container"),
        .path = text_of(info, "id"),
        .qos_class = text_of(info, "qos_class"),
        .cgroup_id = whole_of(item, "cgroup_id"),
        .latency_seconds = positive_of(values, FAMILY "memory_read_latency_seconds"),
        .baseline_seconds = positive_of(values, FAMILY "memory_read_latency_baseline_seconds"),
        .memory_reads = number_of(values, FAMILY "memory_reads_total"),
    };
}

static void read_tick(const json_t *root, struct view *view)
{
    const json_t *tick = json_object_get(root, "tick");
    view->tick = whole_of(tick, "number");
    view->monotonic_ns = nanoseconds_of(tick, "monotonic_seconds");
    view->interval_ns = nanoseconds_of(tick, "interval_seconds");
    view->has_tick = view->tick && view->monotonic_ns && view->interval_ns;
}

static int read_containers(const json_t *list, struct view *view)
{
    view->n = json_array_size(list);
    if (view->n > VIEW_CONTAINERS_MAX)
        return -E2BIG;
    view->containers = calloc(view->n + 1, sizeof *view->containers);
    if (!view->containers)
        return -ENOMEM;
    for (size_t i = 0; i < view->n; i++)
        read_container(json_array_get(list, i), &view->containers[i]);
    return 0;
}

int view_parse(const char *text, size_t len, struct view *out, char *error, size_t error_size)
{
    json_error_t where;
    struct view view = {.root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where)};
    if (!view.root) {
        bool memory = json_error_code(&where) == json_error_out_of_memory;
        snprintf(error, error_size, "no JSON: byte %d: %.*s", where.position,
                 (int)strcspn(where.text, "\r\n"), where.text);
        return memory ? -ENOMEM : -EINVAL;
    }
    const json_t *list = json_object_get(view.root, "containers");
    if (!json_is_array(list)) {
        snprintf(error, error_size, "no list of containers");
        json_decref(view.root);
        return -EINVAL;
    }
    view.source = text_of(view.root, "source");
    view.replay_ended = json_is_true(json_object_get(view.root, "replay_ended"));
    read_tick(view.root, &view);
    int err = read_containers(list, &view);
    if (err) {
        snprintf(error, error_size, "%s", err == -E2BIG ? "too many containers" : strerror(-err));
        view_release(&view);
        return err;
    }
    *out = view;
    return 0;
}

void view_release(struct view *view)
{
    free(view->containers);
    json_decref(view->root);
    *view = (struct view){0};
}
