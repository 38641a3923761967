#include "exporter/governor/see/view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/base/hash.h"
#include "exporter/containers/workload.h"
#include "exporter/governor/see/document.h"

#define FAMILY "interference_container_"

/* Reading in progress. */
struct reader {
    struct document document;
    struct view *view;
    int err;
};

/* ---- values with labels ---- */

static double positive(double value)
{
    return value > 0 ? value : NAN;
}

static double not_negative(double value)
{
    return value >= 0 ? value : NAN;
}

struct labelled {
    double value;
    const char *basis, *path, *pod_uid, *qos_class, *model, *resource; /* labels */
};

static void read_labels(struct document *document, struct labelled *out)
{
    static const char *const names[] = {"basis", "id",       "pod_uid", "qos_class",
                                        "model", "resource", NULL};
    const char **texts[] = {&out->basis,     &out->path,  &out->pod_uid,
                            &out->qos_class, &out->model, &out->resource};
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&document->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = document_member(document, names, &seen)) >= 0)
        *texts[i] = document_text(document);
}

static void read_sample(struct document *document, struct labelled *out)
{
    static const char *const names[] = {"labels", "value", NULL};
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&document->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = document_member(document, names, &seen)) >= 0)
        if (i == 0)
            read_labels(document, out);
        else
            out->value = document_number(document);
}

static const struct labelled unlabelled = {.value = NAN,
                                           .basis = "",
                                           .path = "",
                                           .pod_uid = "",
                                           .qos_class = "",
                                           .model = "",
                                           .resource = ""};

/* A value by itself, or the first of a list with labels. */
static struct labelled read_labelled(struct document *document)
{
    struct labelled out = unlabelled;
    if (json_scan_next(&document->scan) != JSON_SCAN_ARRAY) {
        out.value = document_number(document);
        return out;
    }
    json_scan_enter(&document->scan, JSON_SCAN_ARRAY);
    for (size_t n = 0; json_scan_element(&document->scan); n++)
        if (n == 0)
            read_sample(document, &out);
        else
            json_scan_skip(&document->scan);
    return out;
}

/* Of a list with labels, or a value by itself; NaN where one is none. */
static double read_sum(struct document *document)
{
    double sum = NAN;
    if (json_scan_next(&document->scan) != JSON_SCAN_ARRAY)
        return document_number(document);
    json_scan_enter(&document->scan, JSON_SCAN_ARRAY);
    for (size_t n = 0; json_scan_element(&document->scan); n++) {
        struct labelled read = unlabelled;
        read_sample(document, &read);
        sum = n == 0 ? read.value : sum + read.value;
    }
    return sum;
}

/* ---- what was lost to others ---- */

static const char *const model_names[VIEW_MODELS] = {"passive", "shadow"};

static void take_loss(const struct labelled *read, bool observed, struct view_container *out)
{
    double value = not_negative(read->value);
    for (int i = 0; i < VIEW_MODELS; i++) {
        struct view_loss *loss = &out->losses[i];
        if (strcmp(read->model, model_names[i]) != 0)
            continue;
        if (observed)
            loss->observed = value;
        else if (strcmp(read->resource, "memory") == 0)
            loss->memory = value;
        else if (strcmp(read->resource, "cache") == 0)
            loss->cache = value;
    }
}

/* A list with labels; a value by itself is of no model. */
static void read_losses(struct document *document, bool observed, struct view_container *out)
{
    if (json_scan_next(&document->scan) != JSON_SCAN_ARRAY) {
        json_scan_skip(&document->scan);
        return;
    }
    json_scan_enter(&document->scan, JSON_SCAN_ARRAY);
    while (json_scan_element(&document->scan)) {
        struct labelled read = unlabelled;
        read_sample(document, &read);
        take_loss(&read, observed, out);
    }
}

/* ---- containers ---- */

enum value {
    VALUE_INFO,
    VALUE_LATENCY,
    VALUE_BASELINE,
    VALUE_OBSERVED,
    VALUE_LOST,
    VALUE_CAUSED_LATENCY,
    VALUE_CAUSED_WAIT,
    VALUE_COUNTERS, /* and those behind it: plain numbers */
};

static const char *const value_names[] = {
    [VALUE_INFO] = FAMILY "info",
    [VALUE_LATENCY] = FAMILY "memory_read_latency_seconds",
    [VALUE_BASELINE] = FAMILY "memory_read_latency_baseline_seconds",
    [VALUE_OBSERVED] = FAMILY "slowdown_observed_cycles_total",
    [VALUE_LOST] = FAMILY "interference_cycles_total",
    [VALUE_CAUSED_LATENCY] = FAMILY "caused_latency_seconds_total",
    [VALUE_CAUSED_WAIT] = FAMILY "caused_wait_seconds_total",
    [VALUE_COUNTERS] = FAMILY "memory_reads_total",
    FAMILY "llc_reads_total",
    FAMILY "cpu_cycles_total",
    FAMILY "cpu_reference_cycles_total",
    NULL};

static void read_value(struct document *document, enum value value, struct view_container *out)
{
    double *const counters[] = {&out->memory_reads, &out->llc_reads, &out->cycles,
                                &out->reference_cycles};
    if (value == VALUE_OBSERVED || value == VALUE_LOST) {
        read_losses(document, value == VALUE_OBSERVED, out);
        return;
    }
    if (value == VALUE_CAUSED_LATENCY || value == VALUE_CAUSED_WAIT) {
        double *sum =
            value == VALUE_CAUSED_WAIT ? &out->caused_wait_seconds : &out->caused_latency_seconds;
        *sum = not_negative(read_sum(document));
        return;
    }
    struct labelled read = read_labelled(document);
    if (value == VALUE_INFO) {
        out->path = read.path;
        out->pod_uid = read.pod_uid;
        out->qos_class = read.qos_class;
    } else if (value == VALUE_LATENCY) {
        out->latency_seconds = positive(read.value);
    } else if (value >= VALUE_COUNTERS) {
        *counters[value - VALUE_COUNTERS] = not_negative(read.value);
    } else if (strcmp(read.basis, "machine") != 0) { /* a lower bound of what is normal */
        out->baseline_seconds = positive(read.value);
    }
}

static void read_values(struct document *document, struct view_container *out)
{
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&document->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = document_member(document, value_names, &seen)) >= 0)
        read_value(document, (enum value)i, out);
}

static void read_container(struct document *document, struct view_container *out)
{
    enum { TEXTS = 5, NUMBERS = 4, CGROUP = TEXTS + NUMBERS, VALUES };
    static const char *const names[] = {"container_id",
                                        "namespace",
                                        "pod",
                                        "container",
                                        "suspicion",
                                        "cpu_seconds_per_second",
                                        "caused_latency_seconds",
                                        "caused_latency_uncertainty_seconds",
                                        "caused_probability_ratio",
                                        "cgroup_id",
                                        "values",
                                        NULL};
    const char *suspicion = "";
    const char **texts[TEXTS] = {&out->container_id, &out->namespace_, &out->pod, &out->container,
                                 &suspicion};
    double *numbers[NUMBERS] = {&out->cpus, &out->caused_seconds, &out->caused_sd_seconds,
                                &out->probability};
    unsigned seen = 0;
    int i;
    *out = (struct view_container){.container_id = "",
                                   .namespace_ = "",
                                   .pod = "",
                                   .container = "",
                                   .path = "",
                                   .pod_uid = "",
                                   .qos_class = "",
                                   .latency_seconds = NAN,
                                   .baseline_seconds = NAN,
                                   .memory_reads = NAN,
                                   .llc_reads = NAN,
                                   .cycles = NAN,
                                   .reference_cycles = NAN,
                                   .caused_latency_seconds = NAN,
                                   .caused_wait_seconds = NAN,
                                   .cpus = NAN,
                                   .caused_seconds = NAN,
                                   .caused_sd_seconds = NAN,
                                   .probability = NAN};
    for (int j = 0; j < VIEW_MODELS; j++)
        out->losses[j] = (struct view_loss){NAN, NAN, NAN};
    if (!json_scan_enter(&document->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = document_member(document, names, &seen)) >= 0)
        if (i < TEXTS)
            *texts[i] = document_text(document);
        else if (i < CGROUP)
            *numbers[i - TEXTS] = not_negative(document_number(document));
        else if (i == CGROUP)
            out->cgroup_id = document_whole(document);
        else
            read_values(document, out);
    out->in_group = strcmp(suspicion, "group") == 0;
    if (strcmp(suspicion, "named") != 0)
        out->caused_seconds = out->caused_sd_seconds = NAN;
}

static void read_containers(struct reader *reader)
{
    struct view *view = reader->view;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_ARRAY)) {
        json_scan_fail(&reader->document.scan, "no list of containers");
        return;
    }
    while (json_scan_element(&reader->document.scan)) {
        reader->err = view->n == VIEW_CONTAINERS_MAX
                          ? -E2BIG
                          : array_reserve(&view->containers, &view->containers_cap, view->n + 1,
                                          sizeof *view->containers);
        if (reader->err) {
            json_scan_fail(&reader->document.scan, "no room");
            return;
        }
        read_container(&reader->document, &view->containers[view->n++]);
    }
}

/* ---- the whole ---- */

static void read_tick(struct reader *reader)
{
    static const char *const names[] = {"number", "monotonic_seconds", "interval_seconds", NULL};
    struct view *view = reader->view;
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return;
    while ((i = document_member(&reader->document, names, &seen)) >= 0)
        if (i == 0)
            view->tick = document_whole(&reader->document);
        else if (i == 1)
            view->monotonic_ns = document_nanoseconds(&reader->document);
        else
            view->interval_ns = document_nanoseconds(&reader->document);
    view->has_tick = view->tick && view->monotonic_ns && view->interval_ns;
}

static void read_root(struct reader *reader)
{
    enum { SOURCE, ENDED, OWN, BASE, TICK, CONTAINERS };
    static const char *const names[] = {
        "source", "replay_ended", "own_cgroup_id", "base_frequency_hz", "tick", "containers", NULL};
    struct view *view = reader->view;
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT)) {
        json_scan_fail(&reader->document.scan, "no object");
        return;
    }
    while ((i = document_member(&reader->document, names, &seen)) >= 0) {
        if (i == SOURCE) {
            view->source = document_text(&reader->document);
        } else if (i == ENDED) {
            view->replay_ended = json_scan_next(&reader->document.scan) == JSON_SCAN_TRUE;
            json_scan_skip(&reader->document.scan);
        } else if (i == OWN) {
            view->own_cgroup = document_whole(&reader->document);
        } else if (i == BASE) {
            view->base_hz = positive(document_number(&reader->document));
        } else if (i == TICK) {
            read_tick(reader);
        } else {
            read_containers(reader);
        }
    }
    if (!(seen & 1u << CONTAINERS))
        json_scan_fail(&reader->document.scan, "no list of containers");
}

/* Nothing said; what was allocated stays. */
static void forget(struct view *view)
{
    *view = (struct view){.source = "",
                          .base_hz = NAN,
                          .containers = view->containers,
                          .texts = view->texts,
                          .texts_cap = view->texts_cap,
                          .containers_cap = view->containers_cap};
}

static int reserve_texts(struct view *view, size_t len)
{
    size_t cap = view->texts_cap ? view->texts_cap : 4096;
    while (cap < len)
        cap *= 2;
    if (cap == view->texts_cap)
        return 0;
    free(view->texts);
    view->texts = malloc(cap);
    view->texts_cap = view->texts ? cap : 0;
    return view->texts ? 0 : -ENOMEM;
}

int view_parse(const char *text, size_t len, struct view *view, char *error, size_t error_size)
{
    struct reader reader = {.view = view};
    const char *why;
    size_t where;
    forget(view);
    int err = reserve_texts(view, len);
    if (err) {
        snprintf(error, error_size, "%s", strerror(-err));
        return err;
    }
    document_init(&reader.document, text, len, view->texts);
    read_root(&reader);
    err = json_scan_finish(&reader.document.scan, &why, &where);
    if (!err)
        return 0;
    forget(view);
    if (reader.err)
        snprintf(error, error_size, "%s",
                 reader.err == -E2BIG ? "too many containers" : strerror(-reader.err));
    else
        snprintf(error, error_size, "byte %zu: %s", where, why);
    return reader.err ? reader.err : err;
}

void view_name(const struct view_container *container, char out[CLAIM_NAME_MAX])
{
    snprintf(out, CLAIM_NAME_MAX, "%s/%s/%s", container->namespace_, container->pod,
             container->container);
}

uint64_t view_key(const struct view_container *container)
{
    uint64_t key = hash_bytes(HASH_START, container->path, strlen(container->path));
    return hash_bytes(key, &container->cgroup_id, sizeof container->cgroup_id);
}

uint64_t view_owner(const struct view_container *container)
{
    const char *name = container->pod[0] ? container->pod : container->container;
    size_t len = workload_owner_len(container->pod, container->container);
    uint64_t key = hash_bytes(HASH_START, container->namespace_, strlen(container->namespace_) + 1);
    if (len == 0) /* it has no names */
        return view_key(container) | 1;
    key = hash_bytes(key, name, len);
    if (container->pod[0])
        key = hash_bytes(key, container->container, strlen(container->container));
    return key | 1;
}

double view_grown(double before, double now)
{
    return now >= before ? now - before : NAN;
}

bool view_is_counted(const struct view *view)
{
    return strcmp(view->source, "perf") == 0 || strcmp(view->source, "bpf") == 0;
}

void view_release(struct view *view)
{
    free(view->containers);
    free(view->texts);
    *view = (struct view){0};
}
