#include "tests/unit/support/perf_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/events/events.h"
#include "tests/unit/support/unit.h"

int perf_fixture_setup(void **state)
{
    struct perf_fixture *fixture = calloc(1, sizeof *fixture);
    assert_non_null(fixture);
    /* Lets libpfm4 encode the events of CPUs that this machine is not. */
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    fixture_init(&fixture->tree);
    fake_pmu_init(&fixture->pmu);
    fixture_write(&fixture->tree, "sys/devices/system/cpu/online", "0-1\n");
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/cpu/type", "4\n");
    fixture_write(&fixture->tree, "sys/bus/event_source/devices/uprobe/type", "8\n");
    fixture_write(&fixture->tree, "proc/sys/kernel/perf_event_paranoid", "2\n");
    fixture_write(&fixture->tree, "proc/sys/kernel/nmi_watchdog", "1\n");
    fixture->log = (struct log){.fd = memfd_create("log", MFD_CLOEXEC)};
    assert_true(fixture->log.fd >= 0);
    fixture->config = (struct perf_config){
        .fs = &fixture->tree.fs,
        .log = &fixture->log,
        .table = &event_table_clx,
        .file = &fixture->file,
        .kernel = &fixture->pmu.kernel,
    };
    *state = fixture;
    return 0;
}

int perf_fixture_teardown(void **state)
{
    struct perf_fixture *fixture = *state;
    if (fixture->source)
        fixture->source->ops->free(fixture->source);
    assert_int_equal(fixture->pmu.open, 0);
    assert_int_equal(fixture->pmu.misuse, 0);
    close(fixture->log.fd);
    fixture_release(&fixture->tree);
    free(fixture);
    return 0;
}

void perf_fixture_start(struct perf_fixture *fixture)
{
    if (fixture->source)
        fixture->source->ops->free(fixture->source);
    fixture->source = NULL;
    assert_int_equal(perf_source_new(&fixture->config, &fixture->source), 0);
}

int perf_fixture_cgroup(struct perf_fixture *fixture, const char *name, uint64_t *inode)
{
    char path[256];
    struct stat st;
    snprintf(path, sizeof path, "host/cgroup/%s/cgroup.procs", name);
    fixture_write(&fixture->tree, path, "%s", "");
    snprintf(path, sizeof path, "%s/host/cgroup/%s", fixture->tree.root, name);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    *inode = st.st_ino;
    return fd;
}

uint64_t perf_fixture_open(struct perf_fixture *fixture, const char *name, enum group group,
                           uint64_t *inode)
{
    struct verdict why = {0};
    uint64_t handle = 0;
    int fd = perf_fixture_cgroup(fixture, name, inode);
    struct scope scope = {.kind = SCOPE_CGROUP, .key = name, .cgroup_fd = fd};
    if (fixture->source->ops->open(fixture->source, &scope, group, &handle, &why))
        fail_msg("%s", why.words);
    /* Borrowed for the call only. */
    close(fd);
    assert_int_not_equal(handle, 0);
    return handle;
}

int perf_fixture_read(struct perf_fixture *fixture, uint64_t handle, enum group group,
                      struct perf_reading *out)
{
    out->reading = (struct reading){
        .stride_bytes = reading_stride(group), .rows = out->space, .cap = FAKE_PMU_CPUS};
    return fixture->source->ops->read(fixture->source, handle, &out->reading);
}

const struct reading_row *perf_fixture_row(struct perf_fixture *fixture, uint64_t handle,
                                           enum group group, int cpu, struct perf_reading *out)
{
    assert_int_equal(perf_fixture_read(fixture, handle, group, out), 0);
    for (size_t i = 0; i < out->reading.n; i++)
        if (reading_row(&out->reading, i)->cpu == cpu)
            return reading_row(&out->reading, i);
    fail_msg("no row of CPU %d", cpu);
    return NULL;
}

void perf_fixture_begin(struct perf_fixture *fixture)
{
    struct tick tick = {.number = 1};
    assert_int_equal(fixture->source->ops->begin(fixture->source, &tick), 0);
}

size_t perf_fixture_logged(struct perf_fixture *fixture, const char *text)
{
    char log[16384];
    ssize_t n = pread(fixture->log.fd, log, sizeof log - 1, 0);
    size_t found = 0;
    assert_true(n >= 0);
    log[n] = '\0';
    for (const char *p = log; (p = strstr(p, text)); p++)
        found++;
    return found;
}

bool perf_fixture_check(struct perf_fixture *fixture, enum scope_kind kind, enum group group,
                        struct verdict *why)
{
    memset(why, 0x5a, sizeof *why);
    return fixture->source->ops->check(fixture->source, kind, group, why);
}

static void says(struct perf_fixture *fixture, bool possible, enum scope_kind kind,
                 enum group group, enum reason reason, const char *words)
{
    struct verdict why;
    assert_int_equal(perf_fixture_check(fixture, kind, group, &why), possible);
    assert_int_equal(why.reason, reason);
    assert_non_null(strstr(why.words, words));
}

void perf_fixture_allows(struct perf_fixture *fixture, enum scope_kind kind, enum group group,
                         enum reason reason, const char *words)
{
    says(fixture, true, kind, group, reason, words);
}

void perf_fixture_refuses(struct perf_fixture *fixture, enum scope_kind kind, enum group group,
                          enum reason reason, const char *words)
{
    says(fixture, false, kind, group, reason, words);
}

uint64_t perf_fixture_core_rate(int role)
{
    static const uint32_t clx[] = {0x3c, 0x300, 0xc0, 0x10b0, 0x1060, 0x01b0, 0x1001060};
    struct perf_event_attr attr = {.config = clx[role]};
    return fake_pmu_rate(&attr);
}

void perf_fixture_assert_core(const struct reading_row *row, uint32_t present, uint64_t enabled,
                              uint64_t running)
{
    assert_int_equal(row->present, present);
    assert_int_equal(row->enabled_ns, enabled);
    assert_int_equal(row->running_ns, running);
    for (int role = 0; role <= ACTIVE; role++)
        if (present >> role & 1)
            assert_int_equal(row->count[role], running * perf_fixture_core_rate(role));
}
