#include "exporter/governor/see/writers.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"
#include "exporter/governor/see/document.h"

/* Reading in progress. */
struct reader {
    struct document document;
    struct writers *writers;
    int err;
};

static void add(struct reader *reader, int tid, double ago)
{
    struct writers *writers = reader->writers;
    reader->err = writers->n == WRITERS_MAX ? -E2BIG
                                            : array_reserve(&writers->list, &writers->list_cap,
                                                            writers->n + 1, sizeof *writers->list);
    if (reader->err)
        json_scan_fail(&reader->document.scan, "no room");
    else
        writers->list[writers->n++] = (struct writer){.tid = tid, .stored_seconds_ago = ago};
}

static void read_thread(struct reader *reader)
{
    struct json_span name;
    double tid = NAN, ago = NAN;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return;
    while (json_scan_member(&reader->document.scan, &name)) {
        if (json_span_is(name, "tid"))
            tid = document_number(&reader->document);
        else if (json_span_is(name, "last_store_seconds_ago"))
            ago = document_number(&reader->document);
        else
            json_scan_skip(&reader->document.scan);
    }
    if (tid >= 1 && tid <= INT_MAX && floor(tid) == tid && ago >= 0)
        add(reader, (int)tid, ago);
}

/* Reads the elements of a member's array, each by 'read'. */
static void read_array(struct reader *reader, void (*read)(struct reader *reader))
{
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_ARRAY))
        return;
    while (json_scan_element(&reader->document.scan))
        read(reader);
}

static void read_process(struct reader *reader)
{
    struct json_span name;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return;
    while (json_scan_member(&reader->document.scan, &name)) {
        if (json_span_is(name, "threads"))
            read_array(reader, read_thread);
        else
            json_scan_skip(&reader->document.scan);
    }
}

/* Its threads may stand before its id. */
static void read_container(struct reader *reader)
{
    struct writers *writers = reader->writers;
    struct json_span name;
    char id[sizeof writers->list->container_id] = "";
    size_t first = writers->n;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return;
    while (json_scan_member(&reader->document.scan, &name)) {
        if (json_span_is(name, "processes"))
            read_array(reader, read_process);
        else if (!json_span_is(name, "container_id"))
            json_scan_skip(&reader->document.scan);
        else if (json_scan_string(&reader->document.scan, writers->scratch) &&
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
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return false;
    while (json_scan_member(&reader->document.scan, &name)) {
        if (json_span_is(name, "monotonic_seconds")) {
            writers->monotonic_ns = document_nanoseconds(&reader->document);
        } else if (json_span_is(name, "interval_seconds")) {
            writers->interval_ns = document_nanoseconds(&reader->document);
        } else if (json_span_is(name, "window_seconds")) {
            writers->window_ns = document_nanoseconds(&reader->document);
        } else if (json_span_is(name, "containers")) {
            any = json_scan_next(&reader->document.scan) == JSON_SCAN_ARRAY;
            read_array(reader, read_container);
        } else {
            json_scan_skip(&reader->document.scan);
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
    document_init(&reader.document, text, len, NULL);
    if (!read_root(&reader))
        json_scan_fail(&reader.document.scan, "no list of containers");
    err = json_scan_finish(&reader.document.scan, &why, &where);
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
