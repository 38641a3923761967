/*
 * What attributing samples of memory accesses costs. One line of JSON:
 *
 *   bench_samples attribute ROUNDS    samples that one core attributes a second, from the bytes in
 *                                     the buffers to the queue: with everything known, and with
 *                                     each instruction new in a known process
 *   bench_samples attribute ROUNDS apart   the same, where another process reads those processes,
 *                                     as in service; its time counts, too
 *   bench_samples keep-up SECONDS     100,000 samples a second through the sampler's own thread,
 *                                     with throttling and losses reported in between
 *   bench_samples memory              what is kept of a process, small and with many mappings
 *   bench_samples fields ROUNDS       what a sample takes in the kernel, by what is sampled: page
 *                                     faults of a program that does nothing else
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/containers/cgroup_map.h"
#include "exporter/containers/container.h"
#include "exporter/inspect/inspector.h"
#include "exporter/source/accesses/assignment.h"
#include "exporter/source/sampler/sampler.h"
#include "tests/bench/bench.h"

enum {
    CPUS = 2,
    EVENTS = 2, /* mappings, stores */
    PAGES = 64,
    PROCESSES = 50,
    IPS = 40,
    CGROUP = 4711,
    BATCH = 5000, /* samples a CPU and pass */
    RATE = 100000,
    MAX_ROUNDS = 1000,
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bench_samples: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- a kernel whose buffers are filled here ---- */

struct kernel {
    struct perf_event_mmap_page *ring[EVENTS][CPUS];
    size_t data_size[EVENTS];
    int ready[EVENTS][CPUS];
};

static int place_of(const struct kernel *kernel, int fd)
{
    for (int i = 0; i < EVENTS * CPUS; i++)
        if (kernel->ready[i / CPUS][i % CPUS] == fd)
            return i;
    abort();
}

static int kernel_open(void *context, const struct perf_event_attr *attr, pid_t pid, int cpu,
                       int group_fd, unsigned long flags)
{
    struct kernel *kernel = context;
    int event = attr->mmap ? 0 : 1;
    kernel->ready[event][cpu] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return kernel->ready[event][cpu];
}

static int kernel_enable(void *context, int fd)
{
    return 0;
}

static int kernel_close(void *context, int fd)
{
    return close(fd);
}

static int kernel_map(void *context, int fd, size_t size, void **out)
{
    struct kernel *kernel = context;
    int place = place_of(kernel, fd);
    *out = calloc(1, size);
    kernel->ring[place / CPUS][place % CPUS] = *out;
    kernel->data_size[place / CPUS] = size - (size_t)sysconf(_SC_PAGESIZE);
    return *out ? 0 : -ENOMEM;
}

static int kernel_unmap(void *context, void *at, size_t size)
{
    free(at);
    return 0;
}

static int kernel_wait(void *context, struct pollfd *fds, size_t n, int timeout_ms)
{
    uint64_t count;
    int ready = poll(fds, n, timeout_ms);
    for (size_t i = 0; ready > 0 && i + 1 < n; i++)
        if (fds[i].revents & POLLIN && read(fds[i].fd, &count, sizeof count) < 0)
            continue;
    return ready;
}

/* As the kernel writes; false when there is no room. */
static bool put(struct kernel *kernel, int event, int cpu, const void *bytes, size_t n)
{
    struct perf_event_mmap_page *page = kernel->ring[event][cpu];
    uint8_t *data = (uint8_t *)page + sysconf(_SC_PAGESIZE);
    size_t size = kernel->data_size[event];
    uint64_t head = page->data_head;
    uint64_t tail = __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE);
    if (head + n - tail > size)
        return false;
    size_t at = head & (size - 1), first = size - at < n ? size - at : n;
    memcpy(data + at, bytes, first);
    memcpy(data, (const uint8_t *)bytes + first, n - first);
    __atomic_store_n(&page->data_head, head + n, __ATOMIC_RELEASE);
    /* The watermark that the sampler asks for. */
    if ((head + n - tail) / (size / 4) != (head - tail) / (size / 4)) {
        uint64_t one = 1;
        if (write(kernel->ready[event][cpu], &one, sizeof one) < 0)
            return true;
    }
    return true;
}

struct sample_bytes {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time, address;
};

static bool put_sample(struct kernel *kernel, int cpu, uint32_t pid, uint64_t ip, uint64_t address,
                       uint64_t time)
{
    const struct sample_bytes bytes = {
        {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof bytes}, ip, pid, pid, time, address};
    return put(kernel, 1, cpu, &bytes, sizeof bytes);
}

static bool put_other(struct kernel *kernel, int cpu, uint32_t type, uint64_t n, uint64_t time)
{
    const struct {
        struct perf_event_header header;
        uint64_t first, second;
        uint32_t pid, tid;
        uint64_t time;
    } bytes = {{type, 0, sizeof bytes}, 1, n, 0, 0, time};
    return put(kernel, 1, cpu, &bytes, sizeof bytes);
}

/* ---- processes ---- */

struct place {
    char *memory;            /* half of it stands for persistent memory */
    uint64_t text, text_end; /* this program's code */
};

static void find_text(struct place *place)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    uint64_t start, end, here = (uintptr_t)find_text;
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && here >= start &&
            here < end) {
            place->text = start;
            place->text_end = end - ACCESS_CODE_BYTES;
        }
    if (!maps || !place->text)
        die("own text");
    fclose(maps);
}

static void place_init(struct place *place)
{
    find_text(place);
    place->memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place->memory == MAP_FAILED)
        die("mmap");
}

static void stay(size_t mappings)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at =
        mmap(NULL, 2 * mappings * page + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < mappings / 2 && at != MAP_FAILED; i++) {
        int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED;
        mmap(at + 2 * i * page, page, PROT_READ | PROT_WRITE, flags, -1, 0);
    }
}

static pid_t start_process(size_t mappings)
{
    int ready[2];
    char c;
    if (pipe(ready) != 0)
        die("pipe");
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stay(mappings);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    if (pid < 0 || read(ready[0], &c, 1) != 1)
        die("fork");
    close(ready[0]);
    return pid;
}

static void end_process(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- the parts, put together ---- */

struct rig {
    struct medium_rule rule; /* first */
    struct fsroot fs;
    struct kernel kernel;
    struct perf_kernel calls;
    struct encoded_event event;
    struct cgroup_map *map;
    struct sample_owners owners;
    struct sample_queue *queue;
    struct inspector *inspector; /* NULL: this process reads itself */
    struct assignment *assignment;
    struct sampler *sampler;
    struct perf_clock_sources clock;
    struct place place;
    pid_t pids[PROCESSES];
    uint64_t now; /* 0: the clock's */
};

static enum medium rule_mapping(struct medium_rule *rule, pid_t pid, const struct maps_line *line,
                                enum access access)
{
    const struct rig *rig = (const struct rig *)rule;
    return (uintptr_t)rig->place.memory == line->start ? MEDIUM_NVMM : MEDIUM_OTHER;
}

static uint64_t owner_of(void *context, uint64_t cgroup_id)
{
    uint32_t slot, gen;
    return cgroup_map_find(context, cgroup_id, &slot, &gen) ? container_tag(slot, gen) : 0;
}

static int cgroup_of(void *context, uint32_t pid, uint32_t tid, uint64_t time_ns,
                     uint64_t *cgroup_id)
{
    *cgroup_id = CGROUP;
    return 0;
}

static uint64_t rig_now(void *context)
{
    const struct rig *rig = context;
    return rig->now ? rig->now : clock_ns(CLOCK_MONOTONIC);
}

static struct process_reader *reader_of(const struct rig *rig)
{
    return rig->inspector ? inspector_reader(rig->inspector) : NULL;
}

/* Of this thread, and of the process that reads for it. */
static uint64_t cpu_ns(const struct rig *rig)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) +
           (rig->inspector ? process_reader_cpu_ns(reader_of(rig)) : 0);
}

static void on_record(void *context, size_t event, const struct kernel_record *record)
{
    struct rig *rig = context;
    if (event == 0)
        assignment_event(rig->assignment, record);
    else if (record->kind == KERNEL_RECORD_SAMPLE)
        assignment_sample(rig->assignment, ACCESS_STORE, record);
}

static void on_settle(void *context, uint64_t time_ns)
{
    struct rig *rig = context;
    assignment_settle(rig->assignment, time_ns);
}

static void rig_init(struct rig *rig, uint64_t now, size_t queue, struct inspector *inspector)
{
    static const int cpus[CPUS] = {0, 1};
    *rig = (struct rig){.rule.mapping = rule_mapping, .now = now, .inspector = inspector};
    if (fsroot_init(&rig->fs, NULL, NULL, NULL, NULL) != 0 || cgroup_map_new(&rig->map) != 0 ||
        cgroup_map_set(rig->map, CGROUP, 3, 1) != 0 || sample_queue_new(queue, &rig->queue) != 0)
        die("parts");
    place_init(&rig->place);
    rig->owners = (struct sample_owners){owner_of, cgroup_of, rig->map};
    rig->calls = (struct perf_kernel){kernel_open, kernel_enable, NULL,        kernel_close,
                                      kernel_map,  kernel_unmap,  kernel_wait, &rig->kernel};
    const struct assignment_config assignment = {.fs = &rig->fs,
                                                 .reader = reader_of(rig),
                                                 .rule = &rig->rule,
                                                 .owners = &rig->owners,
                                                 .queue = rig->queue,
                                                 .now_ns = rig_now,
                                                 .now_context = rig,
                                                 .max_processes = 4096,
                                                 .code_entries = 1 << 17,
                                                 .max_waiting = 1 << 16};
    const struct sampler_config sampler = {
        .kernel = &rig->calls,
        .events = {{.event = &rig->event, .period = 1, .mappings = true, .data_pages = PAGES},
                   {.event = &rig->event, .period = 1, .data_pages = PAGES}},
        .n_events = EVENTS,
        .cpus = cpus,
        .n_cpus = CPUS,
        .sink = {on_record, on_settle, rig},
        .clock = &rig->clock,
    };
    rig->clock = (struct perf_clock_sources){.monotonic_ns = rig_now, .context = rig};
    if (assignment_new(&assignment, &rig->assignment) != 0 ||
        sampler_new(&sampler, &rig->sampler) != 0)
        die("sampler");
    for (size_t i = 0; i < PROCESSES; i++)
        rig->pids[i] = start_process(0);
}

static void rig_release(struct rig *rig)
{
    for (size_t i = 0; i < PROCESSES; i++)
        end_process(rig->pids[i]);
    sampler_free(rig->sampler);
    assignment_free(rig->assignment);
    inspector_free(rig->inspector);
    sample_queue_free(rig->queue);
    cgroup_map_free(rig->map);
    fsroot_release(&rig->fs);
}

/* ---- attribute ---- */

/* The CPU time of passes over full buffers, per sample; what they put into the queue is taken. */
static double pass(struct rig *rig, uint64_t *next_ip)
{
    static struct access_sample taken[CPUS * BATCH];
    uint64_t range = rig->place.text_end - rig->place.text, n = 0;
    for (uint64_t i = 0; i < BATCH; i++)
        for (int cpu = 0; cpu < CPUS; cpu++) {
            pid_t pid = rig->pids[(i * 7 + (uint64_t)cpu) % PROCESSES];
            uint64_t ip = rig->place.text + (next_ip ? (*next_ip)++ % range : i % IPS * 5);
            uint64_t address = (uintptr_t)(rig->place.memory + i % (1 << 20));
            if (i % 2)
                address = (uintptr_t)rig;
            n += put_sample(&rig->kernel, cpu, (uint32_t)pid, ip, address, rig->now + 2 * i);
        }
    rig->now += 1000000000;
    uint64_t before = cpu_ns(rig);
    sampler_drain(rig->sampler);
    uint64_t used = cpu_ns(rig) - before;
    while (sample_queue_take(rig->queue, taken, CPUS * BATCH) > 0)
        ;
    return (double)used / (double)n;
}

/* Apart: what is read of processes is read as in the exporter, by another one. */
static struct inspector *start_inspector(bool apart)
{
    static struct fsroot fs;
    static struct medium_rule none;
    static const struct log log = {.fd = -1};
    struct inspector *inspector = NULL;
    int status = 0;
    if (!apart)
        return NULL;
    if (fsroot_init(&fs, NULL, NULL, NULL, NULL) != 0 ||
        inspector_fork(&fs, &none, &log, &inspector, &status) < 0)
        die("inspector");
    if (!inspector)
        _exit(status);
    return inspector;
}

static void attribute(size_t rounds, bool apart)
{
    static struct rig rig;
    static double warm[MAX_ROUNDS], cold[MAX_ROUNDS];
    uint64_t next_ip = 1000, reads, before;
    rig_init(&rig, UINT64_C(1000000000000), CPUS * BATCH * 2, start_inspector(apart));
    while (apart && !process_reader_is_ready(reader_of(&rig)))
        usleep(1000);
    for (int i = 0; i < 3; i++)
        pass(&rig, NULL);
    for (size_t i = 0; i < rounds; i++)
        warm[i] = pass(&rig, NULL);
    before = assignment_counts(rig.assignment).code_reads;
    pass(&rig, &next_ip);
    for (size_t i = 0; i < rounds; i++)
        cold[i] = pass(&rig, &next_ip);
    reads = assignment_counts(rig.assignment).code_reads - before;
    struct assignment_counts counts = assignment_counts(rig.assignment);
    printf("{\"warm_ns\":%.1f,\"new_ip_ns\":%.1f,\"new_ip_reads\":%.3f,\"dropped\":%" PRIu64
           ",\"foreign\":%" PRIu64 ",\"processes\":%d}\n",
           median(warm, rounds), median(cold, rounds),
           (double)reads / ((double)(rounds + 1) * CPUS * BATCH), counts.dropped[ACCESS_STORE],
           counts.foreign, PROCESSES);
    rig_release(&rig);
}

/* ---- keep up ---- */

struct producer {
    struct rig *rig;
    double seconds;
    uint64_t samples, throttles, lost, no_room, cpu_ns;
};

/* 100 samples a millisecond; what could not be put is no sample that came. */
static void *produce(void *context)
{
    struct producer *p = context;
    struct kernel *kernel = &p->rig->kernel;
    uint64_t start = clock_ns(CLOCK_MONOTONIC), i = 0;
    for (uint64_t ms = 0; (double)ms < p->seconds * 1000; ms++) {
        const uint64_t due = start + ms * 1000000;
        const struct timespec until = {(time_t)(due / 1000000000), (long)(due % 1000000000)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        for (int k = 0; k < RATE / 1000; k++, i++) {
            pid_t pid = p->rig->pids[i * 7 % PROCESSES];
            uint64_t ip = p->rig->place.text + i % IPS * 5;
            bool ok = put_sample(kernel, (int)(i % CPUS), (uint32_t)pid, ip,
                                 (uintptr_t)p->rig->place.memory, clock_ns(CLOCK_MONOTONIC));
            p->samples += ok;
            p->no_room += !ok;
        }
        uint64_t now = clock_ns(CLOCK_MONOTONIC);
        if (ms % 100 == 50 && put_other(kernel, 0, PERF_RECORD_THROTTLE, 0, now))
            p->throttles++;
        if (ms % 100 == 51)
            put_other(kernel, 0, PERF_RECORD_UNTHROTTLE, 0, now);
        if (ms % 500 == 250 && put_other(kernel, 1, PERF_RECORD_LOST, 7, now))
            p->lost += 7;
    }
    p->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void keep_up(double seconds)
{
    static struct rig rig;
    static struct access_sample taken[4096];
    uint64_t arrived = 0, sized = 0, nvmm = 0;
    rig_init(&rig, 0, 1 << 18, NULL);
    struct producer producer = {.rig = &rig, .seconds = seconds};
    pthread_t thread;
    if (sampler_start(rig.sampler) != 0 || pthread_create(&thread, NULL, produce, &producer) != 0)
        die("threads");
    uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t end = clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
    /* As the loop does: once a second. */
    for (uint64_t tick = 0; tick <= end || sample_queue_settled(rig.queue) <= end;) {
        usleep(tick + 1000000000 < end ? 1000000 : 100000);
        tick = clock_ns(CLOCK_MONOTONIC);
        for (size_t n; (n = sample_queue_take(rig.queue, taken, 4096)) > 0; arrived += n)
            for (size_t i = 0; i < n; i++) {
                sized += taken[i].size != ACCESS_SIZE_UNREADABLE;
                nvmm += taken[i].medium == MEDIUM_NVMM;
            }
    }
    pthread_join(thread, NULL);
    for (size_t n; (n = sample_queue_take(rig.queue, taken, 4096)) > 0;)
        arrived += n;
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu - producer.cpu_ns;
    own = clock_ns(CLOCK_THREAD_CPUTIME_ID) - own;
    struct sampler_counts counts = sampler_counts(rig.sampler, 1);
    printf("{\"put\":%" PRIu64 ",\"arrived\":%" PRIu64 ",\"no_room\":%" PRIu64
           ",\"dropped\":%" PRIu64 ",\"sized\":%" PRIu64 ",\"nvmm\":%" PRIu64
           ",\"throttles\":[%" PRIu64 ",%" PRIu64 "],\"lost\":[%" PRIu64 ",%" PRIu64
           "],\"cpu_share\":%.4f}\n",
           producer.samples, arrived, producer.no_room,
           assignment_counts(rig.assignment).dropped[ACCESS_STORE], sized, nvmm, producer.throttles,
           counts.throttles, producer.lost, counts.lost, (double)(cpu - own) / 1e9 / seconds);
    rig_release(&rig);
}

/* ---- memory ---- */

static size_t lines_of(pid_t pid)
{
    char path[64];
    size_t n = 0;
    int c;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && (c = fgetc(file)) != EOF)
        n += c == '\n';
    if (file)
        fclose(file);
    return n;
}

static double bytes_of(struct rig *rig, const pid_t *pids, size_t n)
{
    size_t before = assignment_size(rig->assignment).mapping_bytes;
    for (size_t i = 0; i < n; i++)
        put_sample(&rig->kernel, 0, (uint32_t)pids[i], rig->place.text,
                   (uintptr_t)rig->place.memory, rig->now + i);
    rig->now += 1000000000;
    sampler_drain(rig->sampler);
    return (double)(assignment_size(rig->assignment).mapping_bytes - before) / (double)n;
}

static void memory(void)
{
    static struct rig rig;
    rig_init(&rig, UINT64_C(1000000000000), 1 << 12, NULL);
    pid_t large[4];
    for (size_t i = 0; i < 4; i++)
        large[i] = start_process(2000);
    double small_bytes = bytes_of(&rig, rig.pids, PROCESSES),
           large_bytes = bytes_of(&rig, large, 4);
    struct assignment_size size = assignment_size(rig.assignment);
    printf("{\"small_mappings\":%zu,\"small_bytes\":%.0f,\"large_mappings\":%zu,"
           "\"large_bytes\":%.0f,\"table_bytes\":%zu,\"code_bytes\":%zu}\n",
           lines_of(rig.pids[0]), small_bytes, lines_of(large[0]), large_bytes, size.process_bytes,
           size.code_bytes);
    for (size_t i = 0; i < 4; i++)
        end_process(large[i]);
    rig_release(&rig);
}

/* ---- fields ---- */

static void ignore_record(void *context, size_t event, const struct kernel_record *record)
{
    _Atomic uint64_t *count = context;
    *count += record->kind == KERNEL_RECORD_SAMPLE;
}

static void ignore_settle(void *context, uint64_t time_ns)
{
}

/* Our CPU time for a page fault, one of many. */
static double fault_ns(void)
{
    enum { FAULTS = 20000 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = FAULTS * page;
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || madvise(at, size, MADV_NOHUGEPAGE) != 0)
        die("pages");
    uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < FAULTS; i++)
        *(volatile char *)(at + i * page) = 1;
    double ns = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before) / FAULTS;
    munmap(at, size);
    return ns;
}

static void fields(size_t rounds)
{
    static const struct {
        const char *name;
        bool on, cgroup;
    } ways[] = {{"none", false, false}, {"basic", true, false}, {"cgroup", true, true}};
    enum { WAYS = sizeof ways / sizeof *ways };
    static double ns[WAYS][MAX_ROUNDS];
    struct fsroot fs;
    struct encoded_event event;
    struct verdict why;
    int cpus[1024], n = 0;
    static _Atomic uint64_t seen;
    if (fsroot_init(&fs, NULL, NULL, NULL, NULL) != 0 ||
        encode_event(&fs, "software:page-faults", &event, &why) != 0)
        die("event");
    for (; n < sysconf(_SC_NPROCESSORS_ONLN) && n < 1024; n++)
        cpus[n] = n;
    for (size_t round = 0; round < rounds; round++)
        for (size_t w = 0; w < WAYS; w++) {
            const struct sampler_config config = {
                .kernel = &perf_kernel_linux,
                .events =
                    {{.event = &event, .period = 1, .cgroup = ways[w].cgroup, .data_pages = PAGES}},
                .n_events = 1,
                .cpus = cpus,
                .n_cpus = (size_t)n,
                .sink = {ignore_record, ignore_settle, &seen},
            };
            struct sampler *sampler = NULL;
            int err = ways[w].on ? sampler_new(&config, &sampler) : 0;
            if (!err && sampler)
                err = sampler_start(sampler);
            if (err) {
                errno = -err;
                die("sampling");
            }
            ns[w][round] = fault_ns();
            sampler_free(sampler);
        }
    double medians[WAYS];
    for (size_t w = 0; w < WAYS; w++)
        medians[w] = median(ns[w], rounds);
    printf("{\"fault_ns\":%.1f", medians[0]);
    for (size_t w = 1; w < WAYS; w++)
        printf(",\"%s_ns\":%.1f", ways[w].name, medians[w] - medians[0]);
    printf(",\"samples\":%" PRIu64 "}\n", (uint64_t)seen);
    encoded_event_release(&event);
    fsroot_release(&fs);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    double n = argc > 2 ? strtod(argv[2], NULL) : 0;
    size_t rounds = n >= 1 && n <= MAX_ROUNDS ? (size_t)n : 21;
    if (strcmp(what, "attribute") == 0)
        attribute(rounds, argc > 3);
    else if (strcmp(what, "keep-up") == 0)
        keep_up(n > 0 ? n : 5);
    else if (strcmp(what, "memory") == 0)
        memory();
    else if (strcmp(what, "fields") == 0)
        fields(rounds);
    else
        return 2;
    return 0;
}
