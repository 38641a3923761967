/* CPUs of threads: one thread at a time, and whatever happens. */
#include "exporter/governor/act/enforcer.h"
#include "exporter/governor/terms/cpus.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/fake_threads.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)

enum { WISHES = 16 };

static const struct log no_log = {.fd = -1};
static const struct guard_limits limits = {
    .claims = 64, .writes_per_second = 1000, .cuts_per_10m = 60};
static const struct because because = {.cause = ""};

/* A thread that is seen, and whether it is to be kept on few CPUs. */
struct wish {
    int tid; /* 0: none */
    char path[64];
    bool kept;
};

struct scene {
    struct governor_rig rig;
    struct fake_threads fake;
    struct actuators actuators;
    struct journal journal;
    struct enforcer *enforcer;
    uint64_t tick, now_ns;
    struct wish wishes[WISHES];
};

static const struct actuator *affinity_of(const struct scene *scene)
{
    return &scene->actuators.of[KNOB_AFFINITY];
}

static void open_all(struct scene *scene, bool dry)
{
    struct enforcer_config config = {.limits = limits, .log = &no_log, .dry = dry};
    struct actuator *actuator = &scene->actuators.of[KNOB_AFFINITY];
    struct verdict why;
    governor_start_journal(&scene->rig, dry ? NULL : &scene->rig.write, &scene->journal);
    assert_int_equal(affinity_actuator.open(&scene->fake.env, &actuator->self, &why), 0);
    actuator->ops = &affinity_actuator;
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
    fake_threads_init(&scene->fake, &scene->rig);
    governor_rig_cgroup(&scene->rig, "/a", "max 100000");
    governor_rig_cgroup(&scene->rig, "/b", "max 100000");
    scene->now_ns = 1000 * SECOND;
    scene->fake.env.open = &scene->journal.open;
    scene->fake.journal = &scene->journal;
    open_all(scene, false);
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

static void wish(struct scene *scene, int tid, const char *path, bool kept)
{
    struct wish *place = NULL;
    for (size_t i = 0; i < WISHES; i++) {
        if (scene->wishes[i].tid == tid)
            place = &scene->wishes[i];
        else if (!place && !scene->wishes[i].tid)
            place = &scene->wishes[i];
    }
    assert_non_null(place);
    *place = (struct wish){.tid = tid, .kept = kept};
    snprintf(place->path, sizeof place->path, "%s", path);
}

static struct holding *see(struct scene *scene, const struct wish *wished)
{
    const struct subject subject = {.container_id = "0a1b",
                                    .name = "batch/job/worker",
                                    .path = wished->path,
                                    .tid = wished->tid,
                                    .floor = 1,
                                    .policy = POLICY_THRESHOLD};
    return enforcer_see(scene->enforcer, KNOB_AFFINITY, &subject);
}

static void tick(struct scene *scene)
{
    scene->now_ns += SECOND;
    enforcer_begin(scene->enforcer, ++scene->tick, scene->now_ns, scene->now_ns);
    for (size_t i = 0; i < WISHES; i++) {
        struct holding *holding = scene->wishes[i].tid ? see(scene, &scene->wishes[i]) : NULL;
        if (!holding)
            continue;
        if (scene->wishes[i].kept && holding->known)
            enforcer_want(holding, holding->claim.least, &because);
        else
            enforcer_let_go(scene->enforcer, holding, RELEASE_CALM, NULL);
    }
    enforcer_commit(scene->enforcer);
}

static void ticks(struct scene *scene, int n)
{
    for (int i = 0; i < n; i++)
        tick(scene);
}

static void expect(struct scene *scene, int tid, const char *cpus)
{
    char now[CLAIM_TEXT_MAX];
    fake_threads_cpus(&scene->fake, tid, now);
    assert_string_equal(now, cpus);
}

/* A thread of /a that is kept on its CPUs for the first time. */
static int kept(struct scene *scene, const char *cpus)
{
    int tid = fake_threads_join(&scene->fake, "/a", cpus);
    wish(scene, tid, "/a", true);
    tick(scene);
    return tid;
}

static uint64_t foreign(const struct scene *scene, enum foreign kind)
{
    return enforcer_counts(scene->enforcer)->foreign[KNOB_AFFINITY][kind];
}

static uint64_t errors(const struct scene *scene, enum error_op op, enum error_reason reason)
{
    return enforcer_counts(scene->enforcer)->errors[KNOB_AFFINITY][op][reason];
}

static void killed(struct scene *scene, struct restore_counts *counts)
{
    close_all(scene);
    open_all(scene, false);
    *counts = (struct restore_counts){0};
    restore_all(&scene->journal, &scene->actuators, &no_log, counts);
}

TEST(sets_as_text)
{
    static const char *const same[] = {"0", "0-3", "0-1,3,5-7", "1023"};
    static const char *const wrong[] = {"", "3-1", "a", "1024", "0-1024", "-1"};
    cpu_set_t cpus, allowed;
    char text[CLAIM_TEXT_MAX];
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(cpus_parse(same[i], &cpus), 0);
        assert_int_equal(cpus_format(&cpus, text, sizeof text), 0);
        assert_string_equal(text, same[i]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(cpus_parse(wrong[i], &cpus), -EINVAL);
    cpus_parse("0-1,3", &cpus);
    assert_int_equal(cpus_format(&cpus, text, 6), 0);
    assert_int_equal(cpus_format(&cpus, text, 5), -ENOSPC);
    cpus_parse("0-7", &allowed);
    assert_int_equal(cpus_spell(&allowed, &allowed, text, sizeof text), 0);
    assert_string_equal(text, "all");
    assert_true(cpus_are("6-9", &allowed, (cpus_parse("6-7", &cpus), &cpus)));
    assert_true(cpus_are("8-9", &allowed, &allowed)); /* none of them is allowed */
    assert_false(cpus_are("", &allowed, &allowed));
}

TEST_ON(down_and_back, struct scene *scene, setup, teardown)
{
    int tid = kept(scene, "all"), other = fake_threads_join(&scene->fake, "/a", "all");
    expect(scene, tid, "5-7");
    expect(scene, other, "0-7");
    const struct claim *claim = &scene->journal.open.claims[0];
    assert_int_equal(claim->tid, tid);
    assert_int_equal(claim->tid_start, 100);
    assert_string_equal(claim->original, "all");
    assert_string_equal(claim->set, "5-7");
    assert_true(claim->least == 3 && claim->most == 8);
    wish(scene, tid, "/a", false);
    tick(scene);
    expect(scene, tid, "0-7");
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_true(fake_threads_is_original(&scene->fake, tid));
}

TEST_ON(a_steady_tick_writes_nothing, struct scene *scene, setup, teardown)
{
    for (int i = 0; i < 4; i++)
        kept(scene, "all");
    unsigned sets = scene->fake.sets, calls = scene->rig.calls;
    ticks(scene, 100);
    assert_int_equal(scene->fake.sets, sets);
    assert_int_equal(scene->rig.calls, calls);
}

TEST_ON(a_dry_run_moves_nobody, struct scene *scene, setup, teardown)
{
    close_all(scene);
    open_all(scene, true);
    unsigned calls = scene->rig.calls;
    kept(scene, "all");
    ticks(scene, 5);
    assert_int_equal(enforcer_open_of(scene->enforcer, KNOB_AFFINITY), 1);
    assert_int_equal(scene->fake.sets, 0);
    assert_int_equal(scene->rig.calls, calls);
}

/* Only CPUs that it had: what it set itself stays the upper end. */
TEST_ON(it_gets_no_cpu_that_it_had_not, struct scene *scene, setup, teardown)
{
    int some = kept(scene, "2-5"), few = kept(scene, "6"), none = kept(scene, "0-3");
    expect(scene, some, "5");
    expect(scene, few, "6");
    expect(scene, none, "0-3");
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    assert_int_equal(errors(scene, ERROR_CLAIM, ERROR_CONFLICT), 1);
    wish(scene, some, "/a", false);
    tick(scene);
    expect(scene, some, "2-5");
}

TEST_ON(only_threads_of_the_container, struct scene *scene, setup, teardown)
{
    int elsewhere = fake_threads_join(&scene->fake, "/b", "all");
    wish(scene, elsewhere, "/a", true);
    wish(scene, 4711, "/a", true);
    ticks(scene, 3);
    expect(scene, elsewhere, "0-7");
    assert_int_equal(scene->fake.sets, 0);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

TEST_ON(who_ends_is_forgotten, struct scene *scene, setup, teardown)
{
    int tid = kept(scene, "all");
    fake_threads_end(&scene->fake, tid);
    tick(scene);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_int_equal(enforcer_counts(scene->enforcer)->released[RELEASE_VANISHED], 1);
}

TEST_ON(another_thread_of_the_number_is_not_touched, struct scene *scene, setup, teardown)
{
    struct restore_counts counts;
    int tid = kept(scene, "all");
    fake_threads_reuse(&scene->fake, tid, "/b");
    fake_threads_take(&scene->fake, tid, "5-7"); /* as ours, but its own */
    killed(scene, &counts);
    expect(scene, tid, "5-7");
    assert_int_equal(counts.outcomes[RESTORED_GONE], 1);
    assert_true(fake_threads_is_original(&scene->fake, tid));
}

TEST_ON(what_others_set, struct scene *scene, setup, teardown)
{
    int tid = kept(scene, "all");
    fake_threads_take(&scene->fake, tid, "all"); /* again */
    tick(scene);
    expect(scene, tid, "5-7");
    assert_int_equal(foreign(scene, FOREIGN_RESET), 1);
    fake_threads_take(&scene->fake, tid, "1-6");
    tick(scene);
    expect(scene, tid, "1-6");
    assert_int_equal(foreign(scene, FOREIGN_CHANGED), 1);
    ticks(scene, 60);
    expect(scene, tid, "5-6");
    wish(scene, tid, "/a", false);
    tick(scene);
    expect(scene, tid, "1-6");
}

TEST_ON(somebody_else_s_cpus_stay, struct scene *scene, setup, teardown)
{
    struct restore_counts counts;
    int tid = kept(scene, "all");
    fake_threads_take(&scene->fake, tid, "1-6");
    killed(scene, &counts);
    assert_int_equal(counts.outcomes[RESTORED_FOREIGN], 1);
    expect(scene, tid, "1-6");
}

TEST_ON(killed_it_is_put_back_once, struct scene *scene, setup, teardown)
{
    struct restore_counts counts;
    int all = kept(scene, "all"), some = kept(scene, "2-7");
    killed(scene, &counts);
    assert_int_equal(counts.outcomes[RESTORED], 2);
    expect(scene, all, "0-7");
    expect(scene, some, "2-7");
    unsigned sets = scene->fake.sets;
    killed(scene, &counts);
    assert_int_equal(counts.outcomes[RESTORED], 0);
    assert_int_equal(scene->fake.sets, sets);
}

/* Also when it had been moved to another cgroup, and its own is gone. */
TEST_ON(a_thread_outlives_its_cgroup, struct scene *scene, setup, teardown)
{
    int tid = kept(scene, "all");
    fake_threads_go(&scene->fake, tid, "/b");
    governor_rig_remove(&scene->rig, "/a");
    tick(scene);
    expect(scene, tid, "0-7");
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

TEST_ON(a_cpuset_that_moves, struct scene *scene, setup, teardown)
{
    int tid = kept(scene, "all");
    fake_threads_cpuset(&scene->fake, "/a", "0-6");
    ticks(scene, 40);
    expect(scene, tid, "5-6");
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    fake_threads_cpuset(&scene->fake, "/a", "5-6"); /* nothing is taken any more */
    ticks(scene, 40);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    fake_threads_cpuset(&scene->fake, "/a", "0-15"); /* and all that it allows is back */
    wish(scene, tid, "/a", false);
    tick(scene);
    expect(scene, tid, "0-15");
    wish(scene, tid, "/a", true);
    tick(scene);
    expect(scene, tid, "5-7");
    fake_threads_cpuset(&scene->fake, "/a", "0-3"); /* away from under it */
    ticks(scene, 40);
    expect(scene, tid, "0-3");
    assert_int_equal(enforcer_open(scene->enforcer), 0);
    assert_true(fake_threads_is_original(&scene->fake, tid));
    assert_int_equal(foreign(scene, FOREIGN_RESET) + foreign(scene, FOREIGN_CHANGED), 0);
}

TEST_ON(what_is_not_allowed_any_more_cannot_be_put_back, struct scene *scene, setup, teardown)
{
    int tid = kept(scene, "4-5");
    expect(scene, tid, "5");
    fake_threads_cpuset(&scene->fake, "/a", "0-3");
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    expect(scene, tid, "0-3");
}

TEST_ON(who_is_born_is_given_back, struct scene *scene, setup, teardown)
{
    int tid = kept(scene, "all"), own = fake_threads_join(&scene->fake, "/a", "5-7");
    int other = fake_threads_join(&scene->fake, "/b", "all");
    int child = fake_threads_fork(&scene->fake, tid);
    expect(scene, child, "5-7");
    tick(scene);
    expect(scene, child, "0-7");
    expect(scene, tid, "5-7");
    expect(scene, own, "5-7"); /* it has had them before */
    int grandchild = fake_threads_fork(&scene->fake, tid);
    governor_rig_cgroup(&scene->rig, "/a/below", "max 100000");
    int below = fake_threads_fork(&scene->fake, tid);
    fake_threads_go(&scene->fake, below, "/a/below");
    fake_threads_end(&scene->fake, tid);
    tick(scene); /* its parent has ended */
    expect(scene, grandchild, "0-7");
    expect(scene, below, "0-7");
    expect(scene, other, "0-7");
}

TEST_ON(who_is_born_and_writes_is_kept_by_itself, struct scene *scene, setup, teardown)
{
    struct restore_counts counts;
    int tid = kept(scene, "all"), child = fake_threads_fork(&scene->fake, tid);
    wish(scene, child, "/a", true);
    ticks(scene, 3);
    expect(scene, child, "5-7");
    assert_int_equal(enforcer_open(scene->enforcer), 2);
    assert_int_equal(foreign(scene, FOREIGN_RESET), 0);
    killed(scene, &counts);
    expect(scene, child, "0-7");
    expect(scene, tid, "0-7");
}

/* What the enforcer cannot see: somebody comes between its look and its change. */
TEST_ON(changes_are_from_what_was_seen, struct scene *scene, setup, teardown)
{
    const struct actuator *actuator = affinity_of(scene);
    struct claim claim = {.knob = KNOB_AFFINITY, .path = "/a"};
    claim.tid = fake_threads_join(&scene->fake, "/a", "all");
    scene->fake.journal = NULL;
    assert_int_equal(actuator->ops->claim(actuator->self, 1, &claim), 0);
    strcpy(claim.from, "all");
    strcpy(claim.set, "5-6");
    fake_threads_take(&scene->fake, claim.tid, "1-6");
    assert_int_equal(actuator->ops->apply(actuator->self, &claim), -ESTALE);
    expect(scene, claim.tid, "1-6");
    fake_threads_take(&scene->fake, claim.tid, "all");
    assert_int_equal(actuator->ops->apply(actuator->self, &claim), 0);
    int child = fake_threads_fork(&scene->fake, claim.tid);
    strcpy(claim.from, "5-6");
    strcpy(claim.set, "5-7");
    assert_int_equal(actuator->ops->apply(actuator->self, &claim), 0);
    expect(scene, claim.tid, "5-7");
    expect(scene, child, "0-7"); /* nobody looks for 5-6 any more */
}

TEST_ON(failures, struct scene *scene, setup, teardown)
{
    static const struct {
        int err;
        enum error_reason reason;
        bool after;
    } cases[] = {
        {-EPERM, ERROR_EPERM, false}, {-EINVAL, ERROR_EINVAL, false}, {-EBUSY, ERROR_EBUSY, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene->fake.fail_at = 1;
        scene->fake.fail_with = cases[i].err;
        scene->fake.fail_after = cases[i].after;
        int tid = kept(scene, "all");
        expect(scene, tid, cases[i].after ? "5-7" : "0-7");
        assert_int_equal(errors(scene, ERROR_APPLY, cases[i].reason), 1);
        ticks(scene, 3);
        expect(scene, tid, "5-7");
    }
    scene->fake.fail_at = 1;
    scene->fake.fail_with = -EPERM;
    scene->fake.fail_after = false;
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), -EAGAIN);
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

TEST_ON(what_it_needs, struct scene *scene, setup, teardown)
{
    struct verdict why = {0};
    const struct actuator *actuator = affinity_of(scene);
    assert_int_equal(actuator->ops->probe(actuator->self, &why), 0);
    scene->fake.may_not = true;
    assert_int_equal(actuator->ops->probe(actuator->self, &why), -EPERM);
    assert_non_null(strstr(why.words, "CAP_SYS_NICE"));
    scene->fake.env.cpus = NULL;
    assert_int_equal(actuator->ops->probe(actuator->self, &why), -ENODEV);
}

/* ---- whatever happens ---- */

/* Others' CPUs are never the governor's, and a cpuset never takes one of them: what a thread has
 * asked for cannot be read, only what it has. Who is kept on the same CPUs has had the same before:
 * a child's parent cannot be told from others like it. */
static void disturb(struct scene *scene, uint64_t *seed)
{
    static const char *const lists[] = {"0-5", "all"};
    static const char *const cpusets[] = {"0-7", "0-6", "0-15"};
    struct fake_threads *fake = &scene->fake;
    int tid = scene->wishes[draw(seed) % WISHES].tid;
    const char *cpuset, *path = draw(seed) % 2 ? "/a" : "/b";
    switch (draw(seed) % 16) {
    case 0:
        fake_threads_take(fake, tid, lists[draw(seed) % 2]);
        break;
    case 1:
        fake_threads_end(fake, tid);
        break;
    case 2:
        fake_threads_reuse(fake, tid, path);
        break;
    case 3:
        fake_threads_go(fake, tid, path);
        break;
    case 4:
    case 5:
        cpuset = cpusets[draw(seed) % 3];
        fake_threads_cpuset(fake, "/a", cpuset);
        fake_threads_cpuset(fake, "/b", cpuset);
        break;
    case 6:
    case 7:
        fake->fail_at = (unsigned)(draw(seed) % 4 + 1);
        fake->fail_with = draw(seed) % 2 ? -EPERM : -EIO;
        fake->fail_after = draw(seed) % 2;
        break;
    case 8:
        scene->rig.fail_from = scene->rig.calls + 1;
        scene->rig.fail_to = scene->rig.fail_from + draw(seed) % 3;
        scene->rig.fail_with = -ENOSPC;
        break;
    default:
        break;
    }
}

/* A thread is seen in the container that it is in, or was in, or never was in. */
static void wish_anything(struct scene *scene, uint64_t *seed)
{
    struct wish *some = &scene->wishes[draw(seed) % WISHES];
    const char *path = draw(seed) % 4 ? "/a" : "/b";
    if (!some->tid || !fake_threads_find(&scene->fake, some->tid)) {
        some->tid = fake_threads_join(&scene->fake, path, draw(seed) % 2 ? "all" : "0-5");
        snprintf(some->path, sizeof some->path, "%s", path);
    }
    some->kept = draw(seed) % 4 != 0;
}

/* Of who is in its container: whose children are elsewhere, nobody finds. */
static void fork_one(struct scene *scene, const struct wish *wished)
{
    const struct fake_thread *thread = fake_threads_find(&scene->fake, wished->tid);
    if (thread && strcmp(thread->path, wished->path) == 0)
        fake_threads_fork(&scene->fake, wished->tid);
}

static void finish(struct scene *scene, bool with_a_kill)
{
    struct restore_counts counts = {0};
    scene->rig.fail_from = scene->fake.fail_at = 0;
    if (with_a_kill) {
        killed(scene, &counts);
        assert_int_equal(counts.failed, 0);
    } else {
        assert_int_equal(enforcer_release_all(scene->enforcer, RELEASE_STOP, 0, 0), 0);
    }
    assert_int_equal(scene->journal.open.n, 0);
    for (size_t i = 0; i < FAKE_THREADS; i++)
        assert_true(fake_threads_is_original(&scene->fake, scene->fake.threads[i].tid));
    assert_int_equal(scene->fake.wrong, 0);
}

TEST_ON(whatever_happens, struct scene *scene, setup, teardown)
{
    unsigned sequences = governor_start_sequences(150);
    uint64_t seed = DRAW_SEED, held = 0;
    for (unsigned n = 0; n < sequences; n++) {
        for (int i = 0; i < 12; i++) {
            wish_anything(scene, &seed);
            disturb(scene, &seed);
            scene->now_ns += (draw(&seed) % 2) * 70 * SECOND;
            tick(scene);
            held += enforcer_open(scene->enforcer);
            if (draw(&seed) % 4 == 0 && !scene->fake.fail_at && !scene->rig.fail_from) {
                fork_one(scene, &scene->wishes[draw(&seed) % WISHES]);
                tick(scene);
            }
        }
        finish(scene, draw(&seed) % 2);
        for (size_t i = 0; i < FAKE_THREADS; i++)
            fake_threads_end(&scene->fake, scene->fake.threads[i].tid);
        memset(scene->wishes, 0, sizeof scene->wishes);
    }
    assert_true(held > sequences);
}
