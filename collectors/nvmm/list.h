/*
 * What processes and threads did with persistent memory lately, for a page that other threads make:
 * too much, and too short-lived, for series.
 *
 * The collector writes a list and then shows it at once; readers get a copy. Fixed size.
 */
#ifndef IE_COLLECTORS_NVMM_LIST_H
#define IE_COLLECTORS_NVMM_LIST_H

#include "collectors/nvmm/threads.h"
#include "collectors/parts/double_buffer.h"
#include "exporter/base/textbuf.h"
#include "exporter/store/store.h"

/* Containers that use persistent memory at the same time, each with some threads. */
enum { NVMM_LIST_CONTAINERS = 1024 };

struct nvmm_list_container {
    /* Cut where they are longer than Kubernetes allows. */
    char namespace_[64], pod[256], name[256], short_id[13];
};

struct nvmm_list_row {
    uint32_t container; /* its index */
    uint32_t pid, tid;
    double accesses[ACCESS_KINDS], bytes[ACCESS_KINDS]; /* a second */
    double stored_seconds_ago; /* its latest sampled store, at the tick; NaN: none */
};

struct nvmm_list {
    uint64_t wall_ns; /* of the tick that ended it; 0: there was none yet */
    uint64_t mono_ns; /* the same, CLOCK_MONOTONIC */
    double seconds;   /* that it is the mean of, up to then */
    double interval;  /* seconds between two ticks, each of which shows a list */
    bool loads;       /* loads are sampled too; otherwise theirs are 0 */
    bool cut;         /* there were more threads or containers than fit */
    size_t n_containers, n_rows;
    struct nvmm_list_container containers[NVMM_LIST_CONTAINERS];
    struct nvmm_list_row rows[NVMM_MAX_THREADS]; /* in a copy: by container, pid, tid */
};

/* 0 or -ENOMEM. */
int nvmm_list_new(struct double_buffer **out);

/* The writer: the list to fill, empty and its own until it is shown. */
struct nvmm_list *nvmm_list_begin(struct double_buffer *lists);
/* Adds a container by its labels. Its index, for rows; -1: no room. */
int nvmm_list_container(struct nvmm_list *list, const struct labelset *labels);
/* In any order. */
void nvmm_list_row(struct nvmm_list *list, const struct nvmm_list_row *row);

/* Any thread: a copy of what is shown, for free(); NULL: nothing is, or out of memory. */
struct nvmm_list *nvmm_list_copy(struct double_buffer *lists);

/* Any thread. Adds the document /api/v1/nvmm to 'out': who used persistent memory lately, down to
 * threads. It names no containers where 'lists' is NULL, for the collector does not run, or before
 * a list was shown. 'source' says whether this machine was measured. 0 or -ENOMEM. */
int nvmm_page_render(struct double_buffer *lists, const char *source, struct textbuf *out);

#endif
