/* What the pages showed at each tick is shown again, by its time. */
#include "exporter/pages/internal.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000;
static const uint64_t begin = 1790000000;

struct fixture {
    struct reel *reel;
    int tick; /* that is shown live */
    const char *at;
    char text[1024];
};

static void show(struct fixture *f, const struct http_request *request,
                 struct http_response *response, const char *format)
{
    assert_true(request->known);
    snprintf(f->text, sizeof f->text, format, f->tick);
    *response = (struct http_response){.status = f->tick == 3 ? 500 : 200,
                                       .content_type = "text/x",
                                       .bytes = f->text,
                                       .len = strlen(f->text),
                                       .format = "x"};
}

static void node(void *context, const struct http_request *request, struct http_response *response)
{
    show(context, request, response, "<p>" REEL_MARKER "tick %d &lt;!--reel--&gt;");
}

static void document(void *context, const struct http_request *request,
                     struct http_response *response)
{
    show(context, request, response, "{\"tick\":%d}" REEL_MARKER);
}

static void never(void *context, const struct http_request *request, struct http_response *response)
{
    fail();
}

static void whole_node(void *context, const struct http_request *request,
                       struct http_response *response)
{
    static const char page[] =
        "<head><link rel=\"stylesheet\" href=\"/live.css\"><script src=\"/live.js\" defer></script>"
        "</head>" REEL_MARKER "<p id=\"verdict\" class=x>here</p>\n<form "
        "id=\"filter\">x</form><section id=\"raw\">y</section>"
        "<a href=\"/?x=1\" class=y>end</a></body></html>\n";
    *response = (struct http_response){.status = 200,
                                       .content_type = "text/html",
                                       .bytes = page,
                                       .len = sizeof page - 1,
                                       .format = "html"};
}

static const struct http_route routes[] = {
    {.path = "/metrics", .handle = never},
    {.path = "/", .handle = node},
    {.path = "/api/v1/containers", .handle = document},
    {.path = "/api/v1/blackbox", .handle = never, .post = true},
};

static size_t query(const struct http_request *request, const char *name, const char **values,
                    size_t cap)
{
    const struct fixture *f = request->connection;
    assert_string_equal(name, "at");
    assert_int_equal(cap, 1);
    if (!f->at)
        return 0;
    values[0] = f->at;
    return 1;
}

/* The status, and the text in f->text; 0: it is for the route's own handler. */
static int ask(struct fixture *f, const char *path, const char *at)
{
    struct http_response response = {.status = 0};
    const struct http_request request = {.path = path, .query = query, .connection = f};
    f->at = at;
    if (!reel_answer(f->reel, &request, &response))
        return 0;
    assert_true(response.len < sizeof f->text * 4);
    snprintf(f->text, sizeof f->text, "%.*s", (int)response.len, (const char *)response.bytes);
    if (response.release)
        response.release(response.release_context);
    return response.status;
}

/* Six ticks, two seconds apart; the fourth one (tick 4) is marked, tick 3 could not be shown. */
static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_int_equal(reel_new(routes, sizeof routes / sizeof *routes, f, "<none>", &f->reel), 0);
    assert_int_equal(ask(f, "/", NULL), 0); /* nothing is kept yet */
    for (f->tick = 1; f->tick <= 6; f->tick++)
        assert_int_equal(reel_keep(f->reel, (begin + 2 * (uint64_t)f->tick) * second_ns,
                                   f->tick == 4 ? "<waits>" : ""),
                         0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    reel_free(f->reel);
    free(f);
    return 0;
}

TEST_ON(test_a_document_of_a_time, struct fixture *f, setup, teardown)
{
    static const struct {
        const char *at, *text;
    } wanted[] = {
        {"1790000012", "{\"tick\":6}"}, {"1790000011", "{\"tick\":5}"},
        {"1790000002", "{\"tick\":1}"}, {"0", "{\"tick\":1}"},
        {"1800000000", "{\"tick\":6}"},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(ask(f, "/api/v1/containers", wanted[i].at), 200);
        assert_non_null(strstr(f->text, wanted[i].text));
        assert_null(strstr(f->text, "<form"));
    }
    assert_int_equal(ask(f, "/api/v1/containers", NULL), 0);
    assert_int_equal(ask(f, "/metrics", "1790000012"), 0);
    assert_int_equal(ask(f, "/api/v1/containers", "1790000007"), 500);
    assert_int_equal(ask(f, "/api/v1/containers", "soon"), 400);
    assert_int_equal(ask(f, "/api/v1/containers", "-1"), 400);
    assert_int_equal(ask(f, "/api/v1/containers", ""), 400);
    assert_int_equal(ask(f, "/api/v1/containers", "99999999999999999999999"), 400);
}

TEST_ON(test_the_page_begins_with_what_is_marked, struct fixture *f, setup, teardown)
{
    assert_int_equal(ask(f, "/", NULL), 200);
    assert_non_null(strstr(f->text, "<p><form id=\"reel\""));
    assert_non_null(strstr(f->text, "before the recording: &lt;none&gt;</p>"));
    assert_non_null(strstr(f->text, "min=\"1790000002\" max=\"1790000012\" value=\"1790000008\""));
    assert_int_equal(ask(f, "/", "1790000011"), 200);
    assert_non_null(strstr(f->text, "value=\"1790000010\""));
    assert_non_null(strstr(f->text, "data-at=\"1790000008\">"));
    assert_non_null(strstr(f->text, "&lt;waits&gt;</a>"));
    assert_non_null(strstr(f->text, "tick 5 &lt;!--reel--&gt;"));
}

TEST(test_a_report_needs_nothing_else)
{
    const struct reel_style style = {"p{}", 3};
    const struct http_route route = {.path = "/", .handle = whole_node};
    struct textbuf out = TEXTBUF_INIT;
    struct reel *reel;
    assert_int_equal(reel_new(&route, 1, NULL, NULL, &reel), 0);
    assert_int_equal(reel_report(reel, &style, &out), -ENODATA);
    assert_int_equal(reel_keep(reel, begin * second_ns, ""), 0);
    assert_int_equal(reel_keep(reel, (begin + 1) * second_ns, "<waits>"), 0);
    assert_int_equal(reel_keep(reel, (begin + 2) * second_ns, "named, waits"), 0);
    assert_int_equal(reel_report(reel, &style, &out), 0);
    assert_non_null(strstr(out.data, "<head><style>p{}</style></head><section id=\"moments\">"));
    assert_non_null(strstr(out.data, "&lt;waits&gt;</li>"));
    assert_non_null(strstr(out.data, "</section>\n" REEL_MARKER
                                     "<p id=\"verdict\" class=x>here</p>\n<a class=y>end</a>"));
    /* Of what else is marked what was said then. */
    assert_non_null(strstr(out.data, "named, waits</h2>\n<p class=x>here</p>\n</section>\n"
                                     "</body></html>\n"));
    textbuf_release(&out);
    reel_free(reel);
}
