#include "exporter/source/sampler/streams.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exporter/source/sampler/clock.h"

/* ---- the kernel's ring ---- */

int perf_ring_init(struct perf_ring *ring, void *mapping, size_t page_size, size_t data_size)
{
    if (data_size < page_size || (data_size & (data_size - 1)) != 0)
        return -EINVAL;
    *ring = (struct perf_ring){
        .mapping = mapping, .data = (uint8_t *)mapping + page_size, .data_size = data_size};
    ring->bytes = malloc(2 * data_size);
    return ring->bytes ? 0 : -ENOMEM;
}

void perf_ring_release(struct perf_ring *ring)
{
    free(ring->bytes);
    *ring = (struct perf_ring){0};
}

int perf_ring_copy(struct perf_ring *ring)
{
    struct perf_event_mmap_page *page = ring->mapping;
    memmove(ring->bytes, ring->bytes + ring->start, ring->end - ring->start);
    ring->end -= ring->start;
    ring->start = 0;

    /* Pairs with the kernel's barriers: bytes before head are written, bytes before tail are free.
     */
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = page->data_tail;
    if (head - tail > ring->data_size) {
        __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
        ring->end = 0;
        return -EIO;
    }
    size_t n = (size_t)(head - tail), room = 2 * ring->data_size - ring->end;
    bool cut = n > room;
    if (cut)
        n = room;
    size_t at = (size_t)tail & (ring->data_size - 1), first = ring->data_size - at;
    if (first > n)
        first = n;
    memcpy(ring->bytes + ring->end, ring->data + at, first);
    memcpy(ring->bytes + ring->end + first, ring->data, n - first);
    ring->end += n;
    __atomic_store_n(&page->data_tail, tail + n, __ATOMIC_RELEASE);
    return cut;
}

int perf_ring_peek(struct perf_ring *ring, uint64_t sample_type, struct kernel_record *out,
                   size_t *size)
{
    size_t left = ring->end - ring->start;
    struct perf_event_header header;
    if (left == 0)
        return 0;
    if (left >= sizeof header) {
        memcpy(&header, ring->bytes + ring->start, sizeof header);
        /* Cut for want of room: the rest comes with the next copy. */
        if (header.size > left && header.size <= ring->data_size)
            return 0;
    }
    if (kernel_record_parse(ring->bytes + ring->start, left, sample_type, out, size) == 0)
        return 1;
    ring->start = ring->end;
    return -EINVAL;
}

void perf_ring_skip(struct perf_ring *ring, size_t size)
{
    ring->start += size;
}

uint64_t streams_sample_type(const struct sampler_event *event)
{
    uint64_t type = KERNEL_RECORD_SAMPLE_TYPE;
    type |= event->latency ? (uint64_t)PERF_SAMPLE_WEIGHT : 0;
    type |= event->data_source ? (uint64_t)PERF_SAMPLE_DATA_SRC : 0;
    type |= event->cgroup ? (uint64_t)PERF_SAMPLE_CGROUP : 0;
    return type;
}

/* ---- one stream ---- */

static struct perf_event_attr attributes(const struct sampler_event *event, size_t data_size,
                                         bool own_clock)
{
    struct perf_event_attr attr = event->event->attr;
    attr.size = sizeof attr;
    attr.disabled = 1;
    attr.sample_period = event->period;
    attr.freq = 0;
    attr.sample_type = streams_sample_type(event);
    attr.read_format = 0;
    attr.sample_id_all = 1;
    attr.exclude_kernel = !event->unfiltered;
    attr.exclude_hv = !event->unfiltered;
    attr.exclude_guest = !event->unfiltered; /* KVM switches precise samples off on entry */
    attr.use_clockid = !own_clock;
    attr.clockid = own_clock ? 0 : CLOCK_MONOTONIC;
    attr.watermark = 1;
    attr.wakeup_watermark = (uint32_t)(data_size / 4);
    if (event->mappings)
        attr.mmap = attr.mmap_data = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    return attr;
}

static size_t data_size_of(const struct streams *streams, size_t event)
{
    return streams->events[event].data_pages * streams->page_size;
}

static void close_event(struct streams *streams, struct stream *stream)
{
    if (stream->fd < 0)
        return;
    streams->kernel->close(streams->kernel->context, stream->fd);
    stream->fd = -1;
    atomic_fetch_sub(&streams->open_events, 1);
}

static void stream_free(struct streams *streams, struct stream *stream)
{
    const struct perf_kernel *kernel = streams->kernel;
    perf_ring_release(&stream->ring);
    if (stream->mapping)
        kernel->unmap(kernel->context, stream->mapping,
                      data_size_of(streams, stream->event) + streams->page_size);
    close_event(streams, stream);
    free(stream);
}

/* Not yet enabled. */
static int stream_new(struct streams *streams, int cpu, size_t event, struct stream **out)
{
    const struct perf_kernel *kernel = streams->kernel;
    size_t size = data_size_of(streams, event);
    struct perf_event_attr attr = attributes(&streams->events[event], size, streams->own_clock);
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return -ENOMEM;
    *stream = (struct stream){.cpu = cpu, .event = event, .fd = -1};
    int fd = kernel->event_open(kernel->context, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    int err = fd < 0 ? fd : 0;
    if (!err) {
        stream->fd = fd;
        atomic_fetch_add(&streams->open_events, 1);
        err = kernel->map(kernel->context, fd, size + streams->page_size, &stream->mapping);
    }
    if (!err)
        err = perf_ring_init(&stream->ring, stream->mapping, streams->page_size, size);
    if (err)
        stream_free(streams, stream);
    else
        *out = stream;
    return err;
}

/* ---- all of them ---- */

static int reserve(struct streams *streams, size_t n)
{
    if (n <= streams->cap)
        return 0;
    struct stream **at = realloc(streams->at, n * sizeof *at);
    if (at)
        streams->at = at;
    struct pollfd *fds = realloc(streams->fds, (n + 1) * sizeof *fds);
    if (fds)
        streams->fds = fds;
    if (!at || !fds)
        return -ENOMEM;
    streams->cap = n;
    return 0;
}

static bool is_open(const struct streams *streams, int cpu, size_t event)
{
    for (size_t i = 0; i < streams->n; i++) {
        const struct stream *stream = streams->at[i];
        if (stream->cpu == cpu && stream->event == event && stream->fd >= 0)
            return true;
    }
    return false;
}

/* Opens what is wanted and not there; stops at the first error. */
static int open_missing(struct streams *streams)
{
    int err = reserve(streams, streams->n + streams->n_cpus * streams->n_events);
    for (size_t c = 0; c < streams->n_cpus && !err; c++)
        for (size_t event = 0; event < streams->n_events && !err; event++)
            if (!is_open(streams, streams->cpus[c], event)) {
                err = stream_new(streams, streams->cpus[c], event, &streams->at[streams->n]);
                streams->n += err == 0;
            }
    return err;
}

static int enable_those(struct streams *streams, size_t first, bool mappings)
{
    const struct perf_kernel *kernel = streams->kernel;
    int err = 0;
    for (size_t i = first; i < streams->n && !err; i++)
        if (streams->events[streams->at[i]->event].mappings == mappings)
            err = kernel->enable(kernel->context, streams->at[i]->fd);
    return err;
}

/* No sample without the mappings of all CPUs from then on. */
static int enable_from(struct streams *streams, size_t first)
{
    int err = enable_those(streams, first, true);
    return err ? err : enable_those(streams, first, false);
}

static void list_fds(struct streams *streams)
{
    for (size_t i = 0; i < streams->n; i++)
        streams->fds[i] = (struct pollfd){.fd = streams->at[i]->fd, .events = POLLIN};
}

static void free_all(struct streams *streams)
{
    for (size_t i = 0; i < streams->n; i++)
        stream_free(streams, streams->at[i]);
    streams->n = 0;
}

/* ---- opening ---- */

static int open_first(struct streams *streams)
{
    for (size_t i = 0; i < streams->n_events; i++)
        streams->own_clock |= streams->events[i].event->attr.precise_ip > 0;
    int err = open_missing(streams);
    if (err || !streams->own_clock || perf_clock_is_known(streams->at[0]->mapping))
        return err;
    streams->own_clock = false;
    free_all(streams);
    return open_missing(streams);
}

int streams_open(struct streams *streams, int *cpus, size_t n_cpus)
{
    streams->cpus = cpus;
    streams->n_cpus = n_cpus;
    int err = open_first(streams);
    if (!err)
        err = enable_from(streams, 0);
    if (!err) {
        list_fds(streams);
        return 0;
    }
    free_all(streams);
    streams->cpus = NULL;
    return err;
}

void streams_release(struct streams *streams)
{
    free_all(streams);
    free(streams->cpus);
    free(streams->fds);
    free(streams->at);
}

/* ---- following the CPUs ---- */

static bool is_wanted(const struct streams *streams, int cpu)
{
    for (size_t i = 0; i < streams->n_cpus; i++)
        if (streams->cpus[i] == cpu)
            return true;
    return false;
}

/* Lets go of those that are closed and read to their end. */
static void drop_closed(struct streams *streams)
{
    size_t kept = 0;
    for (size_t i = 0; i < streams->n; i++) {
        struct stream *stream = streams->at[i];
        if (stream->fd < 0 && stream->size == 0)
            stream_free(streams, stream);
        else
            streams->at[kept++] = stream;
    }
    streams->n = kept;
}

bool streams_follow(struct streams *streams, int *cpus, size_t n_cpus, size_t *first, int *err)
{
    size_t before = streams->n;
    drop_closed(streams);
    if (!cpus && streams->n == before && !streams->incomplete)
        return false;
    if (cpus) {
        free(streams->cpus);
        streams->cpus = cpus;
        streams->n_cpus = n_cpus;
    }
    for (size_t i = 0; i < streams->n; i++)
        if (!is_wanted(streams, streams->at[i]->cpu))
            close_event(streams, streams->at[i]);
    *first = streams->n;
    *err = open_missing(streams);
    int failed = enable_from(streams, *first);
    *err = *err ? *err : failed;
    streams->incomplete = *err != 0;
    list_fds(streams);
    return true;
}

void streams_close_hung(struct streams *streams)
{
    for (size_t i = 0; i < streams->n; i++)
        if (streams->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL)) {
            streams->fds[i].fd = -1;
            close_event(streams, streams->at[i]);
        }
}
