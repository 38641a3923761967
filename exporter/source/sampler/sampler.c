#include "exporter/source/sampler/sampler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/source/sampler/merge.h"
#include "exporter/source/sampler/streams.h"

/* A buffer that fills slowly is looked at this often. */
enum { PASS_MS = 100, END_SECONDS = 1 };

/* Between a record's time and its appearance in the buffer; a hypervisor may stop the CPU there. */
static const uint64_t slack_ns = 2000000;

/* Samples that the hardware collects are asked for at most this often: it interrupts every CPU. */
static const uint64_t collect_ns = 50000000;

/* Two clocks are compared anew with each pass, and not always to the same nanosecond. */
static const uint64_t comparison_ns = 1000;

struct totals {
    _Atomic uint64_t samples, lost, throttles, broken;
};

struct sampler {
    struct sampler_config config; /* its cpus are not to be used after new */
    struct streams streams;
    struct merge merge; /* the next record of each stream that has one, by the events' clock */
    struct perf_clock clock;
    uint64_t collected_ns; /* with perf's own clock: when the hardware's samples were last requested
                            */
    uint64_t missing_ns;   /* on the events' clock: some event's mappings before it are not all in
                            * the buffers, which must be reported once more; 0: no */
    size_t missing_event;
    int wake_fd;
    bool started;
    _Atomic bool stop;
    _Atomic bool ended; /* the thread is about to return */
    pthread_t thread;
    struct totals totals[SAMPLER_EVENTS];
    _Atomic int error;
    pthread_mutex_t lock; /* of what follows; held for moments only */
    int *new_cpus;        /* NULL: no change */
    size_t n_new_cpus;
};

/* ---- missing mappings ---- */

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

/* A CPU that came had run for a while before it was listened to. */
static void miss_mappings_from(struct sampler *sampler, size_t first)
{
    for (size_t i = first; i < sampler->streams.n; i++)
        if (sampler->config.events[sampler->streams.at[i]->event].mappings) {
            miss_mappings(sampler, sampler->streams.at[i]->event);
            return; /* for all of them */
        }
}

/* ---- records ---- */

static void count(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
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
    int got =
        perf_ring_peek(&stream->ring, streams_sample_type(&sampler->config.events[stream->event]),
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

/* ---- a pass ---- */

static struct merge_entry entry_of(const struct sampler *sampler, size_t i)
{
    const struct stream *stream = sampler->streams.at[i];
    return (struct merge_entry){.time = stream->next.time_ns, .event = stream->event, .index = i};
}

/* Copies all buffers; true when something had to be left in one of them. A record that cannot be
 * merged for want of memory stays, and comes late with the next pass. */
static bool copy_all(struct sampler *sampler)
{
    bool left = false;
    merge_clear(&sampler->merge);
    for (size_t i = 0; i < sampler->streams.n; i++) {
        struct stream *stream = sampler->streams.at[i];
        int got = perf_ring_copy(&stream->ring);
        if (got < 0)
            discard(sampler, stream);
        left |= got > 0;
        if (advance(sampler, stream))
            (void)merge_push(&sampler->merge, entry_of(sampler, i));
    }
    return left;
}

/* Hands out what was copied, up to a time; returns how many records that was. */
static size_t hand_out_until(struct sampler *sampler, uint64_t until)
{
    const struct merge_entry *first;
    size_t n = 0;
    for (; (first = merge_first(&sampler->merge)) && first->time < until; n++) {
        size_t i = first->index;
        struct stream *stream = sampler->streams.at[i];
        say_missing_before(sampler, first->time);
        stream->next.time_ns = perf_clock_monotonic(&sampler->clock, stream->next.time_ns);
        hand_out(sampler, stream->event, &stream->next);
        perf_ring_skip(&stream->ring, stream->size);
        if (advance(sampler, stream))
            merge_replace_first(&sampler->merge, entry_of(sampler, i));
        else
            merge_pop(&sampler->merge);
    }
    return n;
}

/*
 * With perf's own clock samples may lie with the hardware for as long as its room lasts, and no
 * switch between processes comes: reading the event makes the kernel fetch them. The time up to
 * which that was done.
 */
static uint64_t collect(struct sampler *sampler, uint64_t now)
{
    const struct perf_kernel *kernel = sampler->config.kernel;
    uint64_t count;
    if (!sampler->streams.own_clock)
        return now;
    if (sampler->collected_ns != 0 && now < sampler->collected_ns + collect_ns)
        return sampler->collected_ns;
    for (size_t i = 0; i < sampler->streams.n; i++) {
        const struct stream *stream = sampler->streams.at[i];
        if (stream->fd >= 0 && sampler->config.events[stream->event].event->attr.precise_ip > 0)
            kernel->read(kernel->context, stream->fd, &count, sizeof count);
    }
    sampler->collected_ns = now;
    return now;
}

/* After the streams changed. */
static void fit_streams(struct sampler *sampler)
{
    struct streams *streams = &sampler->streams;
    /* Any page will do for the clock, but the one that is looked at must stay. */
    sampler->clock.page = streams->own_clock && streams->n > 0 ? streams->at[0]->mapping : NULL;
    streams->fds[streams->n] = (struct pollfd){.fd = sampler->wake_fd, .events = POLLIN};
}

static int *take_new_cpus(struct sampler *sampler, size_t *n)
{
    pthread_mutex_lock(&sampler->lock);
    int *cpus = sampler->new_cpus;
    *n = sampler->n_new_cpus;
    sampler->new_cpus = NULL;
    pthread_mutex_unlock(&sampler->lock);
    return cpus;
}

static void follow_cpus(struct sampler *sampler)
{
    size_t n, first;
    int err;
    int *cpus = take_new_cpus(sampler, &n);
    if (!streams_follow(&sampler->streams, cpus, n, &first, &err))
        return;
    fit_streams(sampler);
    atomic_store(&sampler->error, err);
    miss_mappings_from(sampler, first);
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
    } while (hand_out_until(sampler, until) > 0 && left);
    say_missing_before(sampler, until);
    until = perf_clock_monotonic(&sampler->clock, until);
    if (sampler->streams.own_clock)
        until -= comparison_ns;
    sampler->config.sink.settle(sampler->config.sink.context, until);
    follow_cpus(sampler);
}

/* ---- the thread ---- */

static void wake(struct sampler *sampler)
{
    uint64_t one = 1;
    while (write(sampler->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void *thread_main(void *argument)
{
    struct sampler *sampler = argument;
    struct streams *streams = &sampler->streams;
    const struct perf_kernel *kernel = sampler->config.kernel;
    while (!atomic_load(&sampler->stop)) {
        uint64_t wakes;
        int ready = kernel->wait(kernel->context, streams->fds, streams->n + 1, PASS_MS);
        if (ready < 0 && ready != -EINTR) {
            atomic_store(&sampler->error, ready);
            break;
        }
        if (ready > 0)
            streams_close_hung(streams);
        if (ready > 0 && streams->fds[streams->n].revents & POLLIN)
            while (read(sampler->wake_fd, &wakes, sizeof wakes) < 0 && errno == EINTR)
                ;
        sampler_drain(sampler);
    }
    atomic_store(&sampler->ended, true);
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

/* ---- for other threads ---- */

static int *copy_cpus(const int *cpus, size_t n)
{
    int *copy = malloc((n ? n : 1) * sizeof *copy);
    if (copy && n > 0)
        memcpy(copy, cpus, n * sizeof *copy);
    return copy;
}

int sampler_set_cpus(struct sampler *sampler, const int *cpus, size_t n)
{
    int *copy = copy_cpus(cpus, n);
    if (!copy)
        return -ENOMEM;
    pthread_mutex_lock(&sampler->lock);
    free(sampler->new_cpus);
    sampler->new_cpus = copy;
    sampler->n_new_cpus = n;
    pthread_mutex_unlock(&sampler->lock);
    wake(sampler);
    return 0;
}

bool sampler_is_batched(const struct sampler *sampler)
{
    return sampler->streams.own_clock;
}

int sampler_error(const struct sampler *sampler)
{
    return atomic_load(&sampler->error);
}

size_t sampler_open_events(const struct sampler *sampler)
{
    return atomic_load(&sampler->streams.open_events);
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

static int open_streams(struct sampler *sampler, const int *cpus, size_t n)
{
    int *copy = copy_cpus(cpus, n);
    int err = copy ? streams_open(&sampler->streams, copy, n) : -ENOMEM;
    if (err)
        free(copy);
    else
        fit_streams(sampler);
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
    sampler->streams = (struct streams){.kernel = config->kernel,
                                        .events = sampler->config.events,
                                        .n_events = config->n_events,
                                        .page_size = (size_t)sysconf(_SC_PAGESIZE)};
    pthread_mutex_init(&sampler->lock, NULL);
    sampler->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = sampler->wake_fd < 0 ? -errno : 0;
    if (!err)
        err = open_streams(sampler, config->cpus, config->n_cpus);
    if (err) {
        sampler_free(sampler);
        return err;
    }
    *out = sampler;
    return 0;
}

static void ask_to_end(struct sampler *sampler)
{
    atomic_store(&sampler->stop, true);
    wake(sampler);
}

int sampler_end(struct sampler *sampler)
{
    if (!sampler->started)
        return 0;
    ask_to_end(sampler);
    /* Not pthread_clockjoin_np: the thread sanitizer does not know that it joins. */
    const uint64_t until_ns = clock_mono_ns() + (uint64_t)END_SECONDS * 1000000000;
    while (!atomic_load(&sampler->ended))
        if (clock_mono_ns() >= until_ns || poll(NULL, 0, 1) < 0)
            return -ETIMEDOUT;
    pthread_join(sampler->thread, NULL);
    sampler->started = false;
    return 0;
}

void sampler_free(struct sampler *sampler)
{
    if (!sampler)
        return;
    if (sampler->started) {
        ask_to_end(sampler);
        pthread_join(sampler->thread, NULL);
    }
    streams_release(&sampler->streams);
    merge_release(&sampler->merge);
    if (sampler->wake_fd >= 0)
        close(sampler->wake_fd);
    pthread_mutex_destroy(&sampler->lock);
    free(sampler->new_cpus);
    free(sampler);
}
