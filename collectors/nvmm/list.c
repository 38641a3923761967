#include "collectors/nvmm/list.h"
#include "exporter/live/words.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int nvmm_list_new(struct double_buffer **out)
{
    return double_buffer_new(sizeof(struct nvmm_list), out);
}

struct nvmm_list *nvmm_list_begin(struct double_buffer *lists)
{
    struct nvmm_list *list = double_buffer_back(lists);
    list->n_containers = list->n_rows = 0;
    list->cut = false;
    return list;
}

int nvmm_list_container(struct nvmm_list *list, const struct labelset *labels)
{
    if (list->n_containers == NVMM_LIST_CONTAINERS) {
        list->cut = true;
        return -1;
    }
    struct nvmm_list_container *to = &list->containers[list->n_containers++];
    const struct {
        const char *name;
        char *value;
        size_t size;
    } parts[] = {{"namespace", to->namespace_, sizeof to->namespace_},
                 {"pod", to->pod, sizeof to->pod},
                 {"container", to->name, sizeof to->name},
                 {"container_id", to->short_id, sizeof to->short_id}};
    size_t n;
    const struct label *label = labelset_labels(labels, &n);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        parts[k].value[0] = '\0';
        for (size_t i = 0; i < n; i++)
            if (strcmp(label[i].name, parts[k].name) == 0)
                clip_text(parts[k].value, parts[k].size, label[i].value);
    }
    return (int)list->n_containers - 1;
}

void nvmm_list_row(struct nvmm_list *list, const struct nvmm_list_row *row)
{
    if (list->n_rows == NVMM_MAX_THREADS) {
        list->cut = true;
        return;
    }
    list->rows[list->n_rows++] = *row;
}

static int compare_rows(const void *a, const void *b)
{
    const struct nvmm_list_row *x = a, *y = b;
    if (x->container != y->container)
        return x->container < y->container ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Only what is in use: the list is large, and mostly empty. */
struct nvmm_list *nvmm_list_copy(struct double_buffer *lists)
{
    struct nvmm_list *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    const struct nvmm_list *shown = double_buffer_lock(lists);
    memcpy(copy, shown, offsetof(struct nvmm_list, containers));
    memcpy(copy->containers, shown->containers, shown->n_containers * sizeof *shown->containers);
    memcpy(copy->rows, shown->rows, shown->n_rows * sizeof *shown->rows);
    double_buffer_unlock(lists);
    if (copy->wall_ns > 0) {
        qsort(copy->rows, copy->n_rows, sizeof *copy->rows, compare_rows);
        return copy;
    }
    free(copy);
    return NULL;
}

/* ---- the page ---- */

/* Accesses and bytes a second, by kind of access. */
static void add_use(json_t *object, const struct nvmm_list *list, const double *accesses,
                    const double *bytes)
{
    for (int access = 0; access < ACCESS_KINDS; access++)
        if (access == ACCESS_STORE || list->loads)
            json_object_set_new(object, access_name((enum access)access),
                                json_pack("{s:f, s:f}", "accesses_per_second", accesses[access],
                                          "bytes_per_second", bytes[access]));
}

static json_t *thread_json(const struct nvmm_list *list, const struct nvmm_list_row *row)
{
    bool stored = !isnan(row->stored_seconds_ago);
    json_t *thread = json_pack("{s:I, s:o}", "tid", (json_int_t)row->tid, "last_store_seconds_ago",
                               stored ? json_real(row->stored_seconds_ago) : json_null());
    add_use(thread, list, row->accesses, row->bytes);
    return thread;
}

/* The process of row *next, which moves behind its last thread. */
static json_t *process_json(const struct nvmm_list *list, size_t *next)
{
    const struct nvmm_list_row *first = &list->rows[*next], *row = first;
    double accesses[ACCESS_KINDS] = {0}, bytes[ACCESS_KINDS] = {0};
    json_t *threads = json_array();
    for (; row < list->rows + list->n_rows && row->container == first->container &&
           row->pid == first->pid;
         row++) {
        json_array_append_new(threads, thread_json(list, row));
        for (int access = 0; access < ACCESS_KINDS; access++) {
            accesses[access] += row->accesses[access];
            bytes[access] += row->bytes[access];
        }
    }
    *next = (size_t)(row - list->rows);
    json_t *process = json_pack("{s:I}", "pid", (json_int_t)first->pid);
    add_use(process, list, accesses, bytes);
    json_object_set_new(process, "threads", threads);
    return process;
}

static json_t *container_json(const struct nvmm_list *list, size_t index, size_t *next)
{
    const struct nvmm_list_container *c = &list->containers[index];
    json_t *processes = json_array();
    while (*next < list->n_rows && list->rows[*next].container == index)
        json_array_append_new(processes, process_json(list, next));
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "namespace", c->namespace_, "pod", c->pod,
                     "container", c->name, "container_id", c->short_id, "processes", processes);
}

/* NULL stands for a list that was never shown. */
static json_t *list_json(const struct nvmm_list *list, const char *source)
{
    json_t *containers = json_array();
    if (!list)
        return json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:o}", "source", source,
                         "timestamp_seconds", "monotonic_seconds", "interval_seconds",
                         "window_seconds", "truncated", 0, "containers", containers);
    size_t next = 0;
    for (size_t i = 0; i < list->n_containers; i++)
        json_array_append_new(containers, container_json(list, i, &next));
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:b, s:o}", "source", source, "timestamp_seconds",
                     (double)list->wall_ns * 1e-9, "monotonic_seconds",
                     (double)list->mono_ns * 1e-9, "interval_seconds", list->interval,
                     "window_seconds", list->seconds, "truncated", list->cut, "containers",
                     containers);
}

int nvmm_page_render(struct double_buffer *lists, const char *source, struct textbuf *out)
{
    struct nvmm_list *list = lists ? nvmm_list_copy(lists) : NULL;
    json_t *root = list_json(list, source);
    free(list);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text)
        return -ENOMEM;
    textbuf_str(out, text);
    free(text);
    return 0;
}
