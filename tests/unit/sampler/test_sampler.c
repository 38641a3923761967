/* Samples of all CPUs in one order: from buffers made here, and from the real kernel. */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/source/sampler/sampler.h"

enum { CPUS = 3, EVENTS = 2, MS = 1000000, MAX_SEEN = 1 << 18 };

/* ---- a kernel ---- */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

struct fake {
    struct perf_event_attr attr;
    struct perf_event_mmap_page *ring[EVENTS * CPUS]; /* event 1 behind event 0 */
    uint64_t config[EVENTS];                          /* of the events, in the order of opening */
    int opened, mapped, enabled;                      /* those that are now */
    int enabled_fd[64];                               /* in their order */
    int refuse_open, refuse_map;                      /* the CPU for which to; -1: none */
    uint64_t now;
    bool tells_clock; /* in its pages: 5,000 ns and half a nanosecond for each count */
    uint64_t counter;
    int reads;
    uint64_t collected;   /* time of a sample of CPU 2 that comes when the event is read; 0: none */
    pthread_mutex_t lock; /* of 'hung' */
    int hung;             /* the descriptor whose CPU went away; 0: none */
};

/* Which event of which CPU; descriptors are 100000 and this. */
static int place_of(const struct fake *fake, uint64_t config, int cpu)
{
    return config == fake->config[0] ? cpu : CPUS + cpu;
}

static int fake_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                     int group_fd, unsigned long flags)
{
    struct fake *fake = context;
    assert_int_equal(pid, -1);
    assert_int_equal(group_fd, -1);
    assert_true((flags & PERF_FLAG_FD_CLOEXEC) != 0);
    if (cpu == fake->refuse_open)
        return -EACCES;
    fake->attr = *attr;
    fake->opened++;
    if (fake->config[0] == 0)
        fake->config[0] = attr->config;
    return 100000 + place_of(fake, attr->config, cpu);
}

static int fake_enable(void *context, int fd)
{
    struct fake *fake = context;
    assert_in_range(fake->enabled, 0, 63);
    fake->enabled_fd[fake->enabled++] = fd;
    return 0;
}

static bool put_sample(struct fake *fake, int cpu, uint64_t time, uint64_t address);

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
    struct fake *fake = context;
    assert_int_equal(size, sizeof(uint64_t));
    memset(buffer, 0, size);
    fake->reads++;
    if (fd == 100002 && fake->collected) {
        assert_true(put_sample(fake, 2, fake->collected, 77));
        fake->collected = 0;
    }
    return (ssize_t)size;
}

static int fake_close(void *context, int fd)
{
    struct fake *fake = context;
    assert_in_range(fd, 100000, 100000 + EVENTS * CPUS - 1);
    fake->opened--;
    return 0;
}

static int fake_map(void *context, int fd, size_t size, void **out)
{
    struct fake *fake = context;
    int at = fd - 100000;
    if (at == fake->refuse_map)
        return -EPERM;
    fake->ring[at] = calloc(1, size);
    assert_non_null(fake->ring[at]);
    fake->ring[at]->data_size = size - page_size();
    if (fake->tells_clock) {
        fake->ring[at]->cap_user_time_zero = 1;
        fake->ring[at]->time_zero = 5000;
        fake->ring[at]->time_mult = 512;
        fake->ring[at]->time_shift = 10;
    }
    fake->mapped++;
    *out = fake->ring[at];
    return 0;
}

static int fake_unmap(void *context, void *at, size_t size)
{
    struct fake *fake = context;
    assert_int_equal(size, ((struct perf_event_mmap_page *)at)->data_size + page_size());
    free(at);
    fake->mapped--;
    return 0;
}

/* Nothing but a CPU that goes away ever wakes it; it does not sleep long, to be quick. */
static int fake_wait(void *context, struct pollfd *fds, size_t n, int timeout_ms)
{
    struct fake *fake = context;
    (void)timeout_ms;
    int ready = poll(&fds[n - 1], 1, 1); /* the descriptor that ends it is real */
    pthread_mutex_lock(&fake->lock);
    for (size_t i = 0; i + 1 < n; i++) {
        bool hung = fake->hung != 0 && fds[i].fd == fake->hung;
        fds[i].revents = hung ? POLLHUP : 0;
        ready += hung;
        if (hung)
            fake->hung = 0;
    }
    pthread_mutex_unlock(&fake->lock);
    return ready;
}

static uint64_t fake_counter(void *context)
{
    const struct fake *fake = context;
    return fake->counter;
}

static uint64_t fake_now(void *context)
{
    const struct fake *fake = context;
    return fake->now;
}

/* Writes bytes as the kernel does; false when there is no room. */
static bool put(struct fake *fake, int cpu, const void *bytes, size_t n)
{
    struct perf_event_mmap_page *page = fake->ring[cpu];
    uint8_t *data = (uint8_t *)page + page_size();
    size_t size = page->data_size;
    uint64_t head = page->data_head;
    uint64_t tail = __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE);
    if (head + n - tail > size)
        return false;
    for (size_t i = 0; i < n; i++)
        data[(head + i) & (size - 1)] = ((const uint8_t *)bytes)[i];
    __atomic_store_n(&page->data_head, head + n, __ATOMIC_RELEASE);
    return true;
}

static bool put_sample(struct fake *fake, int cpu, uint64_t time, uint64_t address)
{
    const struct {
        struct perf_event_header header;
        uint64_t ip;
        uint32_t pid, tid;
        uint64_t time, address;
    } sample = {{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 40}, 0x401000, 7, 8, time, address};
    return put(fake, cpu, &sample, sizeof sample);
}

static void put_lost(struct fake *fake, int cpu, uint32_t type, uint64_t time, uint64_t n)
{
    const struct {
        struct perf_event_header header;
        uint64_t first, second;
        uint32_t pid, tid;
        uint64_t time;
    } lost = {{type, 0, 40}, type == PERF_RECORD_LOST ? 1 : n, n, 0, 0, time};
    assert_true(put(fake, cpu, &lost, sizeof lost));
}

/* ---- what comes out ---- */

struct seen {
    size_t n, of_event[2];
    struct kernel_record *at; /* without paths */
    uint64_t settled;
    bool late_is_fine, child_ended;
    pid_t child;
    pthread_mutex_t lock;
};

static void see(void *context, size_t event, const struct kernel_record *record)
{
    struct seen *seen = context;
    assert_in_range(event, 0, 1);
    seen->of_event[event]++;
    pthread_mutex_lock(&seen->lock);
    assert_true(record->time_ns >= seen->settled || seen->late_is_fine);
    if (seen->n < MAX_SEEN)
        seen->at[seen->n++] = *record;
    if (record->kind == KERNEL_RECORD_EXIT && (pid_t)record->pid == seen->child)
        seen->child_ended = true;
    pthread_mutex_unlock(&seen->lock);
}

static void see_settled(void *context, uint64_t time_ns)
{
    struct seen *seen = context;
    assert_true(time_ns >= seen->settled);
    seen->settled = time_ns;
}

struct rig {
    struct fake fake;
    struct perf_kernel kernel;
    struct encoded_event event;
    struct seen seen;
    int cpus[CPUS];
    struct perf_clock_sources clock;
    struct sampler_config config;
    struct sampler *sampler;
};

static void rig_init(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    rig->fake.refuse_open = rig->fake.refuse_map = -1;
    rig->fake.now = 1000 * (uint64_t)MS;
    pthread_mutex_init(&rig->fake.lock, NULL);
    rig->kernel = (struct perf_kernel){.event_open = fake_open,
                                       .enable = fake_enable,
                                       .read = fake_read,
                                       .close = fake_close,
                                       .map = fake_map,
                                       .unmap = fake_unmap,
                                       .wait = fake_wait,
                                       .context = &rig->fake};
    rig->event.attr.type = PERF_TYPE_RAW;
    rig->event.attr.config = 0x82d0;
    rig->event.attr.precise_ip = 2;
    rig->seen.at = calloc(MAX_SEEN, sizeof *rig->seen.at);
    assert_non_null(rig->seen.at);
    pthread_mutex_init(&rig->seen.lock, NULL);
    for (int i = 0; i < CPUS; i++)
        rig->cpus[i] = i;
    rig->clock = (struct perf_clock_sources){fake_counter, fake_now, &rig->fake};
    rig->config = (struct sampler_config){
        .kernel = &rig->kernel,
        .events = {{.event = &rig->event, .period = 10007, .data_pages = 1}},
        .n_events = 1,
        .cpus = rig->cpus,
        .n_cpus = CPUS,
        .sink = {.record = see, .settle = see_settled, .context = &rig->seen},
        .clock = &rig->clock};
}

static void rig_release(struct rig *rig)
{
    sampler_free(rig->sampler);
    assert_int_equal(rig->fake.opened, 0);
    assert_int_equal(rig->fake.mapped, 0);
    pthread_mutex_destroy(&rig->seen.lock);
    free(rig->seen.at);
}

static void rig_open(struct rig *rig)
{
    rig_init(rig);
    assert_int_equal(sampler_new(&rig->config, &rig->sampler), 0);
}

static void assert_addresses(const struct rig *rig, const uint64_t *want, size_t n)
{
    assert_int_equal(rig->seen.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rig->seen.at[i].sample.address, want[i]);
}

static void what_is_opened(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig);
    const struct perf_event_attr *attr = &rig.fake.attr;
    assert_int_equal(rig.fake.opened, CPUS);
    assert_int_equal(rig.fake.enabled, CPUS);
    assert_true(attr->config == 0x82d0 && attr->precise_ip == 2);
    assert_int_equal(attr->sample_period, 10007);
    assert_int_equal(attr->sample_type, KERNEL_RECORD_SAMPLE_TYPE);
    assert_true(attr->exclude_kernel && attr->exclude_hv && attr->exclude_guest &&
                attr->sample_id_all);
    assert_true(attr->use_clockid && attr->clockid == CLOCK_MONOTONIC);
    assert_true(attr->watermark && attr->wakeup_watermark == page_size() / 4);
    assert_true(attr->disabled && !attr->mmap && !attr->task && !attr->comm && !attr->inherit);
    rig_release(&rig);

    rig_init(&rig);
    rig.config.events[0].physical = rig.config.events[0].cgroup = rig.config.events[0].mappings =
        true;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_int_equal(attr->sample_type,
                     KERNEL_RECORD_SAMPLE_TYPE | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP);
    assert_true(attr->mmap && attr->mmap_data && attr->mmap2 && attr->comm && attr->comm_exec &&
                attr->task);
    rig_release(&rig);
}

/* Precise samples are cheaper by the kernel's own clock. */
static void perfs_own_clock(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.fake.tells_clock = true;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_false(rig.fake.attr.use_clockid);
    assert_true(sampler_is_batched(rig.sampler));
    assert_int_equal(rig.fake.attr.clockid, 0);
    /* 2 s of counting: 1 s and 5 us by perf's clock, when it is 100 s by the other. */
    rig.fake.counter = 2000 * (uint64_t)MS;
    rig.fake.now = 100000 * (uint64_t)MS;
    uint64_t perf_now = 1000 * (uint64_t)MS + 5000;
    assert_true(put_sample(&rig.fake, 1, perf_now - 5 * MS, 2));
    assert_true(put_sample(&rig.fake, 0, perf_now - 6 * MS, 1));
    assert_true(put_sample(&rig.fake, 0, perf_now - 1 * MS, 3));
    sampler_drain(rig.sampler);
    assert_addresses(&rig, (const uint64_t[]){1, 2}, 2);
    assert_int_equal(rig.seen.at[0].time_ns, rig.fake.now - 6 * MS);
    assert_int_equal(rig.seen.at[1].time_ns, rig.fake.now - 5 * MS);
    assert_int_equal(rig.seen.settled, rig.fake.now - 2 * MS - 1000);
    /* The other clock is steered, and runs away from it. */
    rig.fake.counter += 2 * 60 * MS;
    rig.fake.now += 60 * MS + 300;
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.at[2].time_ns, rig.fake.now - 61 * MS);
    rig_release(&rig);

    /* What the hardware holds back is fetched, but not all the time. */
    rig_init(&rig);
    rig.fake.tells_clock = true;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    rig.fake.counter = 2000 * (uint64_t)MS;
    rig.fake.collected = perf_now - 8 * MS;
    assert_true(put_sample(&rig.fake, 0, perf_now - 7 * MS, 78));
    sampler_drain(rig.sampler);
    assert_addresses(&rig, (const uint64_t[]){77, 78}, 2);
    assert_int_equal(rig.fake.reads, CPUS);
    rig.fake.counter += 2 * 20 * MS;
    rig.fake.now += 20 * MS;
    uint64_t settled = rig.seen.settled;
    assert_true(put_sample(&rig.fake, 0, perf_now + 10 * MS, 80));
    sampler_drain(rig.sampler); /* another CPU may hold an earlier one */
    assert_int_equal(rig.seen.n, 2);
    assert_int_equal(rig.seen.settled, settled);
    assert_int_equal(rig.fake.reads, CPUS);
    rig.fake.collected = perf_now + 9 * MS;
    rig.fake.counter += 2 * 40 * MS;
    rig.fake.now += 40 * MS;
    sampler_drain(rig.sampler);
    assert_addresses(&rig, (const uint64_t[]){77, 78, 77, 80}, 4);
    assert_int_equal(rig.fake.reads, 2 * CPUS);
    rig_release(&rig);

    rig_init(&rig); /* no such help: asked for at once for all */
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_true(rig.fake.attr.use_clockid);
    assert_false(sampler_is_batched(rig.sampler));
    rig_release(&rig);

    rig_init(&rig); /* no reason to */
    rig.fake.tells_clock = true;
    rig.event.attr.precise_ip = 0;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_true(rig.fake.attr.use_clockid);
    rig_release(&rig);
}

static void all_or_none(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.fake.refuse_open = 2;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), -EACCES);
    assert_null(rig.sampler);
    assert_int_equal(rig.fake.opened + rig.fake.mapped + rig.fake.enabled, 0);
    rig.fake.refuse_open = -1;
    rig.fake.refuse_map = 1;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), -EPERM);
    assert_int_equal(rig.fake.opened + rig.fake.mapped + rig.fake.enabled, 0);
    rig.fake.refuse_map = -1;
    rig.config.events[0].data_pages = 3; /* no power of two */
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), -EINVAL);
    rig.config.events[0].data_pages = 1;
    rig.config.events[0].period = 0;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), -EINVAL);
    rig_release(&rig);
}

static void one_order_over_all_cpus(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig);
    for (uint64_t i = 1; i <= 12; i++) /* in turn, but for CPU 0, which has two each */
        assert_true(put_sample(&rig.fake, i % 4 < 2 ? 0 : (int)(i % 4) - 1, i, i));
    sampler_drain(rig.sampler);
    assert_addresses(&rig, (const uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 12);
    assert_int_equal(sampler_counts(rig.sampler, 0).samples, 12);
    assert_int_equal(rig.seen.settled, 998 * (uint64_t)MS);

    /* Too new: on another CPU there may be an earlier one that did not arrive. */
    uint64_t now = rig.fake.now += 10 * MS;
    assert_true(put_sample(&rig.fake, 0, now - 3 * MS, 20));
    assert_true(put_sample(&rig.fake, 0, now - 1 * MS, 22));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 13);
    assert_true(put_sample(&rig.fake, 1, now - 2 * MS, 21));
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 15);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(rig.seen.at[12 + i].sample.address, 20 + i);
    rig_release(&rig);
}

static void around_the_end_of_the_buffer(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig);
    uint64_t time = 1, n = 0;
    for (int round = 0; round < 40; round++) {
        uint64_t before = n;
        while (put_sample(&rig.fake, round % CPUS, time, time)) {
            time++;
            n++;
        }
        assert_int_equal(n - before, page_size() / 40); /* all the room is there again */
        rig.fake.now = time + 2 * MS;
        sampler_drain(rig.sampler);
    }
    assert_int_equal(rig.seen.n, n);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(rig.seen.at[i].sample.address, i + 1);
    assert_int_equal(sampler_counts(rig.sampler, 0).broken, 0);
    rig_release(&rig);
}

/* What must wait fills the room there is, and the last record of it is cut. */
static void no_room_for_more(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig);
    uint64_t n = 0, first = rig.fake.now;
    for (int round = 0; round < 3; round++) {
        while (put_sample(&rig.fake, 0, first + n, n))
            n++;
        sampler_drain(rig.sampler);
        assert_int_equal(rig.seen.n, 0);
    }
    while (put_sample(&rig.fake, 0, first + n, n))
        n++;
    sampler_drain(rig.sampler);
    assert_false(put_sample(&rig.fake, 0, first + n, n)); /* here the kernel counts it lost */
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler); /* all of it, for it says so */
    assert_int_equal(rig.seen.n, n);
    for (uint64_t i = 0; i < n; i++)
        assert_int_equal(rig.seen.at[i].sample.address, i);
    assert_int_equal(sampler_counts(rig.sampler, 0).broken, 0);
    rig_release(&rig);
}

static void losses_and_throttling(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig);
    put_lost(&rig.fake, 0, PERF_RECORD_LOST, 5, 12);
    put_lost(&rig.fake, 1, PERF_RECORD_LOST_SAMPLES, 6, 30);
    put_lost(&rig.fake, 2, PERF_RECORD_THROTTLE, 7, 0);
    put_lost(&rig.fake, 2, PERF_RECORD_UNTHROTTLE, 8, 0);
    assert_true(put_sample(&rig.fake, 0, 9, 9));
    sampler_drain(rig.sampler);
    struct sampler_counts counts = sampler_counts(rig.sampler, 0);
    assert_int_equal(counts.samples, 1);
    assert_int_equal(counts.lost, 42);
    assert_int_equal(counts.throttles, 1);
    assert_int_equal(rig.seen.n, 5); /* who keeps mappings must hear of losses */
    rig_release(&rig);
}

/* Each event with buffers of its own: what drowns one does not touch the other. */
static void two_events(void **state)
{
    (void)state;
    struct rig rig;
    struct encoded_event other = {0};
    rig_init(&rig);
    other.attr.type = PERF_TYPE_SOFTWARE;
    other.attr.config = PERF_COUNT_SW_DUMMY;
    rig.config.events[1] = (struct sampler_event){.event = &other, .period = 1, .data_pages = 2};
    rig.config.n_events = 2;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_int_equal(rig.fake.opened, EVENTS * CPUS);
    assert_int_equal(rig.fake.enabled, EVENTS * CPUS);
    assert_int_equal(sampler_open_events(rig.sampler), EVENTS * CPUS);
    uint64_t n = 0;
    while (put_sample(&rig.fake, 0, 10 + n, 10 + n))
        n++;
    put_lost(&rig.fake, 0 + CPUS, PERF_RECORD_LOST, 1, 7);
    assert_true(put_sample(&rig.fake, 1 + CPUS, 10, 10));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, n + 2);
    assert_int_equal(rig.seen.of_event[0], n);
    assert_int_equal(rig.seen.of_event[1], 2);
    assert_int_equal(rig.seen.at[0].kind, KERNEL_RECORD_LOST);
    assert_true(sampler_counts(rig.sampler, 0).samples == n);
    assert_true(sampler_counts(rig.sampler, 0).lost == 0);
    assert_true(sampler_counts(rig.sampler, 1).samples == 1);
    assert_true(sampler_counts(rig.sampler, 1).lost == 7);
    rig_release(&rig);
}

/* What becomes of a process is known before its samples of the same time are looked at. */
static void the_first_event_comes_first(void **state)
{
    (void)state;
    struct rig rig;
    struct encoded_event other = {0};
    rig_init(&rig);
    other.attr.type = PERF_TYPE_SOFTWARE;
    other.attr.config = PERF_COUNT_SW_DUMMY;
    rig.config.events[1] = (struct sampler_event){.event = &other, .period = 1, .data_pages = 1};
    rig.config.n_events = 2;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    for (uint64_t time = 10; time < 20; time++)
        for (int cpu = 0; cpu < CPUS; cpu++) {
            assert_true(put_sample(&rig.fake, cpu + CPUS, time, CPUS + (uint64_t)cpu));
            assert_true(put_sample(&rig.fake, cpu, time, (uint64_t)cpu));
        }
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 10 * EVENTS * CPUS);
    for (size_t i = 0; i < rig.seen.n; i++) {
        assert_int_equal(rig.seen.at[i].time_ns, 10 + i / (EVENTS * CPUS));
        assert_int_equal(rig.seen.at[i].sample.address, i % (EVENTS * CPUS));
    }
    rig_release(&rig);
}

static void assert_lost(const struct rig *rig, size_t i, uint64_t time)
{
    assert_in_range(i, 0, rig->seen.n - 1);
    assert_int_equal(rig->seen.at[i].kind, KERNEL_RECORD_LOST);
    assert_int_equal(rig->seen.at[i].time_ns, time);
    assert_int_equal(rig->seen.at[i].lost, 0);
}

/* Mappings that nobody heard of must not go unnoticed. */
static void missing_mappings_are_told_of(void **state)
{
    (void)state;
    struct rig rig;
    struct encoded_event mappings = {0};
    rig_init(&rig);
    mappings.attr.type = PERF_TYPE_SOFTWARE;
    mappings.attr.config = PERF_COUNT_SW_DUMMY;
    rig.config.events[1] =
        (struct sampler_event){.event = &mappings, .period = 1, .data_pages = 1, .mappings = true};
    rig.config.n_events = 2;
    rig.config.n_cpus = 2;
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    /* None is missing when the first sample is taken. */
    assert_int_equal(rig.fake.enabled, 4);
    for (int i = 0; i < 4; i++)
        assert_true((rig.fake.enabled_fd[i] >= 100000 + CPUS) == (i < 2));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 0);

    /* A CPU came: at once, and when all from before is out. */
    uint64_t came = rig.fake.now += 10 * MS;
    assert_int_equal(sampler_set_cpus(rig.sampler, rig.cpus, CPUS), 0);
    sampler_drain(rig.sampler);
    assert_int_equal(rig.fake.enabled, 6);
    assert_int_equal(rig.fake.enabled_fd[4], 100000 + CPUS + 2);
    assert_int_equal(rig.seen.n, 1);
    assert_lost(&rig, 0, came);
    assert_true(put_sample(&rig.fake, 0, came - 1, 1));
    assert_true(put_sample(&rig.fake, 1, came + 1, 2));
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 4);
    assert_int_equal(rig.seen.at[1].sample.address, 1);
    assert_lost(&rig, 2, came);
    assert_int_equal(rig.seen.at[3].sample.address, 2);

    /* A buffer was broken; of one that has no mappings nobody need know. */
    static const uint8_t nonsense[40] = {9, 0, 0, 0, 2, 0, 0xff, 0xff};
    uint64_t broken = rig.fake.now += 10 * MS;
    assert_true(put(&rig.fake, 0, nonsense, sizeof nonsense));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 4);
    assert_true(put(&rig.fake, CPUS, nonsense, sizeof nonsense));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 5);
    assert_lost(&rig, 4, broken);
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler); /* also when nothing else comes */
    assert_int_equal(rig.seen.n, 6);
    assert_lost(&rig, 5, broken);
    broken = rig.fake.now;
    rig.fake.ring[CPUS + 1]->data_head = 1000000;
    sampler_drain(rig.sampler);
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler);
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 8);
    assert_lost(&rig, 6, broken);
    assert_lost(&rig, 7, broken);
    assert_int_equal(rig.seen.of_event[1], 6);
    rig_release(&rig);
}

static void cpus_come_and_go(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig);
    rig.config.n_cpus = 2;
    rig.seen.late_is_fine = true; /* this clock stands still */
    assert_int_equal(sampler_new(&rig.config, &rig.sampler), 0);
    assert_int_equal(rig.fake.opened, 2);
    assert_int_equal(sampler_set_cpus(rig.sampler, (const int[]){1, 2}, 2), 0);
    assert_true(put_sample(&rig.fake, 0, 1, 1));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.fake.opened, 2);
    assert_int_equal(rig.fake.enabled, 3);
    assert_int_equal(rig.fake.mapped, 3); /* what came in between is still to be read */
    assert_true(put_sample(&rig.fake, 0, 2, 2));
    assert_true(put_sample(&rig.fake, 2, 3, 3));
    sampler_drain(rig.sampler);
    assert_addresses(&rig, (const uint64_t[]){1, 2, 3}, 3);
    assert_int_equal(rig.fake.mapped, 2);

    /* One that cannot be opened is tried again, the others go on. */
    rig.fake.refuse_open = 0;
    assert_int_equal(sampler_set_cpus(rig.sampler, (const int[]){0, 1, 2}, 3), 0);
    sampler_drain(rig.sampler);
    assert_int_equal(sampler_error(rig.sampler), -EACCES);
    assert_true(put_sample(&rig.fake, 1, 4, 4));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 4);
    assert_int_equal(sampler_open_events(rig.sampler), 2);
    rig.fake.refuse_open = -1;
    sampler_drain(rig.sampler);
    assert_int_equal(sampler_error(rig.sampler), 0);
    assert_int_equal(sampler_open_events(rig.sampler), 3);
    assert_true(put_sample(&rig.fake, 0, 5, 5));
    sampler_drain(rig.sampler);
    assert_int_equal(rig.seen.n, 5);
    rig_release(&rig);
}

/* Gone and back before anyone looked: the event is dead, and made anew. */
static void a_cpu_that_was_away(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig);
    assert_int_equal(sampler_start(rig.sampler), 0);
    pthread_mutex_lock(&rig.fake.lock);
    rig.fake.hung = 100001;
    pthread_mutex_unlock(&rig.fake.lock);
    uint64_t one = 1;
    for (int i = 0; one != 0 && i < 10000; i++) {
        usleep(1000);
        pthread_mutex_lock(&rig.fake.lock);
        one = (uint64_t)rig.fake.hung;
        pthread_mutex_unlock(&rig.fake.lock);
    }
    sampler_free(rig.sampler);
    rig.sampler = NULL;
    assert_int_equal(one, 0);
    assert_int_equal(rig.fake.enabled, CPUS + 1);
    rig_release(&rig);
}

static void a_broken_buffer(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig);
    static const uint8_t nonsense[40] = {9, 0, 0, 0, 2, 0, 0xff, 0xff};
    static const uint8_t empty[8] = {9, 0, 0, 0, 2, 0, 0, 0};
    assert_true(put(&rig.fake, 0, nonsense, sizeof nonsense)); /* larger than any buffer */
    assert_true(put(&rig.fake, 1, empty, sizeof empty));
    rig.fake.ring[2]->data_head = 1000000; /* further than the buffer is large */
    sampler_drain(rig.sampler);
    assert_int_equal(sampler_counts(rig.sampler, 0).broken, 3);
    assert_int_equal(rig.seen.n, 0);
    for (int cpu = 0; cpu < CPUS; cpu++) /* it goes on */
        assert_true(put_sample(&rig.fake, cpu, rig.fake.now + (uint64_t)cpu, (uint64_t)cpu));
    rig.fake.now += 10 * MS;
    sampler_drain(rig.sampler);
    assert_addresses(&rig, (const uint64_t[]){0, 1, 2}, 3);
    assert_int_equal(sampler_counts(rig.sampler, 0).broken, 3);
    rig_release(&rig);
}

static void the_thread_keeps_up(void **state)
{
    (void)state;
    enum { N = 100000 };
    struct rig rig;
    rig_open(&rig);
    rig.seen.late_is_fine = true; /* this clock stands still */
    assert_int_equal(sampler_start(rig.sampler), 0);
    assert_int_equal(sampler_start(rig.sampler), -EALREADY);
    for (uint64_t i = 1; i <= N; i++)
        while (!put_sample(&rig.fake, (int)(i % CPUS), i, i))
            sched_yield(); /* the buffer is full: the thread is to empty it */
    while (sampler_counts(rig.sampler, 0).samples < N)
        usleep(1000);
    sampler_free(rig.sampler);
    rig.sampler = NULL;
    assert_int_equal(rig.seen.n, N);
    uint64_t sum = 0;
    for (size_t i = 0; i < N; i++)
        sum += rig.seen.at[i].sample.address;
    assert_true(sum == (uint64_t)N * (N + 1) / 2);
    rig_release(&rig);
}

/* ---- the real kernel: page faults, each of them a sample ---- */

#if defined(__x86_64__)
void store_one_byte(char *at);
__asm__(".text\n.globl store_one_byte\n.type store_one_byte,@function\n"
        "store_one_byte:\n movb $1,(%rdi)\n ret\n.size store_one_byte,.-store_one_byte\n");

enum { PAGES = 500 };

static _Noreturn void touch_pages(int in, void *where)
{
    char c, *at;
    if (read(in, &c, 1) != 1) /* until the parent knows whom to expect */
        _exit(1);
    at = mmap(where, PAGES * page_size(), PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at == MAP_FAILED)
        _exit(1);
    madvise(at, PAGES * page_size(), MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        store_one_byte(at + i * page_size() + i);
    _exit(0);
}

static void check_faults(const struct rig *rig, pid_t child, uint64_t where)
{
    size_t faults = 0;
    uint64_t mapped_ns = 0;
    for (size_t i = 0; i < rig->seen.n; i++) {
        const struct kernel_record *r = &rig->seen.at[i];
        if ((pid_t)r->pid != child)
            continue;
        if (r->kind == KERNEL_RECORD_MMAP && r->mmap.start == where) {
            assert_int_equal(r->mmap.length, PAGES * page_size());
            assert_true(r->mmap.writable && !r->mmap.shared && r->mmap.inode == 0);
            mapped_ns = r->time_ns;
        }
        if (r->kind != KERNEL_RECORD_SAMPLE || r->sample.address < where ||
            r->sample.address >= where + PAGES * page_size())
            continue;
        assert_int_equal(r->sample.address, where + faults * page_size() + faults);
        assert_int_equal(r->sample.ip, (uintptr_t)store_one_byte);
        assert_true(r->sample.user && r->sample.cgroup_id != 0);
        assert_true(mapped_ns != 0 && mapped_ns <= r->time_ns);
        faults++;
    }
    assert_int_equal(faults, PAGES);
}

static void real_page_faults(void **state)
{
    (void)state;
    struct rig rig;
    struct fsroot fs;
    struct verdict why;
    int pipes[2], status = -1;
    int cpus[64], n = 0;
    rig_init(&rig);
    assert_int_equal(fsroot_init(&fs, NULL, NULL, NULL, NULL), 0);
    for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && n < 64; cpu++)
        cpus[n++] = (int)cpu;
    struct encoded_event event;
    assert_int_equal(encode_event(&fs, "software:page-faults", &event, &why), 0);
    rig.config.kernel = &perf_kernel_linux;
    rig.config.events[0].event = &event;
    rig.config.cpus = cpus;
    rig.config.n_cpus = (size_t)n;
    rig.config.events[0].period = 1;
    rig.config.events[0].data_pages = 64;
    rig.config.clock = NULL;
    rig.config.events[0].mappings = rig.config.events[0].cgroup = true;
    rig.config.clock = NULL;
    /* A free place, for the child to map. */
    void *where = mmap(NULL, PAGES * page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(where != MAP_FAILED);
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        touch_pages(pipes[0], where);
    rig.seen.child = child;
    rig.seen.late_is_fine = true; /* a stopped virtual CPU */
    int err = sampler_new(&rig.config, &rig.sampler);
    if (!err) {
        assert_int_equal(sampler_start(rig.sampler), 0);
        assert_int_equal(write(pipes[1], "x", 1), 1);
        waitpid(child, &status, 0);
        for (int i = 0; i < 10000; i++) { /* its exit was the last that it did */
            pthread_mutex_lock(&rig.seen.lock);
            bool ended = rig.seen.child_ended;
            pthread_mutex_unlock(&rig.seen.lock);
            if (ended)
                break;
            usleep(1000);
        }
        struct sampler_counts counts = sampler_counts(rig.sampler, 0);
        sampler_free(rig.sampler);
        rig.sampler = NULL;
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_true(rig.seen.child_ended);
        assert_int_equal(counts.lost + counts.broken, 0);
        check_faults(&rig, child, (uintptr_t)where);
    }
    close(pipes[1]);
    close(pipes[0]);
    if (err)
        waitpid(child, NULL, 0);
    munmap(where, PAGES * page_size());
    encoded_event_release(&event);
    fsroot_release(&fs);
    rig_release(&rig);
    if (err) {
        print_message("no system-wide sampling here: %s\n", strerror(-err));
        assert_true(err == -EACCES || err == -EPERM);
        skip();
    }
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_opened),
        cmocka_unit_test(perfs_own_clock),
        cmocka_unit_test(all_or_none),
        cmocka_unit_test(one_order_over_all_cpus),
        cmocka_unit_test(around_the_end_of_the_buffer),
        cmocka_unit_test(no_room_for_more),
        cmocka_unit_test(losses_and_throttling),
        cmocka_unit_test(two_events),
        cmocka_unit_test(the_first_event_comes_first),
        cmocka_unit_test(missing_mappings_are_told_of),
        cmocka_unit_test(cpus_come_and_go),
        cmocka_unit_test(a_cpu_that_was_away),
        cmocka_unit_test(a_broken_buffer),
        cmocka_unit_test(the_thread_keeps_up),
#if defined(__x86_64__)
        cmocka_unit_test(real_page_faults),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
