/*
 * What exporter/source says about this machine's persistent memory, for tests that know better.
 *
 *     pmem node                    what pmem_node_detect counts, and whether that is usable
 *     pmem rule [NAME COMMAND]...  what the rule says of the mapping of a store_pages COMMAND
 *     pmem samples COMMAND...      what page-fault samples of all COMMANDs at once say
 *
 * A COMMAND is one argument, for a shell; one line of output for each. 'disk' and 'dax' are what
 * the parts of the rule say, 'physical' is what /proc/iomem, which the rule never reads, says of
 * the accessed page's physical address.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "exporter/base/clock.h"
#include "exporter/source/accesses/address_spaces.h"
#include "exporter/source/accesses/own_reader.h"
#include "exporter/source/event/encode.h"
#include "exporter/source/pmem/pmem.h"
#include "exporter/source/sampler/sampler.h"

enum { PAGE = 4096, MAX_STORERS = 64, MAX_SAMPLES = 1 << 16 };

static const char *const media[MEDIA] = {
    [MEDIUM_NVMM] = "nvmm",
    [MEDIUM_OTHER] = "other",
    [MEDIUM_UNKNOWN] = "unknown",
};

/* ---- the programs that store ---- */

struct storer {
    pid_t shell;
    FILE *to, *from;
    int pid;
    unsigned long address;
    int offset;
};

static bool storer_start(struct storer *storer, const char *command)
{
    int to[2], from[2];
    char line[64];
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        return false;
    storer->shell = fork();
    if (storer->shell == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    storer->to = fdopen(to[1], "w");
    storer->from = fdopen(from[0], "r");
    if (storer->shell < 0 || !storer->to || !storer->from ||
        !fgets(line, sizeof line, storer->from) ||
        sscanf(line, "%d %lx %d", &storer->pid, &storer->address, &storer->offset) != 3) {
        fprintf(stderr, "pmem: no mapping by: %s\n", command);
        return false;
    }
    return true;
}

static void storer_go(const struct storer *storer)
{
    fputs("go\n", storer->to);
    fflush(storer->to);
}

static bool storer_done(const struct storer *storer)
{
    char line[16];
    return fgets(line, sizeof line, storer->from) && strcmp(line, "done\n") == 0;
}

static void storer_end(struct storer *storer)
{
    fclose(storer->to);
    fclose(storer->from);
    waitpid(storer->shell, NULL, 0);
}

/* ---- rule ---- */

static bool mapping_of(const struct fsroot *fs, const struct storer *storer, struct maps_line *out)
{
    static char text[1 << 16];
    char relative[32];
    size_t len;
    snprintf(relative, sizeof relative, "%d/maps", storer->pid);
    if (fsroot_read(fs, FSROOT_PROC, relative, text, sizeof text, &len) != 0)
        return false;
    const char *at = text;
    while (maps_next(&at, &len, out) == 1)
        if (storer->address >= out->start && storer->address < out->end)
            return true;
    return false;
}

/* "  240000000-43fffffff : Persistent Memory (legacy)" */
static bool is_persistent(const char *line, uint64_t address)
{
    uint64_t start, last;
    int name = 0;
    return sscanf(line, " %16" SCNx64 "-%16" SCNx64 " : %n", &start, &last, &name) == 2 &&
           name != 0 && strncmp(line + name, "Persistent Memory", 17) == 0 && start != 0 &&
           address >= start && address <= last;
}

/* Whether any range is persistent memory, as the kernel names it; a kernel that hides addresses
 * writes zeros. */
static enum medium medium_at(const struct fsroot *fs, uint64_t address)
{
    static char text[1 << 20];
    size_t len;
    if (fsroot_read(fs, FSROOT_PROC, "iomem", text, sizeof text, &len) != 0 ||
        !strstr(text, " : Persistent Memory") || strstr(text, "0-00000000 : Persistent Memory"))
        return MEDIUM_UNKNOWN;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (is_persistent(line, address))
            return MEDIUM_NVMM;
    return MEDIUM_OTHER;
}

/* 0 when the page is not there. */
static uint64_t physical_address(const struct fsroot *fs, const struct storer *storer)
{
    char relative[32];
    uint64_t entry = 0;
    snprintf(relative, sizeof relative, "%d/pagemap", storer->pid);
    int fd = fsroot_open(fs, FSROOT_PROC, relative, O_RDONLY);
    if (fd < 0 || pread(fd, &entry, sizeof entry, (off_t)(storer->address / PAGE * 8)) != 8 ||
        !(entry >> 63))
        entry = 0;
    if (fd >= 0)
        close(fd);
    return (entry & ((UINT64_C(1) << 55) - 1)) * PAGE;
}

static int print_rule(const struct fsroot *fs, struct medium_rule *rule,
                      const struct storer *storer)
{
    static const char *const disks[] = {
        [PMEM_DISK_NO] = "no", [PMEM_DISK_DAX] = "dax", [PMEM_DISK_UNKNOWN] = "unknown"};
    struct maps_line line;
    if (!mapping_of(fs, storer, &line))
        return 1;
    printf("store=%s load=%s", media[rule->mapping(rule, storer->pid, &line, ACCESS_STORE)],
           media[rule->mapping(rule, storer->pid, &line, ACCESS_LOAD)]);
    storer_go(storer);
    if (!storer_done(storer))
        return 1;
    uint64_t physical = physical_address(fs, storer);
    printf(" physical=%s disk=%s device=%u:%u\n",
           physical ? media[medium_at(fs, physical)] : "none",
           line.major ? disks[pmem_disk_of(fs, line.major, line.minor)] : "none", line.major,
           line.minor);
    return 0;
}

static int rules(const struct fsroot *fs, struct medium_rule *rule, char **commands)
{
    int failed = 0;
    for (; commands[0] && commands[1]; commands += 2) {
        struct storer storer;
        if (!storer_start(&storer, commands[1]))
            return 1;
        printf("%s ", commands[0]);
        failed |= print_rule(fs, rule, &storer);
        storer_end(&storer);
    }
    return failed;
}

static int node(const struct fsroot *fs)
{
    struct pmem_node node;
    struct verdict why = {0};
    pmem_node_detect(fs, &node);
    bool usable = pmem_node_usable(&node, &why);
    printf("dimms=%zu dax_disks=%zu other_disks=%zu dax_devices=%zu usable=%d %s\n", node.dimms,
           node.dax_disks, node.other_disks, node.dax_devices, usable, usable ? "" : why.words);
    return 0;
}

/* ---- samples ---- */

/* In the sampler's thread, until that ends. */
struct attribution {
    struct address_spaces *spaces;
    struct process_code *code;
    _Atomic size_t n_storers; /* those before are complete */
    struct storer storers[MAX_STORERS];
    struct tally {
        size_t pages[64];        /* samples at the address that is known for each page */
        size_t elsewhere;        /* in the mapping, not at such an address */
        size_t not_from_program; /* the instruction is not the storer's */
        size_t media[MEDIA], no_medium;
        size_t late; /* delivered when their time was settled already, and without a medium */
        size_t sizes[ACCESS_SIZES];
        uint64_t bytes;
    } tallies[MAX_STORERS];
    size_t n_waiting; /* samples whose medium is to be found after the next settling */
    struct kernel_record waiting[MAX_SAMPLES];
    uint64_t settled_until_ns;   /* as the sampler said */
    _Atomic uint64_t settled_ns; /* nothing before it waits here */
};

static struct tally *tally_of(struct attribution *a, const struct kernel_record *record,
                              size_t *page)
{
    for (size_t i = 0; i < a->n_storers; i++) {
        const struct storer *storer = &a->storers[i];
        uint64_t behind = record->sample.address - storer->address;
        if ((int)record->pid != storer->pid || behind >= 64 * PAGE)
            continue;
        *page = behind / PAGE;
        if (behind != *page * (uint64_t)storer->offset)
            a->tallies[i].elsewhere++;
        return &a->tallies[i];
    }
    return NULL;
}

static void size_up(struct process_code *reader, struct tally *tally,
                    const struct kernel_record *record)
{
    uint8_t code[ACCESS_CODE_BYTES];
    uint32_t bytes = 0;
    int n = process_code_read(reader, (pid_t)record->pid, record->sample.ip, clock_mono_ns(), code);
    if (n < 0) {
        tally->sizes[ACCESS_SIZE_UNREADABLE]++;
        return;
    }
    tally->sizes[access_size(code, (size_t)n, true, ACCESS_STORE, &bytes)]++;
    tally->bytes += bytes;
}

static void attribute(struct attribution *a, const struct kernel_record *record,
                      struct tally *tally, size_t page, bool late)
{
    enum medium medium;
    const struct access_sample access = {.time_ns = record->time_ns,
                                         .address = record->sample.address,
                                         .pid = record->pid,
                                         .tid = record->tid,
                                         .access = ACCESS_STORE};
    int err = address_spaces_find(a->spaces, &access, &medium);
    if (err == -EAGAIN && a->n_waiting < MAX_SAMPLES) {
        a->waiting[a->n_waiting++] = *record;
        return;
    }
    tally->pages[page]++;
    tally->not_from_program += !record->sample.user;
    if (!err)
        tally->media[medium]++;
    else if (late)
        tally->late++;
    else
        tally->no_medium++;
    size_up(a->code, tally, record);
}

static void on_record(void *context, size_t event, const struct kernel_record *record)
{
    struct attribution *a = context;
    size_t page;
    (void)event;
    if (record->kind == KERNEL_RECORD_LOST)
        address_spaces_lost(a->spaces, record->time_ns);
    if (record->kind != KERNEL_RECORD_SAMPLE) {
        address_spaces_apply(a->spaces, record);
        return;
    }
    struct tally *tally = tally_of(a, record, &page);
    if (tally)
        attribute(a, record, tally, page, record->time_ns < a->settled_until_ns);
}

static void on_settle(void *context, uint64_t time_ns)
{
    struct attribution *a = context;
    address_spaces_settle(a->spaces, time_ns);
    a->settled_until_ns = time_ns;
    size_t n = a->n_waiting, page;
    a->n_waiting = 0;
    for (size_t i = 0; i < n; i++) {
        const struct kernel_record record = a->waiting[i];
        struct tally *tally = tally_of(a, &record, &page);
        if (tally)
            attribute(a, &record, tally, page, false);
    }
    /* Only what does not wait any more is settled. */
    if (a->n_waiting == 0)
        a->settled_ns = time_ns;
}

/* One line per storer: how many pages had exactly one sample, and what all samples said. */
static void print_tally(const struct tally *tally)
{
    static const char *const sizes[ACCESS_SIZES] = {
        [ACCESS_SIZE_KNOWN] = "known",         [ACCESS_SIZE_REPEATED] = "repeated",
        [ACCESS_SIZE_MASKED] = "masked",       [ACCESS_SIZE_VARIABLE] = "variable",
        [ACCESS_SIZE_NO_ACCESS] = "no_access", [ACCESS_SIZE_INVALID] = "invalid",
        [ACCESS_SIZE_TRUNCATED] = "truncated", [ACCESS_SIZE_UNREADABLE] = "unreadable",
    };
    size_t once = 0, samples = 0;
    for (size_t i = 0; i < 64; i++) {
        once += tally->pages[i] == 1;
        samples += tally->pages[i];
    }
    printf("samples=%zu once=%zu elsewhere=%zu not_from_program=%zu", samples, once,
           tally->elsewhere, tally->not_from_program);
    for (int i = 0; i < MEDIA; i++)
        printf(" %s=%zu", media[i], tally->media[i]);
    printf(" no_medium=%zu late=%zu", tally->no_medium, tally->late);
    for (int i = 0; i < ACCESS_SIZES; i++)
        if (tally->sizes[i])
            printf(" size_%s=%zu", sizes[i], tally->sizes[i]);
    printf(" bytes=%" PRIu64 "\n", tally->bytes);
}

static uint64_t now_ns(void *context)
{
    (void)context;
    return clock_mono_ns();
}

static bool run_storers(struct attribution *a, char **commands)
{
    for (; *commands && a->n_storers < MAX_STORERS; commands++) {
        if (!storer_start(&a->storers[a->n_storers], *commands))
            return false;
        a->n_storers++;
    }
    for (size_t i = 0; i < a->n_storers; i++)
        storer_go(&a->storers[i]);
    for (size_t i = 0; i < a->n_storers; i++)
        if (!storer_done(&a->storers[i]))
            return false;
    uint64_t done_ns = now_ns(NULL);
    while (a->settled_ns < done_ns)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return true;
}

static int print_samples(struct sampler *sampler, struct attribution *a, char **commands)
{
    int err = sampler_start(sampler);
    bool good = !err && run_storers(a, commands);
    struct sampler_counts counts = sampler_counts(sampler, 0);
    sampler_free(sampler); /* from here on no other thread counts */
    for (size_t i = 0; i < a->n_storers; i++) {
        print_tally(&a->tallies[i]);
        storer_end(&a->storers[i]);
    }
    printf("lost=%" PRIu64 " throttles=%" PRIu64 " broken=%" PRIu64 "\n", counts.lost,
           counts.throttles, counts.broken);
    return !good;
}

static int samples(const struct fsroot *fs, struct medium_rule *rule, char **commands)
{
    static struct attribution a;
    struct process_reader *reader;
    if (own_reader_new(fs, &reader) != 0)
        return 1;
    const struct address_spaces_config spaces = {.reader = reader,
                                                 .rule = rule,
                                                 .now_ns = now_ns,
                                                 .max_processes = 1024,
                                                 .max_age_ns = UINT64_C(60000000000)};
    struct encoded_event event;
    struct verdict why;
    struct sampler *sampler;
    int cpus[64], n = 0;
    for (; n < sysconf(_SC_NPROCESSORS_ONLN) && n < 64; n++)
        cpus[n] = n;
    if (address_spaces_new(&spaces, &a.spaces) != 0 || process_code_new(fs, &a.code) != 0 ||
        encode_event(fs, "software:page-faults", &event, &why) != 0)
        return 1;
    const struct sampler_config config = {
        .kernel = &perf_kernel_linux,
        .events =
            {{.event = &event, .period = 1, .mappings = true, .cgroup = true, .data_pages = 64}},
        .n_events = 1,
        .cpus = cpus,
        .n_cpus = (size_t)n,
        .sink = {on_record, on_settle, &a}};
    int err = sampler_new(&config, &sampler);
    if (err)
        fprintf(stderr, "pmem: no sampler: %s\n", strerror(-err));
    else
        err = print_samples(sampler, &a, commands);
    encoded_event_release(&event);
    address_spaces_free(a.spaces);
    own_reader_free(reader);
    process_code_free(a.code);
    return err ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct fsroot fs;
    struct pmem *pmem;
    int result = 2;
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2 || fsroot_init(&fs, NULL, NULL, NULL, NULL) != 0)
        return 2;
    if (pmem_new(&fs, &pmem_files_linux, &pmem) != 0)
        return 1;
    if (strcmp(argv[1], "node") == 0)
        result = node(&fs);
    else if (strcmp(argv[1], "rule") == 0)
        result = rules(&fs, pmem_rule(pmem), argv + 2);
    else if (strcmp(argv[1], "samples") == 0)
        result = samples(&fs, pmem_rule(pmem), argv + 2);
    pmem_free(pmem);
    fsroot_release(&fs);
    return result;
}
