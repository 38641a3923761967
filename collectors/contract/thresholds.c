#include "collectors/contract/thresholds.h"

#include <errno.h>
#include <fnmatch.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "exporter/json/file.h"

/* A memory read takes nanoseconds; a number above this was meant in another unit. */
static const double latency_max_seconds = 1.0;
/* None is slower than that, and none at 1. */
static const double slowdown_min = 1.0, slowdown_max = 100.0;

/* ---- one entry ---- */

/* A key that is not understood would silently widen what the entry matches. */
static int check_keys(json_t *entry, char *error, size_t error_size)
{
    static const char *const known[] = {"namespace", "pod", "container", "latency_seconds",
                                        "slowdown_ratio"};
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(key, known[i]) != 0)
            i++;
        if (i < sizeof known / sizeof *known)
            continue;
        char start[24];
        struct textbuf buf;
        snprintf(start, sizeof start, "%s", key);
        textbuf_init_fixed(&buf, error, error_size);
        textbuf_str(&buf, "unknown key ");
        textbuf_quoted(&buf, start);
        return -EINVAL;
    }
    return 0;
}

static int take_glob(json_t *entry, const char *key, char **out, char *error, size_t error_size)
{
    json_t *value = json_object_get(entry, key);
    if (value && !json_is_string(value)) {
        snprintf(error, error_size, "\"%s\" is not a string", key);
        return -EINVAL;
    }
    *out = strdup(value ? json_string_value(value) : "*");
    if (!*out) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    return 0;
}

static int take_latency(json_t *entry, double *out, char *error, size_t error_size)
{
    json_t *value = json_object_get(entry, "latency_seconds");
    double seconds = json_number_value(value); /* 0 for what is no number */
    if (!value || (seconds > 0 && seconds <= latency_max_seconds)) {
        *out = seconds;
        return 0;
    }
    if (!json_is_number(value))
        snprintf(error, error_size, "\"latency_seconds\" is not a number");
    else
        snprintf(error, error_size,
                 "\"latency_seconds\" is %g; it must be above 0 and at most 1 (200 ns is 2e-7)",
                 seconds);
    return -EINVAL;
}

static int take_slowdown(json_t *entry, double *out, char *error, size_t error_size)
{
    json_t *value = json_object_get(entry, "slowdown_ratio");
    double ratio = json_number_value(value);
    if (!value || (ratio > slowdown_min && ratio <= slowdown_max)) {
        *out = ratio;
        return 0;
    }
    if (!json_is_number(value))
        snprintf(error, error_size, "\"slowdown_ratio\" is not a number");
    else
        snprintf(
            error, error_size,
            "\"slowdown_ratio\" is %g; it must be above 1 and at most 100 (2 is twice as long)",
            ratio);
    return -EINVAL;
}

static int parse_entry(json_t *entry, struct threshold *out, char *error, size_t error_size)
{
    if (!json_is_object(entry)) {
        snprintf(error, error_size, "not an object");
        return -EINVAL;
    }
    int err = check_keys(entry, error, error_size);
    if (!err)
        err = take_glob(entry, "namespace", &out->namespace_, error, error_size);
    if (!err)
        err = take_glob(entry, "pod", &out->pod, error, error_size);
    if (!err)
        err = take_glob(entry, "container", &out->container, error, error_size);
    if (!err)
        err = take_latency(entry, &out->latency_seconds, error, error_size);
    if (!err)
        err = take_slowdown(entry, &out->slowdown_ratio, error, error_size);
    if (!err && out->latency_seconds == 0 && out->slowdown_ratio == 0) {
        snprintf(error, error_size, "\"latency_seconds\" or \"slowdown_ratio\" is missing");
        err = -EINVAL;
    }
    return err;
}

/* ---- the list ---- */

static int parse_list(json_t *root, struct thresholds *list, char *error, size_t error_size)
{
    if (!json_is_array(root)) {
        snprintf(error, error_size, "not a list of thresholds");
        return -EINVAL;
    }
    size_t n = json_array_size(root);
    list->at = calloc(n ? n : 1, sizeof *list->at);
    if (!list->at) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    for (; list->n < n; list->n++) {
        char why[160];
        struct threshold *entry = &list->at[list->n];
        int err = parse_entry(json_array_get(root, list->n), entry, why, sizeof why);
        if (err) {
            snprintf(error, error_size, "entry %zu: %s", list->n + 1, why);
            list->n++; /* half-built, to be released */
            return err;
        }
    }
    return 0;
}

int thresholds_parse(const char *text, size_t len, struct thresholds *out, char *error,
                     size_t error_size)
{
    json_t *root;
    int err = json_file_parse(text, len, &root, error, error_size);
    if (err)
        return err;
    struct thresholds list = {0};
    err = parse_list(root, &list, error, error_size);
    json_decref(root);
    if (err)
        thresholds_release(&list);
    else
        *out = list;
    return err;
}

static int parse_file(void *out, const char *text, size_t len, char *error, size_t error_size)
{
    return thresholds_parse(text, len, out, error, error_size);
}

int thresholds_load(const char *path, struct thresholds *inout, char *error, size_t error_size)
{
    struct thresholds fresh;
    int err = json_file_load(path, parse_file, &fresh, error, error_size);
    if (err)
        return err;
    fresh.version = inout->version + 1;
    thresholds_release(inout);
    *inout = fresh;
    return 0;
}

void thresholds_release(struct thresholds *thresholds)
{
    for (size_t i = 0; i < thresholds->n; i++) {
        free(thresholds->at[i].namespace_);
        free(thresholds->at[i].pod);
        free(thresholds->at[i].container);
    }
    free(thresholds->at);
    *thresholds = (struct thresholds){0};
}

static bool matches(const struct threshold *entry, const char *namespace_, const char *pod,
                    const char *container)
{
    return fnmatch(entry->namespace_, namespace_, 0) == 0 && fnmatch(entry->pod, pod, 0) == 0 &&
           fnmatch(entry->container, container, 0) == 0;
}

bool thresholds_find(const struct thresholds *thresholds, const char *namespace_, const char *pod,
                     const char *container, double *latency_seconds)
{
    for (size_t i = 0; i < thresholds->n; i++) {
        const struct threshold *entry = &thresholds->at[i];
        if (entry->latency_seconds > 0 && matches(entry, namespace_, pod, container)) {
            *latency_seconds = entry->latency_seconds;
            return true;
        }
    }
    return false;
}

bool thresholds_find_slowdown(const struct thresholds *thresholds, const char *namespace_,
                              const char *pod, const char *container, double *ratio)
{
    for (size_t i = 0; i < thresholds->n; i++) {
        const struct threshold *entry = &thresholds->at[i];
        if (entry->slowdown_ratio > 0 && matches(entry, namespace_, pod, container)) {
            *ratio = entry->slowdown_ratio;
            return true;
        }
    }
    return false;
}
