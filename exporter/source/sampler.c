#include "exporter/source/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "exporter/source/perf_ring.h"

/* A buffer that fills slowly is looked at this often. */
enum { PASS_MS = 100 };

/* Between a record's time and its appearance in the buffer; a hypervisor may stop the CPU there. */
static const uint64_t slack_ns = 2000000;

/* One CPU's event. */
struct stream {
    int fd;        /* -1: not open */
    void *mapping; /* NULL: not mapped */
    struct perf_ring ring;
    struct perf_record next; /* where 'size' is not 0 */
    size_t size;
};

struct sampler {
    struct sampler_config config; /* event and cpus are not to be used after new */
    uint64_t sample_type;
    size_t page_size, mapping_size;
    size_t n;
    struct stream *streams;
    size_t *heap; /* streams with a next record, the earliest first */
    size_t n_heap;
    struct pollfd *fds; /* of the streams, then the stop descriptor */
    int stop_fd;
    bool started;
    pthread_t thread;
    _Atomic uint64_t samples, lost, throttles, broken;
};

static uint64_t now_of(const struct sampler *sampler)
{
    struct timespec now;
    if (sampler->config.now_ns)
        return sampler->config.now_ns(sampler->config.now_context);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* ---- merging ---- */

static bool earlier(const struct sampler *sampler, size_t a, size_t b)
{
    const struct stream *x = &sampler->streams[sampler->heap[a]];
    const struct stream *y = &sampler->streams[sampler->heap[b]];
    return x->next.time_ns < y->next.time_ns;
}

static void swap(struct sampler *sampler, size_t a, size_t b)
{
    size_t kept = sampler->heap[a];
    sampler->heap[a] = sampler->heap[b];
    sampler->heap[b] = kept;
}

static void sink_down(struct sampler *sampler, size_t i)
{
    for (;;) {
        size_t first = i, left = 2 * i + 1, right = 2 * i + 2;
        if (left < sampler->n_heap && earlier(sampler, left, first))
            first = left;
        if (right < sampler->n_heap && earlier(sampler, right, first))
            first = right;
        if (first == i)
            return;
        swap(sampler, i, first);
        i = first;
    }
}

static void add_to_heap(struct sampler *sampler, size_t stream)
{
    size_t i = sampler->n_heap++;
    sampler->heap[i] = stream;
    for (; i > 0 && earlier(sampler, i, (i - 1) / 2); i = (i - 1) / 2)
        swap(sampler, i, (i - 1) / 2);
}

/* The stream's next record, or none. */
static bool advance(struct sampler *sampler, struct stream *stream)
{
    stream->size = 0;
    int got = perf_ring_peek(&stream->ring, sampler->sample_type, &stream->next, &stream->size);
    if (got < 0)
        count(&sampler->broken, 1);
    return got > 0;
}

static void hand_out(struct sampler *sampler, const struct perf_record *record)
{
    switch (record->kind) {
    case PERF_RECORDS_SAMPLE:
        count(&sampler->samples, 1);
        break;
    case PERF_RECORDS_LOST:
    case PERF_RECORDS_LOST_SAMPLES:
        count(&sampler->lost, record->lost);
        break;
    case PERF_RECORDS_THROTTLE:
        count(&sampler->throttles, 1);
        break;
    default:
        break;
    }
    sampler->config.sink.record(sampler->config.sink.context, record);
}

/* Copies all buffers; true when something had to be left in one of them. */
static bool copy_all(struct sampler *sampler)
{
    bool left = false;
    sampler->n_heap = 0;
    for (size_t i = 0; i < sampler->n; i++) {
        struct stream *stream = &sampler->streams[i];
        int got = perf_ring_copy(&stream->ring);
        if (got < 0)
            count(&sampler->broken, 1);
        left |= got > 0;
        if (advance(sampler, stream))
            add_to_heap(sampler, i);
    }
    return left;
}

/* What was copied, up to a time; returns how many records that was. */
static size_t merge(struct sampler *sampler, uint64_t until)
{
    size_t n = 0;
    for (; sampler->n_heap > 0; n++) {
        struct stream *stream = &sampler->streams[sampler->heap[0]];
        if (stream->next.time_ns >= until)
            break;
        hand_out(sampler, &stream->next);
        perf_ring_skip(&stream->ring, stream->size);
        if (!advance(sampler, stream))
            sampler->heap[0] = sampler->heap[--sampler->n_heap];
        sink_down(sampler, 0);
    }
    return n;
}

void sampler_drain(struct sampler *sampler)
{
    /* Everything before this time is in the buffers by now; what is later may be so on one CPU and
     * not on another, and waits for the next pass. */
    uint64_t now = now_of(sampler), until = now > slack_ns ? now - slack_ns : 0;
    bool left;
    do {
        left = copy_all(sampler);
    } while (merge(sampler, until) > 0 && left);
    sampler->config.sink.settle(sampler->config.sink.context, until);
}

struct sampler_counts sampler_counts(const struct sampler *sampler)
{
    return (struct sampler_counts){
        .samples = atomic_load_explicit(&sampler->samples, memory_order_relaxed),
        .lost = atomic_load_explicit(&sampler->lost, memory_order_relaxed),
        .throttles = atomic_load_explicit(&sampler->throttles, memory_order_relaxed),
        .broken = atomic_load_explicit(&sampler->broken, memory_order_relaxed),
    };
}

/* ---- the thread ---- */

static void *thread_main(void *argument)
{
    struct sampler *sampler = argument;
    const struct perf_kernel *kernel = sampler->config.kernel;
    struct pollfd *stop = &sampler->fds[sampler->n];
    while (!(stop->revents & POLLIN)) {
        int ready = kernel->wait(kernel->context, sampler->fds, sampler->n + 1, PASS_MS);
        if (ready < 0 && ready != -EINTR)
            break;
        /* An event whose CPU went away stays ready for ever: it is looked at with each pass. */
        for (size_t i = 0; ready > 0 && i < sampler->n; i++)
            if (sampler->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL))
                sampler->fds[i].fd = -1;
        sampler_drain(sampler);
    }
    return NULL;
}

int sampler_start(struct sampler *sampler)
{
    if (sampler->started)
        return -EALREADY;
    int err = pthread_create(&sampler->thread, NULL, thread_main, sampler);
    if (err)
        return -err;
    sampler->started = true;
    return 0;
}

/* ---- life ---- */

static struct perf_event_attr attributes(const struct sampler_config *config, uint64_t sample_type,
                                         size_t data_size)
{
    struct perf_event_attr attr = config->event->attr;
    attr.size = sizeof attr;
    attr.disabled = 1;
    attr.sample_period = config->period;
    attr.freq = 0;
    attr.sample_type = sample_type;
    attr.read_format = 0;
    attr.sample_id_all = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC;
    attr.watermark = 1;
    attr.wakeup_watermark = (uint32_t)(data_size / 4);
    if (config->mappings)
        attr.mmap = attr.mmap_data = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    return attr;
}

static int open_stream(struct sampler *sampler, struct stream *stream, int cpu)
{
    const struct perf_kernel *kernel = sampler->config.kernel;
    size_t data_size = sampler->mapping_size - sampler->page_size;
    struct perf_event_attr attr = attributes(&sampler->config, sampler->sample_type, data_size);
    int fd = kernel->event_open(kernel->context, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0)
        return fd;
    stream->fd = fd;
    int err = kernel->map(kernel->context, fd, sampler->mapping_size, &stream->mapping);
    if (!err)
        err = perf_ring_init(&stream->ring, stream->mapping, sampler->page_size, data_size);
    return err;
}

static int open_all(struct sampler *sampler)
{
    const struct perf_kernel *kernel = sampler->config.kernel;
    int err = 0;
    for (size_t i = 0; i < sampler->n && !err; i++) {
        err = open_stream(sampler, &sampler->streams[i], sampler->config.cpus[i]);
        sampler->fds[i] = (struct pollfd){.fd = sampler->streams[i].fd, .events = POLLIN};
    }
    for (size_t i = 0; i < sampler->n && !err; i++)
        err = kernel->enable(kernel->context, sampler->streams[i].fd);
    return err;
}

static int allocate(struct sampler *sampler)
{
    sampler->streams = calloc(sampler->n, sizeof *sampler->streams);
    sampler->heap = calloc(sampler->n, sizeof *sampler->heap);
    sampler->fds = calloc(sampler->n + 1, sizeof *sampler->fds);
    if (!sampler->streams || !sampler->heap || !sampler->fds)
        return -ENOMEM;
    for (size_t i = 0; i < sampler->n; i++)
        sampler->streams[i].fd = -1;
    sampler->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (sampler->stop_fd < 0)
        return -errno;
    sampler->fds[sampler->n] = (struct pollfd){.fd = sampler->stop_fd, .events = POLLIN};
    return 0;
}

int sampler_new(const struct sampler_config *config, struct sampler **out)
{
    if (config->n_cpus == 0 || config->period == 0 || config->data_pages == 0 ||
        config->data_pages > 1 << 16)
        return -EINVAL;
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return -ENOMEM;
    sampler->config = *config;
    sampler->sample_type = PERF_RECORDS_SAMPLE_TYPE |
                           (config->physical ? (uint64_t)PERF_SAMPLE_PHYS_ADDR : 0) |
                           (config->cgroup ? (uint64_t)PERF_SAMPLE_CGROUP : 0);
    sampler->page_size = (size_t)sysconf(_SC_PAGESIZE);
    sampler->mapping_size = (config->data_pages + 1) * sampler->page_size;
    sampler->n = config->n_cpus;
    sampler->stop_fd = -1;
    int err = allocate(sampler);
    if (!err)
        err = open_all(sampler);
    if (err) {
        sampler_free(sampler);
        return err;
    }
    sampler->config.event = NULL;
    sampler->config.cpus = NULL;
    *out = sampler;
    return 0;
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    const struct perf_kernel *kernel = sampler->config.kernel;
    if (sampler->started) {
        uint64_t one = 1;
        while (write(sampler->stop_fd, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(sampler->thread, NULL);
    }
    for (size_t i = 0; sampler->streams && i < sampler->n; i++) {
        struct stream *stream = &sampler->streams[i];
        perf_ring_release(&stream->ring);
        if (stream->mapping)
            kernel->unmap(kernel->context, stream->mapping, sampler->mapping_size);
        if (stream->fd >= 0)
            kernel->close(kernel->context, stream->fd);
    }
    if (sampler->stop_fd >= 0)
        close(sampler->stop_fd);
    free(sampler->fds);
    free(sampler->heap);
    free(sampler->streams);
    free(sampler);
}
