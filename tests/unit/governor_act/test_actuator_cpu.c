#include <sys/stat.h>

#include "exporter/governor/act/actuators/actuator.h"
#include "exporter/governor/act/restore.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define WORKER "/pods/job/worker"

struct scene {
    struct governor_rig rig;
    void *cpu;
    struct claim claim;
};

static const char *original(const struct scene *scene)
{
    return scene->rig.version == 1 ? "400000" : "400000 100000";
}

static const char *half(const struct scene *scene)
{
    return scene->rig.version == 1 ? "150000" : "150000 100000";
}

static const char *unlimited(const struct scene *scene)
{
    return scene->rig.version == 1 ? "-1" : "max 100000";
}

static int setup(void **state, int version)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct verdict why;
    governor_rig_init(&scene->rig, version);
    governor_rig_cgroup(&scene->rig, "/pods", unlimited(scene));
    governor_rig_cgroup(&scene->rig, "/pods/job", unlimited(scene));
    governor_rig_cgroup(&scene->rig, WORKER, original(scene));
    verdict_clear(&why);
    if (cpu_actuator.open(&scene->rig.env, &scene->cpu, &why))
        fail_msg("%s", why.words);
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
    cpu_actuator.close(scene->cpu);
    governor_rig_release(&scene->rig);
    free(scene);
    return 0;
}

#define BOTH(name) TEST_ON_EACH(name, struct scene *scene, setup_v1, setup_v2, teardown)

static int claim(struct scene *scene, double floor)
{
    scene->claim = (struct claim){.knob = KNOB_CPU, .path = WORKER};
    return cpu_actuator.claim(scene->cpu, floor, &scene->claim);
}

static int set(struct scene *scene, double cores)
{
    struct claim *c = &scene->claim;
    snprintf(c->from, sizeof c->from, "%s", c->set[0] ? c->set : c->original);
    cpu_actuator.format(scene->cpu, c, cores, c->set);
    return cpu_actuator.apply(scene->cpu, c);
}

static void turn_down(struct scene *scene)
{
    assert_int_equal(claim(scene, 1), 0);
    assert_int_equal(set(scene, 1.5), 0);
}

static void expect_quota(const struct scene *scene, const char *text)
{
    char now[64];
    governor_rig_quota(&scene->rig, WORKER, now);
    assert_string_equal(now, text);
}

static void expect_state(struct scene *scene, enum claim_state expected)
{
    char now[CLAIM_TEXT_MAX];
    enum claim_state state;
    assert_int_equal(cpu_actuator.check(scene->cpu, &scene->claim, &state, now), 0);
    assert_int_equal(state, expected);
}

static void release(struct scene *scene, enum claim_restored expected)
{
    enum claim_restored restored;
    assert_int_equal(cpu_actuator.release(scene->cpu, &scene->claim, &restored), 0);
    assert_int_equal(restored, expected);
}

BOTH(down_and_back)
{
    assert_int_equal(claim(scene, 1), 0);
    assert_string_equal(scene->claim.original, original(scene));
    assert_int_equal(scene->claim.ino, governor_rig_inode(&scene->rig, WORKER));
    assert_float_equal(scene->claim.least, 1, 0);
    assert_float_equal(scene->claim.most, 4, 0);
    assert_int_equal(scene->rig.control_writes, 0);
    expect_state(scene, CLAIM_OURS);
    assert_int_equal(set(scene, 1.5), 0);
    expect_quota(scene, half(scene));
    expect_state(scene, CLAIM_OURS);
    release(scene, RESTORED);
    expect_quota(scene, original(scene));
    release(scene, RESTORED_ALREADY);
    assert_int_equal(scene->rig.control_writes, 2);
}

BOTH(what_it_may_have_at_most)
{
    governor_rig_set_quota(&scene->rig, WORKER, unlimited(scene));
    assert_int_equal(claim(scene, 1), 0);
    assert_float_equal(scene->claim.most, 8, 0); /* CPUs that are online */
    if (scene->rig.version == 2) {
        governor_rig_put(&scene->rig, WORKER, "cpuset.cpus.effective", "0-1,4");
        assert_int_equal(claim(scene, 1), 0);
        assert_float_equal(scene->claim.most, 3, 0);
        char text[CLAIM_TEXT_MAX];
        cpu_actuator.format(scene->cpu, &scene->claim, 3, text);
        assert_string_equal(text, unlimited(scene));
        return;
    }
    governor_rig_set_quota(&scene->rig, "/pods/job", "250000");
    assert_int_equal(claim(scene, 1), 0);
    assert_float_equal(scene->claim.most, 2.5, 0);
}

BOTH(what_it_may_have_at_least)
{
    bool v1 = scene->rig.version == 1;
    governor_rig_put(&scene->rig, WORKER, v1 ? "cpu.shares" : "cpu.weight", v1 ? "2048" : "79");
    assert_int_equal(claim(scene, 1), 0);
    assert_float_equal(scene->claim.least, v1 ? 2 : 1.999, 0.001);
    governor_rig_put(&scene->rig, WORKER, v1 ? "cpu.shares" : "cpu.weight", v1 ? "1024" : "100");
    assert_int_equal(claim(scene, 0), 0);
    assert_float_equal(scene->claim.least, 0.01, 0); /* the kernel's default, no request */
    governor_rig_put(&scene->rig, WORKER, v1 ? "cpu.shares" : "cpu.weight", v1 ? "2" : "1");
    assert_int_equal(claim(scene, 0), 0);
    assert_float_equal(scene->claim.least, 0.01, 0);
    assert_int_equal(claim(scene, 4), -ERANGE);
    assert_float_equal(scene->claim.most, 4, 0); /* that is known nevertheless */
}

/* ---- bursts ---- */

static void put_burst(struct scene *scene, const char *us)
{
    governor_rig_put(&scene->rig, WORKER,
                     scene->rig.version == 1 ? "cpu.cfs_burst_us" : "cpu.max.burst", us);
}

static void expect_burst(const struct scene *scene, const char *text)
{
    char where[256], now[64];
    bool v1 = scene->rig.version == 1;
    snprintf(where, sizeof where, "cgroup/%s%s/%s", v1 ? "cpu" : "", WORKER,
             v1 ? "cpu.cfs_burst_us" : "cpu.max.burst");
    governor_rig_text(&scene->rig, where, now, sizeof now);
    now[strcspn(now, "\n")] = '\0';
    assert_string_equal(now, text);
}

/* The kernel takes no quota below the burst, and no burst above the quota. */
BOTH(a_burst_goes_down_and_back_with_its_quota)
{
    char text[CLAIM_TEXT_MAX];
    put_burst(scene, "400000");
    assert_int_equal(claim(scene, 1), 0);
    assert_float_equal(scene->claim.least, 1, 0);
    snprintf(text, sizeof text, "%s burst 400000", original(scene));
    assert_string_equal(scene->claim.original, text);
    assert_int_equal(set(scene, 1.5), 0);
    snprintf(text, sizeof text, "%s burst 150000", half(scene));
    assert_string_equal(scene->claim.set, text);
    expect_quota(scene, half(scene));
    expect_burst(scene, "150000");
    expect_state(scene, CLAIM_OURS);
    assert_int_equal(set(scene, 3), 0);
    expect_burst(scene, "300000");
    release(scene, RESTORED);
    expect_quota(scene, original(scene));
    expect_burst(scene, "400000");
    release(scene, RESTORED_ALREADY);
    put_burst(scene, "50000"); /* one that the quota takes stays as it is */
    assert_int_equal(claim(scene, 1), 0);
    unsigned writes = scene->rig.control_writes;
    assert_int_equal(set(scene, 1.5), 0);
    release(scene, RESTORED);
    assert_int_equal(scene->rig.control_writes, writes + 2);
    expect_burst(scene, "50000");
}

static void fail_second_write(struct scene *scene)
{
    scene->rig.fail_from = scene->rig.fail_to = scene->rig.calls + 2;
    scene->rig.fail_with = -EIO;
}

BOTH(a_change_of_both_that_is_cut_in_its_middle_is_ours)
{
    enum claim_restored restored;
    put_burst(scene, "400000");
    assert_int_equal(claim(scene, 1), 0);
    fail_second_write(scene);
    assert_int_equal(set(scene, 1.5), -EIO);
    expect_quota(scene, original(scene));
    expect_burst(scene, "150000");
    expect_state(scene, CLAIM_RESET); /* the quota is */
    release(scene, RESTORED);
    expect_burst(scene, "400000");
    assert_int_equal(set(scene, 1.5), -ESTALE); /* from what was not set */
    scene->claim.set[0] = '\0';
    assert_int_equal(set(scene, 1.5), 0);
    fail_second_write(scene);
    assert_int_equal(set(scene, 3), -EIO);
    expect_state(scene, CLAIM_OURS);
    expect_burst(scene, "150000");
    fail_second_write(scene);
    assert_int_equal(cpu_actuator.release(scene->cpu, &scene->claim, &restored), -EIO);
    expect_quota(scene, original(scene));
    expect_burst(scene, "150000");
    release(scene, RESTORED);
    expect_burst(scene, "400000");
}

BOTH(somebody_else_s_burst_stays)
{
    put_burst(scene, "400000");
    turn_down(scene);
    put_burst(scene, "20000");
    expect_state(scene, CLAIM_OURS); /* or our quota would be taken for their specification */
    assert_int_equal(set(scene, 3), 0);
    expect_burst(scene, "20000");
    release(scene, RESTORED);
    expect_quota(scene, original(scene));
    expect_burst(scene, "20000");
}

BOTH(somebody_else_s_quota_gets_the_burst_back)
{
    const char *foreign = scene->rig.version == 1 ? "200000" : "200000 100000";
    char now[CLAIM_TEXT_MAX], text[CLAIM_TEXT_MAX];
    enum claim_state found;
    put_burst(scene, "400000");
    turn_down(scene);
    governor_rig_set_quota(&scene->rig, WORKER, foreign);
    assert_int_equal(cpu_actuator.check(scene->cpu, &scene->claim, &found, now), 0);
    assert_int_equal(found, CLAIM_CHANGED);
    snprintf(text, sizeof text, "%s burst 400000", foreign);
    assert_string_equal(now, text);
    release(scene, RESTORED_FOREIGN);
    expect_quota(scene, foreign);
    expect_burst(scene, "200000"); /* as much as it takes */
    governor_rig_set_quota(&scene->rig, WORKER, original(scene));
    put_burst(scene, "150000");
    release(scene, RESTORED); /* systemd sets the quota alone */
    expect_burst(scene, "400000");
}

/* Weights as a newer runtime writes them, below a kubelet's. */
TEST_ON(what_a_container_of_a_pod_asked_for, struct scene *scene, setup_v2, teardown)
{
    struct claim c = {.knob = KNOB_CPU, .path = "/kubepods/pod1/c"};
    governor_rig_cgroup(&scene->rig, "/kubepods", unlimited(scene));
    governor_rig_cgroup(&scene->rig, "/kubepods/pod1", unlimited(scene));
    governor_rig_cgroup(&scene->rig, "/kubepods/pod1/c", original(scene));
    governor_rig_put(&scene->rig, "/kubepods/pod1/c", "cpu.weight", "100");
    governor_rig_put(&scene->rig, "/kubepods/pod1", "cpu.weight", "59"); /* 1.5 cores */
    assert_int_equal(cpu_actuator.claim(scene->cpu, 0.1, &c), 0);
    assert_float_equal(c.least, 1.487, 0.001);
    governor_rig_put(&scene->rig, "/kubepods/pod1", "cpu.weight", "");
    assert_int_equal(cpu_actuator.claim(scene->cpu, 0.1, &c), 0);
    assert_float_equal(c.least, 2.537, 0.001);
    governor_rig_put(&scene->rig, WORKER, "cpu.weight", "100"); /* of no pod: the default */
    assert_int_equal(claim(scene, 0.1), 0);
    assert_float_equal(scene->claim.least, 0.1, 0);
}

BOTH(what_is_not_understood_is_not_claimed)
{
    governor_rig_set_quota(&scene->rig, WORKER, "many");
    assert_int_equal(claim(scene, 1), -EINVAL);
    governor_rig_set_quota(&scene->rig, WORKER, "");
    assert_int_equal(claim(scene, 1), -EINVAL);
    governor_rig_remove(&scene->rig, WORKER);
    assert_int_equal(claim(scene, 1), -ENOENT);
    scene->claim = (struct claim){.path = "/pods/../pods/job"};
    assert_int_equal(cpu_actuator.claim(scene->cpu, 1, &scene->claim), -EINVAL);
    assert_int_equal(scene->rig.control_writes, 0);
}

BOTH(somebody_else_s_value_stays)
{
    const char *foreign = scene->rig.version == 1 ? "123000" : "123000 100000";
    turn_down(scene);
    governor_rig_set_quota(&scene->rig, WORKER, foreign);
    expect_state(scene, CLAIM_CHANGED);
    unsigned writes = scene->rig.control_writes;
    assert_int_equal(set(scene, 2), -ESTALE);
    scene->claim.from[0] = '\0';
    release(scene, RESTORED_FOREIGN);
    assert_int_equal(scene->rig.control_writes, writes);
    expect_quota(scene, foreign);
    governor_rig_set_quota(&scene->rig, WORKER, original(scene));
    expect_state(scene, CLAIM_RESET);
}

BOTH(before_anything_was_set_nothing_is_ours)
{
    assert_int_equal(claim(scene, 1), 0);
    governor_rig_set_quota(&scene->rig, WORKER, half(scene));
    expect_state(scene, CLAIM_CHANGED);
    release(scene, RESTORED_FOREIGN);
    governor_rig_set_quota(&scene->rig, WORKER, "");
    release(scene, RESTORED_FOREIGN); /* an empty text is not the empty "set" */
}

/* The cgroup has gone, and another one has its path. */
BOTH(the_next_cgroup_of_a_path_is_not_touched)
{
    turn_down(scene);
    governor_rig_remove(&scene->rig, WORKER);
    expect_state(scene, CLAIM_GONE);
    governor_rig_cgroup(&scene->rig, "/pods/job/other", half(scene)); /* takes the inode */
    governor_rig_cgroup(&scene->rig, WORKER, half(scene));
    assert_int_not_equal(scene->claim.ino, governor_rig_inode(&scene->rig, WORKER));
    unsigned writes = scene->rig.control_writes;
    expect_state(scene, CLAIM_GONE);
    assert_int_equal(set(scene, 2), -ENODEV);
    release(scene, RESTORED_GONE);
    assert_int_equal(scene->rig.control_writes, writes);
    expect_quota(scene, half(scene));
}

TEST_ON(a_parent_that_was_lowered_bounds_what_comes_back, struct scene *scene, setup_v1, teardown)
{
    turn_down(scene);
    governor_rig_set_quota(&scene->rig, "/pods/job", "250000");
    release(scene, RESTORED_CLAMPED);
    expect_quota(scene, "250000");
}

TEST_ON(without_a_period_nothing_is_made_up, struct scene *scene, setup_v1, teardown)
{
    char text[CLAIM_TEXT_MAX];
    assert_int_equal(claim(scene, 1), 0);
    governor_rig_put(&scene->rig, WORKER, "cpu.cfs_period_us", "50000");
    cpu_actuator.format(scene->cpu, &scene->claim, 1.5, text);
    assert_string_equal(text, "75000");
    governor_rig_put(&scene->rig, WORKER, "cpu.cfs_period_us", "");
    cpu_actuator.format(scene->cpu, &scene->claim, 1.5, text);
    assert_string_equal(text, original(scene));
    governor_rig_remove(&scene->rig, WORKER);
    cpu_actuator.format(scene->cpu, &scene->claim, 1.5, text);
    assert_string_equal(text, original(scene));
}

BOTH(errors_are_told)
{
    enum claim_restored restored;
    turn_down(scene);
    scene->rig.fail_from = scene->rig.calls + 1;
    scene->rig.fail_to = scene->rig.calls + 2;
    scene->rig.fail_with = -EACCES;
    assert_int_equal(cpu_actuator.release(scene->cpu, &scene->claim, &restored), -EACCES);
    assert_int_equal(set(scene, 2), -EACCES);
    expect_quota(scene, half(scene));
}

TEST(without_a_tree_it_says_so)
{
    struct fsroot fs;
    struct actuator_env env = {.fs = &fs, .write = &fswrite_real};
    struct verdict why;
    void *cpu;
    assert_int_equal(fsroot_init(&fs, NULL, NULL, "/nonexistent", NULL), 0);
    assert_int_equal(cpu_actuator.open(&env, &cpu, &why), -ENODEV);
    assert_non_null(strstr(why.words, "--path.cgroupfs"));
    fsroot_release(&fs);
}

/* ---- all claims of a journal ---- */

static const struct log no_log = {.fd = -1};

static void open_journal(struct scene *scene, struct journal *journal)
{
    governor_start_journal(&scene->rig, &scene->rig.write, journal);
}

static void intend(struct journal *journal, uint64_t claim, const char *from, const char *to)
{
    struct intent intent = {.claim = claim};
    snprintf(intent.from, sizeof intent.from, "%s", from);
    snprintf(intent.to, sizeof intent.to, "%s", to);
    assert_int_equal(journal_intend(journal, &intent), 0);
}

/* The worker's claim, announced and turned down. */
static void hold(struct scene *scene, struct journal *journal)
{
    assert_int_equal(claim(scene, 1), 0);
    open_journal(scene, journal);
    assert_int_equal(journal_claim(journal, &scene->claim), 0);
    intend(journal, scene->claim.id, original(scene), half(scene));
    governor_rig_set_quota(&scene->rig, WORKER, half(scene));
}

static void restore(struct scene *scene, struct restore_counts *counts)
{
    struct journal journal;
    struct actuators actuators;
    *counts = (struct restore_counts){0};
    open_journal(scene, &journal);
    assert_true(actuators_open(&actuators, &scene->rig.env, &no_log) > 0);
    restore_all(&journal, &actuators, &no_log, counts);
    actuators_close(&actuators);
    journal_close(&journal);
}

/* As a governor that is killed leaves it: each claim at another step. */
BOTH(what_is_open_is_put_back)
{
    struct journal journal;
    struct restore_counts counts;
    static const char *const paths[] = {"/pods/a", "/pods/b", "/pods/c", "/pods/d", "/pods/e"};
    char now[64];
    open_journal(scene, &journal);
    for (size_t i = 0; i < 5; i++) {
        struct claim c = {.knob = KNOB_CPU};
        governor_rig_cgroup(&scene->rig, paths[i], original(scene));
        snprintf(c.path, sizeof c.path, "%s", paths[i]);
        assert_int_equal(cpu_actuator.claim(scene->cpu, 1, &c), 0);
        assert_int_equal(journal_claim(&journal, &c), 0);
        if (i == 0)
            continue; /* a: claimed */
        intend(&journal, c.id, original(scene), half(scene));
        if (i > 1) /* b: intended */
            governor_rig_set_quota(&scene->rig, paths[i], half(scene));
        if (i == 2) /* c: the next change is intended, too */
            intend(&journal, c.id, half(scene), "200000");
        if (i == 4)
            governor_rig_set_quota(&scene->rig, paths[i], "1234"); /* e: somebody else's */
    }
    journal_close(&journal);
    restore(scene, &counts);
    assert_int_equal(counts.outcomes[RESTORED_ALREADY], 2);
    assert_int_equal(counts.outcomes[RESTORED], 2);
    assert_int_equal(counts.outcomes[RESTORED_FOREIGN], 1);
    assert_int_equal(counts.failed, 0);
    for (size_t i = 0; i < 5; i++) {
        governor_rig_quota(&scene->rig, paths[i], now);
        assert_string_equal(now, i == 4 ? "1234" : original(scene));
    }
    restore(scene, &counts);
    assert_int_equal(counts.outcomes[RESTORED] + counts.outcomes[RESTORED_ALREADY], 0);
}

BOTH(what_could_not_be_put_back_stays_open)
{
    struct journal journal;
    struct actuators actuators;
    struct restore_counts counts = {0};
    hold(scene, &journal);
    assert_true(actuators_open(&actuators, &scene->rig.env, &no_log) > 0);
    scene->rig.fail_from = scene->rig.fail_to = scene->rig.calls + 1;
    scene->rig.fail_with = -EIO;
    restore_all(&journal, &actuators, &no_log, &counts);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(journal.open.n, 1);
    actuators_close(&actuators);
    restore_all(&journal, &actuators, &no_log, &counts); /* none can work */
    assert_int_equal(counts.failed, 2);
    journal_close(&journal);
    restore(scene, &counts);
    assert_int_equal(counts.outcomes[RESTORED], 1);
    expect_quota(scene, original(scene));
}

TEST_ON(what_a_parent_allows_is_told, struct scene *scene, setup_v1, teardown)
{
    struct journal journal;
    struct actuators actuators;
    struct restore_counts counts = {0};
    char put[CLAIM_TEXT_MAX];
    hold(scene, &journal);
    governor_rig_set_quota(&scene->rig, "/pods/job", "250000");
    assert_true(actuators_open(&actuators, &scene->rig.env, &no_log) > 0);
    assert_int_equal(restore_claim(&journal, &actuators, scene->claim.id, &no_log, &counts, put),
                     0);
    assert_int_equal(counts.outcomes[RESTORED_CLAMPED], 1);
    assert_int_equal(counts.outcomes[RESTORED], 0);
    assert_string_equal(put, "250000");
    assert_int_equal(journal.open.n, 0);
    actuators_close(&actuators);
    journal_close(&journal);
}

/* A container's own cgroup namespace, a wrong --path.cgroupfs: what is there does not say that the
 * cgroup has ended. */
BOTH(another_hierarchy_says_nothing_of_a_claim)
{
    struct governor_rig other;
    struct journal journal;
    struct actuators actuators;
    struct restore_counts counts = {0};
    enum claim_restored restored;
    governor_rig_init(&other, scene->rig.version);
    hold(scene, &journal);
    journal_close(&journal);
    open_journal(scene, &journal); /* as the next one reads it */
    assert_true(actuators_open(&actuators, &other.env, &no_log) > 0);
    restore_all(&journal, &actuators, &no_log, &counts);
    assert_int_equal(counts.failed, 1);
    assert_int_equal(journal.open.n, 1);
    struct claim old = journal.open.claims[0]; /* of a journal that does not say which root */
    old.root_dev = old.root_ino = 0;
    const struct actuator *cpu = &actuators.of[KNOB_CPU];
    assert_int_equal(cpu->ops->release(cpu->self, &old, &restored), 0);
    assert_int_equal(restored, RESTORED_GONE);
    governor_rig_release(&other); /* and when it cannot be opened at all */
    restore_all(&journal, &actuators, &no_log, &counts);
    assert_int_equal(counts.failed, 2);
    actuators_close(&actuators);
    journal_close(&journal);
    restore(scene, &counts);
    assert_int_equal(counts.outcomes[RESTORED], 1);
    expect_quota(scene, original(scene));
}

/* Of v1 the period is another file's, and stays. */
BOTH(a_quota_that_is_set_may_have_a_shorter_period)
{
    bool v2 = scene->rig.version == 2;
    scene->rig.env.period_us = 10000;
    assert_int_equal(claim(scene, 0.001), 0);
    assert_float_equal(scene->claim.least, v2 ? 0.1 : 0.01, 1e-9);
    assert_int_equal(set(scene, 1.5), 0);
    expect_quota(scene, v2 ? "15000 10000" : "150000");
    expect_state(scene, CLAIM_OURS);
    scene->rig.env.period_us = 200000; /* never longer than the one that was found */
    assert_int_equal(set(scene, 2), 0);
    expect_quota(scene, v2 ? "200000 100000" : "200000");
    scene->rig.env.period_us = 10000;
    assert_int_equal(set(scene, 0.5), 0);
    release(scene, RESTORED);
    expect_quota(scene, original(scene));
}
