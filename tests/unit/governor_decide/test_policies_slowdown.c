/* The policies ways and mba: documents go in, wishes come out, step by step. */
#include "exporter/governor/decide/policies/policy.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)

enum { CONTAINERS = 5 }; /* cart and api are protected, the others best effort */

static const struct log no_log = {.fd = -1};

/* ---- knobs that do what they are told ---- */

struct knobs {
    unsigned ways, percent_step, percent_most;
    const char *refused; /* the path whose knobs cannot be claimed; NULL: none */
    int refused_err;
};

static bool is_refused(const struct knobs *knobs, const struct claim *claim)
{
    return knobs->refused && strcmp(knobs->refused, claim->path) == 0;
}

static int knob_claim(void *self, double floor, struct claim *claim)
{
    const struct knobs *knobs = self;
    bool ways = claim->knob == KNOB_WAYS;
    if (is_refused(knobs, claim))
        return knobs->refused_err;
    claim->least = floor;
    claim->most = ways ? knobs->ways : knobs->percent_most;
    claim->step = ways ? 1 : knobs->percent_step;
    claim->value = claim->most;
    claim->ino = strtoull(claim->path + 1, NULL, 10);
    claim->set[0] = claim->from[0] = '\0';
    snprintf(claim->original, sizeof claim->original, "all");
    return 0;
}

static int knob_check(void *self, const struct claim *claim, enum claim_state *state,
                      char now[CLAIM_TEXT_MAX])
{
    *state = is_refused(self, claim) ? CLAIM_CHANGED : CLAIM_OURS;
    now[0] = '\0';
    return 0;
}

static void knob_format(void *self, const struct claim *claim, double value,
                        char out[CLAIM_TEXT_MAX])
{
    snprintf(out, CLAIM_TEXT_MAX, "%g", value);
}

static const struct actuator_ops knob_ops = {
    .name = "told", .claim = knob_claim, .check = knob_check, .format = knob_format};

/* ---- a node ---- */

struct scene {
    struct config *config;
    unsigned other_floor; /* of the bandwidth of three's class */
    struct knobs knobs;
    struct actuators actuators;
    struct journal journal;
    struct enforcer *enforcer;
    struct policies policies;
    struct view_container containers[CONTAINERS];
    struct governed governed[CONTAINERS];
    /* Of the next ticks: slowdowns (NaN: none), the cache's part of what is lost, reads. */
    double slowdowns[CONTAINERS], cache_part, reads[CONTAINERS];
    double waits[CONTAINERS]; /* that it makes others wait, seconds */
    bool gone[CONTAINERS], exempt[CONTAINERS];
    struct log log;
    uint64_t tick, changes;
};

static void decided(void *context, const struct decision *decision)
{
    ((struct scene *)context)->changes++;
}

static void start(struct scene *scene, const char *policies)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"governor\":1,\"classes\":["
             "{\"name\":\"web\",\"role\":\"protected\",\"slowdown_bound\":1.5,\"match\":[{"
             "\"namespace\":\"shop\",\"pod\":\"*\",\"container\":\"*\"}]},"
             "{\"name\":\"batch\",\"role\":\"best_effort\",\"llc\":{\"floor_ways\":2},\"mba\":{"
             "\"floor_percent\":20},\"match\":[{\"namespace\":\"jobs\",\"pod\":\"*\","
             "\"container\":\"*\"}]},{\"name\":\"other\",\"role\":\"best_effort\",\"mba\":{"
             "\"floor_percent\":%u},\"match\":[{\"namespace\":\"*\",\"pod\":\"*\","
             "\"container\":\"*\"}]}],\"policies\":{%s}}",
             scene->other_floor, policies);
    scene->config = governor_start_config(text);
    const struct enforcer_config config = {
        .dry = true,
        .limits = {.claims = 64, .writes_per_second = 1000, .cuts_per_10m = 60},
        .log = &no_log,
        .decided = decided,
        .context = scene};
    assert_int_equal(enforcer_new(&config, &scene->journal, &scene->actuators, &scene->enforcer),
                     0);
    assert_int_equal(policies_init(&scene->policies, scene->config), 0);
}

static int setup(void **state)
{
    static const char *const names[CONTAINERS] = {"cart", "api", "one", "two", "three"};
    static const char *const paths[CONTAINERS] = {"/1", "/2", "/3", "/4", "/5"};
    struct scene *scene = calloc(1, sizeof *scene);
    scene->knobs.ways = 8;
    scene->knobs.percent_step = 10;
    scene->knobs.percent_most = 100;
    scene->other_floor = 20;
    scene->log = no_log;
    journal_open_nowhere(&scene->journal);
    scene->actuators.of[KNOB_WAYS] = (struct actuator){&knob_ops, &scene->knobs};
    scene->actuators.of[KNOB_MBA] = (struct actuator){&knob_ops, &scene->knobs};
    for (size_t i = 0; i < CONTAINERS; i++) {
        scene->containers[i] = (struct view_container){.container_id = names[i],
                                                       .namespace_ = i < 2   ? "shop"
                                                                     : i < 4 ? "jobs"
                                                                             : "rest",
                                                       .pod = i < 2 ? "pod" : names[i],
                                                       .container = names[i],
                                                       .qos_class = "",
                                                       .path = paths[i]};
        scene->slowdowns[i] = 1;
        scene->reads[i] = 1e6;
    }
    scene->cache_part = 0.5;
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    policies_release(&scene->policies);
    enforcer_free(scene->enforcer);
    journal_close(&scene->journal);
    config_free(scene->config);
    free(scene);
    return 0;
}

static struct scene *started(void **state, const char *policies)
{
    start(*state, policies);
    return *state;
}

/* Its counters grow as the slowdown says; without one they stay. */
static void run_one(struct scene *scene, size_t i)
{
    struct view_container *container = &scene->containers[i];
    struct view_loss *loss = &container->losses[VIEW_PASSIVE];
    container->memory_reads += scene->reads[i];
    container->caused_wait_seconds += scene->waits[i];
    if (isnan(scene->slowdowns[i]))
        return;
    double lost = 1e9 * (1 - 1 / scene->slowdowns[i]);
    loss->observed += 1e9;
    loss->cache += lost * scene->cache_part;
    loss->memory += lost * (1 - scene->cache_part);
}

static void see(struct scene *scene, struct governed *governed)
{
    const struct view_container *container = governed->container;
    bool literal;
    governed->class = config_class_of(scene->config, container->namespace_, container->pod,
                                      container->container, container->qos_class, &literal);
    for (int knob = 0; knob < KNOB_COUNT; knob++) {
        const struct subject subject = {
            .container_id = container->container_id,
            .name = container->container,
            .path = container->path,
            .floor = config_floor(scene->config, governed->class, (enum knob)knob),
            .policy = scene->config->owners[governed->class][knob]};
        if (subject.policy != POLICY_NONE)
            governed->holdings[knob] = enforcer_see(scene->enforcer, (enum knob)knob, &subject);
    }
}

static void run(struct scene *scene, unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        uint64_t now_ns = ++scene->tick * SECOND;
        size_t n = 0;
        enforcer_begin(scene->enforcer, scene->tick, now_ns, now_ns);
        for (size_t j = 0; j < CONTAINERS; j++) {
            run_one(scene, j);
            if (scene->gone[j])
                continue;
            scene->governed[n] =
                (struct governed){.container = &scene->containers[j], .exempt = scene->exempt[j]};
            see(scene, &scene->governed[n++]);
        }
        const struct policy_tick tick = {.enforcer = scene->enforcer,
                                         .governed = scene->governed,
                                         .n = n,
                                         .now = (double)scene->tick,
                                         .interval = 1};
        policies_decide(&scene->policies, &tick);
        policies_tell(&scene->policies, &scene->log);
        enforcer_commit(scene->enforcer);
    }
}

static void steps(struct scene *scene, unsigned n)
{
    run(scene, 10 * n);
}

static const struct holding *holding_of(const struct scene *scene, enum knob knob, const char *path)
{
    size_t n;
    const struct holding *holdings = enforcer_holdings(scene->enforcer, &n);
    for (size_t i = 0; i < n; i++)
        if (holdings[i].claim.knob == knob && strcmp(holdings[i].claim.path, path) == 0)
            return &holdings[i];
    return NULL;
}

/* Of one, two and three; 0: it is not governed. */
static void expect(const struct scene *scene, enum knob knob, double one, double two, double three)
{
    static const char *const paths[] = {"/3", "/4", "/5"};
    const double values[] = {one, two, three};
    for (size_t i = 0; i < 3; i++) {
        const struct holding *holding = holding_of(scene, knob, paths[i]);
        double value = holding ? holding->claim.value : 0;
        if (value != values[i])
            fail_msg("%s of %s at %llu s: %g, not %g", knob_name(knob), paths[i],
                     (unsigned long long)scene->tick, value, values[i]);
    }
}

/* So many steps later. */
static void after(struct scene *scene, unsigned n, enum knob knob, double one, double two,
                  double three)
{
    steps(scene, n);
    expect(scene, knob, one, two, three);
}

static struct policy_report report_of(const struct scene *scene)
{
    struct policy_report report = {.tries = false};
    policies_report(&scene->policies, &report);
    return report;
}

/* ---- what is told ---- */

static FILE *log_to_file(struct scene *scene)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    scene->log.fd = fileno(file);
    return file;
}

static size_t said(FILE *file, char *text, size_t size)
{
    rewind(file);
    size_t len = fread(text, 1, size - 1, file), lines = 0;
    text[len] = '\0';
    for (size_t i = 0; i < len; i++)
        lines += text[i] == '\n';
    return lines;
}

static void expect_said_once(FILE *file, const char *words)
{
    char text[2048];
    assert_int_equal(said(file, text, sizeof text), 1);
    assert_non_null(strstr(text, words));
}

/* ---- ways ---- */

#define WAYS(rest) "\"ways\":{\"classes\":[\"batch\"]" rest "}"

/* The first tick begins a step, three steps later the first way goes. */
TEST_WITH(a_way_after_three_steps_over_the_bound, setup, teardown)
{
    struct scene *scene = started(state, WAYS());
    scene->slowdowns[0] = 1.6;
    run(scene, 1);
    after(scene, 2, KNOB_WAYS, 8, 8, 0);
    run(scene, 9);
    expect(scene, KNOB_WAYS, 8, 8, 0);
    run(scene, 1);
    expect(scene, KNOB_WAYS, 7, 7, 0);
    assert_true(report_of(scene).active[POLICY_WAYS]);
    after(scene, 3, KNOB_WAYS, 6, 6, 0);
    assert_string_equal(holding_of(scene, KNOB_WAYS, "/3")->because.cause, "shop/pod/cart");
    assert_true(fabs(holding_of(scene, KNOB_WAYS, "/3")->because.measured - 1.6) < 1e-9);
    assert_true(holding_of(scene, KNOB_WAYS, "/3")->because.limit == 1.5);
    scene->slowdowns[0] = 1.4; /* neither over nor well below */
    after(scene, 12, KNOB_WAYS, 6, 6, 0);
    scene->slowdowns[0] = 1.3;
    after(scene, 5, KNOB_WAYS, 6, 6, 0);
    after(scene, 1, KNOB_WAYS, 7, 7, 0);
    after(scene, 6, KNOB_WAYS, 8, 8, 0);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

TEST_WITH(what_is_lost_in_memory_takes_no_way, setup, teardown)
{
    struct scene *scene = started(state, WAYS());
    scene->slowdowns[0] = 3;
    scene->cache_part = 0.29;
    run(scene, 1);
    after(scene, 20, KNOB_WAYS, 8, 8, 0);
    assert_int_equal(report_of(scene).counts.bound_missed, 0);
}

TEST_WITH(at_the_floor_the_bound_is_missed, setup, teardown)
{
    struct scene *scene = started(state, WAYS());
    scene->slowdowns[1] = 2;
    run(scene, 1);
    after(scene, 3 * 6, KNOB_WAYS, 2, 2, 0);
    assert_int_equal(report_of(scene).counts.bound_missed, 0);
    after(scene, 3, KNOB_WAYS, 2, 2, 0);
    assert_int_equal(report_of(scene).counts.bound_missed, 1);
}

/* The class with most gives; both together as soon as they have equally many, in turn. */
TEST_WITH(the_class_that_has_most_gives, setup, teardown)
{
    struct scene *scene = started(state, "\"ways\":{\"classes\":[\"batch\",\"other\"]}");
    scene->slowdowns[0] = 2;
    run(scene, 1);
    after(scene, 3, KNOB_WAYS, 7, 7, 8);
    after(scene, 3, KNOB_WAYS, 7, 7, 7);
    after(scene, 3, KNOB_WAYS, 6, 6, 7);
}

TEST_WITH(without_a_slowdown_nothing_is_held, setup, teardown)
{
    struct scene *scene = started(state, WAYS());
    scene->slowdowns[0] = scene->slowdowns[1] = NAN;
    run(scene, 1);
    steps(scene, 5);
    assert_false(report_of(scene).active[POLICY_WAYS]);
    assert_int_equal(scene->changes, 0);
}

/* It had a slowdown and has none: held for three steps, and then it is not waiting. */
TEST_WITH(who_falls_silent_is_idle_later, setup, teardown)
{
    struct scene *scene = started(state, WAYS());
    scene->slowdowns[0] = 2;
    scene->slowdowns[1] = NAN;
    run(scene, 1);
    after(scene, 3, KNOB_WAYS, 7, 7, 0);
    scene->slowdowns[0] = NAN;
    after(scene, 3 + 5, KNOB_WAYS, 7, 7, 0);
    after(scene, 1, KNOB_WAYS, 8, 8, 0);
}

TEST_WITH(a_counter_that_begins_anew_is_no_reading, setup, teardown)
{
    struct scene *scene = started(state, WAYS());
    scene->slowdowns[0] = 2;
    run(scene, 1);
    steps(scene, 2);
    scene->containers[0].losses[VIEW_PASSIVE] = (struct view_loss){0};
    after(scene, 3, KNOB_WAYS, 8, 8, 0);
    after(scene, 1, KNOB_WAYS, 7, 7, 0);
}

TEST_ON(of_too_many_some_are_not_heard, struct scene *scene, setup, teardown)
{
    static struct governed many[CLAIMS_MAX + 2];
    static struct view_container containers[CLAIMS_MAX + 2];
    static char paths[CLAIMS_MAX + 2][16];
    start(scene, WAYS());
    for (size_t i = 0; i < CLAIMS_MAX + 2; i++) {
        snprintf(paths[i], sizeof paths[i], "/%zu", i);
        containers[i] = scene->containers[0];
        containers[i].path = paths[i];
        many[i] = (struct governed){.container = &containers[i]};
    }
    const struct policy_tick tick = {.enforcer = scene->enforcer,
                                     .governed = many,
                                     .n = CLAIMS_MAX + 2,
                                     .now = 1,
                                     .interval = 1};
    enforcer_begin(scene->enforcer, 1, SECOND, SECOND);
    policies_decide(&scene->policies, &tick);
    enforcer_commit(scene->enforcer);
    assert_int_equal(enforcer_counts(scene->enforcer)->limited[GUARD_TABLE], 2);
}

/* ---- bandwidth ---- */

#define MBA(rest) "\"mba\":{\"classes\":[\"batch\"]" rest "}"

/* The protected one is slowed, by memory; of best effort one and two read. */
static void start_bound(struct scene *scene, double slowdown, double one, double two)
{
    start(scene, MBA());
    scene->slowdowns[0] = slowdown;
    scene->cache_part = 0.4;
    scene->reads[2] = one;
    scene->reads[3] = two;
}

/* one reads 5 % of what best effort reads. */
TEST_ON(who_reads_gets_less_bandwidth, struct scene *scene, setup, teardown)
{
    start_bound(scene, 1.6, 5e4, 95e4);
    run(scene, 1);
    after(scene, 1, KNOB_MBA, 100, 90, 0);
    after(scene, 7, KNOB_MBA, 100, 20, 0);
    assert_int_equal(report_of(scene).counts.bound_missed, 0);
    after(scene, 1, KNOB_MBA, 100, 20, 0);
    assert_int_equal(report_of(scene).counts.bound_missed, 1);
    scene->slowdowns[0] = 1.4;
    after(scene, 2, KNOB_MBA, 100, 20, 0);
    after(scene, 1, KNOB_MBA, 100, 30, 0);
    after(scene, 3 * 7, KNOB_MBA, 100, 100, 0);
    assert_int_equal(enforcer_open(scene->enforcer), 0);
}

/* The machine's own steps are 1, 4 and 20 points: ten points, or what is next to it. */
TEST_WITH(ten_points_a_step_whatever_the_machine_has, setup, teardown)
{
    static const unsigned own[] = {1, 4, 20}, step[] = {10, 12, 20};
    for (size_t i = 0; i < 3; i++) {
        struct scene *scene = *state;
        scene->knobs.percent_step = own[i];
        start_bound(scene, 1.6, 5e4, 95e4);
        run(scene, 1);
        after(scene, 2, KNOB_MBA, 100, 100 - 2 * step[i], 0);
        scene->slowdowns[0] = 1.4;
        after(scene, 3, KNOB_MBA, 100, 100 - step[i], 0);
        teardown(state);
        setup(state);
    }
}

/* While nobody is slow it rises to what there is, not to 100: the first step down is one. */
TEST_ON(no_more_than_there_is, struct scene *scene, setup, teardown)
{
    scene->knobs.percent_most = 60;
    start_bound(scene, 1.1, 5e4, 95e4);
    run(scene, 1);
    steps(scene, 20);
    scene->slowdowns[0] = 1.6;
    after(scene, 1, KNOB_MBA, 60, 50, 0);
}

/* one reads 95 %, and two makes others wait. */
TEST_ON(attribution_chooses_before_reads, struct scene *scene, setup, teardown)
{
    start_bound(scene, 1.6, 95e4, 5e4);
    for (size_t i = 0; i < CONTAINERS; i++)
        scene->waits[i] = i == 3 ? 0.2 : 0.01;
    run(scene, 1);
    after(scene, 2, KNOB_MBA, 100, 80, 0);
    assert_int_equal(report_of(scene).counts.chosen[CHOSEN_BY_WAIT], 2);
    assert_int_equal(holding_of(scene, KNOB_MBA, "/4")->because.chosen_by, CHOSEN_BY_WAIT);
    memset(scene->waits, 0, sizeof scene->waits);
    steps(scene, 2); /* the first of them ends ten seconds after the answer */
    expect(scene, KNOB_MBA, 90, 70, 0);
    assert_int_equal(report_of(scene).counts.chosen[CHOSEN_BY_READS], 1);
}

/* one reads 95 %, and then two by far more; there is a claim for one of them. */
TEST_ON(at_the_limit_of_claims_the_culprit_gets_less, struct scene *scene, setup, teardown)
{
    static const struct guard_limits one = {
        .claims = 1, .writes_per_second = 1000, .cuts_per_10m = 60};
    start_bound(scene, 1.6, 95e4, 5e4);
    enforcer_set_limits(scene->enforcer, &one);
    run(scene, 1);
    after(scene, 2, KNOB_MBA, 80, 100, 0);
    scene->reads[2] = 5e4;
    scene->reads[3] = 95e6;
    after(scene, 5, KNOB_MBA, 80, 100, 0);
    steps(scene, 1);                     /* a minute after one was the culprit */
    expect(scene, KNOB_MBA, 100, 90, 0); /* from where two is, not from what it was denied */
    after(scene, 1, KNOB_MBA, 100, 80, 0);
    assert_int_equal(enforcer_counts(scene->enforcer)->limited[GUARD_CLAIMS], 5);
}

TEST_WITH(what_is_lost_in_the_cache_takes_no_bandwidth, setup, teardown)
{
    struct scene *scene = started(state, MBA());
    scene->slowdowns[0] = 3;
    scene->cache_part = 0.6;
    run(scene, 1);
    after(scene, 10, KNOB_MBA, 100, 100, 0);
}

static void start_fair(struct scene *scene)
{
    start(scene, "\"mba\":{\"classes\":[\"batch\",\"other\"],\"mode\":\"fair\"}");
    scene->slowdowns[2] = 4;
    scene->slowdowns[3] = 2;
    scene->slowdowns[4] = 1.6;
    run(scene, 1);
}

/* 4 2 1.6 -> 100 50 40, ten points a step. */
TEST_ON(bandwidth_by_slowdown, struct scene *scene, setup, teardown)
{
    start_fair(scene);
    after(scene, 1, KNOB_MBA, 100, 90, 90);
    after(scene, 4, KNOB_MBA, 100, 50, 50);
    after(scene, 3, KNOB_MBA, 100, 50, 40);
    assert_string_equal(holding_of(scene, KNOB_MBA, "/5")->because.cause, "one");
}

/* 20 1 1 -> 100 5 5, and each at least what its class has. */
TEST_WITH(each_has_its_own_floor, setup, teardown)
{
    struct scene *scene = *state;
    static const unsigned floors[] = {10, 60};
    for (size_t i = 0; i < 2; i++) {
        scene->other_floor = floors[i];
        start_fair(scene);
        scene->slowdowns[2] = 20;
        scene->slowdowns[3] = scene->slowdowns[4] = 1;
        after(scene, 10, KNOB_MBA, 100, 20, floors[i]);
        scene->slowdowns[3] = scene->slowdowns[4] = 20;
        after(scene, 1, KNOB_MBA, 100, 30, floors[i] + 10);
        teardown(state);
        setup(state);
        scene = *state;
    }
}

/* In steps of the machine's of one point: 4 2 1.55 -> 100 50 40, and not 39, ten points a step. */
TEST_ON(shares_are_ten_points_apart, struct scene *scene, setup, teardown)
{
    scene->knobs.percent_step = 1;
    start_fair(scene);
    scene->slowdowns[4] = 1.55;
    after(scene, 1, KNOB_MBA, 100, 90, 90);
    after(scene, 6, KNOB_MBA, 100, 50, 40);
}

/* three computes only, from where it has 40: it may be waiting for three steps. */
TEST_ON(who_is_idle_gets_its_bandwidth_back, struct scene *scene, setup, teardown)
{
    start_fair(scene);
    after(scene, 6, KNOB_MBA, 100, 50, 40);
    scene->slowdowns[4] = NAN;
    after(scene, 3, KNOB_MBA, 100, 50, 40);
    after(scene, 1, KNOB_MBA, 100, 50, 50);
    after(scene, 6, KNOB_MBA, 100, 50, 100);
    assert_int_equal(enforcer_open(scene->enforcer), 1);
    scene->slowdowns[4] = 1.6;
    after(scene, 1, KNOB_MBA, 100, 50, 90);
}

TEST_WITH(both_at_once, setup, teardown)
{
    struct scene *scene = started(state, WAYS() "," MBA());
    scene->slowdowns[0] = 2;
    scene->cache_part = 0.4;
    run(scene, 1);
    after(scene, 3, KNOB_WAYS, 7, 7, 0);
    expect(scene, KNOB_MBA, 70, 70, 0);
    const struct enforcer_counts *counts = enforcer_counts(scene->enforcer);
    assert_int_equal(counts->decisions[POLICY_WAYS][ACTION_CUT][OUTCOME_DRY_RUN], 2);
    assert_int_equal(counts->decisions[POLICY_MBA][ACTION_CUT][OUTCOME_DRY_RUN], 6);
    assert_int_equal(enforcer_open_of(scene->enforcer, KNOB_WAYS), 2);
    assert_int_equal(enforcer_open_of(scene->enforcer, KNOB_CPU), 0);
}

/* Two containers with two settings each are four claims. */
TEST_ON(claims_are_settings, struct scene *scene, setup, teardown)
{
    const struct guard_limits limits = {.claims = 3, .writes_per_second = 1000, .cuts_per_10m = 60};
    start(scene, WAYS() "," MBA());
    enforcer_set_limits(scene->enforcer, &limits);
    scene->slowdowns[0] = 2;
    scene->cache_part = 0.4;
    run(scene, 1);
    steps(scene, 6);
    assert_int_equal(enforcer_open(scene->enforcer), 3);
    assert_true(enforcer_counts(scene->enforcer)->limited[GUARD_CLAIMS] > 0);
}

/* ---- epochs ---- */

#define ADVICE "\"advice\":{}"
#define EPOCHS "\"epochs\":{\"classes\":[\"batch\",\"other\"],\"share\":0.02}"

/* A second of a CPU of cart's and api's; 5.4 accesses in a thousand cycles beside others, and as
 * many as 'alone' while best effort is held. */
static void run_epochs(struct scene *scene, unsigned seconds, double alone, double cpus)
{
    for (unsigned i = 0; i < seconds; i++) {
        bool held = enforcer_open(scene->enforcer) > 0;
        for (size_t j = 0; j < 2; j++) {
            double cycles = 1e6 * (held ? cpus : 1);
            scene->containers[j].cycles += cycles;
            scene->containers[j].reference_cycles += cycles;
            scene->containers[j].llc_reads += cycles * (held ? alone : 5.4e-3);
        }
        run(scene, 1);
    }
}

static double measured(const struct scene *scene, const char *container)
{
    const struct policy_report report = report_of(scene);
    for (size_t i = 0; i < report.n_slowdowns; i++)
        if (strcmp(report.slowdowns[i].container, container) == 0)
            return report.slowdowns[i].slowdown;
    return NAN;
}

/* NaN is nothing; to assert_float_equal() it is anything. */
static void expect_measured(const struct scene *scene, const char *container, double slowdown)
{
    assert_true(fabs(measured(scene, container) - slowdown) < 1e-9);
}

/* Every 100 s for two ticks; cart, api, cart, ... The formula's own numbers. */
TEST_WITH(epochs_in_turn, setup, teardown)
{
    struct scene *scene = started(state, EPOCHS);
    run_epochs(scene, 100, 6.818e-3, 1);
    expect(scene, KNOB_WAYS, 8, 8, 8);
    run_epochs(scene, 1, 6.818e-3, 1);
    expect(scene, KNOB_WAYS, 2, 2, 2);
    expect(scene, KNOB_MBA, 20, 20, 20);
    assert_string_equal(holding_of(scene, KNOB_WAYS, "/3")->because.cause, "shop/pod/cart");
    run_epochs(scene, 1, 6.818e-3, 1);
    expect(scene, KNOB_WAYS, 2, 2, 2);
    run_epochs(scene, 1, 6.818e-3, 1);
    expect(scene, KNOB_WAYS, 8, 8, 8);
    expect(scene, KNOB_MBA, 100, 100, 100);
    expect_measured(scene, "cart", 6.818 / 5.4);
    assert_true(isnan(measured(scene, "api")));
    run_epochs(scene, 100, 5.4e-3, 1);
    expect_measured(scene, "api", 1);
    expect_measured(scene, "cart", 6.818 / 5.4);
    run_epochs(scene, 100, 8e-3, 1); /* cart again: the median of two */
    expect_measured(scene, "cart", (6.818 + 8) / 2 / 5.4);
}

TEST_WITH(no_estimate_of_what_is_not_comparable, setup, teardown)
{
    struct scene *scene = started(state, EPOCHS "," ADVICE);
    run_epochs(scene, 103, 6.818e-3, 1.3); /* it did more in the epoch */
    assert_true(isnan(measured(scene, "cart")));
    run_epochs(scene, 98, 6.818e-3, 1); /* api's epoch begins */
    expect(scene, KNOB_WAYS, 2, 2, 2);
    scene->gone[1] = true;
    run_epochs(scene, 2, 6.818e-3, 1);
    expect(scene, KNOB_WAYS, 8, 8, 8);
    assert_true(isnan(measured(scene, "api")));
}

static void set_limits(struct scene *scene, size_t claims, double writes)
{
    const struct guard_limits limits = {
        .claims = claims, .writes_per_second = writes, .cuts_per_10m = 60};
    enforcer_set_limits(scene->enforcer, &limits);
}

/* Three containers with two settings each; nobody is held for nothing. */
TEST_ON(without_room_for_all_no_epoch_begins, struct scene *scene, setup, teardown)
{
    FILE *file = log_to_file(scene);
    start(scene, EPOCHS);
    set_limits(scene, 5, 1000);
    run_epochs(scene, 300, 6.818e-3, 1);
    assert_int_equal(scene->changes, 0);
    assert_false(report_of(scene).active[POLICY_EPOCHS]);
    set_limits(scene, 6, 5);
    run_epochs(scene, 300, 6.818e-3, 1);
    assert_int_equal(scene->changes, 0);
    assert_false(report_of(scene).active[POLICY_EPOCHS]);
    expect_said_once(file, "6 settings are to be held in one tick: limits.claims leaves 5, "
                           "limits.writes_per_second 1000");
    scene->log.fd = -1;
    fclose(file);
    set_limits(scene, 6, 6);
    run_epochs(scene, 1, 6.818e-3, 1);
    assert_true(report_of(scene).active[POLICY_EPOCHS]);
    run_epochs(scene, 102, 6.818e-3, 1);
    expect_measured(scene, "cart", 6.818 / 5.4);
}

/* Somebody of best effort cannot be held, whatever the reason, and that he has nothing is none. */
TEST_WITH(who_cannot_be_held_stops_epochs, setup, teardown)
{
    static const struct {
        int err;
        bool stops;
    } cases[] = {
        {-EBUSY, true}, {-EINVAL, true}, {-EACCES, true}, {-ERANGE, false}, {-ENOENT, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene *scene = *state;
        scene->knobs.refused = "/4";
        scene->knobs.refused_err = cases[i].err;
        start(scene, EPOCHS);
        run_epochs(scene, 103, 6.818e-3, 1);
        assert_true(isnan(measured(scene, "cart")) == cases[i].stops);
        assert_true((scene->changes == 0) == cases[i].stops);
        assert_true(report_of(scene).active[POLICY_EPOCHS] != cases[i].stops);
        assert_int_equal(enforcer_open(scene->enforcer), 0);
        teardown(state);
        setup(state);
    }
}

/* Others write its settings again and again: it is let alone, and nobody is held for it. */
TEST_WITH(who_is_let_alone_stops_epochs, setup, teardown)
{
    struct scene *scene = started(state, EPOCHS);
    run_epochs(scene, 1, 6.818e-3, 1);
    struct holding *holding = (struct holding *)holding_of(scene, KNOB_WAYS, "/4");
    for (int i = 0; i < GUARD_CHANGES_MAX; i++)
        guard_changed(&holding->memory, SECOND);
    run_epochs(scene, 300, 6.818e-3, 1);
    assert_int_equal(scene->changes, 0);
    assert_false(report_of(scene).active[POLICY_EPOCHS]);
}

/* It was held, and then moved into a group of somebody else's; or its machine has nothing left. */
TEST_WITH(who_gets_free_spoils_the_epoch, setup, teardown)
{
    static const int errs[] = {-EBUSY, -ENODEV};
    for (size_t i = 0; i < 2; i++)
        for (unsigned late = 1; late <= 2; late++) {
            struct scene *scene = *state;
            start(scene, EPOCHS);
            run_epochs(scene, 100 + late, 6.818e-3, 1);
            expect(scene, KNOB_WAYS, 2, 2, 2);
            scene->knobs.refused = "/4";
            scene->knobs.refused_err = errs[i];
            run_epochs(scene, 2, 6.818e-3, 1);
            assert_true(isnan(measured(scene, "cart")));
            assert_int_equal(enforcer_open(scene->enforcer), 0);
            teardown(state);
            setup(state);
        }
}

/* A machine that allocates ways, but no bandwidth. */
TEST_ON(what_the_machine_has_not_is_not_held, struct scene *scene, setup, teardown)
{
    scene->actuators.of[KNOB_MBA] = (struct actuator){0};
    start(scene, EPOCHS);
    run_epochs(scene, 103, 6.818e-3, 1);
    expect_measured(scene, "cart", 6.818 / 5.4);
}

/* Half as many of its accesses go on to memory as in the warm-up. */
TEST_WITH(while_the_cache_is_filled_there_is_no_estimate, setup, teardown)
{
    struct scene *scene = started(state, EPOCHS);
    run_epochs(scene, 102, 6.818e-3, 1);
    scene->reads[0] /= 2;
    run_epochs(scene, 1, 6.818e-3, 1);
    assert_true(isnan(measured(scene, "cart")));
    scene->reads[0] *= 2;
    run_epochs(scene, 101 + 97, 6.818e-3, 1);
    scene->reads[0] /= 2; /* in the warm-up it is done */
    run_epochs(scene, 3, 6.818e-3, 1);
    expect_measured(scene, "cart", 6.818 / 5.4);
}

TEST_WITH(what_was_measured_long_ago_is_not_shown, setup, teardown)
{
    struct scene *scene = started(state, EPOCHS);
    run_epochs(scene, 103, 6.818e-3, 1);
    assert_false(isnan(measured(scene, "cart")));
    run_epochs(scene, 4 * 2 * 100, 6.818e-3, 2);
    assert_false(isnan(measured(scene, "cart")));
    run_epochs(scene, 1, 6.818e-3, 2);
    assert_true(isnan(measured(scene, "cart")));
}

/* ---- advice ---- */

static const struct advice *advice_of(const struct scene *scene)
{
    return report_of(scene).advice;
}

/* Minutes with a slowdown of cart's, where api's is 1. */
static void minutes(struct scene *scene, unsigned n, double slowdown)
{
    scene->slowdowns[0] = slowdown;
    run(scene, 60 * n);
}

TEST_WITH(hold_after_three_minutes_and_ok_after_ten, setup, teardown)
{
    struct scene *scene = started(state, ADVICE);
    run(scene, 1);
    assert_true(isnan(advice_of(scene)->slowdown));
    assert_false(report_of(scene).active[POLICY_ADVICE]);
    minutes(scene, 2, 3);
    assert_false(advice_of(scene)->hold);
    minutes(scene, 1, 3);
    assert_true(advice_of(scene)->hold && report_of(scene).active[POLICY_ADVICE]);
    assert_float_equal(advice_of(scene)->slowdown, 3, 1e-9);
    assert_string_equal(advice_of(scene)->cause, "shop/pod/cart");
    minutes(scene, 4, 1);
    /* Four minutes without loss and one in which two thirds were lost: 5 / (5 - 2/3). */
    assert_float_equal(advice_of(scene)->slowdown, 15.0 / 13, 1e-9);
    minutes(scene, 7, 1); /* below 1.5 since the third of these */
    assert_true(advice_of(scene)->hold);
    minutes(scene, 1, 1);
    assert_false(advice_of(scene)->hold);
    assert_int_equal(scene->changes, 0);
}

/* The five minutes remember the loss for four of the ten. */
TEST_WITH(who_is_idle_holds_nothing, setup, teardown)
{
    struct scene *scene = started(state, ADVICE);
    run(scene, 1);
    minutes(scene, 3, 3);
    assert_true(advice_of(scene)->hold);
    scene->slowdowns[1] = NAN;
    minutes(scene, 13, NAN);
    assert_true(isnan(advice_of(scene)->slowdown) && advice_of(scene)->hold);
    minutes(scene, 1, NAN);
    assert_false(advice_of(scene)->hold);
}

TEST_WITH(who_has_left_holds_nothing, setup, teardown)
{
    struct scene *scene = started(state, ADVICE);
    run(scene, 1);
    minutes(scene, 3, 3);
    scene->gone[0] = scene->gone[1] = true;
    minutes(scene, 9, 3);
    assert_true(advice_of(scene)->hold);
    minutes(scene, 1, 3);
    assert_false(advice_of(scene)->hold);
}

TEST_WITH(the_candidate_reads_most_of_best_effort, setup, teardown)
{
    struct scene *scene = started(state, ADVICE);
    scene->reads[0] = 5e6;
    scene->reads[3] = 3e6;
    run(scene, 61);
    assert_string_equal(advice_of(scene)->candidate, "jobs/two/two");
    assert_float_equal(advice_of(scene)->reads_share, 3.0 / 11, 1e-9);
    scene->gone[3] = true;
    run(scene, 60);
    assert_true(strcmp(advice_of(scene)->candidate, "jobs/two/two") != 0);
}

/* Its reads are among those of all. */
TEST_WITH(who_is_exempt_is_no_candidate, setup, teardown)
{
    struct scene *scene = started(state, ADVICE);
    scene->reads[2] = 2e6;
    scene->reads[3] = 3e6;
    scene->exempt[3] = true;
    run(scene, 61);
    assert_string_equal(advice_of(scene)->candidate, "jobs/one/one");
    assert_float_equal(advice_of(scene)->reads_share, 2.0 / 8, 1e-9);
    scene->exempt[2] = scene->exempt[4] = true;
    run(scene, 60);
    assert_string_equal(advice_of(scene)->candidate, "");
    assert_true(isnan(advice_of(scene)->reads_share));
}

TEST_WITH(without_the_policy_there_is_no_advice, setup, teardown)
{
    start(*state, WAYS());
    assert_null(advice_of(*state));
}
