#include "exporter/source/sampler/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "exporter/source/sampler/ring.h"

/* A buffer that fills slowly is looked at this often. */
enum { PASS_MS = 100 };

/* Between a record's time and its appearance in the buffer; a hypervisor may stop the CPU there. */
static const uint64_t slack_ns = 2000000;

/* Samples that the hardware collects are asked for this often at most: it interrupts every CPU. */
static const uint64_t collect_ns = 50000000;

/* Two clocks are compared anew with each pass, and not always to the same nanosecond. */
static const uint64_t comparison_ns = 1000;

/* One event on one CPU. */
struct stream {
    int cpu;
    size_t event;
    int fd;        /* -1: not open any more; what is left in the buffer is still to be read */
    void *mapping; /* NULL: not mapped */
    struct perf_ring ring;
    struct kernel_record next; /* where 'size' is not 0 */
    size_t size;
};

struct totals {
    _Atomic uint64_t samples, lost, throttles, broken;
};

struct sampler {
    struct sampler_config config; /* its cpus are not to be used after new */
    size_t page_size;
    bool own_clock; /* perf's: events are opened without another one */
    struct perf_clock clock;
    uint64_t collected_ns; /* with perf's own clock: when the hardware's samples were asked for */
    uint64_t missing_ns;   /* on the events' clock: some event's mappings before it are not all in
                            * the buffers, which is to be said once more; 0: no */
    size_t missing_event;
    size_t n, cap;
    struct stream **streams;
    size_t *heap; /* streams with a next record, the earliest first; room for 'cap' */
    size_t n_heap;
    struct pollfd *fds; /* of the streams, then the wake descriptor; room for 'cap' and one */
    int wake_fd;
    bool started;
    _Atomic bool stop;
    pthread_t thread;
    struct totals totals[SAMPLER_EVENTS];
    _Atomic int error;
    _Atomic size_t open_events;
    int *cpus; /* to be sampled */
    size_t n_cpus;
    bool incomplete;      /* some stream of theirs is missing */
    pthread_mutex_t lock; /* of what follows; held for moments only */
    int *new_cpus;        /* NULL: no change */
    size_t n_new_cpus;
};

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* ---- merging ---- */

/* Of records with the same time those of the first event come first. */
static bool earlier(const struct sampler *sampler, size_t a, size_t b)
{
    const struct stream *x = sampler->streams[sampler->heap[a]];
    const struct stream *y = sampler->streams[sampler->heap[b]];
    if (x->next.time_ns != y->next.time_ns)
        return x->next.time_ns < y->next.time_ns;
    if (x->event != y->event)
        return x->event < y->event;
    return sampler->heap[a] < sampler->heap[b];
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

static uint64_t sample_type(const struct sampler_event *event)
{
    return KERNEL_RECORD_SAMPLE_TYPE | (event->physical ? (uint64_t)PERF_SAMPLE_PHYS_ADDR : 0) |
           (event->cgroup ? (uint64_t)PERF_SAMPLE_CGROUP : 0);
}

/* As of a loss by the kernel. */
static void say_missing(struct sampler *sampler)
{
    const struct kernel_record record = {
        .kind = KERNEL_RECORD_LOST,
        .time_ns = perf_clock_monotonic(&sampler->clock, sampler->missing_ns)};
    sampler->config.sink.record(sampler->config.sink.context, sampler->missing_event, &record);
}

/* Said at once, for what is known may be wrong already; and once more in its turn, for what is
 * found out until then. */
static void miss_mappings(struct sampler *sampler, size_t event)
{
    if (!sampler->config.events[event].mappings)
        return;
    sampler->missing_ns = perf_clock_now(&sampler->clock);
    sampler->missing_event = event;
    say_missing(sampler);
}

static void say_missing_before(struct sampler *sampler, uint64_t time)
{
    if (sampler->missing_ns == 0 || sampler->missing_ns >= time)
        return;
    say_missing(sampler);
    sampler->missing_ns = 0;
}

static void discard(struct sampler *sampler, const struct stream *stream)
{
    count(&sampler->totals[stream->event].broken, 1);
    miss_mappings(sampler, stream->event);
}

/* The stream's next record, or none. */
static bool advance(struct sampler *sampler, struct stream *stream)
{
    stream->size = 0;
    int got = perf_ring_peek(&stream->ring, sample_type(&sampler->config.events[stream->event]),
                             &stream->next, &stream->size);
    if (got < 0)
        discard(sampler, stream);
    return got > 0;
}

static void hand_out(struct sampler *sampler, size_t event, const struct kernel_record *record)
{
    struct totals *totals = &sampler->totals[event];
    switch (record->kind) {
    case KERNEL_RECORD_SAMPLE:
        count(&totals->samples, 1);
        break;
    case KERNEL_RECORD_LOST:
    case KERNEL_RECORD_LOST_SAMPLES:
        count(&totals->lost, record->lost);
        break;
    case KERNEL_RECORD_THROTTLE:
        count(&totals->throttles, 1);
        break;
    default:
        break;
    }
    sampler->config.sink.record(sampler->config.sink.context, event, record);
}

/* Copies all buffers; true when something had to be left in one of them. */
static bool copy_all(struct sampler *sampler)
{
    bool left = false;
    sampler->n_heap = 0;
    for (size_t i = 0; i < sampler->n; i++) {
        struct stream *stream = sampler->streams[i];
        int got = perf_ring_copy(&stream->ring);
        if (got < 0)
            discard(sampler, stream);
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
        struct stream *stream = sampler->streams[sampler->heap[0]];
        if (stream->next.time_ns >= until)
            break;
        say_missing_before(sampler, stream->next.time_ns);
        stream->next.time_ns = perf_clock_monotonic(&sampler->clock, stream->next.time_ns);
        hand_out(sampler, stream->event, &stream->next);
        perf_ring_skip(&stream->ring, stream->size);
        if (!advance(sampler, stream))
            sampler->heap[0] = sampler->heap[--sampler->n_heap];
        sink_down(sampler, 0);
    }
    return n;
}

struct sampler_counts sampler_counts(const struct sampler *sampler, size_t event)
{
    const struct totals *totals = &sampler->totals[event];
    return (struct sampler_counts){
        .samples = atomic_load_explicit(&totals->samples, memory_order_relaxed),
        .lost = atomic_load_explicit(&totals->lost, memory_order_relaxed),
        .throttles = atomic_load_explicit(&totals->throttles, memory_order_relaxed),
        .broken = atomic_load_explicit(&totals->broken, memory_order_relaxed),
    };
}

/* ---- streams ---- */

static struct perf_event_attr attributes(const struct sampler_event *event, size_t data_size,
                                         bool own_clock)
{
    struct perf_event_attr attr = event->event->attr;
    attr.size = sizeof attr;
    attr.disabled = 1;
    attr.sample_period = event->period;
    attr.freq = 0;
    attr.sample_type = sample_type(event);
    attr.read_format = 0;
    attr.sample_id_all = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    attr.exclude_guest = 1; /* on entry to a guest KVM switches precise samples off */
    attr.use_clockid = !own_clock;
    attr.clockid = own_clock ? 0 : CLOCK_MONOTONIC;
    attr.watermark = 1;
    attr.wakeup_watermark = (uint32_t)(data_size / 4);
    if (event->mappings)
        attr.mmap = attr.mmap_data = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    return attr;
}

static size_t data_size_of(const struct sampler *sampler, size_t event)
{
    return sampler->config.events[event].data_pages * sampler->page_size;
}

static void close_event(struct sampler *sampler, struct stream *stream)
{
    const struct perf_kernel *kernel = sampler->config.kernel;
    if (stream->fd < 0)
        return;
    kernel->close(kernel->context, stream->fd);
    stream->fd = -1;
    atomic_fetch_sub(&sampler->open_events, 1);
}

static void stream_free(struct sampler *sampler, struct stream *stream)
{
    const struct perf_kernel *kernel = sampler->config.kernel;
    perf_ring_release(&stream->ring);
    if (stream->mapping)
        kernel->unmap(kernel->context, stream->mapping,
                      data_size_of(sampler, stream->event) + sampler->page_size);
    close_event(sampler, stream);
    free(stream);
}

/* Not yet enabled. */
static int stream_new(struct sampler *sampler, int cpu, size_t event, struct stream **out)
{
    const struct perf_kernel *kernel = sampler->config.kernel;
    size_t size = data_size_of(sampler, event);
    struct perf_event_attr attr =
        attributes(&sampler->config.events[event], size, sampler->own_clock);
    struct stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return -ENOMEM;
    *stream = (struct stream){.cpu = cpu, .event = event, .fd = -1};
    int fd = kernel->event_open(kernel->context, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    int err = fd < 0 ? fd : 0;
    if (!err) {
        stream->fd = fd;
        atomic_fetch_add(&sampler->open_events, 1);
        err = kernel->map(kernel->context, fd, size + sampler->page_size, &stream->mapping);
    }
    if (!err)
        err = perf_ring_init(&stream->ring, stream->mapping, sampler->page_size, size);
    if (err)
        stream_free(sampler, stream);
    else
        *out = stream;
    return err;
}

static int reserve(struct sampler *sampler, size_t n)
{
    if (n <= sampler->cap)
        return 0;
    struct stream **streams = realloc(sampler->streams, n * sizeof *streams);
    if (streams)
        sampler->streams = streams;
    size_t *heap = realloc(sampler->heap, n * sizeof *heap);
    if (heap)
        sampler->heap = heap;
    struct pollfd *fds = realloc(sampler->fds, (n + 1) * sizeof *fds);
    if (fds)
        sampler->fds = fds;
    if (!streams || !heap || !fds)
        return -ENOMEM;
    sampler->cap = n;
    return 0;
}

static bool is_wanted(const struct sampler *sampler, int cpu)
{
    for (size_t i = 0; i < sampler->n_cpus; i++)
        if (sampler->cpus[i] == cpu)
            return true;
    return false;
}

static bool is_open(const struct sampler *sampler, int cpu, size_t event)
{
    for (size_t i = 0; i < sampler->n; i++) {
        const struct stream *stream = sampler->streams[i];
        if (stream->cpu == cpu && stream->event == event && stream->fd >= 0)
            return true;
    }
    return false;
}

/* Opens what is wanted and not there; stops at the first error. */
static int open_missing(struct sampler *sampler)
{
    int err = reserve(sampler, sampler->n + sampler->n_cpus * sampler->config.n_events);
    for (size_t c = 0; c < sampler->n_cpus && !err; c++)
        for (size_t event = 0; event < sampler->config.n_events && !err; event++)
            if (!is_open(sampler, sampler->cpus[c], event)) {
                err = stream_new(sampler, sampler->cpus[c], event, &sampler->streams[sampler->n]);
                sampler->n += err == 0;
            }
    return err;
}

static int enable_those(struct sampler *sampler, size_t first, bool mappings)
{
    const struct perf_kernel *kernel = sampler->config.kernel;
    int err = 0;
    for (size_t i = first; i < sampler->n && !err; i++)
        if (sampler->config.events[sampler->streams[i]->event].mappings == mappings)
            err = kernel->enable(kernel->context, sampler->streams[i]->fd);
    return err;
}

/* No sample without the mappings of all CPUs from then on. */
static int enable_from(struct sampler *sampler, size_t first)
{
    int err = enable_those(sampler, first, true);
    return err ? err : enable_those(sampler, first, false);
}

/* A CPU that came had run for a while before it was listened to. */
static void miss_mappings_from(struct sampler *sampler, size_t first)
{
    for (size_t i = first; i < sampler->n; i++)
        if (sampler->config.events[sampler->streams[i]->event].mappings) {
            miss_mappings(sampler, sampler->streams[i]->event);
            return; /* for all of them */
        }
}

/* Any page will do, but the one that is looked at must stay. */
static void choose_clock(struct sampler *sampler)
{
    sampler->clock.page =
        sampler->own_clock && sampler->n > 0 ? sampler->streams[0]->mapping : NULL;
}

/* Those that are closed and read to their end go. */
static void drop_closed(struct sampler *sampler)
{
    size_t kept = 0;
    for (size_t i = 0; i < sampler->n; i++) {
        struct stream *stream = sampler->streams[i];
        if (stream->fd < 0 && stream->size == 0)
            stream_free(sampler, stream);
        else
            sampler->streams[kept++] = stream;
    }
    sampler->n = kept;
    choose_clock(sampler);
}

static void list_fds(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->n; i++)
        sampler->fds[i] = (struct pollfd){.fd = sampler->streams[i]->fd, .events = POLLIN};
    sampler->fds[sampler->n] = (struct pollfd){.fd = sampler->wake_fd, .events = POLLIN};
}

static bool take_new_cpus(struct sampler *sampler)
{
    pthread_mutex_lock(&sampler->lock);
    int *cpus = sampler->new_cpus;
    size_t n = sampler->n_new_cpus;
    sampler->new_cpus = NULL;
    pthread_mutex_unlock(&sampler->lock);
    if (!cpus)
        return false;
    free(sampler->cpus);
    sampler->cpus = cpus;
    sampler->n_cpus = n;
    return true;
}

/* After a pass. What is closed here is read in the next one, and then goes. */
static void follow_cpus(struct sampler *sampler)
{
    size_t before = sampler->n;
    drop_closed(sampler);
    if (!take_new_cpus(sampler) && sampler->n == before && !sampler->incomplete)
        return;
    for (size_t i = 0; i < sampler->n; i++)
        if (!is_wanted(sampler, sampler->streams[i]->cpu))
            close_event(sampler, sampler->streams[i]);
    size_t first = sampler->n;
    int err = open_missing(sampler), failed = enable_from(sampler, first);
    err = err ? err : failed;
    sampler->incomplete = err != 0;
    atomic_store(&sampler->error, err);
    list_fds(sampler);
    choose_clock(sampler);
    miss_mappings_from(sampler, first);
}

int sampler_set_cpus(struct sampler *sampler, const int *cpus, size_t n)
{
    int *copy = malloc((n ? n : 1) * sizeof *copy);
    uint64_t one = 1;
    if (!copy)
        return -ENOMEM;
    memcpy(copy, cpus, n * sizeof *copy);
    pthread_mutex_lock(&sampler->lock);
    free(sampler->new_cpus);
    sampler->new_cpus = copy;
    sampler->n_new_cpus = n;
    pthread_mutex_unlock(&sampler->lock);
    while (write(sampler->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
    return 0;
}

bool sampler_is_batched(const struct sampler *sampler)
{
    return sampler->own_clock;
}

int sampler_error(const struct sampler *sampler)
{
    return atomic_load(&sampler->error);
}

size_t sampler_open_events(const struct sampler *sampler)
{
    return atomic_load(&sampler->open_events);
}

/* ---- a pass ---- */

/*
 * With perf's own clock samples may lie with the hardware for as long as its room lasts, and no
 * switch between processes comes: reading the event makes the kernel fetch them. The time up to
 * which that was done.
 */
static uint64_t collect(struct sampler *sampler, uint64_t now)
{
    const struct perf_kernel *kernel = sampler->config.kernel;
    uint64_t count;
    if (!sampler->own_clock)
        return now;
    if (sampler->collected_ns != 0 && now < sampler->collected_ns + collect_ns)
        return sampler->collected_ns;
    for (size_t i = 0; i < sampler->n; i++) {
        const struct stream *stream = sampler->streams[i];
        if (stream->fd >= 0 && sampler->config.events[stream->event].event->attr.precise_ip > 0)
            kernel->read(kernel->context, stream->fd, &count, sizeof count);
    }
    sampler->collected_ns = now;
    return now;
}

void sampler_drain(struct sampler *sampler)
{
    /* Everything before this time is in the buffers by now; what is later may be so on one CPU and
     * not on another, and waits for the next pass. */
    uint64_t now = collect(sampler, perf_clock_now(&sampler->clock));
    uint64_t until = now > slack_ns ? now - slack_ns : 0;
    bool left;
    do {
        left = copy_all(sampler);
    } while (merge(sampler, until) > 0 && left);
    say_missing_before(sampler, until);
    until = perf_clock_monotonic(&sampler->clock, until);
    if (sampler->own_clock)
        until -= comparison_ns;
    sampler->config.sink.settle(sampler->config.sink.context, until);
    follow_cpus(sampler);
}

/* ---- the thread ---- */

static void *thread_main(void *argument)
{
    struct sampler *sampler = argument;
    const struct perf_kernel *kernel = sampler->config.kernel;
    while (!atomic_load(&sampler->stop)) {
        uint64_t wakes;
        int ready = kernel->wait(kernel->context, sampler->fds, sampler->n + 1, PASS_MS);
        if (ready < 0 && ready != -EINTR) {
            atomic_store(&sampler->error, ready);
            break;
        }
        /* An event whose CPU went away stays ready for ever. It counts no more, also when the CPU
         * comes back. */
        for (size_t i = 0; ready > 0 && i < sampler->n; i++)
            if (sampler->fds[i].revents & (POLLHUP | POLLERR | POLLNVAL)) {
                sampler->fds[i].fd = -1;
                close_event(sampler, sampler->streams[i]);
            }
        if (ready > 0 && sampler->fds[sampler->n].revents & POLLIN)
            while (read(sampler->wake_fd, &wakes, sizeof wakes) < 0 && errno == EINTR)
                ;
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

static bool is_valid(const struct sampler_config *config)
{
    if (config->n_cpus == 0 || config->n_events == 0 || config->n_events > SAMPLER_EVENTS)
        return false;
    for (size_t i = 0; i < config->n_events; i++) {
        const struct sampler_event *event = &config->events[i];
        if (event->period == 0 || event->data_pages == 0 || event->data_pages > 1 << 16)
            return false;
    }
    return true;
}

static void free_streams(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->n; i++)
        stream_free(sampler, sampler->streams[i]);
    sampler->n = 0;
}

/* With perf's own clock where that is worth it and the kernel tells how to read it. */
static int open_first(struct sampler *sampler)
{
    for (size_t i = 0; i < sampler->config.n_events; i++)
        sampler->own_clock |= sampler->config.events[i].event->attr.precise_ip > 0;
    int err = open_missing(sampler);
    if (!err && sampler->own_clock && !perf_clock_is_told(sampler->streams[0]->mapping)) {
        sampler->own_clock = false;
        free_streams(sampler);
        err = open_missing(sampler);
    }
    if (!err)
        choose_clock(sampler);
    return err;
}

int sampler_new(const struct sampler_config *config, struct sampler **out)
{
    if (!is_valid(config))
        return -EINVAL;
    struct sampler *sampler = calloc(1, sizeof *sampler);
    if (!sampler)
        return -ENOMEM;
    sampler->config = *config;
    sampler->config.cpus = NULL;
    sampler->clock.sources = config->clock;
    sampler->page_size = (size_t)sysconf(_SC_PAGESIZE);
    pthread_mutex_init(&sampler->lock, NULL);
    sampler->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = sampler->wake_fd < 0 ? -errno : 0;
    if (!err)
        err = sampler_set_cpus(sampler, config->cpus, config->n_cpus);
    if (!err) {
        take_new_cpus(sampler);
        err = open_first(sampler);
    }
    if (!err)
        err = enable_from(sampler, 0);
    if (err) {
        sampler_free(sampler);
        return err;
    }
    list_fds(sampler);
    *out = sampler;
    return 0;
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    if (sampler->started) {
        uint64_t one = 1;
        atomic_store(&sampler->stop, true);
        while (write(sampler->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(sampler->thread, NULL);
    }
    free_streams(sampler);
    if (sampler->wake_fd >= 0)
        close(sampler->wake_fd);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler->new_cpus);
    free(sampler->cpus);
    free(sampler->fds);
    free(sampler->heap);
    free(sampler->streams);
    free(sampler);
}
