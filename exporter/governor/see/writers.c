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
    static const char *const names[] = {"tid", "last_store_seconds_ago", NULL};
    double values[] = {NAN, NAN};
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return;
    while ((i = document_member(&reader->document, names, &seen)) >= 0)
        values[i] = document_number(&reader->document);
    double tid = values[0], ago = values[1];
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
    static const char *const names[] = {"threads", NULL};
    unsigned seen = 0;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return;
    while (document_member(&reader->document, names, &seen) >= 0)
        read_array(reader, read_thread);
}

/* Its threads may stand before its id. */
static void read_container(struct reader *reader)
{
    static const char *const names[] = {"processes", "container_id", NULL};
    struct writers *writers = reader->writers;
    const char *id = "";
    size_t first = writers->n;
    unsigned seen = 0;
    int i;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return;
    while ((i = document_member(&reader->document, names, &seen)) >= 0)
        if (i == 0)
            read_array(reader, read_process);
        else
            id = document_text(&reader->document);
    if (!id[0] || strlen(id) >= sizeof writers->list->container_id)
        writers->n = first;
    for (size_t k = first; k < writers->n; k++)
        strcpy(writers->list[k].container_id, id);
}

static bool read_root(struct reader *reader)
{
    static const char *const names[] = {"monotonic_seconds", "interval_seconds", "window_seconds",
                                        "containers", NULL};
    struct writers *writers = reader->writers;
    uint64_t *const times[] = {&writers->monotonic_ns, &writers->interval_ns, &writers->window_ns};
    unsigned seen = 0;
    int i;
    bool any = false;
    if (!json_scan_enter(&reader->document.scan, JSON_SCAN_OBJECT))
        return false;
    while ((i = document_member(&reader->document, names, &seen)) >= 0) {
        if (i < 3) {
            *times[i] = document_nanoseconds(&reader->document);
        } else {
            any = json_scan_next(&reader->document.scan) == JSON_SCAN_ARRAY;
            read_array(reader, read_container);
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
    document_init(&reader.document, text, len, writers->scratch);
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
