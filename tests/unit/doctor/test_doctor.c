/* What --doctor says of machines of every kind, and what it reads of them. */
#include <jansson.h>

#include "exporter/doctor/doctor.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

/* A host on which all is well, as root on bare metal. */
static const struct doctor_host good_host = {.kernel = "6.18.0",
                                             .paranoid = 2,
                                             .watchdog = DOCTOR_ABSENT,
                                             .psi = DOCTOR_PRESENT,
                                             .btf = DOCTOR_PRESENT,
                                             .cgroup_v2 = DOCTOR_PRESENT,
                                             .guest = DOCTOR_ABSENT,
                                             .sys_admin = true,
                                             .perfmon = true,
                                             .bpf = true};

enum { LATENCY, SLOWDOWN, PLACEMENT, CONTROLLER, DIMM, N_COLLECTORS };

static const char *const names[N_COLLECTORS] = {"latency", "slowdown", "placement", "controller",
                                                "dimm"};

struct scene {
    struct doctor_host host;
    struct machine machine;
    struct doctor_collector collectors[N_COLLECTORS];
    struct doctor_seen seen;
    struct doctor_report report;
};

static void set_up(struct scene *scene)
{
    *scene = (struct scene){.host = good_host};
    strcpy(scene->machine.cpu_model, "Intel(R) Xeon(R) Gold 6230");
    for (size_t i = 0; i < N_COLLECTORS; i++)
        scene->collectors[i] = (struct doctor_collector){.name = names[i],
                                                         .summary = "in words",
                                                         .automatic = i >= CONTROLLER,
                                                         .available = true};
    scene->seen = (struct doctor_seen){.machine = &scene->machine,
                                       .source = "perf",
                                       .containers = 3,
                                       .collectors = scene->collectors,
                                       .n_collectors = N_COLLECTORS};
}

static void fails(struct scene *scene, int which, enum reason reason)
{
    scene->collectors[which].available = false;
    verdict_set(&scene->collectors[which].verdict, reason, "in words");
}

static const struct doctor_line *line(struct scene *scene, const char *name)
{
    doctor_examine(&scene->host, &scene->seen, &scene->report);
    for (size_t i = 0; i < scene->report.n; i++)
        if (strcmp(scene->report.lines[i].name, name) == 0)
            return &scene->report.lines[i];
    fail_msg("no line %s", name);
    return NULL;
}

TEST(all_is_well)
{
    struct scene scene;
    set_up(&scene);
    doctor_examine(&scene.host, &scene.seen, &scene.report);
    assert_int_equal(scene.report.n, N_COLLECTORS + 3);
    for (size_t i = 0; i < scene.report.n; i++) {
        const struct doctor_line *line = &scene.report.lines[i];
        if (line->can != DOCTOR_YES || line->remedy[0])
            fail_msg("%s: %s -> %s", line->name, line->why, line->remedy);
    }
    assert_int_equal(doctor_status(&scene.report), 0);
}

/* The remedy is of who reads it: a sysctl for whom it would help, a capability for the others. */
TEST(who_lacks_what)
{
    static const struct {
        bool admin, perfmon;
        int paranoid;
        const char *profile, *remedy;
    } rows[] = {
        {false, true, 3, "", "sysctl kernel.perf_event_paranoid=2"},
        {false, false, 3, "",
         "grant CAP_PERFMON: run it as root, or by its unit or chart, and sysctl "
         "kernel.perf_event_paranoid=2"},
        {false, false, 2, "", "grant CAP_PERFMON: run it as root, or by its unit or chart"},
        {false, false, DOCTOR_HOST_UNKNOWN, "",
         "grant CAP_PERFMON: run it as root, or by its unit or chart"},
        {true, true, 3, "", "allow perf_event_open in the container's seccomp profile"},
        {false, true, 2, "cri-containerd.apparmor.d",
         "allow perf_event_open in the AppArmor profile cri-containerd.apparmor.d"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        set_up(&scene);
        scene.host.sys_admin = rows[i].admin;
        scene.host.perfmon = rows[i].perfmon;
        scene.host.paranoid = rows[i].paranoid;
        strcpy(scene.host.apparmor, rows[i].profile);
        fails(&scene, LATENCY, REASON_NO_PERMISSION);
        const struct doctor_line *latency = line(&scene, "latency");
        assert_int_equal(latency->can, DOCTOR_REMEDY);
        assert_string_equal(latency->why, "no_permission: in words");
        assert_string_equal(latency->remedy, rows[i].remedy);
        assert_int_equal(doctor_status(&scene.report), 3);
    }
}

/* A reason with the one thing to do, or with none. */
TEST(reasons)
{
    static const struct {
        int which;
        const char *name;
        enum reason reason;
        enum doctor_can can;
        const char *remedy;
    } rows[] = {
        {SLOWDOWN, "slowdown", REASON_NMI_WATCHDOG, DOCTOR_REMEDY, "sysctl kernel.nmi_watchdog=0"},
        {LATENCY, "latency", REASON_FD_LIMIT, DOCTOR_REMEDY,
         "raise LimitNOFILE= of the unit (ulimit -n)"},
        {PLACEMENT, "placement", REASON_DISABLED, DOCTOR_OFF, "--collector.placement"},
        {LATENCY, "latency", REASON_NO_PMU, DOCTOR_NO, ""},
        {CONTROLLER, "controller", REASON_NO_GROUPS, DOCTOR_NO, ""},
        {LATENCY, "latency", REASON_EVENT_FILTERED, DOCTOR_NO, ""},
        {LATENCY, "latency", REASON_NO_DEVICE, DOCTOR_NO, ""},
        {CONTROLLER, "controller", REASON_NO_PERMISSION, DOCTOR_REMEDY,
         "allow perf_event_open in the container's seccomp profile"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        set_up(&scene);
        fails(&scene, rows[i].which, rows[i].reason);
        const struct doctor_line *found = line(&scene, rows[i].name);
        assert_int_equal(found->can, rows[i].can);
        assert_string_equal(found->remedy, rows[i].remedy);
        assert_int_equal(doctor_status(&scene.report), rows[i].can == DOCTOR_REMEDY ? 3 : 0);
    }
}

/* What is on where its hardware is and finds none is one line. A module brings counters to bare
 * metal that shows none, and nothing to a guest. */
TEST(what_is_absent)
{
    static const struct {
        const char *model, *remedy;
        enum doctor_known guest, uncore;
    } rows[] = {
        {"Intel(R) Xeon(R) Gold 6230", "modprobe intel_uncore", DOCTOR_ABSENT, DOCTOR_ABSENT},
        {"AMD EPYC 9654", "modprobe amd_uncore", DOCTOR_UNKNOWN, DOCTOR_ABSENT},
        {"AMD EPYC 9654", "", DOCTOR_PRESENT, DOCTOR_ABSENT},
        {"AMD EPYC 9654", "", DOCTOR_ABSENT, DOCTOR_PRESENT},
        {"AMD EPYC 9654", "", DOCTOR_ABSENT, DOCTOR_UNKNOWN},
        {"", "", DOCTOR_ABSENT, DOCTOR_ABSENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scene scene;
        set_up(&scene);
        fails(&scene, CONTROLLER, REASON_NO_DEVICE);
        fails(&scene, DIMM, REASON_NO_DEVICE);
        strcpy(scene.machine.cpu_model, rows[i].model);
        scene.host.guest = rows[i].guest;
        scene.host.uncore = rows[i].uncore;
        const struct doctor_line *absent = line(&scene, "absent");
        assert_string_equal(absent->why, "none for controller, dimm");
        assert_string_equal(absent->remedy, rows[i].remedy);
        assert_int_equal(absent->can, rows[i].remedy[0] ? DOCTOR_REMEDY : DOCTOR_NO);
        assert_int_equal(scene.report.n, N_COLLECTORS + 2);
    }
}

TEST(bpf)
{
    struct scene scene;
    set_up(&scene);
    scene.seen.source = "bpf";
    assert_int_equal(line(&scene, "bpf")->can, DOCTOR_YES);
    set_up(&scene);
    scene.host.bpf = scene.host.sys_admin = false;
    assert_int_equal(line(&scene, "bpf")->can, DOCTOR_REMEDY);
    set_up(&scene);
    scene.host.btf = DOCTOR_ABSENT;
    assert_string_equal(line(&scene, "bpf")->remedy, "a kernel with CONFIG_DEBUG_INFO_BTF");
    strcpy(scene.host.lockdown, "confidentiality");
    assert_string_equal(line(&scene, "bpf")->why, "the kernel is locked down (confidentiality)");
    assert_string_equal(line(&scene, "bpf")->remedy, "");
}

TEST(without_pressure_or_containers)
{
    struct scene scene;
    set_up(&scene);
    scene.host.psi = DOCTOR_ABSENT;
    assert_string_equal(line(&scene, "pressure")->remedy,
                        "add psi=1 to the kernel's command line, and restart");
    scene.host.cgroup_v2 = DOCTOR_ABSENT;
    scene.host.hybrid = DOCTOR_PRESENT;
    assert_string_equal(line(&scene, "containers")->why, "3 found, cgroup v1 and v2");
    scene.seen.containers = 0; /* a node that was just set up is not to be mended */
    assert_int_equal(line(&scene, "containers")->can, DOCTOR_NO);
}

static void read_from(const char *(*files)[2], size_t n, struct doctor_host *host)
{
    struct fixture fixture;
    fixture_init(&fixture);
    for (size_t i = 0; i < n; i++)
        fixture_write(&fixture, files[i][0], "%s", files[i][1]);
    doctor_host_read(&fixture.fs, host);
    fixture_release(&fixture);
}

TEST(what_is_read)
{
    struct doctor_host host;
    const char *files[][2] = {
        {"proc/sys/kernel/perf_event_paranoid", "-1\n"},
        {"proc/sys/kernel/nmi_watchdog", "1\n"},
        {"proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
        {"proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"},
        {"proc/self/attr/current", "docker-default (enforce)\n"},
        {"sys/kernel/btf/vmlinux", "BTF"},
        {"sys/bus/event_source/devices/amd_l3/type", "13\n"},
        {"sys/fs/cgroup/cgroup.controllers", "cpu io memory\n"},
        {"sys/fs/cgroup/unified/cgroup.controllers", "\n"},
        {"sys/kernel/security/lockdown", "none [integrity] confidentiality\n"},
    };
    read_from(files, sizeof files / sizeof *files, &host);
    assert_int_equal(host.paranoid, -1);
    assert_int_equal(host.watchdog, DOCTOR_PRESENT);
    assert_int_equal(host.psi, DOCTOR_PRESENT);
    assert_int_equal(host.guest, DOCTOR_PRESENT);
    assert_int_equal(host.btf, DOCTOR_PRESENT);
    assert_int_equal(host.cgroup_v2, DOCTOR_PRESENT);
    assert_int_equal(host.hybrid, DOCTOR_PRESENT);
    assert_int_equal(host.uncore, DOCTOR_PRESENT);
    assert_string_equal(host.apparmor, "docker-default");
    assert_string_equal(host.lockdown, "integrity");
}

/* The mount on top counts; names are newer kernels'. */
TEST(hidden_processes)
{
    static const struct {
        const char *below, *options;
        enum doctor_known hidden;
    } cases[] = {
        {"rw", "rw,nosuid,gid=4,hidepid=invisible", DOCTOR_PRESENT},
        {"rw", "rw,hidepid=1", DOCTOR_PRESENT},
        {"rw,hidepid=2", "rw,relatime", DOCTOR_ABSENT},
        {"rw,hidepid=2", "rw,hidepid=0", DOCTOR_ABSENT},
        {"rw,hidepid=2", "rw,hidepid=off", DOCTOR_ABSENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        struct doctor_host host;
        fixture_init(&fixture);
        const char *at = fixture.fs.path[FSROOT_PROC];
        fixture_write(&fixture, "proc/self/mounts",
                      "proc %s proc %s 0 0\nproc %s proc %s 0 0\nproc %s-x proc %s 0 0\n", at,
                      cases[i].below, at, cases[i].options, at, "rw,hidepid=2");
        doctor_host_read(&fixture.fs, &host);
        assert_int_equal(host.hidden, cases[i].hidden);
        fixture_release(&fixture);
    }
    struct scene scene;
    set_up(&scene);
    scene.host.hidden = DOCTOR_PRESENT;
    (void)line(&scene, "containers");
    assert_int_equal(doctor_status(&scene.report), 0);
    assert_int_equal(line(&scene, "processes")->can, DOCTOR_NO);
    scene.host.cgroup_v2 = DOCTOR_ABSENT; /* v1 has no pressure of cgroups */
    (void)line(&scene, "containers");
    assert_int_equal(doctor_status(&scene.report), 3);
    assert_non_null(strstr(line(&scene, "processes")->remedy, "CAP_SYS_PTRACE"));
    scene.host.ptrace = true;
    (void)line(&scene, "containers");
    assert_int_equal(doctor_status(&scene.report), 0);
}

TEST(what_is_not_there)
{
    struct doctor_host host;
    const char *files[][2] = {
        {"proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme\n"},
        {"proc/self/attr/current", "unconfined\n"},
        {"sys/kernel/security/lockdown", "none [integrity"},
        {"proc/sys/kernel/nmi_watchdog", "on\n"},
    };
    read_from(files, sizeof files / sizeof *files, &host);
    assert_int_equal(host.paranoid, DOCTOR_HOST_UNKNOWN);
    assert_int_equal(host.watchdog, DOCTOR_UNKNOWN);
    assert_int_equal(host.psi, DOCTOR_ABSENT);
    assert_int_equal(host.guest, DOCTOR_ABSENT);
    assert_int_equal(host.btf, DOCTOR_ABSENT);
    assert_int_equal(host.uncore, DOCTOR_UNKNOWN);
    assert_string_equal(host.apparmor, "");
    assert_string_equal(host.lockdown, "");
}

/* A line for each and one of the machine; the document has the same. */
TEST(as_text_and_document)
{
    struct scene scene;
    char *text = NULL;
    size_t size, lines = 0;
    set_up(&scene);
    fails(&scene, SLOWDOWN, REASON_NMI_WATCHDOG);
    FILE *file = open_memstream(&text, &size);
    assert_int_equal(doctor_print(&scene.host, &scene.seen, false, file), 3);
    fclose(file);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, N_COLLECTORS + 3 + 1);
    assert_non_null(strstr(text, "Linux 6.18.0"));
    assert_non_null(strstr(text, "nmi_watchdog: in words  -> sysctl kernel.nmi_watchdog=0\n"));
    free(text);

    file = open_memstream(&text, &size);
    assert_int_equal(doctor_print(&scene.host, &scene.seen, true, file), 3);
    fclose(file);
    json_t *root = json_loads(text, 0, NULL);
    json_t *tells = json_object_get(root, "can");
    assert_int_equal(json_object_size(tells), N_COLLECTORS + 3);
    json_t *slowdown = json_object_get(tells, "slowdown");
    assert_true(json_is_false(json_object_get(slowdown, "works")));
    assert_string_equal(json_string_value(json_object_get(slowdown, "remedy")),
                        "sysctl kernel.nmi_watchdog=0");
    assert_int_equal(json_integer_value(json_object_get(root, "status")), 3);
    json_decref(root);
    free(text);

    file = fopen("/dev/full", "w");
    assert_int_equal(doctor_print(&scene.host, &scene.seen, false, file), -EIO);
    fclose(file);
}
