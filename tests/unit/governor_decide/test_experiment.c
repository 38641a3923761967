/* Confirmation by experiment: the test's numbers, who is held for it, how long, and when not. */
#include "exporter/governor/decide/experiment.h"
#include "tests/unit/support/governor_document.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)
#define HOUR (3600 * SECOND)
#define SHOP RIG_CONTAINER("540b")
#define BATCH RIG_CONTAINER("ba7c")
#define COMPUTE RIG_CONTAINER("c033")
#define SYSTEM RIG_CONTAINER("5757")
#define SURE RIG_CONTAINER("50b3")
#define REPLICA(digit) RIG_CONTAINER("ba7" digit)
#define FREE "300000 100000"

/* ---- the test ---- */

static enum experiment_verdict add_all(struct experiment *experiment, const double *d, size_t n)
{
    enum experiment_verdict verdict = EXPERIMENT_RUNNING;
    experiment_init(experiment, 1);
    experiment_begin(experiment, "jobs/batch-0/batch", 7, 0.6, 1, 2, 1);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(verdict, EXPERIMENT_RUNNING);
        verdict = experiment_add(experiment, 100e-9, 100e-9 * exp(d[i]));
    }
    return verdict;
}

/* mean .04, sd .0158114, se .0070711: t = 5.657, and t^2/2 = 16 is cut at 6.6. */
TEST(five_pairs_confirm)
{
    static const double d[] = {.03, .05, .04, .02, .06};
    struct experiment experiment;
    assert_int_equal(add_all(&experiment, d, 5), EXPERIMENT_CONFIRMED);
    assert_float_equal(experiment.now.effect, 0.04, 1e-12);
    assert_float_equal(experiment.now.error, 0.00707106781, 1e-10);
    assert_float_equal(experiment.now.probability, 0.99909391, 1e-8);
    const struct experiment_result *kept =
        experiment_end(&experiment, EXPERIMENT_CONFIRMED, 2 * HOUR, 9);
    assert_ptr_equal(experiment_last_of(&experiment, 7, 2 * HOUR), kept);
    assert_ptr_equal(experiment_last_of(&experiment, 7, 26 * HOUR - 1), kept);
    assert_null(experiment_last_of(&experiment, 7, 26 * HOUR)); /* a day later */
    assert_null(experiment_last_of(&experiment, 8, 2 * HOUR));
}

/* mean 0, se .0020412: below 3 % by far more than 3 of it, but only ten pairs refute, for with
 * few the error itself is not known; the evidence is cut at -3. */
TEST(ten_pairs_refute)
{
    static const double d[] = {.01, -.01, .005, -.005, 0, 0, .005, -.005, -.005, .005};
    struct experiment experiment;
    assert_int_equal(add_all(&experiment, d, 9), EXPERIMENT_RUNNING);
    assert_int_equal(add_all(&experiment, d, 10), EXPERIMENT_REFUTED);
    assert_float_equal(experiment.now.error, 0.00197203, 1e-8);
    assert_float_equal(experiment.now.probability, 0.06949097, 1e-8);
}

/* One per cent, very surely: t is 10, and yet it is not worth a cut. */
TEST(what_is_surely_small_is_refuted)
{
    static const double d[] = {.010, .012, .008, .014, .006, .010, .012, .008, .014, .006};
    struct experiment experiment;
    assert_int_equal(add_all(&experiment, d, 10), EXPERIMENT_REFUTED);
    assert_true(experiment.now.effect / experiment.now.error > 4.5);
}

enum { PAIRS_MOST = 40 };

TEST(what_is_not_decided)
{
    double d[PAIRS_MOST];
    struct experiment experiment;
    for (int i = 0; i < PAIRS_MOST; i++)
        d[i] = 0.02 + (i % 2 ? .1 : -.1);
    assert_int_equal(add_all(&experiment, d, PAIRS_MOST), EXPERIMENT_RUNNING);
    double t = experiment.now.effect / experiment.now.error;
    assert_float_equal(t, 0.02 / (0.1 * sqrt(40. / 39) / sqrt(40)), 1e-9);
    assert_float_equal(experiment.now.probability, 1 / (1 + exp(-log(1.5) - t * t / 2)), 1e-12);
    experiment.now.held_seconds = 39 * 0.2;
    assert_true(experiment_may_hold(&experiment, 300 * SECOND));
    assert_false(experiment_may_hold(&experiment, 300 * SECOND + 1)); /* since 1 */
    experiment.now.held_seconds = 39 * 0.2 + 1e-6;
    assert_false(experiment_may_hold(&experiment, 2));
}

/* Of a day, one an hour, and each owner's last alone. */
TEST(results_of_a_day_are_kept)
{
    struct experiment experiment;
    experiment_init(&experiment, 1);
    for (uint64_t owner = 1; owner <= 25; owner++)
        for (int again = 0; again < 2; again++) {
            experiment_begin(&experiment, "x", owner, 0.6, 1, 2, owner * HOUR);
            experiment_end(&experiment, again ? EXPERIMENT_CONFIRMED : EXPERIMENT_UNDECIDED,
                           owner * HOUR, 1);
        }
    for (uint64_t owner = 2; owner <= 25; owner++)
        assert_int_equal(experiment_last_of(&experiment, owner, 25 * HOUR)->verdict,
                         EXPERIMENT_CONFIRMED);
    assert_null(experiment_last_of(&experiment, 1, 25 * HOUR)); /* a day later */
}

TEST(an_hour_is_waited_after_who_was_held)
{
    struct experiment experiment;
    experiment_init(&experiment, 1);
    for (int held = 0; held < 2; held++) {
        assert_true(experiment_may_begin(&experiment, 2 * HOUR));
        experiment_begin(&experiment, "x", 7, 0.6, 1, 2, 2 * HOUR);
        assert_false(experiment_may_begin(&experiment, 2 * HOUR));
        experiment.now.held_seconds = held * 0.2;
        experiment_end(&experiment, EXPERIMENT_ABANDONED, 2 * HOUR, 1);
    }
    assert_false(experiment_may_begin(&experiment, 3 * HOUR - 1));
    assert_true(experiment_may_begin(&experiment, 3 * HOUR));
}

TEST(orders_are_drawn_and_balanced)
{
    unsigned first = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct experiment experiment;
        experiment_init(&experiment, seed);
        experiment_begin(&experiment, "x", 7, 0.6, 1, 2, 1);
        for (int i = 0; i < 20; i++) {
            bool one = experiment_next_pair(&experiment, 1);
            first += one;
            assert_int_equal(experiment_next_pair(&experiment, 1), !one);
        }
    }
    assert_in_range(first, 1800, 2200); /* of 4,000: 200 is 6 standard deviations */
}

static double uniform(uint64_t *random)
{
    *random = *random * 6364136223846793005U + 1442695040888963407U;
    return (double)(*random >> 11) * 0x1p-53;
}

/* Sum of twelve, less six. */
static double normal(uint64_t *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform(random);
    return sum;
}

/* How many of a thousand experiments are confirmed, and refuted, where the effect is there in some
 * of the pairs. */
static void expect_rates(double effect, double part, double noise, const unsigned confirmed[2],
                         const unsigned refuted[2])
{
    unsigned counts[EXPERIMENT_VERDICTS] = {0};
    uint64_t random = 1;
    for (int i = 0; i < 1000; i++) {
        struct experiment experiment;
        enum experiment_verdict verdict = EXPERIMENT_RUNNING;
        experiment_init(&experiment, 1);
        experiment_begin(&experiment, "x", 7, 0.6, 1, 2, 1);
        for (; verdict == EXPERIMENT_RUNNING && experiment_may_hold(&experiment, 1);
             experiment.now.held_seconds += 0.2) {
            double there = uniform(&random) < part ? effect : 0;
            verdict = experiment_add(&experiment, 1, exp(there + noise * normal(&random)));
        }
        counts[verdict]++;
    }
    print_message("effect %.2f in %.1f, noise %.2f: confirmed %u, refuted %u of 1000\n", effect,
                  part, noise, counts[EXPERIMENT_CONFIRMED], counts[EXPERIMENT_REFUTED]);
    assert_in_range(counts[EXPERIMENT_CONFIRMED], confirmed[0], confirmed[1]);
    assert_in_range(counts[EXPERIMENT_REFUTED], refuted[0], refuted[1]);
}

TEST(rates_with_noise)
{
    expect_rates(0, 1, 0.02, (const unsigned[]){0, 10}, (const unsigned[]){990, 1000});
    expect_rates(0, 1, 0.05, (const unsigned[]){0, 20}, (const unsigned[]){820, 900});
    expect_rates(0, 1, 0.1, (const unsigned[]){0, 20}, (const unsigned[]){230, 340});
    expect_rates(0.05, 1, 0.02, (const unsigned[]){990, 1000}, (const unsigned[]){0, 5});
    expect_rates(0.05, 1, 0.05, (const unsigned[]){930, 990}, (const unsigned[]){0, 5});
    /* Of exactly what would be too little, and of who goes on and off. */
    expect_rates(0.03, 1, 0.02, (const unsigned[]){960, 1000}, (const unsigned[]){0, 30});
    expect_rates(0.03, 1, 0.05, (const unsigned[]){330, 460}, (const unsigned[]){0, 40});
    expect_rates(0.06, 0.5, 0.02, (const unsigned[]){750, 860}, (const unsigned[]){0, 40});
}

/* ---- the governor ---- */

enum { SHOP_AT, SYS_AT, SURE_AT, COMPUTE_AT, BATCH_AT, CONTAINERS = 8 };

static const struct {
    const char *namespace_, *pod, *name, *path;
    double probability, cpus;
} who[CONTAINERS] = {
    [SHOP_AT] = {"shop", "shop-0", "shop", SHOP, 0.94, 3},           /* protected */
    [SYS_AT] = {"kube-system", "sys-0", "sys", SYSTEM, 0.9, 3},      /* exempt */
    [SURE_AT] = {"jobs", "sure-0", "sure", SURE, 0.97, 3},           /* named already */
    [COMPUTE_AT] = {"jobs", "compute-0", "compute", COMPUTE, .8, 2}, /* its least is 1 */
    [BATCH_AT] = {"jobs", "batch-0", "batch", BATCH, 0.7, 3},
    /* Replicas of batch, if there are any. */
    {"jobs", "batch-1", "batch", REPLICA("1"), 0.7, 3},
    {"jobs", "batch-2", "batch", REPLICA("2"), 0.7, 3},
    {"jobs", "batch-3", "batch", REPLICA("3"), 0.7, 3},
};

struct scene {
    struct governor_rig rig;
    struct config *config;
    struct governor *governor;
    uint64_t now_ns, tick, slots, held_slots;
    uint64_t held_at[400]; /* when each ended */
    double effect, noise;  /* of batch, if all of it is free; of a slot */
    uint64_t random;
    const char *source, *suspicion;
    double shop_ns, reads, caused;
    double batch_cpus, batch_probability, compute_cpus;
    size_t n;           /* containers in view */
    size_t dies;        /* in the next slot that is free; 0: nobody */
    bool gone;          /* it has */
    bool fail;          /* to give back, in the next held slot */
    bool disturbed;     /* all bursts are */
    const char *victim; /* of the experiment */
    struct decision last;
};

static struct governor_state look(const struct scene *scene)
{
    struct governor_state state;
    governor_look(scene->governor, &state);
    return state;
}

static bool is_free(const struct scene *scene, size_t i)
{
    char now[64];
    if (scene->gone && i == scene->dies)
        return true;
    governor_rig_quota(&scene->rig, who[i].path, now);
    assert_true(strcmp(now, FREE) == 0 || strcmp(now, "100000 100000") == 0);
    return strcmp(now, FREE) == 0;
}

static void expect_free(const struct scene *scene)
{
    for (size_t i = 0; i < CONTAINERS; i++)
        assert_true(is_free(scene, i));
    assert_int_equal(look(scene).open, 0);
    assert_int_equal(look(scene).journal_open, 0);
}

static double slot(void *context)
{
    struct scene *scene = context;
    size_t held = 0, all = 0;
    for (size_t i = 0; i < scene->n; i++) {
        bool free_ = is_free(scene, i), victim = strcmp(who[i].name, scene->victim) == 0;
        assert_true(free_ || victim); /* nobody else, ever */
        all += victim;
        held += !free_;
    }
    scene->now_ns += SECOND / 5;
    scene->slots++;
    if (held > 0) {
        assert_int_equal(held, all);
        assert_int_equal(look(scene).journal_open, all); /* whoever comes after us knows */
        scene->held_at[scene->held_slots++] = scene->now_ns;
    } else if (scene->dies && !scene->gone) {
        governor_rig_remove(&scene->rig, who[scene->dies].path);
        scene->gone = true;
    }
    if (held > 0 && scene->fail) {
        scene->rig.fail_from = scene->rig.calls + 1;
        scene->rig.fail_to = scene->rig.calls + 100;
        scene->rig.fail_with = -5;
    }
    if (scene->disturbed)
        return NAN;
    double free_part = 1 - (double)held / (double)all;
    return 100e-9 * exp(free_part * scene->effect + scene->noise * normal(&scene->random));
}

static uint64_t now(void *context)
{
    return ((const struct scene *)context)->now_ns;
}

static void start(struct scene *scene, bool enforce, const char *mode, const char *rest)
{
    scene->config = governor_start_threshold(&scene->rig, mode, rest);
    scene->governor =
        governor_start(&scene->rig, scene->config, enforce, scene->now_ns, &scene->last);
}

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    governor_rig_init(&scene->rig, 2);
    for (size_t i = 0; i < CONTAINERS; i++)
        governor_rig_cgroup(&scene->rig, who[i].path, FREE);
    scene->now_ns = 1000 * SECOND;
    scene->effect = 0.05;
    scene->noise = 0.01;
    scene->source = "perf";
    scene->shop_ns = 100;
    scene->batch_cpus = 3;
    scene->batch_probability = 0.7;
    scene->compute_cpus = who[COMPUTE_AT].cpus;
    scene->suspicion = "suspected";
    scene->victim = "batch";
    scene->n = BATCH_AT + 1;
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

static void add_container(const struct scene *scene, size_t i, struct textbuf *out)
{
    bool batch = i >= BATCH_AT;
    double probability = batch ? scene->batch_probability : who[i].probability;
    uint64_t inode =
        scene->gone && i == scene->dies ? 99999999 : governor_rig_inode(&scene->rig, who[i].path);
    char members[128], *end = members;
    end += sprintf(end, "\"suspicion\":\"%s\",\"cpu_seconds_per_second\":%g,",
                   batch ? scene->suspicion : "suspected",
                   batch             ? scene->batch_cpus
                   : i == COMPUTE_AT ? scene->compute_cpus
                                     : who[i].cpus);
    if (!isnan(probability))
        sprintf(end, "\"caused_probability_ratio\":%g,", probability);
    governor_document_container(out, who[i].namespace_, who[i].pod, who[i].name, who[i].path, inode,
                                members);
    governor_document_value(out, "memory_reads_total", scene->reads * (i == COMPUTE_AT ? 10 : 1));
    if (i == 0)
        governor_document_latency(out, scene->shop_ns * 1e-9, 1e-7);
    if (batch)
        governor_document_labelled(out, "caused_latency_seconds_total", "numa_node", "0",
                                   scene->caused * 1e-9);
}

static void tick(struct scene *scene)
{
    struct textbuf text = TEXTBUF_INIT;
    struct view view = {0};
    const struct experiment_meter meter = {slot, now, scene};
    uint64_t began_ns = scene->now_ns += SECOND;
    scene->tick++;
    scene->reads += 1e7;
    const struct governor_document_tick head = {.source = scene->source,
                                                .number = scene->tick,
                                                .mono_ns = began_ns - SECOND / 10,
                                                .own_cgroup_id = 1};
    governor_document_begin(&text, &head);
    for (size_t i = 0; i < scene->n; i++)
        add_container(scene, i, &text);
    governor_document_view(&text, &view);
    governor_take(scene->governor, &view, began_ns, began_ns);
    governor_experiment(scene->governor, &view, &meter, began_ns);
    view_release(&view);
    scene->now_ns = began_ns;
}

static void ticks(struct scene *scene, int n)
{
    while (n-- > 0)
        tick(scene);
}

/* Nobody asks meanwhile; then it takes five fresh ticks. */
static void an_hour_later(struct scene *scene)
{
    scene->now_ns += HOUR;
    ticks(scene, 8);
}

static const struct experiment_result *result(const struct scene *scene, size_t i)
{
    const struct experiment_result *got = &look(scene).experiment->results[i];
    assert_int_not_equal(got->owner, 0);
    return got;
}

static void expect_results(const struct scene *scene, size_t n)
{
    for (size_t i = 0; i < EXPERIMENT_RESULTS; i++)
        assert_int_equal(look(scene).experiment->results[i].owner != 0, i < n);
}

#define EXPERIMENT ",\"experiment\":true"

TEST_ON(who_makes_memory_slow_is_confirmed, struct scene *scene, setup, teardown)
{
    start(scene, true, "safe", EXPERIMENT);
    ticks(scene, 3000);
    assert_int_equal(scene->slots, 0); /* a restart is no way to a second one in an hour */
    an_hour_later(scene);
    ticks(scene, 10);
    const struct experiment_result *got = result(scene, 0);
    assert_string_equal(got->container, "jobs/batch-0/batch");
    assert_int_equal(got->verdict, EXPERIMENT_CONFIRMED);
    assert_true(got->prior == 0.7 && got->probability > 0.999);
    assert_int_equal(got->pairs, scene->held_slots);
    assert_int_equal(scene->slots, 2 * scene->held_slots);
    assert_float_equal(got->held_seconds, 0.2 * (double)got->pairs, 1e-6);
    assert_int_equal(scene->last.action, ACTION_RELEASE);
    assert_string_equal(scene->last.why, "experiment");
    const struct enforcer_counts *counts = enforcer_counts(look(scene).enforcer);
    assert_int_equal(counts->released[RELEASE_EXPERIMENT], got->pairs);
    for (int action = 0; action < ACTIONS; action++) /* or a few look like flapping */
        assert_int_equal(counts->decisions[POLICY_THRESHOLD][action][OUTCOME_APPLIED], 0);
    assert_int_equal(scene->last.wall_ns, scene->held_at[scene->held_slots - 1]);
    expect_free(scene);
    an_hour_later(scene); /* it is known for a day */
    expect_results(scene, 1);
    assert_int_equal(got->ended_wall_ns, result(scene, 0)->ended_wall_ns);
}

TEST_ON(an_innocent_is_refuted, struct scene *scene, setup, teardown)
{
    scene->effect = 0;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    ticks(scene, 40);
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_REFUTED);
    assert_true(result(scene, 0)->probability < 0.2);
    expect_free(scene);
}

/* In noise of 30 % nothing is ever decided, and the same container is tried again and again. */
TEST_ON(eight_seconds_in_any_hour, struct scene *scene, setup, teardown)
{
    uint64_t began_ns = scene->now_ns;
    scene->noise = 0.3;
    start(scene, true, "safe", EXPERIMENT);
    while (scene->now_ns < began_ns + 6 * HOUR)
        tick(scene);
    expect_free(scene);
    assert_true(scene->held_slots > 2 * PAIRS_MOST);
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_UNDECIDED);
    assert_int_equal(result(scene, 0)->pairs, PAIRS_MOST);
    for (size_t i = PAIRS_MOST; i < scene->held_slots; i++)
        assert_true(scene->held_at[i] - SECOND / 5 - scene->held_at[i - PAIRS_MOST] >= HOUR);
    assert_true(scene->held_at[0] - began_ns >= HOUR);
}

TEST_ON(who_does_something_else_is_let_be, struct scene *scene, setup, teardown)
{
    scene->noise = 0.3;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    uint64_t slots = scene->slots;
    assert_true(slots > 0);
    scene->batch_cpus = 1.4;
    ticks(scene, 5);
    assert_int_equal(scene->slots, slots);
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_ABANDONED);
    expect_free(scene);
}

/* Algorithm 1 begins at the base, and takes some calm ticks to give all back. */
TEST_ON(not_while_anything_is_held, struct scene *scene, setup, teardown)
{
    start(scene, true, "paper", EXPERIMENT);
    scene->now_ns += HOUR;
    scene->shop_ns = 131;
    ticks(scene, 20);
    assert_true(look(scene).open > 0);
    assert_int_equal(scene->slots, 0);
    scene->shop_ns = 100;
    ticks(scene, 12);
    assert_true(scene->slots > 0);
    expect_free(scene);
}

TEST_ON(never_unasked, struct scene *scene, setup, teardown)
{
    static const struct {
        bool enforce;
        const char *source, *rest;
    } cases[] = {
        {true, "perf", ""},
        {false, "perf", EXPERIMENT},
        {true, "replay", EXPERIMENT},
        {true, "", EXPERIMENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene->source = cases[i].source;
        start(scene, cases[i].enforce, "safe", cases[i].rest);
        an_hour_later(scene);
        ticks(scene, 10);
        assert_int_equal(scene->slots, 0);
        expect_results(scene, 0);
        governor_free(scene->governor);
        config_free(scene->config);
    }
    scene->source = "perf";
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    assert_true(scene->slots > 0); /* and otherwise it is */
}

/* It has moved to the place of another holding when it is to be given back. */
TEST_ON(who_moves_is_given_back, struct scene *scene, setup, teardown)
{
    scene->noise = 0.3;
    start(scene, true, "safe", EXPERIMENT);
    scene->now_ns += HOUR;
    ticks(scene, 5);
    scene->dies = COMPUTE_AT;
    for (int i = 0; i < 20; i++) {
        tick(scene);
        expect_free(scene);
    }
    assert_true(scene->gone && scene->held_slots > 15);
}

/* A third of it each: one alone would be refuted. */
TEST_ON(all_replicas_are_held, struct scene *scene, setup, teardown)
{
    scene->n = CONTAINERS;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    ticks(scene, 10);
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_CONFIRMED);
    assert_int_equal(result(scene, 0)->containers, 4);
    assert_float_equal(result(scene, 0)->effect, 0.05, 0.015);
    expect_free(scene);
    expect_results(scene, 1);
}

/* Its least is a third of what it uses, or the bursts of a held slot are mostly of the time in
 * which it runs. That it uses less afterwards is the holding's own doing. */
TEST_ON(three_times_its_least, struct scene *scene, setup, teardown)
{
    scene->batch_cpus = 2.9;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    assert_int_equal(scene->slots, 0);
    scene->batch_cpus = 3;
    tick(scene);
    assert_int_equal(scene->slots, 2);
    scene->batch_cpus = 2.4;
    ticks(scene, 10);
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_CONFIRMED);
}

/* Two that began together have a half each at most; two that always go together have none. */
TEST_ON(who_is_in_a_group_is_tried, struct scene *scene, setup, teardown)
{
    static const double probabilities[] = {0.45, NAN};
    for (size_t i = 0; i < 2; i++) {
        scene->batch_probability = probabilities[i];
        scene->suspicion = "suspected";
        start(scene, true, "safe", EXPERIMENT);
        an_hour_later(scene);
        assert_int_equal(scene->slots, 0);
        scene->suspicion = "group";
        ticks(scene, 10);
        assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_CONFIRMED);
        assert_int_equal(isnan(result(scene, 0)->probability), isnan(probabilities[i]));
        scene->slots = 0;
        governor_free(scene->governor);
        config_free(scene->config);
    }
    start(scene, true, "safe", EXPERIMENT); /* for the teardown */
}

/* Undecided the first time, and less probable than who was not tried. */
TEST_ON(who_waits_longest_comes_first, struct scene *scene, setup, teardown)
{
    scene->noise = 0.3;
    scene->compute_cpus = 3;
    scene->victim = "compute";
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    ticks(scene, 60);
    assert_string_equal(result(scene, 0)->container, "jobs/compute-0/compute");
    scene->victim = "batch";
    an_hour_later(scene);
    ticks(scene, 60);
    assert_string_equal(result(scene, 1)->container, "jobs/batch-0/batch");
    scene->victim = "compute";
    an_hour_later(scene);
    assert_string_equal(look(scene).experiment->now.container, "jobs/compute-0/compute");
}

/* Of an exporter with few ticks. */
TEST_ON(five_minutes_end_it, struct scene *scene, setup, teardown)
{
    scene->noise = 0.3;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    uint64_t began_ns = look(scene).experiment->began_ns;
    while (look(scene).experiment->now.owner) {
        scene->now_ns += 8 * SECOND;
        tick(scene);
    }
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_UNDECIDED);
    assert_in_range(result(scene, 0)->pairs, 25, PAIRS_MOST - 1);
    assert_in_range(scene->now_ns - began_ns, 300 * SECOND, 309 * SECOND);
}

/* Nothing is held for what cannot be measured. */
TEST_ON(disturbed_bursts_hold_nobody, struct scene *scene, setup, teardown)
{
    scene->disturbed = true;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    ticks(scene, 20);
    assert_int_equal(look(scene).experiment->now.pairs, 0);
    assert_true(2 * scene->held_slots <= scene->slots + 1); /* the half that comes first */
}

/* batch is held for shop, which waits as long; so it has everything back, to see what comes of it.
 */
TEST_ON(not_while_a_cut_is_tried, struct scene *scene, setup, teardown)
{
    scene->batch_probability = 0.97;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    scene->shop_ns = 131;
    for (int i = 0; i < 60 && (look(scene).open == 0 || i < 30); i++) {
        scene->caused += 31;
        tick(scene);
    }
    assert_true(look(scene).open > 0);
    scene->compute_cpus = 3;
    scene->victim = "compute";
    while (look(scene).open > 0) {
        scene->caused += 31;
        tick(scene);
    }
    assert_int_equal(scene->slots, 0);
    for (int i = 0; i < 30 && scene->slots == 0; i++) {
        scene->shop_ns = 100;
        tick(scene);
    }
    assert_true(scene->slots > 0); /* and then it is */
}

/* Nothing can be written when the slot ends: no other slot until it could. */
TEST_ON(what_could_not_be_given_back_is_tried_again, struct scene *scene, setup, teardown)
{
    char quota[64];
    start(scene, true, "safe", EXPERIMENT);
    scene->now_ns += HOUR;
    ticks(scene, 4);
    scene->fail = true;
    while (scene->slots == 0)
        tick(scene);
    uint64_t slots = scene->slots;
    governor_rig_quota(&scene->rig, BATCH, quota);
    assert_string_equal(quota, "100000 100000");
    scene->fail = false;
    scene->rig.fail_to = 0;
    ticks(scene, 3);
    assert_true(scene->slots == slots || scene->last.action == ACTION_RELEASE);
    ticks(scene, 10);
    expect_free(scene);
    assert_true(result(scene, 0)->held_seconds > 0.9); /* with the wait */
}

/* The exporter has nothing new to say: it is given back all the same; the pair does not count. */
TEST_WITH(what_could_not_be_given_back_is_tried_without_a_view, setup, teardown)
{
    const struct experiment_meter meter = {slot, now, *state};
    struct scene *scene = *state;
    scene->effect = 0.5; /* the next pair would decide */
    scene->noise = 0;
    start(scene, true, "safe", EXPERIMENT);
    scene->now_ns += HOUR;
    while (look(scene).experiment->now.pairs < EXPERIMENT_LEAST - 1)
        tick(scene);
    scene->fail = true;
    uint64_t held_slots = scene->held_slots;
    while (scene->held_slots == held_slots)
        tick(scene);
    assert_int_equal(look(scene).open, 1);
    assert_int_equal(look(scene).experiment->now.pairs, EXPERIMENT_LEAST - 1);
    assert_int_equal(look(scene).experiment->now.verdict, EXPERIMENT_RUNNING);
    scene->fail = false;
    scene->rig.fail_to = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t now_ns = scene->now_ns += SECOND;
        governor_take(scene->governor, NULL, now_ns, now_ns);
        governor_experiment(scene->governor, NULL, &meter, now_ns);
    }
    expect_free(scene);
}

TEST_ON(a_pause_and_an_end_find_nobody_held, struct scene *scene, setup, teardown)
{
    scene->noise = 0.3;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    assert_true(look(scene).experiment->now.pairs > 0);
    expect_free(scene);
    governor_pause(scene->governor, true, scene->now_ns);
    uint64_t slots = scene->slots;
    ticks(scene, 5);
    assert_int_equal(scene->slots, slots);
    assert_int_equal(look(scene).experiment->now.owner, 0);
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_ABANDONED);
    assert_int_equal(governor_stop(scene->governor, scene->now_ns), 0);
    expect_free(scene);
}

TEST_WITH(without_a_view_it_ends, setup, teardown)
{
    const struct experiment_meter meter = {slot, now, *state};
    struct scene *scene = *state;
    scene->noise = 0.3;
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    for (int i = 0; i < 15; i++) {
        uint64_t now_ns = scene->now_ns += SECOND;
        governor_take(scene->governor, NULL, now_ns, now_ns);
        governor_experiment(scene->governor, NULL, &meter, now_ns);
        if (i == 0) /* that one answer is missing is no reason */
            assert_true(look(scene).experiment->now.owner != 0);
    }
    assert_int_equal(look(scene).experiment->now.owner, 0);
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_ABANDONED);
}

/* shop waits, for batch by what attribution says; compute reads ten times as much. */
static void expect_cut(struct scene *scene, const char *path, const char *chosen_by)
{
    char quota[64];
    for (int i = 0; i < 4; i++) {
        scene->shop_ns = 131;
        scene->caused += 31;
        tick(scene);
    }
    for (size_t i = 1; i < scene->n; i++) {
        governor_rig_quota(&scene->rig, who[i].path, quota);
        assert_int_equal(strcmp(quota, FREE) != 0, strcmp(who[i].path, path) == 0);
    }
    assert_string_equal(chosen_by_names[scene->last.chosen_by], chosen_by);
    scene->shop_ns = 100;
}

/* Named with 0.85 is below 'sure': the next answer chooses, until the experiment. */
TEST_ON(who_is_confirmed_may_be_cut, struct scene *scene, setup, teardown)
{
    scene->batch_probability = 0.85;
    start(scene, true, "safe", EXPERIMENT);
    ticks(scene, 20);
    expect_cut(scene, COMPUTE, "reads");
    assert_int_equal(governor_stop(scene->governor, scene->now_ns), 0);
    governor_free(scene->governor);
    config_free(scene->config);
    start(scene, true, "safe", EXPERIMENT);
    an_hour_later(scene);
    ticks(scene, 10);
    assert_int_equal(result(scene, 0)->verdict, EXPERIMENT_CONFIRMED);
    expect_free(scene);
    expect_cut(scene, BATCH, "latency");
}
