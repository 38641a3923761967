#include "tests/unit/support/sampler_rig.h"

#include <unistd.h>

#include "tests/unit/support/unit.h"

/* ---- a kernel ---- */

size_t rings_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Which event of which CPU; descriptors are 100000 and this. */
static int place_of(const struct fake_rings *fake, uint64_t config, int cpu)
{
    return config == fake->config[0] ? cpu : RIG_CPUS + cpu;
}

static int fake_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                     int group_fd, unsigned long flags)
{
    struct fake_rings *fake = context;
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
    struct fake_rings *fake = context;
    assert_in_range(fake->enabled, 0, 63);
    fake->enabled_fd[fake->enabled++] = fd;
    return 0;
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
    struct fake_rings *fake = context;
    assert_int_equal(size, sizeof(uint64_t));
    memset(buffer, 0, size);
    fake->reads++;
    if (fd == 100002 && fake->collected) {
        assert_true(rings_put_sample(fake, 2, fake->collected, 77));
        fake->collected = 0;
    }
    return (ssize_t)size;
}

static int fake_close(void *context, int fd)
{
    struct fake_rings *fake = context;
    assert_in_range(fd, 100000, 100000 + RIG_EVENTS * RIG_CPUS - 1);
    fake->opened--;
    return 0;
}

static int fake_map(void *context, int fd, size_t size, void **out)
{
    struct fake_rings *fake = context;
    int at = fd - 100000;
    if (at == fake->refuse_map)
        return -EPERM;
    fake->ring[at] = calloc(1, size);
    assert_non_null(fake->ring[at]);
    fake->ring[at]->data_size = size - rings_page_size();
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
    struct fake_rings *fake = context;
    assert_int_equal(size, ((struct perf_event_mmap_page *)at)->data_size + rings_page_size());
    free(at);
    fake->mapped--;
    return 0;
}

/* Nothing but a CPU that goes away ever wakes it; it does not sleep long, to be quick. */
static int fake_wait(void *context, struct pollfd *fds, size_t n, int timeout_ms)
{
    struct fake_rings *fake = context;
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
    const struct fake_rings *fake = context;
    return fake->counter;
}

static uint64_t fake_now(void *context)
{
    const struct fake_rings *fake = context;
    return fake->now;
}

/* Writes bytes as the kernel does; false when there is no room. */
bool rings_put(struct fake_rings *fake, int cpu, const void *bytes, size_t n)
{
    struct perf_event_mmap_page *page = fake->ring[cpu];
    uint8_t *data = (uint8_t *)page + rings_page_size();
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

bool rings_put_sample(struct fake_rings *fake, int cpu, uint64_t time, uint64_t address)
{
    const struct {
        struct perf_event_header header;
        uint64_t ip;
        uint32_t pid, tid;
        uint64_t time, address;
    } sample = {{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 40}, 0x401000, 7, 8, time, address};
    return rings_put(fake, cpu, &sample, sizeof sample);
}

void rings_put_lost(struct fake_rings *fake, int cpu, uint32_t type, uint64_t time, uint64_t n)
{
    const struct {
        struct perf_event_header header;
        uint64_t first, second;
        uint32_t pid, tid;
        uint64_t time;
    } lost = {{type, 0, 40}, type == PERF_RECORD_LOST ? 1 : n, n, 0, 0, time};
    assert_true(rings_put(fake, cpu, &lost, sizeof lost));
}

/* ---- what comes out ---- */

static void see(void *context, size_t event, const struct kernel_record *record)
{
    struct sampler_seen *seen = context;
    assert_in_range(event, 0, 1);
    seen->of_event[event]++;
    pthread_mutex_lock(&seen->lock);
    assert_true(record->time_ns >= seen->settled || seen->late_is_fine);
    if (seen->n < RIG_MAX_SEEN)
        seen->at[seen->n++] = *record;
    if (record->kind == KERNEL_RECORD_EXIT && (pid_t)record->pid == seen->child)
        seen->child_ended = true;
    pthread_mutex_unlock(&seen->lock);
}

static void see_settled(void *context, uint64_t time_ns)
{
    struct sampler_seen *seen = context;
    assert_true(time_ns >= seen->settled);
    seen->settled = time_ns;
}

void sampler_rig_init(struct sampler_rig *rig)
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
    rig->seen.at = calloc(RIG_MAX_SEEN, sizeof *rig->seen.at);
    assert_non_null(rig->seen.at);
    pthread_mutex_init(&rig->seen.lock, NULL);
    for (int i = 0; i < RIG_CPUS; i++)
        rig->cpus[i] = i;
    rig->clock = (struct perf_clock_sources){fake_counter, fake_now, &rig->fake};
    rig->config = (struct sampler_config){
        .kernel = &rig->kernel,
        .events = {{.event = &rig->event, .period = 10007, .data_pages = 1}},
        .n_events = 1,
        .cpus = rig->cpus,
        .n_cpus = RIG_CPUS,
        .sink = {.record = see, .settle = see_settled, .context = &rig->seen},
        .clock = &rig->clock};
}

void sampler_rig_release(struct sampler_rig *rig)
{
    sampler_free(rig->sampler);
    assert_int_equal(rig->fake.opened, 0);
    assert_int_equal(rig->fake.mapped, 0);
    pthread_mutex_destroy(&rig->seen.lock);
    free(rig->seen.at);
}

struct sampler_event *sampler_rig_second(struct sampler_rig *rig)
{
    rig->second.attr.type = PERF_TYPE_SOFTWARE;
    rig->second.attr.config = PERF_COUNT_SW_DUMMY;
    rig->config.events[1] = (struct sampler_event){.event = &rig->second, .period = 1};
    rig->config.n_events = 2;
    return &rig->config.events[1];
}

void sampler_rig_open(struct sampler_rig *rig)
{
    sampler_rig_init(rig);
    assert_int_equal(sampler_new(&rig->config, &rig->sampler), 0);
}

int sampler_rig_setup(void **state)
{
    static struct sampler_rig rig;
    sampler_rig_open(&rig);
    *state = &rig;
    return 0;
}

int sampler_rig_teardown(void **state)
{
    sampler_rig_release(*state);
    return 0;
}

void sampler_rig_assert_addresses(const struct sampler_rig *rig, const uint64_t *want, size_t n)
{
    assert_int_equal(rig->seen.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rig->seen.at[i].sample.address, want[i]);
}
