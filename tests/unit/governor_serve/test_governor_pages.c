/* What operators see of the governor, also while it is written by another thread. */
#include <pthread.h>
#include <stdatomic.h>

#include "exporter/governor/decide/policies/policy.h"
#include "exporter/governor/serve/governor_pages.h"
#include "tests/unit/support/dry_run.h"
#include "tests/unit/support/unit.h"

enum { KEPT = 1024, ROUNDS = 20, WRITES = 200 };

static const uint64_t began_ns = 1000;
static atomic_ullong now_ns; /* the pages' clock */

static uint64_t now(void)
{
    return atomic_load_explicit(&now_ns, memory_order_relaxed);
}

struct scene {
    struct dry_run run;
    struct expose *expose;
    struct governor_pages *pages;
    struct advice advice;
    struct forecast *forecast; /* NULL: it acts */
    atomic_bool ended;
};

static int setup(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    dry_run_init(&scene->run);
    now_ns = began_ns;
    assert_int_equal(expose_new(scene->run.store, false, &scene->expose), 0);
    assert_int_equal(governor_pages_new(scene->expose, now, &scene->pages), 0);
    *state = scene;
    return 0;
}

static int teardown(void **state)
{
    struct scene *scene = *state;
    governor_pages_free(scene->pages);
    expose_free(scene->expose);
    dry_run_release(&scene->run);
    free(scene);
    return 0;
}

/* What the route answers, as text to be freed. */
static char *ask_as(struct scene *scene, const char *path, bool local, bool known, int status)
{
    const struct http_request request = {.path = path, .local = local, .known = known};
    struct http_response response = {0};
    size_t n;
    const struct http_route *routes = governor_pages_routes(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(routes[i].path, path) == 0)
            routes[i].handle(scene->pages, &request, &response);
    assert_int_equal(response.status, status);
    char *text = calloc(1, response.len + 1);
    memcpy(text, response.bytes, response.len);
    if (response.release)
        response.release(response.release_context);
    return text;
}

static char *ask(struct scene *scene, const char *path, int status)
{
    return ask_as(scene, path, true, false, status);
}

static void expect(struct scene *scene, const char *path, int status, const char *words)
{
    char *text = ask(scene, path, status);
    if (!strstr(text, words))
        fail_msg("no \"%s\" in %s: %s", words, path, text);
    free(text);
}

static void decide(struct scene *scene, uint64_t seq)
{
    struct decision decision = {.seq = seq,
                                .tick = seq,
                                .action = ACTION_CUT,
                                .knob = KNOB_CPU,
                                .measured = NAN,
                                .limit = 110e-9};
    snprintf(decision.container, sizeof decision.container, "jobs/\"%d\"/x", (int)seq);
    governor_pages_decision(scene->pages, &decision);
}

static void show(struct scene *scene, bool paused)
{
    static const struct policy_calibration calibration = {.container = "shop/cart-0/cart",
                                                          .phase = CALIBRATION_HOLDING,
                                                          .samples = 12,
                                                          .held_seconds = 14,
                                                          .latency_seconds = NAN,
                                                          .used_cpus = 1.5,
                                                          .cpus = 2};
    const struct governor_state state = {.enforcer = scene->run.enforcer,
                                         .liveness = &scene->run.liveness,
                                         .policies.advice = &scene->advice,
                                         .paused = paused,
                                         .policies.calibrations = &calibration,
                                         .policies.n_calibrations = 1,
                                         .forecast = scene->forecast};
    governor_pages_state(scene->pages, &state, now());
}

static size_t count(const char *text, const char *words)
{
    size_t n = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words))
        n++;
    return n;
}

TEST_ON(the_last_decisions_are_kept, struct scene *scene, setup, teardown)
{
    expect(scene, "/api/v1/decisions", 200, "{\"decisions\":[]}");
    for (uint64_t i = 1; i <= KEPT + 3; i++)
        decide(scene, i);
    char *text = ask(scene, "/api/v1/decisions", 200);
    assert_int_equal(count(text, "{\"seq\":"), KEPT);
    assert_non_null(strstr(text, "{\"decisions\":[{\"seq\":4,"));
    assert_non_null(strstr(text, "{\"seq\":1027,"));
    assert_non_null(strstr(text, "\"container\":\"jobs/\\\"1027\\\"/x\""));
    assert_non_null(strstr(text, "\"measured\":null,\"limit\":1.1e-07"));
    free(text);
}

TEST_WITH(names_are_for_this_machine_and_for_who_is_known, setup, teardown)
{
    static const char *const paths[] = {"/api/v1/decisions", "/api/v1/state", "/api/v1/advice"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        free(ask_as(*state, paths[i], false, false, 403));
        free(ask_as(*state, paths[i], false, true, 200));
        free(ask_as(*state, paths[i], true, false, 200));
    }
}

TEST_ON(state_and_health, struct scene *scene, setup, teardown)
{
    const struct subject subject = {.container_id = "0a1b",
                                    .name = "jobs/batch-0/batch",
                                    .path = "/0",
                                    .floor = 1,
                                    .policy = POLICY_THRESHOLD};
    expect(scene, "/api/v1/state", 200, "{}");
    expect(scene, "/metrics", 503, "nothing has been published yet");
    expect(scene, "/-/ready", 503, "not acted on");
    expect(scene, "/-/healthy", 200, "healthy");
    enforcer_begin(scene->run.enforcer, 1, 1, 1);
    assert_non_null(enforcer_see(scene->run.enforcer, KNOB_CPU, &subject));
    scene->run.liveness.dead = false;
    show(scene, true);
    expect(scene, "/-/ready", 200, "ready");
    expect(scene, "/api/v1/state", 200,
           "{\"mode\":\"observe\",\"paused\":true,\"acts_on_exporter\":true");
    expect(scene, "/api/v1/state", 200,
           "{\"container\":\"jobs/batch-0/batch\",\"knob\":\"cpu\",\"path\":\"/0\"");
    expect(scene, "/api/v1/state", 200,
           "\"calibrations\":[{\"container\":\"shop/cart-0/"
           "cart\",\"phase\":\"holding\",\"samples\":12,"
           "\"held_seconds\":14,\"latency_seconds\":null,\"used_cpus\":1.5,\"cpus\":2}]}");
    expect(scene, "/api/v1/advice", 200, "{\"enabled\":true,\"admission\":\"ok\"");
    scene->run.liveness.dead = true;
    scene->run.liveness.reason = DEAD_DOWN;
    show(scene, false);
    expect(scene, "/-/ready", 503, "not acted on");
    expect(scene, "/api/v1/state", 200, "\"acts_on_exporter\":false,\"why_not\":\"down\"");
    expect(scene, "/api/v1/state", 200, "\"cpus\":2}]}\n");
    assert_int_equal(forecast_new(&scene->forecast), 0);
    show(scene, false);
    expect(scene, "/api/v1/state", 200, "\"cpus\":2}],\"would_have\":[]}\n");
    forecast_free(scene->forecast);
}

TEST_ON(experiments_are_shown, struct scene *scene, setup, teardown)
{
    struct experiment experiment;
    experiment_init(&experiment, 1);
    const struct governor_state look = {.enforcer = scene->run.enforcer,
                                        .liveness = &scene->run.liveness,
                                        .policies.advice = &scene->advice,
                                        .experiment = &experiment};
    governor_pages_state(scene->pages, &look, now());
    expect(scene, "/api/v1/state", 200, ",\"experiments\":[]}");
    experiment_begin(&experiment, "jobs/a-0/a", 7, 0.5, 3, 2, 1);
    experiment_add(&experiment, 1, 1);
    experiment_add(&experiment, 1, 1);
    experiment_end(&experiment, EXPERIMENT_REFUTED, 2, 3000000000);
    experiment_begin(&experiment, "jobs/b-0/b", 8, 0.75, 1, 2, 1);
    governor_pages_state(scene->pages, &look, now());
    expect(scene, "/api/v1/state", 200,
           "\"experiments\":[{\"container\":\"jobs/a-0/"
           "a\",\"containers\":3,\"verdict\":\"refuted\",\"pairs\":2,"
           "\"effect_ratio\":0,\"error_ratio\":0,\"probability_before\":0.5,"
           "\"probability\":0.5,\"held_seconds\":0,\"ended_timestamp_seconds\":3},"
           "{\"container\":\"jobs/b-0/b\",\"containers\":1,\"verdict\":\"running\",\"pairs\":0,"
           "\"effect_ratio\":null,\"error_ratio\":null,\"probability_before\":0.75,"
           "\"probability\":0.75,\"held_seconds\":0,\"ended_timestamp_seconds\":null}]}");
}

static void expect_health(struct scene *scene, bool healthy)
{
    static const char *const paths[] = {"/-/healthy", "/-/ready", "/metrics"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (healthy)
            free(ask(scene, paths[i], 200));
        else
            expect(scene, paths[i], 503, "hangs");
}

/* What was shown last would look well for ever. */
TEST_ON(a_loop_that_hangs_is_told, struct scene *scene, setup, teardown)
{
    const struct tick tick = {.number = 1, .wall_ns = 1};
    assert_int_equal(store_publish(scene->run.store, &tick), 0);
    scene->run.liveness.dead = false;
    now_ns = began_ns + GOVERNOR_PAGES_SILENCE_NS - 1; /* it may hang before anything is shown */
    expect(scene, "/-/healthy", 200, "healthy");
    now_ns++;
    expect_health(scene, false);
    show(scene, false);
    expect_health(scene, true);
    now_ns += GOVERNOR_PAGES_SILENCE_NS - 1;
    expect_health(scene, true);
    now_ns++;
    expect_health(scene, false);
    expect(scene, "/api/v1/state", 200, "\"mode\""); /* what it held */
    show(scene, false);
    expect_health(scene, true);
}

/* ---- while it is written ---- */

/* Asks one route again and again. What orders the threads would hide races from the thread
 * sanitizer: none asks for two routes, and nobody acquires what they release. That they do release
 * makes each round's reads new ones for it; of the same read again it looks at the first alone. */
struct reader {
    struct scene *scene;
    const struct http_route *route;
    pthread_t thread;
    atomic_uint rounds;
    bool failed; /* an answer was not whole */
};

static void *read_on(void *context)
{
    struct reader *reader = context;
    const struct http_request request = {.path = reader->route->path, .local = true};
    while (!atomic_load_explicit(&reader->scene->ended, memory_order_relaxed)) {
        struct http_response response = {0};
        reader->route->handle(reader->scene->pages, &request, &response);
        const char *bytes = response.bytes;
        if (!response.status || (response.len && bytes[response.len - 1] != '\n'))
            reader->failed = true;
        if (response.release)
            response.release(response.release_context);
        atomic_fetch_add_explicit(&reader->rounds, 1, memory_order_release);
    }
    return NULL;
}

static bool have_read(struct reader *readers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (atomic_load_explicit(&readers[i].rounds, memory_order_relaxed) < ROUNDS)
            return false;
    return true;
}

static void write_on(struct scene *scene, uint64_t number)
{
    for (uint64_t i = 0; i < 4; i++)
        decide(scene, 4 * number + i);
    show(scene, number % 2);
    const struct tick tick = {.number = number, .wall_ns = number};
    assert_int_equal(store_publish(scene->run.store, &tick), 0);
}

TEST_ON(read_while_it_is_written, struct scene *scene, setup, teardown)
{
    size_t n;
    const struct http_route *routes = governor_pages_routes(&n);
    struct reader *readers = calloc(n, sizeof *readers);
    for (size_t i = 0; i < n; i++) {
        readers[i] = (struct reader){.scene = scene, .route = &routes[i]};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    for (uint64_t i = 1; i <= WRITES || !have_read(readers, n); i++)
        write_on(scene, i);
    atomic_store_explicit(&scene->ended, true, memory_order_relaxed);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_false(readers[i].failed);
    }
    free(readers);
}
