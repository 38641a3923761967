/* What the writer does, and what it refuses whoever decides: orders that a hostile decider could
 * give. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/base/process_stat.h"
#include "exporter/containers/cgroups/hierarchy.h"
#include "exporter/governor/act/actuators/actuator.h"
#include "exporter/governor/act/restore.h"
#include "exporter/governor/terms/cpus.h"
#include "exporter/governor/write/orders.h"
#include "exporter/governor/write/rules.h"
#include "exporter/governor/write/writer.h"
#include "exporter/service/confine.h"
#include "tests/unit/support/governor_rig.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/tries.h"
#include "tests/unit/support/unit.h"

#define WORKER RIG_CONTAINER("aaaa")
#define OTHER RIG_CONTAINER("bbbb")
#define POD "/kubepods/pod" RIG_POD_UID
#define SERVICE "/system.slice/backup.service"

struct scene {
    struct governor_rig rig;
    struct journal journal;
    struct writer_bounds bounds;
    struct writer *writer;
    struct order order;
    char root[512];
};

static const char *const services[] = {"backup.service"};

static void make_writer(struct scene *scene, const char *proc, const char *resctrl)
{
    const struct writer_config config = {.bounds = &scene->bounds,
                                         .write = &scene->rig.write,
                                         .version = scene->rig.version,
                                         .quotas = scene->root,
                                         .hierarchy = scene->root,
                                         .resctrl = resctrl,
                                         .proc = proc,
                                         .file = scene->journal.file};
    assert_int_equal(writer_new(&config, &scene->writer), 0);
}

static int setup(void **state, int version)
{
    struct scene *scene = calloc(1, sizeof *scene);
    const char *none = version == 1 ? "-1" : "max 100000";
    const char *four = version == 1 ? "400000" : "400000 100000";
    static const char *const above[] = {"/kubepods", POD, "/system.slice"};
    static const char *const all[] = {WORKER, OTHER, SERVICE, "/system.slice/ssh.service"};
    governor_rig_init(&scene->rig, version);
    for (size_t i = 0; i < sizeof above / sizeof *above; i++)
        governor_rig_cgroup(&scene->rig, above[i], none);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        governor_rig_cgroup(&scene->rig, all[i], four);
    scene->rig.write.get_affinity = fswrite_real.get_affinity;
    if (cgroup_mount_find(&scene->rig.fs, version == 1 ? "cpu" : "", scene->root,
                          sizeof scene->root))
        fail_msg("no hierarchy");
    governor_start_journal(&scene->rig, &scene->rig.write, &scene->journal);
    assert_int_equal(journal_compact(&scene->journal), 0);
    scene->bounds = (struct writer_bounds){
        .least = {[KNOB_CPU] = 1, [KNOB_WAYS] = 2, [KNOB_MBA] = 20, [KNOB_AFFINITY] = INFINITY},
        .names = services,
        .n_names = 1};
    make_writer(scene, scene->rig.fs.path[FSROOT_PROC], "");
    *state = scene;
    return 0;
}

static int setup_v1(void **state)
{
    return setup(state, 1);
}

static int setup_v2(void **state)
{
    return setup(state, 2);
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    writer_free(scene->writer);
    journal_close(&scene->journal);
    governor_rig_release(&scene->rig);
    free(scene);
    return 0;
}

/* ---- orders ---- */

static int obey(struct scene *scene)
{
    return writer_obey(scene->writer, &scene->order);
}

/* As the actuator makes it of what is there. */
static struct claim *prepare(struct scene *scene, const char *path, uint64_t id)
{
    struct claim *claim = &scene->order.of.claim;
    struct verdict why;
    void *cpu;
    memset(&scene->order, 0, sizeof scene->order);
    scene->order.kind = ORDER_CLAIM;
    claim->knob = KNOB_CPU;
    snprintf(claim->path, sizeof claim->path, "%s", path);
    snprintf(claim->container, sizeof claim->container, "jobs/a/worker");
    verdict_clear(&why);
    assert_int_equal(cpu_actuator.open(&scene->rig.env, &cpu, &why), 0);
    assert_int_equal(cpu_actuator.claim(cpu, 1, claim), 0);
    cpu_actuator.close(cpu);
    claim->id = id;
    return claim;
}

static void claim(struct scene *scene, const char *path, uint64_t id)
{
    prepare(scene, path, id);
    assert_int_equal(obey(scene), 0);
}

static int intend(struct scene *scene, uint64_t id, const char *from, const char *to)
{
    memset(&scene->order, 0, sizeof scene->order);
    scene->order.kind = ORDER_INTEND;
    scene->order.of.change.claim = id;
    snprintf(scene->order.of.change.from, CLAIM_TEXT_MAX, "%s", from);
    snprintf(scene->order.of.change.to, CLAIM_TEXT_MAX, "%s", to);
    return obey(scene);
}

static int release(struct scene *scene, uint64_t id)
{
    scene->order.kind = ORDER_RELEASE;
    scene->order.of.change.claim = id;
    return obey(scene);
}

static int put(struct scene *scene, const char *path, const char *file, const char *text)
{
    struct stat st;
    char name[4096];
    snprintf(name, sizeof name, "%s%s", scene->root, path);
    assert_int_equal(stat(name, &st), 0);
    memset(&scene->order, 0, sizeof scene->order);
    scene->order.kind = ORDER_FILE;
    scene->order.of.file.dev = st.st_dev;
    scene->order.of.file.ino = st.st_ino;
    snprintf(scene->order.of.file.name, ORDER_NAME_MAX, "%s", file);
    snprintf(scene->order.of.file.text, ORDER_TEXT_MAX, "%s", text);
    return obey(scene);
}

static void expect_quota(const struct scene *scene, const char *path, const char *quota)
{
    char now[64];
    governor_rig_quota(&scene->rig, path, now);
    assert_string_equal(now, quota);
}

/* The worker, claimed and turned down. */
static void hold(struct scene *scene)
{
    claim(scene, WORKER, 1);
    assert_int_equal(intend(scene, 1, "400000 100000", "150000 100000"), 0);
    assert_int_equal(put(scene, WORKER, "cpu.max", "150000 100000\n"), 0);
}

/* What whoever comes next would read. */
static size_t open_in_journal(const struct scene *scene, struct journal_claims *out)
{
    char text[65536];
    const char *why;
    size_t line;
    int fd = openat(scene->journal.file.directory, "journal", O_RDONLY);
    ssize_t n = read(fd, text, sizeof text);
    close(fd);
    assert_true(n > 0);
    *out = (struct journal_claims){0};
    if (journal_read(text, (size_t)n, scene->journal.boot_id, out, &line, &why))
        fail_msg("line %zu: %s", line, why);
    assert_false(out->torn);
    return out->n;
}

/* ---- what it does ---- */

TEST_ON(test_holds_and_gives_back, struct scene *scene, setup_v2, teardown)
{
    struct journal_claims open;
    hold(scene);
    expect_quota(scene, WORKER, "150000 100000");
    assert_int_equal(open_in_journal(scene, &open), 1);
    assert_string_equal(open.claims[0].path, WORKER);
    assert_string_equal(open.claims[0].original, "400000 100000");
    assert_string_equal(open.claims[0].set, "150000 100000");
    assert_true(open.claims[0].least == 1 && open.claims[0].most == 4);
    journal_claims_release(&open);
    assert_int_equal(put(scene, WORKER, "cpu.max", "400000 100000\n"), 0);
    assert_int_equal(release(scene, 1), 0);
    assert_int_equal(open_in_journal(scene, &open), 0);
    assert_int_equal(writer_open(scene->writer), 0);
    journal_claims_release(&open);
}

TEST_ON(test_the_parent_of_v1_was_lowered, struct scene *scene, setup_v1, teardown)
{
    claim(scene, WORKER, 1);
    assert_int_equal(intend(scene, 1, "400000", "150000"), 0);
    assert_int_equal(put(scene, WORKER, "cpu.cfs_quota_us", "150000\n"), 0);
    assert_int_equal(put(scene, WORKER, "cpu.cfs_quota_us", "200000\n"), ORDER_REFUSED);
    governor_rig_set_quota(&scene->rig, POD, "200000");
    assert_int_equal(put(scene, WORKER, "cpu.cfs_quota_us", "200000\n"), 0);
    assert_int_equal(release(scene, 1), 0);
}

TEST_ON(test_a_line_that_fails_is_made_good, struct scene *scene, setup_v2, teardown)
{
    struct journal_claims open;
    claim(scene, WORKER, 1);
    prepare(scene, OTHER, 2);
    scene->rig.fail_from = scene->rig.fail_to = scene->rig.calls + 1;
    scene->rig.fail_with = -ENOSPC;
    assert_int_equal(obey(scene), -ENOSPC); /* and half of the line is there */
    assert_int_equal(writer_open(scene->writer), 1);
    assert_int_equal(release(scene, 1), 0); /* of a file that is made anew */
    assert_int_equal(open_in_journal(scene, &open), 0);
    journal_claims_release(&open);
    claim(scene, WORKER, 3);
    claim(scene, OTHER, 4);
    assert_int_equal(open_in_journal(scene, &open), 2);
    journal_claims_release(&open);
    scene->rig.fail_from = scene->rig.fail_to = scene->rig.calls + 1;
    assert_int_equal(release(scene, 4), -ENOSPC); /* nothing was set, so it goes nevertheless */
    scene->order.kind = ORDER_COMPACT;
    for (unsigned call = 1; call <= 4; call++) { /* opens, two lines, renames */
        scene->rig.fail_from = scene->rig.fail_to = scene->rig.calls + call;
        assert_int_equal(obey(scene), -ENOSPC);
        claim(scene, OTHER, 4 + call); /* the next line writes it anew */
        assert_int_equal(open_in_journal(scene, &open), 2);
        journal_claims_release(&open);
        assert_int_equal(release(scene, 4 + call), 0);
        scene->order.kind = ORDER_COMPACT;
    }
}

/* ---- what it refuses ---- */

static void expect_refused(struct scene *scene, int err)
{
    int given = obey(scene);
    if (given != err)
        fail_msg("%d and not %d", given, err);
    assert_int_equal(writer_open(scene->writer), 0);
}

TEST_ON(test_claims_of_others, struct scene *scene, setup_v2, teardown)
{
    static const char *const paths[] = {"/", "/kubepods", POD, "/system.slice",
                                        "/system.slice/ssh.service"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        prepare(scene, WORKER, 1);
        snprintf(scene->order.of.claim.path, CLAIM_PATH_MAX, "%s", paths[i]);
        expect_refused(scene, ORDER_REFUSED);
    }
    prepare(scene, WORKER, 1); /* leads elsewhere */
    snprintf(scene->order.of.claim.path, CLAIM_PATH_MAX, "%s/../bbbb", WORKER);
    expect_refused(scene, ORDER_REFUSED);
    prepare(scene, WORKER, 1)->ino++; /* another one's */
    expect_refused(scene, -ENODEV);
    prepare(scene, WORKER, 1)->root_ino++;
    expect_refused(scene, -EXDEV);
    prepare(scene, WORKER, 1)->path[sizeof scene->order.of.claim.path - 1] = 'x';
    memset(scene->order.of.claim.path, '/', CLAIM_PATH_MAX); /* it does not end */
    expect_refused(scene, ORDER_REFUSED);
    claim(scene, SERVICE, 1); /* which the configuration names */
}

TEST_ON(test_claims_beyond_their_limits, struct scene *scene, setup_v2, teardown)
{
    const double wrong[][2] = {{.9, 4},       {1, 4.5},       {3, 2},  {NAN, 4},  {1, NAN},
                               {1, INFINITY}, {-INFINITY, 4}, {-1, 4}, {1, 1e300}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct claim *claim = prepare(scene, WORKER, 1);
        claim->least = wrong[i][0];
        claim->most = wrong[i][1];
        expect_refused(scene, ORDER_REFUSED);
    }
    for (int knob = KNOB_AFFINITY; knob < KNOB_COUNT + 3; knob++) { /* of no policy; none */
        prepare(scene, WORKER, 1)->knob = (enum knob)knob;
        expect_refused(scene, ORDER_REFUSED);
    }
    prepare(scene, WORKER, 1)->tid = 1; /* a quota is no thread's */
    expect_refused(scene, ORDER_REFUSED);
    prepare(scene, WORKER, 0);
    expect_refused(scene, ORDER_REFUSED);
    prepare(scene, WORKER, UINT64_MAX);
    expect_refused(scene, ORDER_REFUSED);
}

/* What is given back later is what the writer has read. */
TEST_ON(test_a_false_original, struct scene *scene, setup_v2, teardown)
{
    static const char *const wrong[] = {"500000 100000", "400000 50000", "max 100000",
                                        "400000 100000 burst 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct claim *claim = prepare(scene, WORKER, 1);
        snprintf(claim->original, sizeof claim->original, "%s", wrong[i]);
        expect_refused(scene, -ESTALE);
    }
    prepare(scene, WORKER, 1)->original[0] = '\0';
    expect_refused(scene, ORDER_REFUSED);
    claim(scene, WORKER, 1); /* and later by another number, in the place of this one */
    snprintf(prepare(scene, WORKER, 2)->original, CLAIM_TEXT_MAX, "900000 100000");
    assert_int_equal(obey(scene), -ESTALE);
    governor_rig_set_quota(&scene->rig, WORKER, "900000 100000");
    assert_int_equal(obey(scene), 0);
    assert_int_equal(writer_open(scene->writer), 1);
    struct journal_claims open;
    assert_int_equal(open_in_journal(scene, &open), 1);
    assert_string_equal(open.claims[0].original, "900000 100000");
    journal_claims_release(&open);
}

/* A line of the journal that nobody could read would leave all behind. */
TEST_ON(test_texts_that_are_none, struct scene *scene, setup_v2, teardown)
{
    static const char *const wrong[] = {"a\nb", "\x1b[2J", "caf\xe9", "\x7f"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(prepare(scene, WORKER, 1)->container, CLAIM_NAME_MAX, "%s", wrong[i]);
        expect_refused(scene, ORDER_REFUSED);
        snprintf(prepare(scene, WORKER, 1)->container_id, 16, "%s", wrong[i]);
        expect_refused(scene, ORDER_REFUSED);
    }
    snprintf(prepare(scene, WORKER, 1)->container, CLAIM_NAME_MAX, "\"],\\\"");
    assert_int_equal(obey(scene), 0);
    struct journal_claims open;
    assert_int_equal(open_in_journal(scene, &open), 1);
    assert_string_equal(open.claims[0].container, "\"],\\\"");
    journal_claims_release(&open);
}

TEST_ON(test_changes_beyond_the_limits, struct scene *scene, setup_v2, teardown)
{
    static const char *const wrong[] = {"99000 100000",  /* below the least */
                                        "400002 100000", /* above the original */
                                        "max 100000",
                                        "150000",
                                        "150000 200000", /* a longer period, or one too short */
                                        "15000 9999",
                                        "40001 10000",
                                        "9998 10000",
                                        "150000 100000 burst 7",
                                        "nan 100000",
                                        "1e5 100000",
                                        "-1 100000",
                                        "0x30d40 100000",
                                        " 150000 100000",
                                        "150000 100000 ",
                                        "150000  100000",
                                        "99999999999999999999 100000",
                                        "",
                                        "150000 0"};
    claim(scene, WORKER, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (intend(scene, 1, "400000 100000", wrong[i]) != ORDER_REFUSED)
            fail_msg("\"%s\" is taken", wrong[i]);
    assert_int_equal(intend(scene, 1, "300000 100000", "150000 100000"), ORDER_REFUSED);
    assert_int_equal(intend(scene, 2, "400000 100000", "150000 100000"), ORDER_REFUSED);
    expect_quota(scene, WORKER, "400000 100000");
    assert_int_equal(intend(scene, 1, "400000 100000", "10000 10000"), 0);
    assert_int_equal(intend(scene, 1, "400000 100000", "40000 10000"), 0);
}

TEST_ON(test_writes_that_were_not_announced, struct scene *scene, setup_v2, teardown)
{
    assert_int_equal(put(scene, WORKER, "cpu.max", "150000 100000\n"), ORDER_REFUSED);
    claim(scene, WORKER, 1);
    assert_int_equal(put(scene, WORKER, "cpu.max", "150000 100000\n"), ORDER_REFUSED);
    assert_int_equal(intend(scene, 1, "400000 100000", "150000 100000"), 0);
    static const struct {
        const char *path, *file, *text;
    } wrong[] = {
        {OTHER, "cpu.max", "150000 100000\n"},
        {POD, "cpu.max", "150000 100000\n"},
        {WORKER, "cpu.max", "160000 100000\n"},
        {WORKER, "cpu.max", "max 100000\n"},
        {WORKER, "cpu.max", "150000 100000"},
        {WORKER, "cpu.max", "150000 100000\n\n"},
        {WORKER, "cpu.max", "150000 100000\n1"},
        {WORKER, "cpu.max", "150000 100000 burst 5\n"},
        {WORKER, "cpu.max", ""},
        {WORKER, "cpu.cfs_quota_us", "150000\n"},
        {WORKER, "cpu.max.burst", "5\n"},
        {WORKER, "cpu.weight", "150000 100000\n"},
        {WORKER, "cgroup.kill", "1\n"},
        {WORKER, "cgroup.procs", "1\n"},
        {WORKER, "../cpu.max", "150000 100000\n"},
        {WORKER, "", "150000 100000\n"},
        {WORKER, "cpu.max",
         RIG_ZEROS RIG_ZEROS RIG_ZEROS RIG_ZEROS RIG_ZEROS RIG_ZEROS "0000000\n"},
    };
    unsigned writes = scene->rig.control_writes;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (put(scene, wrong[i].path, wrong[i].file, wrong[i].text) != ORDER_REFUSED)
            fail_msg("\"%s\" to %s is taken", wrong[i].text, wrong[i].file);
    memset(scene->order.of.file.text, 'x', ORDER_TEXT_MAX);
    assert_int_equal(obey(scene), ORDER_REFUSED);
    memset(scene->order.of.file.name, 'x', ORDER_NAME_MAX);
    assert_int_equal(obey(scene), ORDER_REFUSED);
    assert_int_equal(scene->rig.control_writes, writes);
}

/* Whoever forgets what was set would leave it. */
TEST_ON(test_releases_of_what_is_held, struct scene *scene, setup_v2, teardown)
{
    assert_int_equal(release(scene, 1), ORDER_REFUSED);
    hold(scene);
    assert_int_equal(release(scene, 1), -EBUSY);
    assert_int_equal(intend(scene, 1, "150000 100000", "200000 100000"), 0);
    assert_int_equal(release(scene, 1), -EBUSY); /* what was before that is there */
    governor_rig_set_quota(&scene->rig, WORKER, "300000 100000"); /* somebody else's */
    assert_int_equal(release(scene, 1), 0);
}

/* Each would have what was set taken for what there was, or for somebody else's. */
TEST_ON(test_held_under_another_name, struct scene *scene, setup_v2, teardown)
{
    hold(scene);
    assert_int_equal(intend(scene, 1, "150000 100000", "200000 100000"), 0);
    assert_int_equal(intend(scene, 1, "200000 100000", "300000 100000"), ORDER_REFUSED);
    assert_int_equal(release(scene, 1), -EBUSY);
    prepare(scene, WORKER, 2); /* what was set is no new original */
    assert_int_equal(obey(scene), ORDER_REFUSED);
    assert_int_equal(put(scene, WORKER, "cpu.max", "200000 100000\n"), 0);
    assert_int_equal(intend(scene, 1, "200000 100000", "300000 100000"), 0);
    assert_int_equal(put(scene, WORKER, "cpu.max", "400000 100000\n"), 0);
    assert_int_equal(release(scene, 1), 0);
    assert_int_equal(writer_open(scene->writer), 0);
}

/* Whoever has lowered it meanwhile has the last word. */
TEST_ON(test_somebody_else_s_limit, struct scene *scene, setup_v2, teardown)
{
    claim(scene, WORKER, 1);
    assert_int_equal(intend(scene, 1, "400000 100000", "150000 100000"), 0);
    governor_rig_set_quota(&scene->rig, WORKER, "110000 100000");
    assert_int_equal(put(scene, WORKER, "cpu.max", "150000 100000\n"), ORDER_REFUSED);
    assert_int_equal(put(scene, WORKER, "cpu.max", "400000 100000\n"), ORDER_REFUSED);
    expect_quota(scene, WORKER, "110000 100000");
    governor_rig_set_quota(&scene->rig, WORKER, "150000 90000"); /* the same in another period */
    assert_int_equal(put(scene, WORKER, "cpu.max", "150000 100000\n"), ORDER_REFUSED);
    prepare(scene, WORKER, 2);
    assert_int_equal(obey(scene), 0);
    assert_int_equal(release(scene, 1), ORDER_REFUSED);
    assert_int_equal(release(scene, 2), 0);
}

TEST_ON(test_a_cgroup_that_came_after, struct scene *scene, setup_v2, teardown)
{
    claim(scene, WORKER, 1);
    assert_int_equal(intend(scene, 1, "400000 100000", "150000 100000"), 0);
    uint64_t before = governor_rig_inode(&scene->rig, WORKER);
    governor_rig_cgroup(&scene->rig, RIG_CONTAINER("cccc"), "400000 100000");
    governor_rig_remove(&scene->rig, WORKER);
    governor_rig_cgroup(&scene->rig, RIG_CONTAINER("dddd"), "400000 100000");
    governor_rig_cgroup(&scene->rig, WORKER, "400000 100000");
    assert_int_not_equal(governor_rig_inode(&scene->rig, WORKER), before);
    assert_int_equal(put(scene, WORKER, "cpu.max", "150000 100000\n"), ORDER_REFUSED);
    expect_quota(scene, WORKER, "400000 100000");
    assert_int_equal(release(scene, 1), 0);
}

/* ---- threads ---- */

/* One that does nothing, on CPUs of its own; its tid. */
static pid_t begin_thread(void)
{
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    assert_true(pid > 0);
    return pid;
}

static void end_thread(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static uint64_t start_of(pid_t pid)
{
    char path[64], text[PROCESS_STAT_BYTES];
    uint64_t start = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(n > 0);
    text[n] = '\0';
    assert_int_equal(process_start_ticks(text, &start), 0);
    return start;
}

static int set_cpus(struct scene *scene, pid_t tid, const cpu_set_t *cpus)
{
    memset(&scene->order, 0, sizeof scene->order);
    scene->order.kind = ORDER_THREAD;
    scene->order.of.thread.tid = tid;
    scene->order.of.thread.cpus = *cpus;
    return obey(scene);
}

static int claim_thread(struct scene *scene, pid_t tid, uint64_t id, const char *cpus)
{
    struct claim *claim = prepare(scene, WORKER, id);
    claim->knob = KNOB_AFFINITY;
    claim->tid = tid;
    claim->tid_start = claim->tid_claimed = start_of(tid);
    claim->least = 1;
    claim->most = 2;
    snprintf(claim->original, sizeof claim->original, "%s", cpus);
    return obey(scene);
}

TEST_ON(test_threads_of_others, struct scene *scene, setup_v2, teardown)
{
    cpu_set_t before, kept, any;
    char list[64], kept_list[16];
    pid_t own = begin_thread(), stranger = begin_thread();
    memset(&any, 0xff, sizeof any);
    assert_int_equal(sched_getaffinity(own, sizeof before, &before), 0);
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &before))
        cpu++;
    CPU_ZERO(&kept);
    CPU_SET((size_t)cpu, &kept);
    snprintf(kept_list, sizeof kept_list, "%d", cpu);
    snprintf(list, sizeof list, "%d\n", own);
    governor_rig_put(&scene->rig, WORKER, "cgroup.threads", list);
    writer_free(scene->writer);
    scene->bounds.least[KNOB_AFFINITY] = 1;
    scene->bounds.cpus = kept;
    scene->rig.write.set_affinity = fswrite_real.set_affinity;
    make_writer(scene, "/proc", "");

    assert_int_equal(claim_thread(scene, stranger, 1, CPUS_ALL), ORDER_REFUSED);
    assert_int_equal(claim_thread(scene, own, 1, "4000"), -ESTALE); /* not what it has */
    assert_int_equal(set_cpus(scene, own, &any), ORDER_REFUSED);    /* nobody has claimed it */
    assert_int_equal(claim_thread(scene, own, 1, CPUS_ALL), 0);
    assert_int_equal(set_cpus(scene, own, &kept), ORDER_REFUSED);          /* not announced */
    assert_int_equal(intend(scene, 1, CPUS_ALL, "0-4000"), ORDER_REFUSED); /* beyond its CPUs */
    assert_int_equal(intend(scene, 1, CPUS_ALL, "x"), ORDER_REFUSED);
    assert_int_equal(intend(scene, 1, CPUS_ALL, kept_list), 0);
    assert_int_equal(set_cpus(scene, stranger, &kept), ORDER_REFUSED);
    assert_int_equal(set_cpus(scene, stranger, &any), ORDER_REFUSED);
    assert_int_equal(set_cpus(scene, 0, &any), ORDER_REFUSED);
    assert_int_equal(set_cpus(scene, -1, &any), ORDER_REFUSED);
    assert_int_equal(set_cpus(scene, own, &kept), 0);
    if (CPU_COUNT(&before) > 1)
        assert_int_equal(release(scene, 1), -EBUSY);
    assert_int_equal(claim_thread(scene, own, 2, kept_list), ORDER_REFUSED); /* a second time */
    /* Born of it, in its cgroup: it is given back, and no more. */
    assert_int_equal(sched_setaffinity(stranger, sizeof kept, &kept), 0);
    assert_int_equal(set_cpus(scene, stranger, &any), ORDER_REFUSED);
    snprintf(list, sizeof list, "%d\n%d\n", own, stranger);
    governor_rig_put(&scene->rig, WORKER, "cgroup.threads", list);
    assert_int_equal(set_cpus(scene, stranger, &kept), ORDER_REFUSED);
    assert_int_equal(set_cpus(scene, stranger, &any), 0);
    assert_int_equal(set_cpus(scene, own, &any), 0);
    assert_int_equal(release(scene, 1), 0);
    end_thread(own);
    end_thread(stranger);
}

/* ---- groups ---- */

static int group(struct scene *scene, enum order_kind kind, const char *name)
{
    memset(&scene->order, 0, sizeof scene->order);
    scene->order.kind = kind;
    snprintf(scene->order.of.file.name, ORDER_NAME_MAX, "%s", name);
    return obey(scene);
}

static int put_group(struct scene *scene, const char *name, const char *file, const char *text)
{
    memset(&scene->order, 0, sizeof scene->order);
    scene->order.kind = ORDER_FILE;
    snprintf(scene->order.of.file.name, ORDER_NAME_MAX, "%s%s%s", name, *name ? "/" : "", file);
    snprintf(scene->order.of.file.text, ORDER_TEXT_MAX, "%s", text);
    return obey(scene);
}

static int claim_ways(struct scene *scene, uint64_t id)
{
    struct claim *claim = prepare(scene, WORKER, id);
    claim->knob = KNOB_WAYS;
    claim->least = 2;
    claim->most = 11;
    snprintf(claim->original, sizeof claim->original, "7ff");
    return obey(scene);
}

TEST_ON(test_groups_of_others, struct scene *scene, setup_v2, teardown)
{
    char resctrl[128], proc[128];
    struct governor_rig *rig = &scene->rig;
    static const char *const folders[] = {"resctrl/theirs", "resctrl/ig_3_100", "resctrl/ig_1_100",
                                          "tasks/11",       "tasks/12",         "tasks/13"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        governor_rig_folder(rig, folders[i]);
    governor_rig_file(rig, "resctrl/schemata", "    L3:0=7ff;1=7ff\n    MB:0=100;1=100\n");
    governor_rig_file(rig, "resctrl/tasks", "");
    governor_rig_file(rig, "resctrl/theirs/tasks", "");
    governor_rig_file(rig, "resctrl/ig_3_100/schemata", "");
    governor_rig_file(rig, "resctrl/ig_3_100/tasks", "");
    governor_rig_file(rig, "resctrl/ig_1_100/tasks", "");
    governor_rig_file(rig, "tasks/11/cpu_resctrl_groups", "res:/\nmon:\n");
    governor_rig_file(rig, "tasks/12/cpu_resctrl_groups", "res:/theirs\nmon:\n");
    governor_rig_file(rig, "tasks/13/cpu_resctrl_groups", "res:ig_3_100\nmon:\n");
    governor_rig_put(rig, WORKER, "cgroup.threads", "11\n12\n");
    snprintf(resctrl, sizeof resctrl, "%s/resctrl", rig->root);
    snprintf(proc, sizeof proc, "%s/tasks", rig->root);
    rig->write.write_at = fswrite_real.write_at;
    writer_free(scene->writer);
    make_writer(scene, proc, resctrl);

    static const char *const names[] = {"ig_1_100", "ig_fff_100", "ig_3_10", "theirs", "../x", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(group(scene, ORDER_MAKE_GROUP, names[i]), ORDER_REFUSED);
    assert_int_equal(group(scene, ORDER_REMOVE_GROUP, "theirs"), ORDER_REFUSED);
    assert_int_equal(group(scene, ORDER_MAKE_GROUP, "ig_f_50"), 0);
    assert_int_equal(writer_open(scene->writer), 1); /* also without a claim it is to go */
    assert_int_equal(group(scene, ORDER_REMOVE_GROUP, "ig_f_50"), 0);
    assert_int_equal(writer_open(scene->writer), 0);

    assert_int_equal(put_group(scene, "", "schemata", "L3:0=3;1=3\n"), ORDER_REFUSED);
    assert_int_equal(put_group(scene, "ig_3_100", "schemata", "L3:0=1;1=1\n"), ORDER_REFUSED);
    assert_int_equal(put_group(scene, "ig_3_100", "mode", "exclusive\n"), ORDER_REFUSED);
    assert_int_equal(put_group(scene, "ig_3_100", "schemata", "L3:0=3;1=3\n"), 0);
    assert_int_equal(put_group(scene, "theirs", "tasks", "11\n"), ORDER_REFUSED);
    assert_int_equal(put_group(scene, "../state", "tasks", "11\n"), ORDER_REFUSED);

    assert_int_equal(put_group(scene, "ig_3_100", "tasks", "11\n"), ORDER_REFUSED);
    assert_int_equal(claim_ways(scene, 1), 0);
    assert_int_equal(put_group(scene, "ig_3_100", "tasks", "11\n"), ORDER_REFUSED);
    static const char *const wrong[] = {"1", "fff", "-3", "3 ", "0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(intend(scene, 1, "7ff", wrong[i]), ORDER_REFUSED);
    assert_int_equal(intend(scene, 1, "7ff", "3"), 0);
    static const char *const strangers[] = {
        "12\n",    "13\n", "0\n", "-1\n", "1\n", "\n", "", "11\n,12\n", "000000000000011,12\n",
        "11,12\n", "11"};
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        assert_int_equal(put_group(scene, "ig_3_100", "tasks", strangers[i]), ORDER_REFUSED);
    assert_int_equal(put_group(scene, "ig_3_100", "tasks", "11\n"), 0);
    assert_int_equal(put_group(scene, "ig_1_100", "tasks", "11\n"), ORDER_REFUSED);
    assert_int_equal(put_group(scene, "", "tasks", "12\n"), ORDER_REFUSED);
    assert_int_equal(put_group(scene, "", "tasks", "13\n"), 0); /* given back */
    assert_int_equal(release(scene, 1), 0);
}

TEST_ON(test_groups_and_threads_that_are_not_there, struct scene *scene, setup_v2, teardown)
{
    memset(&scene->order, 0, sizeof scene->order);
    snprintf(scene->order.of.file.name, ORDER_NAME_MAX, "ig_7_50");
    scene->order.kind = ORDER_MAKE_GROUP;
    expect_refused(scene, ORDER_REFUSED);
    scene->order.kind = ORDER_REMOVE_GROUP;
    expect_refused(scene, ORDER_REFUSED);
    memset(&scene->order, 0, sizeof scene->order);
    scene->order.kind = ORDER_THREAD;
    scene->order.of.thread.tid = getpid();
    CPU_SET(0, &scene->order.of.thread.cpus);
    expect_refused(scene, ORDER_REFUSED);
    for (uint32_t kind = ORDER_KINDS; kind < ORDER_KINDS + 3; kind++) {
        scene->order.kind = kind;
        expect_refused(scene, ORDER_REFUSED);
    }
}

/* ---- rules ---- */

TEST(test_paths)
{
#define ID RIG_ZEROS RIG_ZEROS RIG_ZEROS "abcd"
    static const char *const names[] = {"a.service", "my.slice", "0"};
    static const struct {
        const char *path;
        bool taken;
    } cases[] = {
        {"/kubepods/burstable/pod1/" ID, true},
        {"/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope", true},
        {"/system.slice/docker-" ID ".scope", true},
        {"/docker/" ID, true},
        {"/kubepods.slice/crio-conmon-" ID ".scope", false},
        {"/docker/" ID "0", false},
        {"/docker/" ID ".service", false},
        {"/docker/" RIG_ZEROS, false},
        {"docker/" ID, false},
        {"/docker/../" ID, false},
        {"/system.slice/a.service", true},
        {"/a.service/b", false},
        {"/kubepods/a.service", false},
        {"/my.slice", false},
        {"/0", true},
        {"/", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rules_path(cases[i].path, names, 3) != cases[i].taken)
            fail_msg("%s", cases[i].path);
}

TEST(test_groups)
{
    unsigned mask, percent;
    assert_true(rules_group("ig_7ff_100", &mask, &percent) && mask == 0x7ff && percent == 100);
    static const char *const wrong[] = {"",         "ig_",       "ig_7_",      "ig__5",
                                        "ig_7_101", "ig_7_50/",  "ig_7_5 ",    "ig_7G_50",
                                        "info",     "ig_7_50_1", "../ig_7_50", "ig_1ffffffff_50"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (rules_group(wrong[i], &mask, &percent))
            fail_msg("%s", wrong[i]);
    assert_true(rules_schemata("L3:0=7;1=7\nMB:0=50;1=50\n", 7, 50));
    assert_true(rules_schemata("MB:0=50\n", 7, 50));
    static const char *const bad[] = {"L3:0=f\n", "L3:0=7;1=f\n", "MB:0=40\n", "L2:0=7\n",
                                      "L3:0=7",   "L3:0=7;\n",    "L3:=7\n",   "L3:0=7\n\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (rules_schemata(bad[i], 7, 50))
            fail_msg("%s", bad[i]);
    assert_int_equal(rules_whole("    L3:0=7ff;1=7ff\n    MB:0=100;1= 50\n", "L3:", 16), 0x7ff);
    assert_int_equal(rules_whole("    L3:0=7ff\n    MB:0= 90\n", "MB:", 10), 90);
    assert_int_equal(rules_whole("    L3:0=7ff\n", "MB:", 10), 0);
}

/* ---- what its process may not do ---- */

static int try_write_elsewhere(void)
{
    return open("/dev/shm/elsewhere", O_WRONLY | O_CREAT, 0600);
}

TEST_ON(test_confined, struct scene *scene, setup_v2, teardown)
{
    static int (*const tries[])(void) = {try_exec, try_socket,      try_fork,
                                         try_kill, try_thread_kill, try_write_elsewhere};
    if (!confine_supported())
        skip();
    claim(scene, WORKER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        int root = open(scene->rig.root, O_PATH | O_DIRECTORY);
        unsigned done = orders_confine(getpid(), &root, 1);
        int bad = !(done & CONFINED_CALLS);
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
            if ((tries[i] != try_write_elsewhere || done & CONFINED_FILES) && tries[i]() != -1)
                bad = 10 + (int)i;
        /* And what it is for. */
        if (intend(scene, 1, "400000 100000", "150000 100000") != 0)
            bad = 30;
        if (!bad && put(scene, WORKER, "cpu.max", "150000 100000\n") != 0)
            bad = 31;
        _exit(bad);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
