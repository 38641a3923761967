/* The whole but for the network: documents go in, control files of a node change. */
#include <unistd.h>

#include "tests/unit/support/governor_document.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define THETA 110.0
#define SHOP RIG_CONTAINER("540b")
#define BATCH RIG_CONTAINER("ba7c")
#define COMPUTE RIG_CONTAINER("c033")
#define SYSTEM RIG_CONTAINER("5757")

static const struct log no_log = {.fd = -1};

struct scene {
    struct governor_rig rig;
    struct config *config;
    struct governor *governor;
    uint64_t now_ns, tick, interval_ns;
    double shop_reads;   /* counter */
    double reads[3];     /* counters: batch, compute, system */
    double caused[3];    /* nanoseconds of each; 0: never suspected */
    bool one_pod;        /* has all containers of a namespace */
    const char *compute; /* another name of that container; NULL: its own */
    bool ended;          /* the containers but shop: they are listed without a cgroup */
    uint64_t exporter;   /* the exporter's cgroup; 0: it does not say */
    struct decision last;
    size_t claims; /* 0: as many as there are without being asked */
};

static void start(struct scene *scene, bool enforce, const char *mode)
{
    config_free(scene->config);
    scene->config = governor_start_threshold(&scene->rig, mode, "");
    if (scene->claims > 0)
        scene->config->limits.claims = scene->claims;
    scene->governor =
        governor_start(&scene->rig, scene->config, enforce, scene->now_ns, &scene->last);
}

static int setup(void **state)
{
    static const char *const paths[] = {SHOP, BATCH, COMPUTE, SYSTEM};
    struct scene *scene = calloc(1, sizeof *scene);
    governor_rig_init(&scene->rig, 2);
    for (size_t i = 0; i < 4; i++)
        governor_rig_cgroup(&scene->rig, paths[i], "300000 100000");
    scene->now_ns = 1000 * SECOND;
    scene->interval_ns = SECOND;
    scene->shop_reads = 1;
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    governor_start_undo(scene->governor, scene->config, &scene->rig);
    free(scene);
    return 0;
}

static void add_container(struct textbuf *out, const struct scene *scene, const char *namespace_,
                          const char *name, const char *path, uint64_t inode, double latency,
                          double reads, double caused)
{
    char pod[32];
    snprintf(pod, sizeof pod, "%s-0", scene->one_pod ? "all" : name);
    if (scene->compute && strcmp(name, "compute") == 0)
        name = scene->compute;
    governor_document_container(out, namespace_, pod, name, path, inode, NULL);
    governor_document_value(out, "memory_reads_total", reads);
    if (latency > 0)
        governor_document_latency(out, latency * 1e-9, 1e-7);
    if (caused > 0)
        governor_document_labelled(out, "caused_latency_seconds_total", "numa_node", "0",
                                   caused * 1e-9);
}

/* A tick in which shop has this latency, 0: none; the others read 8, 1 and 91 %. */
static void make_document(struct scene *scene, double latency, struct textbuf *text)
{
    static const char *const names[] = {"batch", "compute", "system"};
    static const char *const paths[] = {BATCH, COMPUTE, SYSTEM};
    static const double read[] = {91e6, 1e6, 8e6};
    scene->now_ns += scene->interval_ns;
    scene->tick++;
    const struct governor_document_tick head = {.number = scene->tick,
                                                .mono_ns = scene->now_ns - SECOND / 10,
                                                .interval_ns = scene->interval_ns,
                                                .own_cgroup_id = scene->exporter};
    governor_document_begin(text, &head);
    add_container(text, scene, "shop", "shop", SHOP, governor_rig_inode(&scene->rig, SHOP), latency,
                  scene->shop_reads, 0);
    for (size_t i = 0; i < 3; i++) {
        scene->reads[i] += read[i];
        add_container(text, scene, i == 2 ? "kube-system" : "jobs", names[i], paths[i],
                      scene->ended ? 0 : governor_rig_inode(&scene->rig, paths[i]), 0,
                      scene->reads[i], scene->caused[i]);
    }
    governor_document_end(text);
}

/* As the running governor does: what cannot be read is no answer. */
static int take(struct scene *scene, const struct textbuf *text)
{
    struct view view = {0};
    char error[256] = "";
    int err = view_parse(text->data, text->len, &view, error, sizeof error);
    governor_take(scene->governor, err ? NULL : &view, scene->now_ns, scene->now_ns);
    view_release(&view);
    return err;
}

static void tick(struct scene *scene, double latency)
{
    struct textbuf text = TEXTBUF_INIT;
    make_document(scene, latency, &text);
    assert_int_equal(take(scene, &text), 0);
    textbuf_release(&text);
}

static void expect_quota(const struct scene *scene, const char *path, const char *quota)
{
    char now[64];
    governor_rig_quota(&scene->rig, path, now);
    assert_string_equal(now, quota);
}

/* A tick, after which batch has this. */
static void tick_gives(struct scene *scene, double latency, const char *quota)
{
    tick(scene, latency);
    expect_quota(scene, BATCH, quota);
}

static void warm_up(struct scene *scene)
{
    for (int i = 0; i < 4; i++)
        tick(scene, 100);
    assert_int_equal(scene->rig.control_writes, 0);
}

static void start_warm(struct scene *scene)
{
    start(scene, true, "paper");
    warm_up(scene);
}

static int setup_warm(void **state)
{
    setup(state);
    start_warm(*state);
    return 0;
}

/* Algorithm 1 through documents and files; the numbers are those of the formula's test. */
TEST_ON(the_paper_s_loop, struct scene *scene, setup, teardown)
{
    static const double latencies[] = {100, 104, 103, 131, 129, 101, 102, 103, 104, 105, 99};
    static const char *const quotas[] = {"150000 100000", "200000 100000", "250000 100000",
                                         "100000 100000", "100000 100000", "150000 100000",
                                         "200000 100000", "250000 100000", "300000 100000",
                                         "300000 100000", "300000 100000"};
    start_warm(scene);
    for (size_t i = 0; i < 11; i++) {
        tick_gives(scene, latencies[i], quotas[i]);
        expect_quota(scene, SYSTEM, "300000 100000"); /* kube-system is exempt */
    }
    expect_quota(scene, SHOP, "300000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
    assert_int_equal(scene->last.policy, POLICY_THRESHOLD);
}

/* A window is a second, of ten ticks; which come a little early or late. */
TEST_ON(ten_ticks_a_second_are_one_window, struct scene *scene, setup_warm, teardown)
{
    tick_gives(scene, 100, "150000 100000");
    scene->interval_ns = SECOND / 10;
    scene->now_ns += SECOND / 50;
    for (int i = 0; i < 9; i++)
        tick(scene, 131);
    expect_quota(scene, BATCH, "150000 100000");
    scene->now_ns -= SECOND / 25;
    tick_gives(scene, 131, "100000 100000");
    for (int i = 0; i < 100; i++)
        tick(scene, 100);
    expect_quota(scene, BATCH, "300000 100000");
    assert_int_equal(scene->last.action, ACTION_RELEASE);
    for (int i = 0; i < 9; i++)
        tick(scene, 100);
    expect_quota(scene, BATCH, "300000 100000");
}

/* A tick of 131 ns and nine of 100: over theta only by its reads. */
TEST_ON(a_window_s_latency_is_the_mean_by_reads, struct scene *scene, setup_warm, teardown)
{
    for (int i = 0; i < 4; i++)
        tick(scene, 100);
    scene->interval_ns = SECOND / 10;
    for (int i = 0; i < 10; i++) {
        scene->shop_reads += 1e5;
        tick(scene, i == 5 ? 131 : 100);
    }
    expect_quota(scene, BATCH, "300000 100000");
    for (int i = 0; i < 10; i++) {
        scene->shop_reads += i == 5 ? 9e5 : 1e5;
        tick(scene, i == 5 ? 131 : 100);
    }
    expect_quota(scene, BATCH, "100000 100000");
    assert_float_equal(scene->last.measured, 115.5e-9, 1e-15);
    for (int i = 0; i < 10; i++) /* reads stand still: the newest */
        tick(scene, i == 9 ? 100 : 131);
    expect_quota(scene, BATCH, "150000 100000");
}

/* 1 % of the reads of best effort: it is raised when all are calm, and not cut. */
TEST_ON(who_does_not_read_is_not_cut, struct scene *scene, setup_warm, teardown)
{
    for (int i = 0; i < 4; i++)
        tick(scene, 100);
    tick_gives(scene, 131, "100000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
    assert_string_equal(scene->last.container, "jobs/batch-0/batch");
    assert_string_equal(scene->last.cause, "shop/shop-0/shop");
    assert_true(scene->last.measured == 131e-9);
    assert_true(scene->last.limit > 109.9e-9 && scene->last.limit < 110.1e-9);
}

/* compute reads 1 %, and is what the latency follows; batch reads 99 %. */
TEST_ON(attribution_chooses_before_reads, struct scene *scene, setup, teardown)
{
    struct governor_state look;
    start(scene, true, "paper");
    scene->caused[0] = scene->caused[1] = 1;
    warm_up(scene);
    for (int i = 0; i < 4; i++)
        tick(scene, 100);
    assert_string_equal(chosen_by_names[scene->last.chosen_by], "none");
    scene->caused[1] += 25;
    tick_gives(scene, 131, "300000 100000");
    expect_quota(scene, COMPUTE, "100000 100000");
    assert_string_equal(scene->last.container, "jobs/compute-0/compute");
    assert_string_equal(chosen_by_names[scene->last.chosen_by], "latency");
    for (int i = 0; i < 11; i++) /* the answer is ten seconds old at the tenth */
        tick(scene, i < 10 ? 100 : 131);
    expect_quota(scene, BATCH, "100000 100000");
    assert_string_equal(chosen_by_names[scene->last.chosen_by], "reads");
    governor_look(scene->governor, &look);
    assert_int_equal(look.policies.counts.chosen[CHOSEN_BY_LATENCY], 1);
    assert_int_equal(look.policies.counts.chosen[CHOSEN_BY_READS], 1);
}

/* batch has the only claim, and compute makes shop wait; before, nobody asks again and again. */
TEST_ON(at_the_limit_of_claims_the_culprit_is_cut, struct scene *scene, setup, teardown)
{
    struct governor_state look;
    scene->claims = 1;
    start(scene, true, "paper");
    scene->caused[0] = scene->caused[1] = 1;
    warm_up(scene);
    for (int i = 0; i < 3; i++)
        tick(scene, 100);
    expect_quota(scene, BATCH, "250000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
    scene->caused[1] += 25;
    tick_gives(scene, 131, "300000 100000");
    expect_quota(scene, COMPUTE, "100000 100000");
    assert_string_equal(scene->last.container, "jobs/compute-0/compute");
    assert_int_equal(scene->last.action, ACTION_CUT);
    tick_gives(scene, 131, "300000 100000");
    expect_quota(scene, COMPUTE, "100000 100000");
    governor_look(scene->governor, &look);
    assert_int_equal(look.open, 1);
    assert_int_equal(enforcer_counts(look.enforcer)->limited[GUARD_CLAIMS], 1);
}

/* Of kube-system, which reads most. */
TEST_ON(who_is_exempt_is_not_to_be_moved, struct scene *scene, setup, teardown)
{
    struct governor_state look;
    scene->config = governor_start_threshold(&scene->rig, "paper", "},\"advice\":{");
    scene->governor = governor_start(&scene->rig, scene->config, true, scene->now_ns, &scene->last);
    warm_up(scene);
    for (int i = 0; i < 61; i++) {
        scene->reads[2] += 1e9;
        tick(scene, 100);
    }
    governor_look(scene->governor, &look);
    assert_string_equal(look.policies.advice->candidate, "jobs/batch-0/batch");
}

TEST_ON(observing_it_decides_and_writes_nothing, struct scene *scene, setup, teardown)
{
    start(scene, false, "paper");
    for (int i = 0; i < 12; i++)
        tick(scene, i == 9 ? 131 : 100);
    assert_int_equal(scene->rig.calls, 0);
    assert_int_equal(scene->last.outcome, OUTCOME_DRY_RUN);
    struct governor_state look;
    governor_look(scene->governor, &look);
    assert_true(
        enforcer_counts(look.enforcer)->decisions[POLICY_THRESHOLD][ACTION_CUT][OUTCOME_DRY_RUN] >=
        2);
    assert_int_equal(
        enforcer_counts(look.enforcer)->decisions[POLICY_THRESHOLD][ACTION_CUT][OUTCOME_APPLIED],
        0);
}

TEST_ON(an_idle_protected_container_is_below, struct scene *scene, setup_warm, teardown)
{
    tick_gives(scene, 131, "100000 100000");
    for (int i = 0; i < 3; i++)
        tick(scene, 0);
    expect_quota(scene, BATCH, "100000 100000");
    tick_gives(scene, 0, "150000 100000");
}

TEST_ON(without_a_signal_nothing_is_held, struct scene *scene, setup, teardown)
{
    start(scene, true, "paper");
    for (int i = 0; i < 10; i++)
        tick(scene, 0); /* never a baseline */
    assert_int_equal(scene->rig.control_writes, 0);
}

/* There is room for 1,024 by each policy. */
TEST_ON(protected_ones_beyond_the_table_are_counted, struct scene *scene, setup, teardown)
{
    struct governor_state look;
    struct textbuf text = TEXTBUF_INIT;
    char name[16];
    start_warm(scene);
    scene->now_ns += SECOND;
    scene->tick++;
    const struct governor_document_tick head = {.number = scene->tick, .mono_ns = scene->now_ns};
    governor_document_begin(&text, &head);
    for (int i = 0; i < 1027; i++) {
        snprintf(name, sizeof name, "/shop%d", i);
        add_container(&text, scene, "shop", name + 1, name, 1000 + (uint64_t)i, 100, 1, 0);
    }
    governor_document_end(&text);
    assert_int_equal(take(scene, &text), 0);
    textbuf_release(&text);
    governor_look(scene->governor, &look);
    assert_int_equal(enforcer_counts(look.enforcer)->limited[GUARD_TABLE], 3);
}

TEST_ON(a_dead_exporter_lets_everything_go, struct scene *scene, setup, teardown)
{
    struct governor_state look;
    start_warm(scene);
    tick(scene, 131);
    for (int i = 0; i < 9; i++) /* its tick is 0.1 s old */
        governor_take(scene->governor, NULL, scene->now_ns += SECOND, 0);
    expect_quota(scene, BATCH, "100000 100000");
    governor_take(scene->governor, NULL, scene->now_ns += SECOND, 0);
    expect_quota(scene, BATCH, "300000 100000");
    governor_look(scene->governor, &look);
    assert_int_equal(look.dead_man[DEAD_DOWN], 1);
    assert_int_equal(look.open, 0);
}

TEST_ON(a_release_that_fails_is_repeated, struct scene *scene, setup_warm, teardown)
{
    tick(scene, 131);
    scene->rig.fail_from = scene->rig.calls + 1;
    scene->rig.fail_to = 1000000;
    scene->rig.fail_with = -EBUSY;
    governor_pause(scene->governor, true, 0);
    governor_take(scene->governor, NULL, scene->now_ns += SECOND, 0);
    expect_quota(scene, BATCH, "100000 100000");
    scene->rig.fail_from = 0;
    governor_take(scene->governor, NULL, scene->now_ns += SECOND, 0);
    governor_take(scene->governor, NULL, scene->now_ns += SECOND, 0); /* two, the second time */
    expect_quota(scene, BATCH, "300000 100000");
}

TEST_ON(paused_it_stays_up_and_does_nothing, struct scene *scene, setup_warm, teardown)
{
    tick(scene, 131);
    governor_pause(scene->governor, true, 0);
    expect_quota(scene, BATCH, "300000 100000");
    for (int i = 0; i < 10; i++)
        tick(scene, 131);
    expect_quota(scene, BATCH, "300000 100000");
    governor_pause(scene->governor, false, 0);
    tick_gives(scene, 131, "100000 100000");
}

/* It was killed; the next one puts back what is open, whichever keys it has. */
TEST_ON(the_next_one_puts_back, struct scene *scene, setup, teardown)
{
    for (int enforce = 0; enforce < 2; enforce++) {
        start(scene, true, "paper");
        for (int i = 0; i < 6; i++)
            tick(scene, 131);
        expect_quota(scene, BATCH, "100000 100000");
        governor_free(scene->governor);
        start(scene, enforce, "paper");
        expect_quota(scene, BATCH, "300000 100000");
        governor_free(scene->governor);
        scene->governor = NULL;
    }
}

/* Also of what was put back, or could not be, before there was a page. */
TEST_ON(the_start_s_restores_are_told, struct scene *scene, setup, teardown)
{
    struct governor_state look;
    start_warm(scene);
    tick(scene, 131);
    governor_look(scene->governor, &look);
    assert_int_equal(look.journal_open, 2);
    governor_free(scene->governor);
    scene->rig.fail_from = scene->rig.fail_to = scene->rig.calls + 1;
    scene->rig.fail_with = -EIO;
    start(scene, false, "paper");
    governor_look(scene->governor, &look);
    assert_int_equal(enforcer_counts(look.enforcer)->restores.failed, 1);
    assert_int_equal(enforcer_counts(look.enforcer)->restores.outcomes[RESTORED], 1);
    assert_int_equal(look.journal_open, 1);
    governor_free(scene->governor);
    start(scene, true, "paper");
    governor_look(scene->governor, &look);
    assert_int_equal(enforcer_counts(look.enforcer)->restores.failed, 0);
    assert_int_equal(enforcer_counts(look.enforcer)->restores.outcomes[RESTORED], 1);
    assert_int_equal(look.journal_open, 0);
    expect_quota(scene, BATCH, "300000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
}

TEST_ON(another_cgroup_of_the_path_is_let_alone, struct scene *scene, setup_warm, teardown)
{
    struct textbuf text = TEXTBUF_INIT;
    struct view view = {0};
    const struct governor_document_tick head = {.number = 99, .mono_ns = scene->now_ns};
    governor_document_begin(&text, &head);
    add_container(&text, scene, "shop", "shop", SHOP, 1, 131, 1, 0);
    add_container(&text, scene, "jobs", "batch", BATCH, 1, 0, 1e9, 0); /* no such inode */
    governor_document_view(&text, &view);
    governor_take(scene->governor, &view, scene->now_ns, 0);
    view_release(&view);
    assert_int_equal(scene->rig.control_writes, 0);
}

static void run_in(struct scene *scene, const char *own)
{
    char pid[32], line[256];
    snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    snprintf(line, sizeof line, "0::%s\n", own[0] ? own : "/");
    governor_rig_put(&scene->rig, own, "cgroup.procs", pid);
    governor_rig_file(&scene->rig, "proc/self/cgroup", line);
    start_warm(scene);
    tick(scene, 131);
}

/* Whatever it is called, and whoever shares its pod; a name alone is anybody's to take. The
 * exporter says which it is: here and below the governor's namespace is not exempt. */
TEST_ON(its_own_pod_is_let_alone, struct scene *scene, setup, teardown)
{
    governor_rig_folder(&scene->rig, "proc/self");
    scene->one_pod = true;
    scene->exporter = 1;
    run_in(scene, COMPUTE);
    expect_quota(scene, BATCH, "300000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
}

TEST_ON(its_own_container_is_let_alone, struct scene *scene, setup, teardown)
{
    governor_rig_folder(&scene->rig, "proc/self");
    scene->exporter = 1;
    run_in(scene, COMPUTE);
    expect_quota(scene, BATCH, "100000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
}

/* As a service of the root cgroup it is in no container, and nobody is exempt for it. */
TEST_ON(in_the_root_cgroup_nobody_is_exempt, struct scene *scene, setup, teardown)
{
    governor_rig_folder(&scene->rig, "proc/self");
    run_in(scene, "");
    expect_quota(scene, BATCH, "100000 100000");
    expect_quota(scene, COMPUTE, "100000 100000");
}

TEST_ON(a_name_exempts_nobody, struct scene *scene, setup, teardown)
{
    scene->compute = "interference_exporter";
    start_warm(scene);
    tick(scene, 131);
    expect_quota(scene, COMPUTE, "100000 100000");
}

TEST_ON(the_exporter_is_let_alone, struct scene *scene, setup, teardown)
{
    scene->exporter = governor_rig_inode(&scene->rig, COMPUTE);
    start_warm(scene);
    tick_gives(scene, 131, "100000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
}

TEST_ON(the_exporter_s_pod_is_let_alone, struct scene *scene, setup, teardown)
{
    scene->exporter = governor_rig_inode(&scene->rig, COMPUTE);
    scene->one_pod = true;
    start_warm(scene);
    tick_gives(scene, 131, "300000 100000");
}

/* It may be any of the governor's namespace. */
TEST_ON(an_exporter_that_does_not_say_is_let_alone, struct scene *scene, setup, teardown)
{
    governor_rig_folder(&scene->rig, "proc/self");
    run_in(scene, COMPUTE);
    expect_quota(scene, BATCH, "300000 100000");
}

static void step(struct scene *scene, double latency, int n)
{
    for (int i = 0; i < n; i++)
        tick(scene, latency);
}

/* Of eight CPUs two stay, and then one. */
TEST_ON(cpus_that_go_clamp, struct scene *scene, setup_warm, teardown)
{
    step(scene, 100, 3);
    expect_quota(scene, BATCH, "250000 100000");
    governor_rig_put(&scene->rig, BATCH, "cpuset.cpus.effective", "0-1");
    governor_rig_put(&scene->rig, COMPUTE, "cpuset.cpus.effective", "0-1");
    step(scene, 131, 31);
    expect_quota(scene, BATCH, "100000 100000");
    expect_quota(scene, COMPUTE, "300000 100000"); /* 2.5 cores are no restriction any more */
    step(scene, 100, 1);
    expect_quota(scene, BATCH, "150000 100000");
    step(scene, 100, 1);
    expect_quota(scene, BATCH, "300000 100000"); /* nor are two */
    step(scene, 131, 1);
    expect_quota(scene, BATCH, "100000 100000");
    governor_rig_put(&scene->rig, BATCH, "cpuset.cpus.effective", "0"); /* the least is all */
    step(scene, 131, 31);
    expect_quota(scene, BATCH, "300000 100000");
}

TEST_ON(a_new_configuration, struct scene *scene, setup, teardown)
{
    char error[256] = "";
    start_warm(scene);
    tick(scene, 131);
    struct config *other = governor_start_threshold(&scene->rig, "paper", ",\"enabled\":false");
    other->enforce = false;
    assert_int_equal(governor_reload(scene->governor, other, error, sizeof error), -EINVAL);
    expect_quota(scene, BATCH, "100000 100000");
    other->enforce = true;
    assert_int_equal(governor_reload(scene->governor, other, error, sizeof error), 0);
    tick(scene, 131);
    expect_quota(scene, BATCH, "300000 100000"); /* nobody governs it any more */
    struct governor_state look;
    governor_look(scene->governor, &look);
    const uint64_t *released = enforcer_counts(look.enforcer)->released;
    assert_int_equal(released[RELEASE_UNMANAGED], 2);
    assert_int_equal(released[RELEASE_VANISHED], 0);
    config_free(scene->config);
    scene->config = other;
}

/* The exporter lists them for two more minutes. */
TEST_ON(who_has_ended_has_vanished, struct scene *scene, setup, teardown)
{
    struct governor_state look;
    start_warm(scene);
    tick(scene, 131);
    scene->ended = true;
    tick(scene, 131); /* the cgroups may still be there */
    governor_look(scene->governor, &look);
    const uint64_t *released = enforcer_counts(look.enforcer)->released;
    assert_int_equal(released[RELEASE_UNMANAGED], 0);
    assert_int_equal(released[RELEASE_VANISHED], 2);
}

/* What a container has is what it has earned, whatever of the file was edited. */
TEST_ON(another_configuration_cuts_nobody, struct scene *scene, setup, teardown)
{
    char error[256] = "";
    struct governor_state look;
    start_warm(scene);
    tick(scene, 131);
    for (int i = 0; i < 2; i++)
        tick(scene, 100);
    expect_quota(scene, BATCH, "200000 100000");
    struct config *other = governor_start_threshold(&scene->rig, "paper", ",\"culprit_share\":0.2");
    assert_int_equal(governor_reload(scene->governor, other, error, sizeof error), 0);
    config_free(scene->config);
    scene->config = other;
    tick(scene, 131); /* who reads is known since the window before */
    expect_quota(scene, BATCH, "100000 100000");
    expect_quota(scene, COMPUTE, "200000 100000");
    tick_gives(scene, 100, "150000 100000");
    expect_quota(scene, COMPUTE, "250000 100000");
    governor_look(scene->governor, &look);
    assert_int_equal(look.policies.counts.chosen[CHOSEN_BY_NOTHING],
                     1); /* the first window has none before */
    assert_int_equal(look.policies.counts.chosen[CHOSEN_BY_READS], 1);
}

/* Another mode goes on from what it finds, and back. */
TEST_ON(another_mode_cuts_nobody, struct scene *scene, setup, teardown)
{
    static const char *const modes[] = {"safe", "paper"};
    char error[256] = "";
    start_warm(scene);
    tick(scene, 131);
    tick(scene, 100);
    tick_gives(scene, 100, "200000 100000");
    for (size_t i = 0; i < 2; i++) {
        struct config *other = governor_start_threshold(&scene->rig, modes[i], "");
        assert_int_equal(governor_reload(scene->governor, other, error, sizeof error), 0);
        config_free(scene->config);
        scene->config = other;
        tick(scene, 0); /* nothing is known of it: nothing changes */
        expect_quota(scene, BATCH, "200000 100000");
    }
    tick_gives(scene, 100, "250000 100000");
}

/* Nobody waits yet: in mode safe, the default, a start takes nothing. */
TEST_ON(a_start_takes_nothing, struct scene *scene, setup, teardown)
{
    start(scene, true, "safe");
    warm_up(scene);
    for (int i = 0; i < 20; i++)
        tick(scene, 100);
    assert_int_equal(scene->rig.control_writes, 0);
    tick(scene, 131);
    assert_int_equal(scene->rig.control_writes, 0);
    tick(scene, 131); /* the second of three */
    expect_quota(scene, BATCH, "250000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
    assert_string_equal(scene->last.cause, "shop/shop-0/shop");
    tick_gives(scene, 131, "250000 100000");
    tick(scene, 131); /* it has not helped */
    expect_quota(scene, BATCH, "100000 100000");
}

/* In mode paper it does, and nobody is to blame. */
TEST_ON(a_start_by_the_paper_blames_nobody, struct scene *scene, setup, teardown)
{
    start_warm(scene);
    tick_gives(scene, 131, "100000 100000");
    assert_string_equal(scene->last.why, "start");
    assert_string_equal(scene->last.cause, "");
}

TEST_ON(stopping_puts_all_back, struct scene *scene, setup, teardown)
{
    start_warm(scene);
    tick_gives(scene, 131, "100000 100000");
    assert_int_equal(governor_stop(scene->governor, 0), 0);
    expect_quota(scene, BATCH, "300000 100000");
    expect_quota(scene, COMPUTE, "300000 100000");
}

/* The n-th allocation fails, in the start or in a tick: then nothing was changed, or all that was
 * is in the journal. */
TEST_ON(memory_that_runs_out, struct scene *scene, setup, teardown)
{
    static const double latencies[] = {100, 100, 100, 100, 100, 131, 100, 100};
    unsigned failed = 0;
    if (!malloc_fail(0))
        skip();
    scene->config = governor_start_threshold(&scene->rig, "paper", "");
    for (uint64_t n = 1; n <= 120; n++) {
        const struct governor_setup setup = {.config = scene->config,
                                             .enforce = true,
                                             .fs = &scene->rig.fs,
                                             .write = &scene->rig.write,
                                             .log = &no_log};
        char error[256] = "";
        uint64_t before = malloc_count();
        malloc_fail(n);
        int err = governor_new(&setup, scene->now_ns, &scene->governor, error, sizeof error);
        uint64_t made = malloc_count() - before;
        malloc_fail(0);
        failed += err != 0;
        for (size_t i = 0; !err && i < sizeof latencies / sizeof *latencies; i++) {
            struct textbuf text = TEXTBUF_INIT;
            make_document(scene, latencies[i], &text);
            before = malloc_count();
            malloc_fail(n > made ? n - made : 0);
            failed += take(scene, &text) != 0;
            malloc_fail(0);
            made += malloc_count() - before;
            textbuf_release(&text);
        }
        assert_true(!err || error[0]);
        governor_free(scene->governor); /* as if it was killed */
        scene->governor = NULL;
        start(scene, true, "paper");
        expect_quota(scene, BATCH, "300000 100000");
        expect_quota(scene, COMPUTE, "300000 100000");
        governor_free(scene->governor);
        scene->governor = NULL;
    }
    assert_true(failed > 10);
}

/* The class's base is one core. */
TEST_ON(a_quota_at_base_without_a_claim, struct scene *scene, setup, teardown)
{
    static const struct {
        const char *quota;
        bool left;
    } cases[] = {{"100000 100000", true},
                 {"50000 50000", true},
                 {"100001 100000", false},
                 {"99999 100000", false},
                 {"max 100000", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct governor_state look;
        size_t n, left = 0;
        governor_rig_set_quota(&scene->rig, BATCH, cases[i].quota);
        start_warm(scene);
        tick(scene, 131);
        governor_look(scene->governor, &look);
        const struct holding *holdings = enforcer_holdings(look.enforcer, &n);
        for (size_t j = 0; j < n; j++)
            left += enforcer_may_be_left(&holdings[j]);
        assert_int_equal(left, cases[i].left); /* not the one that is held at base now */
        governor_stop(scene->governor, 0);
        governor_free(scene->governor);
        scene->governor = NULL;
        scene->rig.control_writes = 0;
    }
}
