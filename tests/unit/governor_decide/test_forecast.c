/* What holding would have brought: sums of ticks, by hand. */
#include "exporter/governor/decide/forecast.h"
#include "tests/unit/support/fake_knobs.h"
#include "tests/unit/support/governor_start.h"
#include "tests/unit/support/unit.h"

#define SECOND UINT64_C(1000000000)

static const struct log no_log = {.fd = -1};

enum { CART, JOB, CONTAINERS };

struct scene {
    struct config *config;
    struct fake_knobs fake;
    struct actuators actuators;
    struct journal journal;
    struct enforcer *enforcer;
    struct forecast *forecast;
    struct view_container containers[CONTAINERS];
    struct view view;
    double latency_ns; /* of cart, as it is measured */
};

static void decided(void *context, const struct decision *decision)
{
    forecast_decided(((struct scene *)context)->forecast, decision);
}

static struct view_container container(const char *namespace_, const char *pod, const char *name,
                                       const char *path)
{
    struct view_container out = {.container_id = "",
                                 .namespace_ = namespace_,
                                 .pod = pod,
                                 .container = name,
                                 .path = path,
                                 .pod_uid = "",
                                 .qos_class = "",
                                 .latency_seconds = NAN,
                                 .baseline_seconds = NAN,
                                 .cpus = NAN,
                                 .caused_seconds = NAN,
                                 .caused_sd_seconds = NAN};
    for (int i = 0; i < VIEW_MODELS; i++)
        out.losses[i] = (struct view_loss){NAN, NAN, NAN};
    return out;
}

static int setup(void **state)
{
    static struct scene scene;
    memset(&scene, 0, sizeof scene);
    scene.config = governor_start_config(
        "{\"governor\":1,\"classes\":[{\"name\":\"web\",\"role\":\"protected\",\"match\":[{"
        "\"namespace\":\"shop\",\"pod\":\"*\",\"container\":\"*\"}]},{\"name\":\"batch\",\"role\":"
        "\"best_effort\",\"match\":[{\"namespace\":\"jobs\",\"pod\":\"*\",\"container\":\"*\"}]}],"
        "\"policies\":{\"threshold\":{\"classes\":[\"batch\"]}}}");
    fake_knobs_init(&scene.fake);
    scene.fake.cpus = 64;
    scene.actuators = fake_knobs_actuators(&scene.fake);
    fake_knobs_make(&scene.fake, 0, 8);
    journal_open_nowhere(&scene.journal);
    assert_int_equal(forecast_new(&scene.forecast), 0);
    const struct enforcer_config config = {.dry = true,
                                           .limits = scene.config->limits,
                                           .log = &no_log,
                                           .decided = decided,
                                           .context = &scene};
    assert_int_equal(enforcer_new(&config, &scene.journal, &scene.actuators, &scene.enforcer), 0);
    scene.containers[CART] = container("shop", "cart-0", "cart", "/cart");
    scene.containers[CART].baseline_seconds = 100e-9;
    scene.containers[CART].losses[VIEW_PASSIVE] = (struct view_loss){0, 0, 0};
    scene.containers[JOB] = container("jobs", "job-a", "work", "/0");
    scene.containers[JOB].cpus = 4;
    scene.containers[JOB].caused_seconds = 40e-9;
    scene.containers[JOB].caused_sd_seconds = 4e-9;
    scene.latency_ns = 140;
    scene.view = (struct view){.source = "perf",
                               .has_tick = true,
                               .tick = 100,
                               .monotonic_ns = 1000 * SECOND,
                               .interval_ns = SECOND,
                               .containers = scene.containers,
                               .n = CONTAINERS};
    *state = &scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    enforcer_free(scene->enforcer);
    forecast_free(scene->forecast);
    journal_close(&scene->journal);
    config_free(scene->config);
    return 0;
}

static void take(struct scene *scene)
{
    scene->containers[CART].latency_seconds = scene->latency_ns * 1e-9;
    forecast_take(scene->forecast, scene->config, scene->enforcer, &scene->view,
                  scene->view.monotonic_ns);
}

/* In which it reads, and loses a fifth of 2e9 cycles to memory and a twentieth to the cache. */
static void next(struct scene *scene, uint64_t seconds)
{
    struct view_loss *loss = &scene->containers[CART].losses[VIEW_PASSIVE];
    loss->observed += 2e9;
    loss->memory += 4e8;
    loss->cache += 1e8;
    scene->view.tick++;
    scene->view.monotonic_ns += seconds * SECOND;
    take(scene);
}

/* What it may have from now on. */
static void hold(struct scene *scene, double cores, const char *cause)
{
    const struct subject subject = {.container_id = "",
                                    .name = "jobs/job-a/work",
                                    .path = "/0",
                                    .floor = 0.5,
                                    .policy = POLICY_THRESHOLD};
    const struct because because = {.cause = cause, .measured = NAN, .limit = NAN};
    uint64_t now_ns = scene->view.monotonic_ns;
    enforcer_begin(scene->enforcer, scene->view.tick, now_ns, now_ns);
    enforcer_want(enforcer_see(scene->enforcer, KNOB_CPU, &subject), cores, &because);
    enforcer_commit(scene->enforcer);
}

static void expect_ns(double seconds, double ns)
{
    assert_float_equal(seconds * 1e9, ns, 1e-6);
}

static const struct forecast_pair *only_pair(const struct scene *scene)
{
    size_t n;
    const struct forecast_pair *pairs = forecast_pairs(scene->forecast, &n);
    assert_int_equal(n, 1);
    return pairs;
}

static void expect_words(const struct forecast_pair *pair, const char *words)
{
    struct textbuf text = TEXTBUF_INIT;
    forecast_pair_say(pair, &text);
    assert_int_equal(textbuf_finish(&text), 0);
    assert_string_equal(text.data, words);
    textbuf_release(&text);
}

TEST_ON(the_example, struct scene *scene, setup, teardown)
{
    struct forecast_brought brought;
    take(scene);
    expect_ns(scene->containers[CART].latency_seconds, 140);
    hold(scene, 1, "shop/cart-0/cart");
    for (int i = 0; i < 10; i++)
        next(scene, 1);
    expect_ns(scene->containers[CART].latency_seconds, 110);
    assert_true(isnan(scene->containers[JOB].latency_seconds));
    const struct forecast_pair *pair = only_pair(scene);
    assert_string_equal(pair->container, "jobs/job-a/work");
    assert_string_equal(pair->victim, "shop/cart-0/cart");
    assert_float_equal(pair->seconds, 10, 0);
    assert_float_equal(pair->core_seconds, 30, 1e-9);
    assert_int_equal(pair->first_wall_ns, 1001 * SECOND);
    assert_int_equal(pair->last_wall_ns, 1010 * SECOND);
    forecast_pair_brought(pair, &brought);
    assert_float_equal(brought.cores, 3, 1e-9);
    expect_ns(brought.won, 30);
    expect_ns(brought.won_sd, 3);
    expect_ns(brought.per_core, 10);
    expect_ns(brought.per_core_sd, 1);
    assert_float_equal(brought.slowdown_won, 4e8 * (30. / 40) / 1.5e9, 1e-9);
    assert_float_equal(brought.slowdown_sd, 4e8 * (3. / 40) / 1.5e9, 1e-9);
    expect_words(pair, "would have taken 3.0 cores from jobs/job-a/work for 10 seconds; "
                       "shop/cart-0/cart would have waited 30 ns less (24 to 36)");
}

TEST_ON(what_is_not_known_is_not_said, struct scene *scene, setup, teardown)
{
    struct forecast_brought brought;
    scene->containers[JOB].caused_seconds = scene->containers[JOB].caused_sd_seconds = NAN;
    take(scene);
    hold(scene, 1, "shop/cart-0/cart");
    next(scene, 1);
    expect_ns(scene->containers[CART].latency_seconds, 140);
    expect_words(
        only_pair(scene),
        "would have taken 3.0 cores from jobs/job-a/work for 1 second; how much less "
        "shop/cart-0/cart would have waited is not known: jobs/job-a/work was never named as a "
        "cause while that one read memory");
    scene->containers[JOB].cpus = NAN;
    next(scene, 1);
    forecast_pair_brought(only_pair(scene), &brought);
    assert_float_equal(only_pair(scene)->seconds, 2, 0);
    assert_float_equal(brought.cores, 3, 1e-9); /* of the second in which it is known */
    assert_true(isnan(brought.won) && isnan(brought.per_core) && isnan(brought.slowdown_won));
}

/* The same tick again, a gap, a victim that does not read, a container that needs no more than it
 * may have; and nobody is faster than when it is calm, nor slower than it is. */
TEST_ON(what_does_not_count, struct scene *scene, setup, teardown)
{
    take(scene);
    hold(scene, 1, "shop/cart-0/cart");
    next(scene, 1);
    take(scene);
    next(scene, 60);
    assert_float_equal(only_pair(scene)->seconds, 1, 0);
    scene->latency_ns = NAN;
    next(scene, 1);
    assert_float_equal(only_pair(scene)->seconds, 2, 0);
    assert_float_equal(only_pair(scene)->told_seconds, 1, 0);
    expect_words(only_pair(scene),
                 "would have taken 3.0 cores from jobs/job-a/work for 2 seconds; shop/cart-0/cart "
                 "would have waited 30 ns less (24 to 36) in 1 second of them");
    scene->latency_ns = 120;
    next(scene, 1);
    expect_ns(scene->containers[CART].latency_seconds, 100);
    scene->latency_ns = 90;
    next(scene, 1);
    expect_ns(scene->containers[CART].latency_seconds, 90);
    scene->latency_ns = 140;
    scene->containers[JOB].cpus = 0.5;
    next(scene, 1);
    expect_ns(scene->containers[CART].latency_seconds, 140);
    assert_float_equal(only_pair(scene)->core_seconds, 4 * 3, 1e-9);
}

/* It is one pair for each victim, and each second is of one alone. */
TEST_ON(each_for_whom_it_was_cut_last, struct scene *scene, setup, teardown)
{
    size_t n;
    take(scene);
    hold(scene, 2, "shop/cart-0/cart");
    next(scene, 1);
    hold(scene, 1, "shop/search-0/search");
    next(scene, 1);
    next(scene, 1);
    const struct forecast_pair *pairs = forecast_pairs(scene->forecast, &n);
    assert_int_equal(n, 2);
    assert_float_equal(pairs[0].seconds, 1, 0);
    assert_float_equal(pairs[0].core_seconds, 2, 1e-9);
    assert_float_equal(pairs[1].seconds, 2, 0);
    assert_string_equal(pairs[1].victim, "shop/search-0/search");
    assert_float_equal(pairs[1].told_seconds, 0, 0); /* it is not there */
}

/* What the victim lost while nobody would have been held is no part of what holding saves. */
TEST_ON(cycles_between_two_holds_do_not_count, struct scene *scene, setup, teardown)
{
    take(scene);
    hold(scene, 1, "shop/cart-0/cart");
    for (int i = 0; i < 3; i++) /* the first is what the second is counted from */
        next(scene, 1);
    assert_float_equal(only_pair(scene)->alone, 2 * 1.5e9, 1);
    hold(scene, 8, "shop/cart-0/cart");
    for (int i = 0; i < 10; i++)
        next(scene, 1);
    hold(scene, 1, "shop/cart-0/cart");
    for (int i = 0; i < 2; i++)
        next(scene, 1);
    assert_float_equal(only_pair(scene)->seconds, 5, 0);
    assert_float_equal(only_pair(scene)->alone, 3 * 1.5e9, 1);
}

/* Who was cut a moment ago, and not held in any tick yet, is not the oldest. */
TEST_ON(the_oldest_is_forgotten, struct scene *scene, setup, teardown)
{
    size_t n;
    take(scene);
    hold(scene, 1, "shop/cart-0/cart");
    next(scene, 1);
    for (int i = 0; i < FORECAST_PAIRS_MAX; i++) {
        struct decision decision = {.knob = KNOB_CPU,
                                    .action = ACTION_CUT,
                                    .outcome = OUTCOME_DRY_RUN,
                                    .wall_ns = 1002 * SECOND};
        snprintf(decision.container, sizeof decision.container, "jobs/job-%d/work", i);
        forecast_decided(scene->forecast, &decision);
    }
    const struct forecast_pair *pairs = forecast_pairs(scene->forecast, &n);
    assert_int_equal(n, FORECAST_PAIRS_MAX);
    assert_int_equal(forecast_forgotten(scene->forecast), 1);
    assert_string_equal(pairs[0].container, "jobs/job-0/work");
}
