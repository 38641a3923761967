#include "tests/unit/support/whole_machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include "exporter/daemon/exporter.h"
#include "tests/unit/support/unit.h"

enum { STEP_NS = 50000000, PAGE_BYTES = 1 << 17 };

#define POD "pod11111111-2222-3333-4444-555555555555"
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* ---- a kernel on which time passes ---- */

/* What is read has run meanwhile, and so has all that counts beside it. */
static ssize_t living_read(void *context, int fd, void *buffer, size_t size)
{
    struct fake_pmu *pmu = context;
    const struct fake_event *event = fake_pmu_event(pmu, fd);
    if (event && event->cpu >= 0)
        fake_pmu_run(pmu, event->cgroup, 0, event->cpu, STEP_NS);
    return pmu->kernel.read(context, fd, buffer, size);
}

/* ---- a run ---- */

static void make_container(struct fixture *tree, const char *times)
{
    char path[256];
    fixture_write(tree, "cgroup/cgroup.controllers", "cpu memory\n");
    fixture_write(tree, "cgroup/cgroup.subtree_control", "cpu memory\n");
    static const char *const files[] = {"cgroup.procs", "cgroup.events", "cpu.stat"};
    static const char *const texts[] = {"7\n", "populated 1\n", "usage_usec 1000000\n"};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "cgroup/kubepods/burstable/" POD "/" ID "/%s", files[i]);
        fixture_write(tree, path, "%s", texts[i]);
    }
    fixture_write(tree, "proc/stat", "cpu  1 0 0 0 0 0 0 0 0 0\n");
    fixture_write(tree, "host/events.json", "{\"machine\":%s}\n", times);
}

/* Runs two ticks; the page and, before it, the log. */
static char *page_of(struct perf_fixture *fixture)
{
    struct perf_kernel kernel = fixture->pmu.kernel;
    char flags[5][128], error[512] = "", *text = NULL;
    struct options options;
    struct plan plan;
    struct exporter *exporter;
    size_t len = 0;
    const char *root = fixture->tree.root;
    kernel.read = living_read;
    snprintf(flags[0], sizeof flags[0], "--path.procfs=%s/proc", root);
    snprintf(flags[1], sizeof flags[1], "--path.sysfs=%s/sys", root);
    snprintf(flags[2], sizeof flags[2], "--path.cgroupfs=%s/cgroup", root);
    snprintf(flags[3], sizeof flags[3], "--path.rootfs=%s/host", root);
    snprintf(flags[4], sizeof flags[4], "--events.file=%s/host/events.json", root);
    char *argv[] = {"test",
                    flags[0],
                    flags[1],
                    flags[2],
                    flags[3],
                    flags[4],
                    "--source=perf",
                    "--once",
                    "--no-collector.probe",
                    "--no-collector.attribution",
                    "--collector.fill_sources",
                    "--containers.names=none",
                    "--sampling.interval=200ms"};
    assert_int_equal(options_parse(&options, sizeof argv / sizeof *argv, argv, error, sizeof error),
                     0);
    assert_int_equal(plan_init(&plan, &options, NULL, error, sizeof error), 0);
    plan.kernel = &kernel;
    const struct log log = {.fd = fixture->log.fd, .level = LOG_LEVEL_INFO};
    if (exporter_new(&plan, &log, NULL, NULL, &exporter, error, sizeof error))
        fail_msg("%s", error);
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    if (exporter_once(exporter, out, error, sizeof error))
        fail_msg("%s", error);
    fclose(out);
    exporter_free(exporter);
    plan_release(&plan);
    return text;
}

/* ---- what is compared ---- */

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* The last window's latencies, which are quotients, and what the exporter says of its collectors;
 * of other series only that they are there. */
static void add_line(struct textbuf *out, char *line)
{
    char *value = strrchr(line, ' ');
    bool info = begins(line, "interference_exporter_collector_info") ||
                begins(line, "interference_exporter_collector_available");
    bool quotient = begins(line, "interference_l3_miss_read_latency_seconds") ||
                    begins(line, "interference_container_memory_read_latency_seconds");
    if (!value || strstr(line, "_bucket{") ||
        (!info && (begins(line, "interference_exporter_") || line[0] != 'i')))
        return;
    if (info || quotient)
        textbuf_printf(out, "%s\n", line);
    else
        textbuf_printf(out, "%.*s ...\n", (int)(value - line), line);
}

/* module=X msg="not available (REASON): words", without the tree's folder. */
static void add_log(struct textbuf *out, struct perf_fixture *fixture)
{
    static char text[PAGE_BYTES];
    ssize_t n = pread(fixture->log.fd, text, sizeof text - 1, 0);
    assert_true(n >= 0);
    text[n] = '\0';
    for (char *save, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        const char *said = strstr(line, "module=");
        /* The words of slowdown are its own tests'; its reason is on the page. */
        if (!said || !strstr(line, "not available (") || begins(said, "module=slowdown"))
            continue;
        for (const char *root; (root = strstr(said, fixture->tree.root)) != NULL;
             said = root + strlen(fixture->tree.root))
            textbuf_printf(out, "%.*s", (int)(root - said), said);
        textbuf_printf(out, "%s\n", said);
    }
}

static void summary(struct textbuf *out, struct perf_fixture *fixture)
{
    char *page = page_of(fixture);
    add_log(out, fixture);
    for (char *save, *line = strtok_r(page, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        add_line(out, line);
    free(page);
    assert_int_equal(textbuf_finish(out), 0);
}

void whole_machine_check(struct perf_fixture *fixture, const char *name, const char *times)
{
    static char committed[PAGE_BYTES];
    struct textbuf text = TEXTBUF_INIT;
    char path[256];
    make_container(&fixture->tree, times);
    summary(&text, fixture);
    snprintf(path, sizeof path, IE_SOURCE_DIR "/tests/machines/%s.txt", name);
    FILE *file = fopen(path, getenv("WRITE_MACHINES") ? "w+" : "r");
    if (!file)
        fail_msg("%s: WRITE_MACHINES=1 makes it", path);
    if (getenv("WRITE_MACHINES"))
        fputs(text.data, file);
    rewind(file);
    committed[fread(committed, 1, sizeof committed - 1, file)] = '\0';
    fclose(file);
    if (strcmp(text.data, committed) != 0)
        fail_msg("%s is not what the machine gives (WRITE_MACHINES=1 writes it anew):\n%s", path,
                 text.data);
    textbuf_release(&text);
}
