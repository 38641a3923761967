#include "collectors/attribution/lanes/elsewhere.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/json/file.h"

static const double least = 0.01, most = 0.5;
static const char separator = '\x1f';
enum { LOOK_TICKS = 600 };

static int refuse(char *error, size_t error_size, const char *why)
{
    snprintf(error, error_size, "%s", why);
    return -EINVAL;
}

/* [time, "value"], as Prometheus writes a sample. */
static double value_of(const json_t *sample)
{
    const char *text = json_string_value(json_array_get(json_object_get(sample, "value"), 1));
    char *end;
    double value = text && text[0] ? strtod(text, &end) : NAN;
    return text && text[0] && *end == 0 && value >= 0 && value <= 1 ? value : NAN;
}

static int parse_sample(const json_t *sample, struct elsewhere_workload *out, char *error,
                        size_t error_size)
{
    const json_t *labels = json_object_get(sample, "metric");
    const char *namespace_ = json_string_value(json_object_get(labels, "namespace"));
    const char *workload = json_string_value(json_object_get(labels, "workload"));
    double value = value_of(sample);
    if (!workload || !workload[0])
        return refuse(error, error_size, "no label \"workload\"");
    if (isnan(value))
        return refuse(error, error_size, "its value is no probability, 0 to 1");
    /* Prometheus leaves out a label that is empty, as outside Kubernetes. */
    size_t size = (namespace_ ? strlen(namespace_) : 0) + strlen(workload) + 2;
    out->name = malloc(size);
    if (!out->name) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    snprintf(out->name, size, "%s%c%s", namespace_ ? namespace_ : "", separator, workload);
    out->probability = fmin(most, fmax(least, value));
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct elsewhere_workload *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->probability > y->probability) - (x->probability < y->probability);
}

/* Sorted: the first of equal ones is the lowest. */
static void drop_repeated(struct elsewhere *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (kept > 0 && strcmp(list->at[kept - 1].name, list->at[i].name) == 0)
            free(list->at[i].name);
        else
            list->at[kept++] = list->at[i];
    }
    list->n = kept;
}

static int parse_answer(const json_t *root, struct elsewhere *list, char *error, size_t error_size)
{
    const json_t *data = json_object_get(root, "data"), *result = json_object_get(data, "result");
    const char *type = json_string_value(json_object_get(data, "resultType"));
    if (!json_is_array(result) || !type || strcmp(type, "vector") != 0)
        return refuse(error, error_size, "not an answer of Prometheus' API with a vector");
    size_t n = json_array_size(result);
    list->at = calloc(n ? n : 1, sizeof *list->at);
    if (!list->at) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    for (; list->n < n; list->n++) {
        char why[64];
        int err =
            parse_sample(json_array_get(result, list->n), &list->at[list->n], why, sizeof why);
        if (err) {
            snprintf(error, error_size, "sample %zu: %s", list->n + 1, why);
            return err;
        }
    }
    qsort(list->at, list->n, sizeof *list->at, by_name);
    drop_repeated(list);
    return 0;
}

int elsewhere_parse(const char *text, size_t len, struct elsewhere *out, char *error,
                    size_t error_size)
{
    json_t *root;
    struct elsewhere list = {0};
    int err = json_file_parse(text, len, &root, error, error_size);
    if (err)
        return err;
    err = parse_answer(root, &list, error, error_size);
    json_decref(root);
    if (err)
        elsewhere_release(&list);
    else
        *out = list;
    return err;
}

static int read_text(void *out, const char *text, size_t len, char *error, size_t error_size)
{
    return elsewhere_parse(text, len, out, error, error_size);
}

int elsewhere_load(const char *path, struct elsewhere *inout, char *error, size_t error_size)
{
    struct elsewhere loaded = {0};
    int err = json_file_load(path, read_text, &loaded, error, error_size);
    if (err)
        return err;
    elsewhere_release(inout);
    *inout = loaded;
    return 0;
}

void elsewhere_release(struct elsewhere *elsewhere)
{
    for (size_t i = 0; i < elsewhere->n; i++)
        free(elsewhere->at[i].name);
    free(elsewhere->at);
    *elsewhere = (struct elsewhere){0};
}

double elsewhere_find(const struct elsewhere *elsewhere, const char *key)
{
    const char *owner = strchr(key, separator), *end = owner ? strchr(owner + 1, separator) : NULL;
    size_t len = end ? (size_t)(end - key) : strlen(key), low = 0, high = elsewhere->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *name = elsewhere->at[middle].name;
        int order = strncmp(name, key, len);
        if (order == 0)
            order = name[len] ? 1 : 0;
        if (order == 0)
            return elsewhere->at[middle].probability;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NAN;
}

void elsewhere_file_look(struct elsewhere_file *file, const struct log *log)
{
    char error[256];
    if (!file->path || file->ticks > 0)
        return;
    file->ticks = 1;
    bool failed = elsewhere_load(file->path, &file->found, error, sizeof error) != 0;
    if (failed && !file->failed)
        log_warn(log, "attribution", "no news of other nodes: %s", error);
    else if (!failed && file->failed)
        log_info(log, "attribution", "%zu workloads in %s", file->found.n, file->path);
    file->failed = failed;
}

bool elsewhere_file_is_due(struct elsewhere_file *file)
{
    bool due = file->path && ++file->ticks > LOOK_TICKS;
    file->ticks = due ? 0 : file->ticks;
    return due;
}
