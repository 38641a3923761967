#include "exporter/governor/view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/json/scan.h"

#define FAMILY "interference_container_"

/* Reading in progress. */
struct reader {
    struct json_scan scan;
    struct view *view;
    size_t texts_len;
    int err;
};

/* ---- members ---- */

/* The index of the name among 'names', ended by NULL; -1 where there is none. A name of these that
 * stands twice is an error: who writes that means one of two things. */
static int member_of(struct reader *reader, struct json_span name, const char *const *names,
                     unsigned *seen)
{
    if (memchr(name.at, '\\', name.len)) {
        json_scan_fail(&reader->scan, "a name with an escape");
        return -1;
    }
    for (int i = 0; names[i]; i++) {
        if (!json_span_is(name, names[i]))
            continue;
        if (*seen & 1u << i)
            json_scan_fail(&reader->scan, "a name that stands twice");
        *seen |= 1u << i;
        return i;
    }
    return -1;
}

/* The next member that is known; others are stepped over. Negative behind the last one. */
static int next_member(struct reader *reader, const char *const *names, unsigned *seen)
{
    struct json_span name;
    while (json_scan_member(&reader->scan, &name)) {
        int i = member_of(reader, name, names, seen);
        if (i >= 0)
            return i;
        json_scan_skip(&reader->scan);
    }
    return -1;
}

/* ---- values ---- */

/* "" for what is no string. There is room: all texts together are shorter than the document. */
static const char *read_text(struct reader *reader)
{
    char *text = reader->view->texts + reader->texts_len;
    if (!json_scan_string(&reader->scan, text))
        return "";
    reader->texts_len += strlen(text) + 1;
    return text;
}

/* NaN for what is no number, or none that a double holds. */
static double double_of(struct json_span number)
{
    char text[64];
    if (number.len >= sizeof text)
        return NAN;
    memcpy(text, number.at, number.len);
    text[number.len] = '\0';
    double value = strtod(text, NULL);
    return isfinite(value) ? value : NAN;
}

static double read_double(struct reader *reader)
{
    struct json_span number;
    return json_scan_number(&reader->scan, &number) ? double_of(number) : NAN;
}

static double positive(double value)
{
    return value > 0 ? value : NAN;
}

static double not_negative(double value)
{
    return value >= 0 ? value : NAN;
}

/* A whole number that a double, or as digits 64 bits, hold exactly, or 0. */
static uint64_t read_whole(struct reader *reader)
{
    struct json_span number;
    uint64_t whole = 0;
    if (!json_scan_number(&reader->scan, &number))
        return 0;
    size_t digits = 0;
    while (digits < number.len && number.at[digits] >= '0' && number.at[digits] <= '9')
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(number.at[digits++] - '0'), &whole))
            return 0;
    if (digits == number.len)
        return whole;
    double value = double_of(number);
    return value >= 1 && value < 0x1p53 && floor(value) == value ? (uint64_t)value : 0;
}

/* Seconds as nanoseconds; 0 for what is none, or beyond a thousand years. */
static uint64_t read_nanoseconds(struct reader *reader)
{
    double seconds = read_double(reader);
    return seconds > 0 && seconds < 3e10 / 4 ? (uint64_t)llround(seconds * 1e9) : 0;
}

/* ---- values with labels ---- */

struct labelled {
    double value;
    const char *basis, *path, *qos_class, *model, *resource; /* labels */
};

static void read_labels(struct reader *reader, struct labelled *out)
{
    static const char *const names[] = {"basis", "id", "qos_class", "model", "resource", NULL};
    const char **texts[] = {&out->basis, &out->path, &out->qos_class, &out->model, &out->resource};
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = next_member(reader, names, &seen)) >= 0)
        *texts[i] = read_text(reader);
}

static void read_sample(struct reader *reader, struct labelled *out)
{
    static const char *const names[] = {"labels", "value", NULL};
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = next_member(reader, names, &seen)) >= 0)
        if (i == 0)
            read_labels(reader, out);
        else
            out->value = read_double(reader);
}

static const struct labelled unlabelled = {
    .value = NAN, .basis = "", .path = "", .qos_class = "", .model = "", .resource = ""};

/* A value by itself, or the first of a list with labels. */
static struct labelled read_labelled(struct reader *reader)
{
    struct labelled out = unlabelled;
    if (json_scan_next(&reader->scan) != JSON_SCAN_ARRAY) {
        out.value = read_double(reader);
        return out;
    }
    json_scan_enter(&reader->scan, JSON_SCAN_ARRAY);
    for (size_t n = 0; json_scan_element(&reader->scan); n++)
        if (n == 0)
            read_sample(reader, &out);
        else
            json_scan_skip(&reader->scan);
    return out;
}

/* Of a list with labels, or a value by itself; NaN where one is none. */
static double read_sum(struct reader *reader)
{
    double sum = NAN;
    if (json_scan_next(&reader->scan) != JSON_SCAN_ARRAY)
        return read_double(reader);
    json_scan_enter(&reader->scan, JSON_SCAN_ARRAY);
    for (size_t n = 0; json_scan_element(&reader->scan); n++) {
        struct labelled read = unlabelled;
        read_sample(reader, &read);
        sum = n == 0 ? read.value : sum + read.value;
    }
    return sum;
}

/* ---- what was lost to others ---- */

static const char *const model_names[VIEW_MODELS] = {"passive", "shadow"};

const char *view_model_name(enum view_model model)
{
    return model_names[model];
}

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
static void read_losses(struct reader *reader, bool observed, struct view_container *out)
{
    if (json_scan_next(&reader->scan) != JSON_SCAN_ARRAY) {
        json_scan_skip(&reader->scan);
        return;
    }
    json_scan_enter(&reader->scan, JSON_SCAN_ARRAY);
    while (json_scan_element(&reader->scan)) {
        struct labelled read = unlabelled;
        read_sample(reader, &read);
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

static void read_value(struct reader *reader, enum value value, struct view_container *out)
{
    double *const counters[] = {&out->memory_reads, &out->llc_reads, &out->cycles,
                                &out->reference_cycles};
    if (value == VALUE_OBSERVED || value == VALUE_LOST) {
        read_losses(reader, value == VALUE_OBSERVED, out);
        return;
    }
    if (value == VALUE_CAUSED_LATENCY || value == VALUE_CAUSED_WAIT) {
        double *sum =
            value == VALUE_CAUSED_WAIT ? &out->caused_wait_seconds : &out->caused_latency_seconds;
        *sum = not_negative(read_sum(reader));
        return;
    }
    struct labelled read = read_labelled(reader);
    if (value == VALUE_INFO) {
        out->path = read.path;
        out->qos_class = read.qos_class;
    } else if (value == VALUE_LATENCY) {
        out->latency_seconds = positive(read.value);
    } else if (value >= VALUE_COUNTERS) {
        *counters[value - VALUE_COUNTERS] = not_negative(read.value);
    } else if (strcmp(read.basis, "machine") != 0) { /* a lower bound of what is normal */
        out->baseline_seconds = positive(read.value);
    }
}

static void read_values(struct reader *reader, struct view_container *out)
{
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = next_member(reader, value_names, &seen)) >= 0)
        read_value(reader, (enum value)i, out);
}

static void read_container(struct reader *reader, struct view_container *out)
{
    enum { TEXTS = 4, CGROUP = TEXTS, VALUES };
    static const char *const names[] = {"container_id", "namespace", "pod", "container",
                                        "cgroup_id",    "values",    NULL};
    const char **texts[TEXTS] = {&out->container_id, &out->namespace_, &out->pod, &out->container};
    unsigned seen = 0;
    int i;
    *out = (struct view_container){.container_id = "",
                                   .namespace_ = "",
                                   .pod = "",
                                   .container = "",
                                   .path = "",
                                   .qos_class = "",
                                   .latency_seconds = NAN,
                                   .baseline_seconds = NAN,
                                   .memory_reads = NAN,
                                   .llc_reads = NAN,
                                   .cycles = NAN,
                                   .reference_cycles = NAN,
                                   .caused_latency_seconds = NAN,
                                   .caused_wait_seconds = NAN};
    for (int j = 0; j < VIEW_MODELS; j++)
        out->losses[j] = (struct view_loss){NAN, NAN, NAN};
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = next_member(reader, names, &seen)) >= 0)
        if (i < TEXTS)
            *texts[i] = read_text(reader);
        else if (i == CGROUP)
            out->cgroup_id = read_whole(reader);
        else
            read_values(reader, out);
}

static int make_room(struct view *view)
{
    size_t cap = view->containers_cap ? 2 * view->containers_cap : 64;
    if (view->n < view->containers_cap)
        return 0;
    struct view_container *grown = realloc(view->containers, cap * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    view->containers = grown;
    view->containers_cap = cap;
    return 0;
}

static void read_containers(struct reader *reader)
{
    struct view *view = reader->view;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_ARRAY)) {
        json_scan_fail(&reader->scan, "no list of containers");
        return;
    }
    while (json_scan_element(&reader->scan)) {
        reader->err = view->n == VIEW_CONTAINERS_MAX ? -E2BIG : make_room(view);
        if (reader->err) {
            json_scan_fail(&reader->scan, "no room");
            return;
        }
        read_container(reader, &view->containers[view->n++]);
    }
}

/* ---- the whole ---- */

static void read_tick(struct reader *reader)
{
    static const char *const names[] = {"number", "monotonic_seconds", "interval_seconds", NULL};
    struct view *view = reader->view;
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return;
    while ((i = next_member(reader, names, &seen)) >= 0)
        if (i == 0)
            view->tick = read_whole(reader);
        else if (i == 1)
            view->monotonic_ns = read_nanoseconds(reader);
        else
            view->interval_ns = read_nanoseconds(reader);
    view->has_tick = view->tick && view->monotonic_ns && view->interval_ns;
}

static void read_root(struct reader *reader)
{
    enum { SOURCE, ENDED, TICK, CONTAINERS };
    static const char *const names[] = {"source", "replay_ended", "tick", "containers", NULL};
    struct view *view = reader->view;
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT)) {
        json_scan_fail(&reader->scan, "no object");
        return;
    }
    while ((i = next_member(reader, names, &seen)) >= 0) {
        if (i == SOURCE) {
            view->source = read_text(reader);
        } else if (i == ENDED) {
            view->replay_ended = json_scan_next(&reader->scan) == JSON_SCAN_TRUE;
            json_scan_skip(&reader->scan);
        } else if (i == TICK) {
            read_tick(reader);
        } else {
            read_containers(reader);
        }
    }
    if (!(seen & 1u << CONTAINERS))
        json_scan_fail(&reader->scan, "no list of containers");
}

/* Nothing said; what was allocated stays. */
static void forget(struct view *view)
{
    *view = (struct view){.source = "",
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
    json_scan_init(&reader.scan, text, len);
    read_root(&reader);
    err = json_scan_finish(&reader.scan, &why, &where);
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

double view_grown(double before, double now)
{
    return now >= before ? now - before : NAN;
}

void view_release(struct view *view)
{
    free(view->containers);
    free(view->texts);
    *view = (struct view){0};
}
