/* Ways and bandwidth through resctrl: one container at a time, and whatever happens. */
#include "exporter/governor/act/actuators/resctrl.h"
#include "exporter/governor/act/enforcer.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/fake_resctrl.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)

enum { CONTAINERS = 3 };

static const struct log no_log = {.fd = -1};
static const struct guard_limits limits = {
    .claims = 64, .writes_per_second = 1000, .cuts_per_10m = 60};
static const struct because because = {.cause = "shop/cart-0/cart"};

struct scene {
    struct governor_rig rig;
    struct fake_resctrl fake;
    struct actuators actuators;
    struct journal journal;
    struct enforcer *enforcer;
    uint64_t tick, now_ns;
    double ways[CONTAINERS], mba[CONTAINERS]; /* wished for; NaN: nothing */
    double floor;                             /* of ways; 0: 2 */
};

static void open_all(struct scene *scene)
{
    static const struct actuator_ops *const ops[] = {&ways_actuator, &mba_actuator};
    struct enforcer_config config = {.limits = limits, .log = &no_log};
    struct verdict why;
    governor_start_journal(&scene->rig, &scene->fake.write, &scene->journal);
    for (size_t i = 0; i < 2; i++) {
        struct actuator *actuator = &scene->actuators.of[ops[i]->knob];
        assert_int_equal(ops[i]->open(&scene->fake.env, &actuator->self, &why), 0);
        actuator->ops = ops[i];
        assert_int_equal(ops[i]->probe(actuator->self, &why), 0);
    }
    assert_int_equal(enforcer_new(&config, &scene->journal, &scene->actuators, &scene->enforcer),
                     0);
}

static void close_all(struct scene *scene)
{
    enforcer_free(scene->enforcer);
    scene->enforcer = NULL;
    journal_close(&scene->journal);
    actuators_close(&scene->actuators);
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    governor_rig_init(&scene->rig, 2);
    fake_resctrl_init(&scene->fake, &scene->rig);
    for (unsigned i = 0; i < CONTAINERS; i++) {
        char path[16];
        snprintf(path, sizeof path, "/%u", i);
        governor_rig_cgroup(&scene->rig, path, "max 100000");
        fake_resctrl_join(&scene->fake, i);
        fake_resctrl_join(&scene->fake, i);
        scene->ways[i] = scene->mba[i] = NAN;
    }
    scene->now_ns = 1000 * SECOND;
    scene->fake.env.open = &scene->journal.open;
    open_all(scene);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(scene->fake.wrong, 0);
    close_all(scene);
    governor_rig_release(&scene->rig);
    free(scene);
    return 0;
}

static void see(struct scene *scene, enum knob knob, unsigned i, double floor, double wanted)
{
    char path[16];
    snprintf(path, sizeof path, "/%u", i);
    const struct subject subject = {
        .container_id = "0a1b", .name = "batch/job/worker", .path = path, .floor = floor};
    struct holding *holding = enforcer_see(scene->enforcer, knob, &subject);
    if (holding && holding->known && !isnan(wanted))
        enforcer_want(holding, wanted, &because);
}

static void tick(struct scene *scene)
{
    scene->now_ns += SECOND;
    enforcer_begin(scene->enforcer, ++scene->tick, scene->now_ns, scene->now_ns);
    for (unsigned i = 0; i < CONTAINERS; i++) {
        see(scene, KNOB_WAYS, i, scene->floor > 0 ? scene->floor : 2, scene->ways[i]);
        see(scene, KNOB_MBA, i, 20, scene->mba[i]);
    }
    enforcer_commit(scene->enforcer);
}

/* The first container has three ways. */
static int setup_held(void **state)
{
    setup(state);
    struct scene *scene = *state;
    scene->ways[0] = 3;
    tick(scene);
    return 0;
}

static void expect(const struct scene *scene, unsigned container, const char *group, unsigned mask,
                   unsigned percent)
{
    const struct fake_group *in = fake_resctrl_of(&scene->fake, container);
    assert_non_null(in);
    assert_string_equal(in->name, group);
    assert_int_equal(in->mask, mask);
    assert_int_equal(in->percent, percent);
}

/* A tick, after which the first container is there. */
static void tick_gives(struct scene *scene, const char *group, unsigned mask, unsigned percent)
{
    tick(scene);
    expect(scene, 0, group, mask, percent);
}

static void expect_none(const struct scene *scene)
{
    for (unsigned i = 0; i < CONTAINERS; i++)
        expect(scene, i, "/", 0x7ff, 100);
    assert_int_equal(fake_resctrl_ours(&scene->fake), 0);
}

static uint64_t errors(const struct scene *scene, enum error_op op, enum error_reason reason)
{
    const struct enforcer_counts *counts = enforcer_counts(scene->enforcer);
    return counts->errors[KNOB_WAYS][op][reason] + counts->errors[KNOB_MBA][op][reason];
}

static uint64_t foreign(const struct scene *scene, enum foreign kind)
{
    const struct enforcer_counts *counts = enforcer_counts(scene->enforcer);
    return counts->foreign[KNOB_WAYS][kind] + counts->foreign[KNOB_MBA][kind];
}

TEST_ON(down_and_back, struct scene *scene, setup, teardown)
{
    tick(scene);
    assert_int_equal(scene->fake.writes, 0);
    scene->ways[0] = 3;
    tick_gives(scene, "ig_7_100", 7, 100);
    expect(scene, 1, "/", 0x7ff, 100);
    scene->mba[0] = 55;
    tick_gives(scene, "ig_7_50", 7, 50);
    assert_int_equal(fake_resctrl_ours(&scene->fake), 1);
    scene->ways[0] = 1; /* below the floor */
    tick_gives(scene, "ig_3_50", 3, 50);
    scene->ways[0] = 11;
    tick_gives(scene, "ig_7ff_50", 0x7ff, 50);
    scene->mba[0] = 100;
    tick(scene);
    expect_none(scene);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

/* Nothing is left to take, also in the ticks after the one in which it was given back. */
TEST_ON(a_floor_that_is_raised_to_all, struct scene *scene, setup, teardown)
{
    tick(scene);
    scene->ways[0] = 3;
    tick_gives(scene, "ig_7_100", 7, 100);
    scene->floor = 11;
    for (int i = 0; i < 3; i++) {
        tick(scene);
        expect_none(scene);
    }
    scene->floor = 4;
    tick_gives(scene, "ig_f_100", 0xf, 100);
}

TEST_ON(a_steady_tick_writes_nothing, struct scene *scene, setup, teardown)
{
    scene->ways[0] = scene->ways[1] = 3;
    scene->mba[1] = 40;
    tick(scene);
    unsigned writes = scene->fake.writes, calls = scene->rig.calls;
    for (int i = 0; i < 20; i++)
        tick(scene);
    assert_int_equal(scene->fake.writes, writes);
    assert_int_equal(scene->rig.calls, calls);
}

TEST_ON(who_has_the_same_shares_a_group, struct scene *scene, setup, teardown)
{
    for (unsigned i = 0; i < CONTAINERS; i++)
        scene->ways[i] = 4;
    tick(scene);
    assert_int_equal(fake_resctrl_ours(&scene->fake), 1);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect_none(scene);
}

TEST_ON(who_is_born_or_joins_is_brought_along, struct scene *scene, setup_held, teardown)
{
    fake_resctrl_fork(&scene->fake, 0);
    expect(scene, 0, "ig_7_100", 7, 100);
    fake_resctrl_join(&scene->fake, 0);
    assert_null(fake_resctrl_of(&scene->fake, 0));
    tick_gives(scene, "ig_7_100", 7, 100);
    assert_int_equal(foreign(scene, FOREIGN_RESET), 0);
}

static size_t count_in(const struct scene *scene, const char *group)
{
    size_t n = 0;
    for (unsigned tid = 1; tid <= scene->fake.last_tid; tid++)
        n += strcmp(fake_resctrl_group(&scene->fake, tid), group) == 0;
    return n;
}

/* Forty join at once, and each that is looked at is moved: 2 and 30 in a tick, the rest in the
 * next, and then it begins anew. */
TEST_ON(many_are_looked_at_in_turn, struct scene *scene, setup_held, teardown)
{
    for (int i = 0; i < 40; i++)
        fake_resctrl_join(&scene->fake, 0);
    tick(scene);
    assert_int_equal(count_in(scene, "ig_7_100"), RESCTRL_KEPT);
    tick_gives(scene, "ig_7_100", 7, 100);
    unsigned late = fake_resctrl_join(&scene->fake, 0);
    tick(scene);
    tick(scene);
    assert_string_equal(fake_resctrl_group(&scene->fake, late), "ig_7_100");
}

/* Each pass finds who was born in the one before. */
TEST_ON(a_fork_storm, struct scene *scene, setup, teardown)
{
    scene->ways[0] = 3;
    scene->fake.forks = 6;
    tick_gives(scene, "ig_7_100", 7, 100);
}

TEST_ON(another_cgroup_of_the_path_is_not_touched, struct scene *scene, setup_held, teardown)
{
    uint64_t before = governor_rig_inode(&scene->rig, "/0");
    for (unsigned tid = 1; tid <= 2; tid++)
        fake_resctrl_end(&scene->fake, tid);
    governor_rig_remove(&scene->rig, "/0");
    governor_rig_cgroup(&scene->rig, "/9", "max 100000"); /* takes the inode, if any does */
    governor_rig_cgroup(&scene->rig, "/0", "max 100000");
    fake_resctrl_join(&scene->fake, 0);
    assert_true(governor_rig_inode(&scene->rig, "/0") != before);
    unsigned writes = scene->fake.writes;
    enforcer_begin(scene->enforcer, ++scene->tick, scene->now_ns += SECOND, 0);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_int_equal(scene->fake.writes, writes + 1); /* the group that was left over */
    expect_none(scene);
}

TEST_ON(too_many_groups, struct scene *scene, setup, teardown)
{
    scene->fake.num_closids = 2;
    scene->ways[0] = 3;
    tick(scene);
    scene->ways[1] = 4;
    tick(scene);
    expect(scene, 1, "/", 0x7ff, 100);
    assert_int_equal(errors(scene, ERROR_APPLY, ERROR_ENOSPC), 1);
    for (int i = 0; i < 7; i++)
        tick(scene); /* again after 1, 2 and 4 s */
    assert_int_equal(errors(scene, ERROR_APPLY, ERROR_ENOSPC), 4);
    scene->ways[0] = NAN;
    scene->ways[1] = 3; /* a group that is there */
    for (int i = 0; i < 8; i++)
        tick(scene);
    expect(scene, 1, "ig_7_100", 7, 100);
}

/* Giving back never needs a group. */
TEST_ON(given_back_with_all_groups_in_use, struct scene *scene, setup, teardown)
{
    scene->fake.num_closids = 3;
    scene->ways[0] = 3;
    scene->mba[0] = 50;
    tick_gives(scene, "ig_7_50", 7, 50);
    scene->ways[1] = 5;
    tick(scene);
    expect(scene, 1, "ig_1f_100", 0x1f, 100);
    scene->ways[0] = 11; /* ig_7ff_50 cannot be made */
    tick_gives(scene, "/", 0x7ff, 100);
    scene->ways[1] = 11;
    for (int i = 0; i < 3; i++)
        tick(scene);
    expect(scene, 0, "ig_7ff_50", 0x7ff, 50);
}

TEST_ON(groups_of_others_are_let_alone, struct scene *scene, setup, teardown)
{
    fake_resctrl_take(&scene->fake, 0, "gold");
    scene->ways[0] = scene->ways[1] = 3;
    tick_gives(scene, "gold", 0x7ff, 100);
    expect(scene, 1, "ig_7_100", 7, 100);
    assert_true(errors(scene, ERROR_CLAIM, ERROR_EBUSY) > 0);
    fake_resctrl_take(&scene->fake, 1, "silver"); /* from us */
    tick(scene);
    tick(scene);
    expect(scene, 1, "silver", 0x7ff, 100);
    assert_int_equal(foreign(scene, FOREIGN_CHANGED), 1);
    assert_int_equal(fake_resctrl_ours(&scene->fake), 0);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

/* The first of the container's tasks is ours, and the second one is theirs: it stays there. */
TEST_ON(a_task_that_somebody_took_alone_is_let_alone, struct scene *scene, setup_held, teardown)
{
    fake_resctrl_take_one(&scene->fake, 2, "gold");
    tick(scene);
    scene->ways[0] = 4;
    tick(scene);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    fake_resctrl_end(&scene->fake, 1);
    expect(scene, 0, "gold", 0x7ff, 100);
}

TEST_ON(put_back_by_somebody_it_is_set_again, struct scene *scene, setup_held, teardown)
{
    fake_resctrl_take(&scene->fake, 0, "/");
    tick_gives(scene, "ig_7_100", 7, 100);
    assert_int_equal(foreign(scene, FOREIGN_RESET), 1);
}

TEST_ON(a_group_of_ours_that_was_changed_is_given_up, struct scene *scene, setup_held, teardown)
{
    fake_resctrl_set(&scene->fake, "ig_7_100", 0x7f, 100);
    tick(scene);
    expect_none(scene);
    assert_int_equal(foreign(scene, FOREIGN_CHANGED), 1);
    for (int i = 0; i < 58; i++)
        tick(scene);
    expect_none(scene);
    tick(scene);
    tick_gives(scene, "ig_7_100", 7, 100);
}

TEST_ON(the_root_group_is_the_upper_end, struct scene *scene, setup, teardown)
{
    scene->ways[0] = 6;
    tick_gives(scene, "ig_3f_100", 0x3f, 100);
    fake_resctrl_set(&scene->fake, "/", 0xf, 80);
    tick_gives(scene, "/", 0xf, 80);
    for (int i = 0; i < 70; i++)
        tick(scene);
    expect(scene, 0, "/", 0xf, 80); /* 6 of 4 */
    scene->ways[0] = 3;
    scene->mba[0] = 90;
    for (int i = 0; i < 2; i++)
        tick(scene);
    expect(scene, 0, "ig_7_80", 7, 80);
    fake_resctrl_set(&scene->fake, "/", 0xf, 60); /* which is not the ways' to know */
    tick_gives(scene, "ig_7_60", 7, 60);
}

/* Then the values are the same, and the groups are not. */
TEST_ON(the_root_group_becomes_what_a_group_of_ours_is, struct scene *scene, setup_held, teardown)
{
    fake_resctrl_set(&scene->fake, "/", 7, 100);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect(scene, 0, "/", 7, 100);
    assert_int_equal(fake_resctrl_ours(&scene->fake), 0);
}

TEST_ON(a_container_that_ends_leaves_no_group, struct scene *scene, setup_held, teardown)
{
    for (unsigned tid = 1; tid <= 2; tid++)
        fake_resctrl_end(&scene->fake, tid);
    tick(scene); /* it has no tasks, and is there */
    governor_rig_remove(&scene->rig, "/0");
    tick(scene);
    assert_int_equal(fake_resctrl_ours(&scene->fake), 0);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

/* As systemd and docker do within a container. */
TEST_ON(who_went_to_a_child_cgroup_is_given_back, struct scene *scene, setup, teardown)
{
    scene->ways[0] = scene->ways[1] = 3;
    tick(scene);
    fake_resctrl_go(&scene->fake, 1, 0, true);
    tick(scene);
    assert_string_equal(fake_resctrl_group(&scene->fake, 1), "ig_7_100");
    scene->ways[0] = 11;
    tick_gives(scene, "/", 0x7ff, 100);
    assert_string_equal(fake_resctrl_group(&scene->fake, 1), "/");
    expect(scene, 1, "ig_7_100", 7, 100);
    scene->ways[0] = 3;
    tick(scene); /* below it nobody is restricted */
    assert_string_equal(fake_resctrl_group(&scene->fake, 1), "/");
    assert_string_equal(fake_resctrl_group(&scene->fake, 2), "ig_7_100");
}

TEST_ON(an_emptied_cgroup_gives_all_back, struct scene *scene, setup, teardown)
{
    scene->ways[0] = scene->ways[1] = 3;
    tick(scene);
    for (unsigned tid = 1; tid <= 2; tid++)
        fake_resctrl_go(&scene->fake, tid, 0, true);
    scene->ways[0] = 11;
    tick(scene);
    for (unsigned tid = 1; tid <= 2; tid++)
        assert_string_equal(fake_resctrl_group(&scene->fake, tid), "/");
    expect(scene, 1, "ig_7_100", 7, 100);
}

/* Not below the container's cgroup: nobody finds them, and the groups are removed. */
TEST_ON(who_went_elsewhere_is_given_back_with_the_last_claim, struct scene *scene, setup, teardown)
{
    scene->ways[0] = scene->ways[1] = 3;
    tick(scene);
    fake_resctrl_go(&scene->fake, 1, 2, true);
    scene->ways[0] = 11;
    tick(scene);
    assert_string_equal(fake_resctrl_group(&scene->fake, 1), "ig_7_100");
    scene->fake.fail_at = 3; /* two tasks, and the group */
    scene->fake.fail_with = -EBUSY;
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), -EAGAIN);
    assert_int_equal(enforcer_open(scene->enforcer), 1); /* not before they are back */
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    assert_string_equal(fake_resctrl_group(&scene->fake, 1), "/");
    expect_none(scene);
}

/* Of a governor whose journal was lost. */
TEST_ON(groups_that_nobody_has_claimed_are_removed, struct scene *scene, setup, teardown)
{
    struct restore_counts counts = {0};
    scene->ways[1] = 3;
    tick(scene);
    fake_resctrl_take(&scene->fake, 0, "ig_3f_100");
    actuators_tidy(&scene->actuators);
    expect(scene, 0, "ig_3f_100", 0x7ff, 100); /* somebody's, as far as is known */
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    fake_resctrl_take(&scene->fake, 0, "ig_3f_100");
    restore_all(&scene->journal, &scene->actuators, &no_log, &counts);
    expect_none(scene);
}

/* The last step of a change failed; nothing is claimed, and the next one tidies up. */
TEST_ON(a_group_that_could_not_be_removed, struct scene *scene, setup_held, teardown)
{
    scene->ways[0] = 11;
    scene->fake.fail_at = 3; /* two tasks, and the group */
    scene->fake.fail_with = -EBUSY;
    tick_gives(scene, "/", 0x7ff, 100);
    assert_int_equal(fake_resctrl_ours(&scene->fake), 1);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect_none(scene);
}

/* Where we look; 'says' is what the kernel says of us then. */
static void unmount(struct scene *scene, const char *says)
{
    char path[160], moved[160];
    snprintf(path, sizeof path, "%s/sys/fs/resctrl", scene->rig.root);
    snprintf(moved, sizeof moved, "%s/sys/fs/away", scene->rig.root);
    assert_int_equal(rename(path, moved), 0);
    governor_rig_file(&scene->rig, "proc/self/cpu_resctrl_groups", says);
}

static void mount_again(struct scene *scene)
{
    char path[160], moved[160];
    snprintf(path, sizeof path, "%s/sys/fs/resctrl", scene->rig.root);
    snprintf(moved, sizeof moved, "%s/sys/fs/away", scene->rig.root);
    assert_int_equal(rename(moved, path), 0);
    governor_rig_file(&scene->rig, "proc/self/cpu_resctrl_groups", "res:/\nmon:\n");
}

TEST_ON(unmounted_nothing_is_left, struct scene *scene, setup, teardown)
{
    struct verdict why = {0};
    scene->ways[0] = 3;
    tick(scene);
    unmount(scene, "res:\nmon:\n");
    tick(scene);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    const struct actuator *ways = &scene->actuators.of[KNOB_WAYS];
    assert_int_equal(ways->ops->probe(ways->self, &why), -ENODEV);
    assert_non_null(strstr(why.words, "mount -t resctrl"));
    mount_again(scene);
}

/* As in a pod without the host's mount: groups hold the tasks, though they cannot be looked at. */
TEST_ON(not_mounted_here_claims_stay_open, struct scene *scene, setup, teardown)
{
    static const char *const says[] = {"res:/\nmon:\n", "res:gold\nmon:\n", ""};
    scene->ways[0] = scene->ways[1] = 3;
    scene->mba[1] = 50;
    tick(scene);
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        struct restore_counts counts = {0};
        unmount(scene, says[i]);
        restore_all(&scene->journal, &scene->actuators, &no_log, &counts);
        assert_int_equal(counts.failed, 3);
        assert_int_equal(enforcer_open(scene->enforcer), 3);
        mount_again(scene);
    }
    expect(scene, 0, "ig_7_100", 7, 100);
    unmount(scene, says[0]);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), -EAGAIN);
    tick(scene);
    assert_int_equal(enforcer_open(scene->enforcer), 3);
    mount_again(scene);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect_none(scene);
}

TEST_ON(what_a_machine_has_not, struct scene *scene, setup, teardown)
{
    const struct actuator *ways = &scene->actuators.of[KNOB_WAYS];
    const struct actuator *mba = &scene->actuators.of[KNOB_MBA];
    struct verdict why = {0};
    governor_rig_file(&scene->rig, "sys/fs/resctrl/schemata", "L3:0=7ff\n");
    assert_int_equal(ways->ops->probe(ways->self, &why), 0);
    assert_int_equal(mba->ops->probe(mba->self, &why), -ENODEV);
    assert_non_null(strstr(why.words, "memory bandwidth"));
    static const char *const no_percent[] = {"MB:0=2048;1=2048\nL3:0=7ff;1=7ff\n",
                                             "MB:0=0\nL3:0=7ff\n",
                                             "MB:0=90;1=80\nL3:0=7ff;1=7ff\n"};
    for (size_t i = 0; i < 3; i++) {
        governor_rig_file(&scene->rig, "sys/fs/resctrl/schemata", no_percent[i]);
        assert_int_equal(mba->ops->probe(mba->self, &why), -ENODEV);
        assert_non_null(strstr(why.words, "not in percent"));
        assert_int_equal(ways->ops->probe(ways->self, &why), 0);
    }
    governor_rig_file(&scene->rig, "sys/fs/resctrl/schemata", "L3:0=7ff;1=3ff\n");
    assert_int_equal(ways->ops->probe(ways->self, &why), -EINVAL);
    governor_rig_file(&scene->rig, "sys/fs/resctrl/schemata", "L3CODE:0=7ff\nL3DATA:0=7ff\n");
    assert_int_equal(ways->ops->probe(ways->self, &why), -ENODEV);
    assert_non_null(strstr(why.words, "cdp"));
}

/* AMD's: a group has the bandwidth of the root group, also where that is not all there is. */
TEST_ON(ways_beside_bandwidth_that_is_not_in_percent, struct scene *scene, setup, teardown)
{
    scene->fake.most_bandwidth = 2048;
    fake_resctrl_set(&scene->fake, "/", 0x7ff, 1024);
    scene->ways[0] = 3;
    scene->mba[0] = 50;
    tick_gives(scene, "ig_7_100", 7, 1024);
    fake_resctrl_set(&scene->fake, "/", 0x7ff, 512);
    tick(scene);
    expect(scene, 0, "/", 0x7ff, 512); /* the group is not what it was made for */
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    assert_int_equal(fake_resctrl_ours(&scene->fake), 0);
}

/* ---- whatever happens ---- */

static void disturb(struct scene *scene, uint64_t *seed)
{
    static const char *const theirs[] = {"gold", "silver", "/"};
    unsigned i = draw(seed) % CONTAINERS, ways = (unsigned)(draw(seed) % 8 + 3);
    struct fake_resctrl *fake = &scene->fake;
    switch (draw(seed) % 24) {
    case 0:
        fake_resctrl_take(fake, i, theirs[draw(seed) % 3]);
        break;
    case 12:
        fake_resctrl_take_one(fake, fake->tasks[draw(seed) % 12].tid, theirs[draw(seed) % 3]);
        break;
    case 13:
    case 14:
        fake_resctrl_go(fake, fake->tasks[draw(seed) % 12].tid, i, draw(seed) % 4);
        break;
    case 1:
        fake_resctrl_set(fake, "/", (1U << ways) - 1, (unsigned)(draw(seed) % 5 + 6) * 10);
        break;
    case 2:
        fake_resctrl_set(fake, fake->groups[draw(seed) % 4 + 1].name, 1, 10);
        break;
    case 3:
    case 4:
        fake_resctrl_join(fake, i);
        break;
    case 5:
    case 6:
        fake_resctrl_fork(fake, i);
        break;
    case 7:
        fake_resctrl_end(fake, fake->tasks[draw(seed) % 12].tid);
        break;
    case 8:
    case 9:
        fake->fail_at = (unsigned)(draw(seed) % 6 + 1);
        fake->fail_with = draw(seed) % 2 ? -EBUSY : -EIO;
        break;
    case 10:
        fake->num_closids = draw(seed) % 5 + 2;
        break;
    case 11:
        scene->rig.fail_from = scene->rig.calls + 1;
        scene->rig.fail_to = scene->rig.fail_from + draw(seed) % 3;
        scene->rig.fail_with = -ENOSPC;
        break;
    default:
        break;
    }
}

/* All tasks are in the root group or in somebody else's, and no group is left. */
static void expect_put_back(struct scene *scene)
{
    const struct fake_resctrl *fake = &scene->fake;
    for (size_t i = 0; i < FAKE_TASKS; i++)
        if (fake->tasks[i].tid)
            assert_true(strncmp(fake->groups[fake->tasks[i].group].name, "ig_", 3) != 0);
    assert_int_equal(fake_resctrl_ours(fake), 0);
    assert_int_equal(scene->journal.open.n, 0);
}

static void finish(struct scene *scene, bool killed)
{
    struct restore_counts counts = {0};
    scene->rig.fail_from = scene->fake.fail_at = 0;
    if (killed) {
        close_all(scene);
        open_all(scene);
        restore_all(&scene->journal, &scene->actuators, &no_log, &counts);
        assert_int_equal(counts.failed, 0);
    } else {
        enforcer_begin(scene->enforcer, ++scene->tick, scene->now_ns += SECOND, 0);
        assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    }
    expect_put_back(scene);
    assert_int_equal(scene->fake.wrong, 0);
    if (!killed) {
        close_all(scene);
        open_all(scene);
    }
}

/* The next sequence begins with what the last one left: somebody else's, at most. */
static void calm_down(struct scene *scene)
{
    scene->fake.num_closids = 8;
    fake_resctrl_set(&scene->fake, "/", 0x7ff, 100);
    for (unsigned i = 0; i < CONTAINERS; i++)
        fake_resctrl_take(&scene->fake, i, "/");
    for (size_t i = 3 * CONTAINERS; i < FAKE_TASKS; i++)
        fake_resctrl_end(&scene->fake, scene->fake.tasks[i].tid);
    for (unsigned i = 0; i < CONTAINERS; i++)
        if (!fake_resctrl_of(&scene->fake, i))
            fake_resctrl_join(&scene->fake, i);
}

TEST_ON(whatever_happens, struct scene *scene, setup, teardown)
{
    unsigned sequences = governor_start_sequences(150);
    uint64_t seed = DRAW_SEED;
    for (unsigned n = 0; n < sequences; n++) {
        for (int i = 0; i < 10; i++) {
            unsigned k = draw(&seed) % CONTAINERS;
            disturb(scene, &seed);
            scene->ways[k] = draw(&seed) % 5 ? (double)(draw(&seed) % 12) : NAN;
            scene->mba[k] = draw(&seed) % 5 ? (double)(draw(&seed) % 110) : NAN;
            scene->now_ns += (draw(&seed) % 2) * 70 * SECOND;
            tick(scene);
            assert_int_equal(scene->fake.wrong, 0);
        }
        finish(scene, draw(&seed) % 2);
        calm_down(scene);
    }
}
