/* What the pages answer, without a server and without waiting. */
#include "exporter/pages/pages.h"
#include "exporter/service/loop.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000u;

struct fixture {
    struct store *store;
    struct expose *expose;
    int document; /* what the newcomer's page shows; below 0: it fails */
    struct pages *pages;
    struct pages_status status;
    struct http_response response;
    bool remote; /* the client is on another machine */
    bool known;  /* and says who it is */
};

static int render(void *self, const char *source, struct textbuf *out)
{
    int here = self ? *(int *)self : 0;
    if (here < 0)
        return -ENODATA;
    textbuf_printf(out, "{\"source\": \"%s\", \"here\": %d}", source, here);
    return 0;
}

static void headline(void *self, struct textbuf *out)
{
    if (*(int *)self > 0)
        textbuf_printf(out, "%d < 8 & <b>", *(int *)self);
}

static const struct collector_page newcomer_page = {
    .path = "/api/v1/newcomer",
    .handler = "newcomer",
    .title = "News & olds",
    .render = render,
    .headline = headline,
};
static const struct collector_page absent_page = {
    .path = "/api/v1/absent",
    .handler = "absent",
    .title = "Nothing yet",
    .render = render,
    .headline = headline, /* would crash */
};
static const struct collector_ops silent = {.name = "silent", .summary = "has no page"};
static const struct collector_ops newcomer = {
    .name = "newcomer", .summary = "has a page", .page = &newcomer_page};
static const struct collector_ops absent = {
    .name = "absent", .summary = "does not run", .page = &absent_page};

static int setup_with(void **state, bool api)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(store_new(&f->store), 0);
    assert_int_equal(expose_new(f->store, false, &f->expose), 0);
    f->document = 7;
    const struct pages_collector collectors[] = {
        {&silent, &f->document}, {&newcomer, &f->document}, {&absent, NULL}};
    const struct pages_config config = {.telemetry_path = "/metrics",
                                        .version = "1.2.3",
                                        .expose = f->expose,
                                        .store = f->store,
                                        .collectors = collectors,
                                        .n_collectors = 3,
                                        .own_cgroup = 843,
                                        .api = api};
    assert_int_equal(pages_new(&config, &f->pages), 0);
    f->status.source = "perf";
    f->status.tick = (struct tick){.number = 1, .interval_ns = second_ns};
    *state = f;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, false);
}

static int setup_api(void **state)
{
    return setup_with(state, true);
}

static void drop(struct fixture *f)
{
    if (f->response.release)
        f->response.release(f->response.release_context);
    memset(&f->response, 0, sizeof f->response);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    drop(f);
    pages_free(f->pages);
    expose_free(f->expose);
    store_free(f->store);
    free(f);
    return 0;
}

static const struct http_route *route(const struct fixture *f, const char *path)
{
    size_t n;
    const struct http_route *routes = pages_routes(f->pages, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(routes[i].path, path) == 0)
            return &routes[i];
    fail_msg("no page at %s", path);
    return NULL;
}

static size_t no_arguments(const struct http_request *request, const char *name,
                           const char **values, size_t cap)
{
    return 0;
}

/* The status of one page; its bytes stay in the fixture. */
static int get(struct fixture *f, const char *path)
{
    const struct http_request request = {
        .path = path, .local = !f->remote, .known = f->known, .query = no_arguments};
    drop(f);
    route(f, path)->handle(f->pages, &request, &f->response);
    return f->response.status;
}

static void updated_before(struct fixture *f, uint64_t ns)
{
    pages_update(f->pages, &f->status, loop_now_ns() - ns);
}

TEST_ON(healthy_until_the_last_tick_is_ten_intervals_old, struct fixture *f, setup, teardown)
{
    updated_before(f, 0);
    assert_int_equal(get(f, "/-/healthy"), 200);
    f->status.tick.interval_ns = 3600 * second_ns;
    updated_before(f, 9 * 3600 * second_ns);
    assert_int_equal(get(f, "/-/healthy"), 200);
    updated_before(f, 10 * 3600 * second_ns);
    assert_int_equal(get(f, "/-/healthy"), 503);
    updated_before(f, 0);
    assert_int_equal(get(f, "/-/healthy"), 200);
}

TEST_ON(a_replay_that_ended_is_healthy, struct fixture *f, setup, teardown)
{
    f->status.replay_ended = true;
    updated_before(f, 1000 * second_ns);
    assert_int_equal(get(f, "/-/healthy"), 200);
}

TEST_ON(ready_after_the_first_publication, struct fixture *f, setup, teardown)
{
    assert_int_equal(get(f, "/-/ready"), 503);
    assert_int_equal(get(f, "/api/v1/containers"), 503);
    assert_int_equal(store_publish(f->store, &f->status.tick), 0);
    assert_int_equal(get(f, "/-/ready"), 200);
    assert_int_equal(get(f, "/api/v1/containers"), 200);
}

static bool response_says(const struct fixture *f, const char *words)
{
    return memmem(f->response.bytes, f->response.len, words, strlen(words)) != NULL;
}

/* By what is published, not by the status, which may be of another tick. */
TEST_ON(the_document_says_of_which_tick_it_is, struct fixture *f, setup, teardown)
{
    const struct tick tick = {
        .number = 7, .mono_ns = 1234500000000, .wall_ns = 1, .interval_ns = 500000000};
    store_set_origin(f->store, "replay", true);
    assert_int_equal(store_publish(f->store, &tick), 0);
    assert_int_equal(get(f, "/api/v1/containers"), 200);
    assert_true(response_says(f, "{\"source\":\"replay\",\"replay_ended\":true,"));
    assert_true(response_says(f, "\"own_cgroup_id\":843,"));
    assert_true(response_says(f, "\"base_frequency_hz\":null,"));
    f->status.machine.base_frequency_hz = 2.1e9;
    pages_update(f->pages, &f->status, 2);
    assert_int_equal(get(f, "/api/v1/containers"), 200);
    assert_true(response_says(f, "\"base_frequency_hz\":2100000000,"));
    assert_true(response_says(f, "\"tick\":{\"number\":7,\"monotonic_seconds\":1234.500000000,"
                                 "\"interval_seconds\":0.500000000},"));
}

static bool landing_says(struct fixture *f, const char *words)
{
    assert_int_equal(get(f, "/"), 200);
    return response_says(f, words);
}

TEST_ON(a_replay_is_marked, struct fixture *f, setup, teardown)
{
    updated_before(f, 0);
    assert_false(landing_says(f, "replay of a recording"));
    f->status.source = "replay";
    updated_before(f, 0);
    assert_true(landing_says(f, "replay of a recording"));
    assert_int_equal(get(f, "/api/v1/status"), 200);
    assert_true(response_says(f, "\"source\": \"replay\""));
    assert_true(response_says(f, "\"replay_ended\": false"));
    f->status.replay_ended = true;
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/status"), 200);
    assert_true(response_says(f, "\"replay_ended\": true"));
}

TEST_WITH(status_says_what_became_of_the_state, setup, teardown)
{
    struct fixture *f = *state;
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/status"), 200);
    assert_true(response_says(f, "\"state\": null"));
    f->status.state = (struct pages_state){.file = "/var/lib/x", .words = "it is of another boot"};
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/status"), 200);
    assert_true(response_says(f, "\"file\": \"/var/lib/x\""));
    assert_true(response_says(f, "\"at_start\": \"it is of another boot\""));
    assert_true(response_says(f, "\"last_write_timestamp_seconds\": null"));
    assert_true(response_says(f, "\"write_error\": null"));
    f->status.state.saved_wall_ns = 1500000000;
    strcpy(f->status.state.failure, "no space");
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/status"), 200);
    assert_true(response_says(f, "\"last_write_timestamp_seconds\": 1.5"));
    assert_true(response_says(f, "\"write_error\": \"no space\""));
}

/* ---- pages of collectors ---- */

TEST_ON(a_collector_has_a_page_of_its_own, struct fixture *f, setup, teardown)
{
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/newcomer"), 200);
    assert_true(response_says(f, "{\"source\": \"perf\", \"here\": 7}"));
    assert_string_equal(f->response.content_type, "application/json");
    assert_string_equal(f->response.format, "json");
    assert_string_equal(route(f, "/api/v1/newcomer")->handler, "newcomer");
    assert_true(route(f, "/api/v1/newcomer")->limited);
    assert_true(landing_says(f, "<a href=\"/api/v1/newcomer\">News &amp; olds</a>"));
    f->document = -1;
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/newcomer"), 500);
}

/* However often it is asked for, it is made once for each update. */
TEST_ON(a_collectors_page_is_made_once, struct fixture *f, setup, teardown)
{
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/newcomer"), 200);
    f->document = 8;
    assert_int_equal(get(f, "/api/v1/newcomer"), 200);
    assert_true(response_says(f, "\"here\": 7"));
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/newcomer"), 200);
    assert_true(response_says(f, "\"here\": 8"));
}

TEST_ON(a_collector_may_say_something_on_the_landing_page, struct fixture *f, setup, teardown)
{
    updated_before(f, 0);
    assert_true(landing_says(f, "<p>7 &lt; 8 &amp; &lt;b&gt;</p>"));
    f->document = 0;
    updated_before(f, 0);
    assert_false(landing_says(f, "&lt; 8"));
    f->document = 9;
    updated_before(f, 0);
    f->remote = true;
    assert_false(landing_says(f, "&lt; 8"));
}

TEST_ON(a_collector_that_does_not_run_has_its_page_all_the_same, struct fixture *f, setup, teardown)
{
    updated_before(f, 0);
    assert_int_equal(get(f, "/api/v1/absent"), 200);
    assert_true(response_says(f, "{\"source\": \"perf\", \"here\": 0}"));
}

/* ---- who may read what ---- */

static const char *const of_tenants[] = {"/api/v1/containers", "/api/v1/newcomer",
                                         "/api/v1/absent"};
static const char *const of_everybody[] = {"/metrics",   "/",        "/live.js",      "/live.css",
                                           "/-/healthy", "/-/ready", "/api/v1/status"};

TEST_ON(from_elsewhere_tenants_documents_are_closed, struct fixture *f, setup, teardown)
{
    assert_int_equal(store_publish(f->store, &f->status.tick), 0);
    updated_before(f, 0);
    f->remote = true;
    for (size_t i = 0; i < sizeof of_tenants / sizeof *of_tenants; i++) {
        assert_int_equal(get(f, of_tenants[i]), 403);
        assert_true(response_says(f, "--web.api"));
    }
    for (size_t i = 0; i < sizeof of_everybody / sizeof *of_everybody; i++)
        assert_int_equal(get(f, of_everybody[i]), 200);
    assert_false(landing_says(f, "href=\"/api/v1/containers?pretty\""));
    assert_true(landing_says(f, "News &amp; olds: from"));
    f->known = true;
    for (size_t i = 0; i < sizeof of_tenants / sizeof *of_tenants; i++)
        assert_int_equal(get(f, of_tenants[i]), 200);
    f->remote = f->known = false;
    for (size_t i = 0; i < sizeof of_tenants / sizeof *of_tenants; i++)
        assert_int_equal(get(f, of_tenants[i]), 200);
    assert_true(landing_says(f, "href=\"/api/v1/containers?pretty\""));
}

TEST_ON(where_asked_for_they_are_open, struct fixture *f, setup_api, teardown)
{
    assert_int_equal(store_publish(f->store, &f->status.tick), 0);
    updated_before(f, 0);
    f->remote = true;
    for (size_t i = 0; i < sizeof of_tenants / sizeof *of_tenants; i++)
        assert_int_equal(get(f, of_tenants[i]), 200);
    assert_true(landing_says(f, "href=\"/api/v1/containers?pretty\""));
}
