#include "exporter/governor/see/writers.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/json/scan.h"

/* Reading in progress. */
struct reader {
    struct json_scan scan;
    struct writers *writers;
    int err;
};

/* NaN for what is no number, or none that a double holds. */
static double read_number(struct reader *reader)
{
    struct json_span number;
    char text[64];
    if (!json_scan_number(&reader->scan, &number) || number.len >= sizeof text)
        return NAN;
    memcpy(text, number.at, number.len);
    text[number.len] = '\0';
    double value = strtod(text, NULL);
    return isfinite(value) ? value : NAN;
}

/* 0 for what is none, or beyond a thousand years. */
static uint64_t read_nanoseconds(struct reader *reader)
{
    double seconds = read_number(reader);
    return seconds > 0 && seconds < 3e10 / 4 ? (uint64_t)llround(seconds * 1e9) : 0;
}

static void add(struct reader *reader, int tid, double ago)
{
    struct writers *writers = reader->writers;
    reader->err = writers->n == WRITERS_MAX ? -E2BIG
                                            : array_reserve(&writers->list, &writers->list_cap,
                                                            writers->n + 1, sizeof *writers->list);
    if (reader->err)
        json_scan_fail(&reader->scan, "no room");
    else
        writers->list[writers->n++] = (struct writer){.tid = tid, .stored_seconds_ago = ago};
}

static void read_thread(struct reader *reader)
{
    struct json_span name;
    double tid = NAN, ago = NAN;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return;
    while (json_scan_member(&reader->scan, &name)) {
        if (json_span_is(name, "tid"))
            tid = read_number(reader);
        else if (json_span_is(name, "last_store_seconds_ago"))
            ago = read_number(reader);
        else
            json_scan_skip(&reader->scan);
    }
    if (tid >= 1 && tid <= INT_MAX && floor(tid) == tid && ago >= 0)
        add(reader, (int)tid, ago);
}

/* Reads the elements of a member's array, each by 'read'. */
static void read_array(struct reader *reader, void (*read)(struct reader *reader))
{
    if (!json_scan_enter(&reader->scan, JSON_SCAN_ARRAY))
        return;
    while (json_scan_element(&reader->scan))
        read(reader);
}

static void read_process(struct reader *reader)
{
    struct json_span name;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return;
    while (json_scan_member(&reader->scan, &name)) {
        if (json_span_is(name, "threads"))
            read_array(reader, read_thread);
        else
            json_scan_skip(&reader->scan);
    }
}

/* Its threads may stand before its id. */
static void read_container(struct reader *reader)
{
    struct writers *writers = reader->writers;
    struct json_span name;
    char id[sizeof writers->list->container_id] = "";
    size_t first = writers->n;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return;
    while (json_scan_member(&reader->scan, &name)) {
        if (json_span_is(name, "processes"))
            read_array(reader, read_process);
        else if (!json_span_is(name, "container_id"))
            json_scan_skip(&reader->scan);
        else if (json_scan_string(&reader->scan, writers->scratch) &&
                 strlen(writers->scratch) < sizeof id)
            snprintf(id, sizeof id, "%s", writers->scratch);
    }
    if (id[0] == '\0')
        writers->n = first;
    for (size_t i = first; i < writers->n; i++)
        memcpy(writers->list[i].container_id, id, sizeof id);
}

static bool read_root(struct reader *reader)
{
    struct writers *writers = reader->writers;
    struct json_span name;
    bool any = false;
    if (!json_scan_enter(&reader->scan, JSON_SCAN_OBJECT))
        return false;
    while (json_scan_member(&reader->scan, &name)) {
        if (json_span_is(name, "monotonic_seconds")) {
            writers->monotonic_ns = read_nanoseconds(reader);
        } else if (json_span_is(name, "interval_seconds")) {
            writers->interval_ns = read_nanoseconds(reader);
        } else if (json_span_is(name, "window_seconds")) {
            writers->window_ns = read_nanoseconds(reader);
        } else if (json_span_is(name, "containers")) {
            any = json_scan_next(&reader->scan) == JSON_SCAN_ARRAY;
            read_array(reader, read_container);
        } else {
            json_scan_skip(&reader->scan);
        }
    }
    return any;
}

static void forget(struct writers *writers)
{
    writers->monotonic_ns = writers->interval_ns = writers->window_ns = 0;
    writers->n = 0;
}

int writers_parse(const char *text, size_t len, struct writers *writers, char *error,
                  size_t error_size)
{
    struct reader reader = {.writers = writers};
    const char *why;
    size_t where;
    forget(writers);
    int err = array_reserve(&writers->scratch, &writers->scratch_cap, len + 1, 1);
    if (err) {
        snprintf(error, error_size, "%s", strerror(-err));
        return err;
    }
    json_scan_init(&reader.scan, text, len);
    if (!read_root(&reader))
        json_scan_fail(&reader.scan, "no list of containers");
    err = json_scan_finish(&reader.scan, &why, &where);
    if (!err)
        return 0;
    forget(writers);
    snprintf(error, error_size, "byte %zu: %s", where, why);
    return reader.err ? reader.err : err;
}

void writers_release(struct writers *writers)
{
    free(writers->list);
    free(writers->scratch);
    *writers = (struct writers){0};
}
