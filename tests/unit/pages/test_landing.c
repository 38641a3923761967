/* The page of the node and the document of containers: order, words, escaping, and who sees what.
 */
#include <jansson.h>

#include "collectors/contract/container_labels.h"
#include "exporter/pages/pages.h"
#include "exporter/service/loop.h"
#include "tests/unit/support/unit.h"

static const uint64_t second_ns = 1000000000u;

enum { CONTAINERS = 4 };

struct fixture {
    struct store *store;
    struct expose *expose;
    struct container_labels *labels;
    struct live *live;
    struct pages *pages;
    struct pages_status status;
    struct http_response response;
    bool remote;
    const char *arguments[2][2]; /* name, value */
    struct container containers[CONTAINERS];
    size_t next;
};

static const struct container *next(void *context)
{
    struct fixture *f = context;
    return f->next < CONTAINERS ? &f->containers[f->next++] : NULL;
}

/* One waits, one is named, one is suspected, and one is of a tenant who wrote a page. */
static void fill_live(struct fixture *f)
{
    const struct container *c = f->containers;
    struct live *live = f->live;
    assert_int_equal(live_reserve(live, CONTAINERS), 0);
    live_begin(live);
    for (size_t i = 0; i < CONTAINERS; i++) {
        live_put(live, &c[i], LIVE_CPUS, 0.5 + (double)i);
        live_put(live, &c[i], LIVE_READS_PER_SECOND, 1e6);
        live_put(live, &c[i], LIVE_NORMAL_SECONDS, 100e-9);
        live_put(live, &c[i], LIVE_READ_SECONDS, i == 1 ? 150e-9 : 100e-9);
    }
    live_put(live, &c[1], LIVE_LIMIT_SECONDS, 125e-9);
    live_suspect(live, &c[2], 0, LIVE_NAMED, 27e-9, 4e-9, NAN);
    live_suspect(live, &c[3], 0, LIVE_SUSPECTED, 5e-9, 4e-9, NAN);
    live_latency(live, 0, 0, &f->status.tick, 118e-9);
    live_explain(live, 0, LIVE_CAUSE_NAMED, 91e-9, NAN, NAN);
    live_show(live, &f->status.tick, next, f);
}

static void add_containers(struct fixture *f)
{
    static const char *const names[CONTAINERS][3] = {{"evil", "", "<script>alert('1')</script>"},
                                                     {"shop", "cart-0", "cart"},
                                                     {"batch", "report-0", "report"},
                                                     {"batch", "other-0", "other"}};
    static const char *const ids[CONTAINERS] = {"aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc",
                                                "dddddddddddd"};
    struct container *list[CONTAINERS];
    for (uint32_t i = 0; i < CONTAINERS; i++) {
        struct container *c = list[i] = &f->containers[i];
        *c = (struct container){.slot = i,
                                .gen = 1,
                                .named = true,
                                .path = "/x",
                                .id = "",
                                .namespace_ = names[i][0],
                                .pod = names[i][1],
                                .name = names[i][2],
                                .workload = names[i][1],
                                .image = "",
                                .pod_uid = "",
                                .runtime = "",
                                .qos_class = ""};
        strcpy(c->short_id, ids[i]);
    }
    const struct container_diff diff = {.added = {list, CONTAINERS}, .named = {list, CONTAINERS}};
    assert_int_equal(container_labels_reconcile(f->labels, &diff), 0);
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(store_new(&f->store), 0);
    assert_int_equal(expose_new(f->store, false, &f->expose), 0);
    assert_int_equal(container_labels_new(f->store, &f->labels), 0);
    assert_int_equal(live_new(&f->live), 0);
    const struct pages_config config = {.telemetry_path = "/metrics",
                                        .version = "1.2.3",
                                        .started_mono_ns = loop_now_ns() - 240 * second_ns,
                                        .live = f->live,
                                        .expose = f->expose,
                                        .store = f->store};
    assert_int_equal(pages_new(&config, &f->pages), 0);
    f->status = (struct pages_status){.source = "perf",
                                      .machine = {.cpu_model = "A <fast> CPU", .sockets = 2},
                                      .tick = {.number = 1,
                                               .mono_ns = 9 * second_ns,
                                               .wall_ns = 1790000000 * second_ns,
                                               .interval_ns = second_ns}};
    add_containers(f);
    fill_live(f);
    assert_int_equal(store_publish(f->store, &f->status.tick), 0);
    pages_update(f->pages, &f->status, loop_now_ns());
    *state = f;
    return 0;
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
    live_free(f->live);
    container_labels_free(f->labels);
    expose_free(f->expose);
    store_free(f->store);
    free(f);
    return 0;
}

static struct fixture *current;

static size_t query(const struct http_request *request, const char *name, const char **values,
                    size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < 2; i++)
        if (current->arguments[i][0] && strcmp(current->arguments[i][0], name) == 0) {
            if (n < cap)
                values[n] = current->arguments[i][1];
            n++;
        }
    return n;
}

static int get(struct fixture *f, const char *path)
{
    size_t n;
    const struct http_request request = {.path = path, .local = !f->remote, .query = query};
    const struct http_route *routes = pages_routes(f->pages, &n);
    current = f;
    drop(f);
    for (size_t i = 0; i < n; i++)
        if (strcmp(routes[i].path, path) == 0)
            routes[i].handle(f->pages, &request, &f->response);
    return f->response.status;
}

/* Where the words are in the answer; NULL: nowhere. */
static const char *find(const struct fixture *f, const char *words)
{
    return memmem(f->response.bytes, f->response.len, words, strlen(words));
}

static void assert_order(const struct fixture *f, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!find(f, words[i]))
            fail_msg("%s is not there", words[i]);
        if (i > 0 && find(f, words[i - 1]) >= find(f, words[i]))
            fail_msg("%s is not before %s", words[i - 1], words[i]);
    }
}

TEST_ON(the_page_says_it_in_words, struct fixture *f, setup, teardown)
{
    assert_int_equal(get(f, "/"), 200);
    assert_string_equal(f->response.content_type, "text/html; charset=utf-8");
    static const char *const words[] = {
        "A &lt;fast&gt; CPU, 2 sockets",
        "interference_exporter 1.2.3, started 4 min ago",
        "▲ Trouble</b> 1 of 4 containers waits for memory: shop/cart-0/cart (1.50 times",
        "because of batch/report-0/report (+27 ns, standard deviation 4; 25 % of all reads)",
        "118 ns</b> usual 91 · 1.30 ×",
        "<svg",
        "<tr class=\"waits\"",
        "MAKES IT SLOW +27 ± 4 ns",
        "SUSPECT<",
        "kubectl -n batch get pod report-0 ",
        "kubectl uncordon",
        "kubectl -n shop get pod cart-0 ",
        "href=\"/metrics\"",
    };
    assert_order(f, words, sizeof words / sizeof *words);
}

TEST_ON(a_name_is_never_more_than_text, struct fixture *f, setup, teardown)
{
    assert_int_equal(get(f, "/"), 200);
    assert_null(find(f, "<script>"));
    assert_non_null(find(f, "evil/&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
    f->arguments[0][0] = "namespace";
    f->arguments[0][1] = "\"><script>";
    assert_int_equal(get(f, "/"), 200);
    assert_null(find(f, "<script>"));
    assert_non_null(find(f, "value=\"&quot;&gt;&lt;script&gt;\""));
    assert_non_null(find(f, "0 of 4 containers"));
}

/* No line for a shell has a name in it that Kubernetes would not allow. */
TEST_ON(a_command_has_only_plain_names, struct fixture *f, setup, teardown)
{
    static const char *const odd[] = {"a b", "$(x)", "-A", "a;b", "a'b", "Ab", ""};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        f->containers[2].pod = odd[i];
        f->next = 0;
        fill_live(f);
        pages_update(f->pages, &f->status, loop_now_ns());
        assert_int_equal(get(f, "/"), 200);
        assert_null(find(f, "kubectl -n batch"));
        assert_non_null(find(f, "It is not Kubernetes that runs it"));
    }
}

/* A tick later, with the second container suspected, and the third and fourth as said. */
static void suspect(struct fixture *f, enum live_suspicion second, enum live_suspicion others)
{
    f->next = 0;
    live_begin(f->live);
    for (size_t i = 0; i < CONTAINERS; i++) {
        live_put(f->live, &f->containers[i], LIVE_NORMAL_SECONDS, 100e-9);
        live_put(f->live, &f->containers[i], LIVE_READ_SECONDS, i == 1 ? 150e-9 : 100e-9);
    }
    if (second != LIVE_UNSUSPECTED)
        live_suspect(f->live, &f->containers[1], 0, second, 27e-9, 4e-9, NAN);
    for (size_t i = 2; others != LIVE_UNSUSPECTED && i < CONTAINERS; i++)
        live_suspect(f->live, &f->containers[i], 0, others, (double)i * 1e-9, 1e-9, NAN);
    live_show(f->live, &f->status.tick, next, f);
    pages_update(f->pages, &f->status, loop_now_ns());
    assert_int_equal(get(f, "/"), 200);
}

/* Any of them may be innocent: no command is printed for them. */
TEST_ON(of_a_group_it_is_not_known_which, struct fixture *f, setup, teardown)
{
    suspect(f, LIVE_UNSUSPECTED, LIVE_IN_GROUP);
    static const char *const words[] = {
        "One of these makes memory slow, and it is not known which: limit one and look",
        "<li><b>batch/other-0/other</b>",
        "<li><b>batch/report-0/report</b>",
        "kubectl -n shop get pod cart-0 ",
    };
    assert_order(f, words, sizeof words / sizeof *words);
    assert_null(find(f, "kubectl -n batch"));
    assert_null(find(f, "delete pod"));
    assert_null(find(f, "which makes memory slow for the others"));
}

TEST_ON(for_a_suspect_there_is_no_command, struct fixture *f, setup, teardown)
{
    suspect(f, LIVE_UNSUSPECTED, LIVE_SUSPECTED);
    assert_non_null(find(f,
                         "Nothing yet about <b>batch/other-0/other</b>: it is suspected, and may "
                         "well be innocent."));
    assert_null(find(f, "kubectl -n batch"));
    assert_null(find(f, "delete pod"));
    assert_null(find(f, "which makes memory slow for the others"));
}

TEST_ON(who_waits_may_make_others_wait, struct fixture *f, setup, teardown)
{
    suspect(f, LIVE_NAMED, LIVE_UNSUSPECTED);
    assert_non_null(find(f, "WAITS, MAKES IT SLOW +27 ± 4 ns<"));
    assert_non_null(find(f, "kubectl -n shop delete pod cart-0"));
    suspect(f, LIVE_DOUBTED, LIVE_UNSUSPECTED);
    assert_non_null(find(f, ">WAITS<"));
    f->remote = true;
    suspect(f, LIVE_IN_GROUP, LIVE_UNSUSPECTED);
    assert_non_null(find(f, ">WAITS<"));
}

TEST_ON(who_is_slowed_down_is_not_ok, struct fixture *f, setup, teardown)
{
    f->next = 0;
    live_begin(f->live);
    live_put(f->live, &f->containers[2], LIVE_SLOWDOWN_RATIO, 2);
    live_put(f->live, &f->containers[2], LIVE_NORMAL_SECONDS, 100e-9);
    live_show(f->live, &f->status.tick, next, f);
    pages_update(f->pages, &f->status, loop_now_ns());
    assert_int_equal(get(f, "/"), 200);
    assert_non_null(find(f, ">SLOWED DOWN<"));
}

/* A tick later, with what the kernel says of the host. */
static void look_at_host(struct fixture *f, const struct live_host *host)
{
    f->next = 0;
    live_host(f->live, host);
    live_show(f->live, &f->status.tick, next, f);
    pages_update(f->pages, &f->status, loop_now_ns());
    assert_int_equal(get(f, "/"), 200);
}

TEST_ON(what_else_the_host_suffers_from, struct fixture *f, setup, teardown)
{
    static const char nobody_looks[] = "<section id=\"host\" class=\"live\"></section>";
    assert_int_equal(get(f, "/"), 200);
    assert_non_null(find(f, nobody_looks));
    look_at_host(
        f, &(struct live_host){
               .cpu_pressure = 0.9951, .memory_pressure = 0, .io_pressure = 0.0123, .steal = 0.04});
    static const char *const words[] = {
        "for a CPU <b>100 %</b>", "for free memory, which is full then, not slow <b>0 %</b>",
        "for disks <b>1.2 %</b>", "hypervisor took of all CPUs' time <b>4.0 %</b>"};
    assert_order(f, words, 4);
    look_at_host(f, &(struct live_host){.cpu_pressure = NAN,
                                        .memory_pressure = NAN,
                                        .io_pressure = NAN,
                                        .steal = NAN,
                                        .why_no_pressure = "there is < none"});
    assert_non_null(find(f, "or disks is not known: there is &lt; none."));
    assert_null(find(f, "hypervisor"));
    assert_null(find(f, "for a CPU <b>"));
    f->remote = true;
    look_at_host(f, &(struct live_host){.steal = 0.04});
    assert_non_null(find(f, nobody_looks));
}

TEST_ON(reads_of_the_last_level_cache_where_they_are_counted, struct fixture *f, setup, teardown)
{
    assert_int_equal(get(f, "/"), 200);
    assert_null(find(f, "LLC"));
    f->next = 0;
    live_put(f->live, &f->containers[1], LIVE_LLC_READS_PER_SECOND, 34e6);
    live_show(f->live, &f->status.tick, next, f);
    pages_update(f->pages, &f->status, loop_now_ns());
    assert_int_equal(get(f, "/"), 200);
    assert_non_null(find(f, ">LLC reads/s</a>"));
    assert_non_null(find(f, "data-sort=\"llc\" data-value=\"3.4e+07\">34 M<"));
}

/* On a machine with one socket, nobody says. */
TEST_ON(sockets_where_there_are_several, struct fixture *f, setup, teardown)
{
    assert_int_equal(get(f, "/"), 200);
    assert_null(find(f, "Sockets"));
    f->next = 0;
    live_sockets(f->live, &f->containers[1], (const double[LIVE_SOCKETS]){0.704, 0.293, 0.003});
    live_sockets(f->live, &f->containers[2], (const double[LIVE_SOCKETS]){0.001, 0.999});
    live_show(f->live, &f->status.tick, next, f);
    pages_update(f->pages, &f->status, loop_now_ns());
    assert_int_equal(get(f, "/"), 200);
    assert_non_null(find(f, "data-sort=\"socket\" data-value=\"0\">0 (70 %), 1 (29 %)<"));
    assert_non_null(find(f, "data-sort=\"socket\" data-value=\"1\">1<"));
    assert_non_null(find(f, "<td data-label=\"Sockets\" data-sort=\"socket\">–<"));
    assert_int_equal(get(f, "/api/v1/containers"), 200);
    json_t *root = json_loadb(f->response.bytes, f->response.len, 0, NULL);
    const json_t *list = json_object_get(root, "containers");
    size_t known = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *shares = json_object_get(json_array_get(list, i), "socket_shares");
        assert_true(json_is_null(shares) || json_is_object(shares));
        known += json_is_object(shares);
        if (json_object_size(shares) == 3)
            assert_float_equal(json_real_value(json_object_get(shares, "0")), 0.704, 1e-6);
    }
    assert_int_equal(known, 2);
    json_decref(root);
    f->remote = true;
    assert_int_equal(get(f, "/"), 200);
    assert_null(find(f, "Sockets"));
}

/* A column of its own, only where somebody predicts it. */
TEST_ON(what_other_memory_would_cost, struct fixture *f, setup, teardown)
{
    const struct live_elsewhere near = {.8, .9, .95}, far = {1.16, 1.08, 1.1};
    assert_int_equal(get(f, "/"), 200);
    assert_null(find(f, "Elsewhere"));
    f->next = 0;
    live_begin(f->live);
    live_set_elsewhere(f->live, &f->containers[2], "node0", &near);
    live_set_elsewhere(f->live, &f->containers[2], "cxl", &far);
    live_show(f->live, &f->status.tick, next, f);
    pages_update(f->pages, &f->status, loop_now_ns());
    assert_int_equal(get(f, "/"), 200);
    assert_non_null(find(f, ">Elsewhere</a>"));
    assert_non_null(find(f, "data-value=\"1.16\">node0 0.80 × (0.90–0.95)<br>cxl 1.16 × "
                            "(1.08–1.10)</td>"));
}

TEST_ON(it_can_be_sorted_and_filtered_without_a_script, struct fixture *f, setup, teardown)
{
    f->arguments[0][0] = "sort";
    f->arguments[0][1] = "cpu";
    assert_int_equal(get(f, "/"), 200);
    static const char *const by_cpu[] = {">3.50<", ">2.50<", ">1.50<", ">0.50<"};
    assert_order(f, by_cpu, 4);
    f->arguments[1][0] = "namespace";
    f->arguments[1][1] = "batch";
    assert_int_equal(get(f, "/"), 200);
    assert_non_null(find(f, "2 of 4 containers"));
    assert_null(find(f, ">1.50<"));
    f->arguments[0][1] = "nonsense";
    assert_int_equal(get(f, "/"), 200);
}

/* What /metrics shows, and no more. */
TEST_ON(from_elsewhere_less_is_seen, struct fixture *f, setup, teardown)
{
    f->remote = true;
    assert_int_equal(get(f, "/"), 200);
    assert_non_null(find(f, "because of batch/report-0/report"));
    assert_non_null(find(f, "MAKES IT SLOW"));
    static const char *const hidden[] = {"SUSPECT", "<svg", ">CPUs<", "aaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (find(f, hidden[i]))
            fail_msg("%s is shown to everybody", hidden[i]);
    f->remote = false;
    assert_int_equal(get(f, "/"), 200);
    assert_null(find(f, "aaaaaaaaaaaa")); /* ids are in the API's document */
    assert_non_null(find(f, "SUSPECT"));
}

/* What a tenant may have is his own affair; that he reaches it, /metrics says. */
TEST_ON(from_elsewhere_no_limits_are_seen, struct fixture *f, setup, teardown)
{
    const struct live_lost lost = {.told = true,
                                   .judged = true,
                                   .cause = LOSS_OWN_QUOTA,
                                   .per_second = {[LOSS_OWN_QUOTA] = 0.8},
                                   .quota_cpus = 0.25,
                                   .throttled = 0.97};
    f->next = 0;
    live_begin(f->live);
    live_lost(f->live, &f->containers[3], &lost);
    live_show(f->live, &f->status.tick, next, f);
    for (int remote = 0; remote < 2; remote++) {
        f->remote = remote;
        assert_int_equal(get(f, "/"), 200);
        assert_non_null(find(f, "loses most here. It waits for its own CPU limit"));
        assert_non_null(find(f, "80 % of the time"));
        assert_non_null(find(f, ">WAITS<"));
        assert_int_equal(find(f, "0.25") != NULL, !remote);
        assert_int_equal(find(f, "97 %") != NULL, !remote);
    }
}

TEST_ON(before_the_first_tick_nothing_is_known, struct fixture *f, setup, teardown)
{
    struct live *empty;
    struct pages *pages = f->pages;
    assert_int_equal(live_new(&empty), 0);
    const struct pages_config config = {.telemetry_path = "/metrics",
                                        .version = "1",
                                        .live = empty,
                                        .expose = f->expose,
                                        .store = f->store};
    assert_int_equal(pages_new(&config, &f->pages), 0);
    assert_int_equal(get(f, "/"), 200);
    assert_non_null(find(f, "Nothing is known yet"));
    assert_int_equal(get(f, "/api/v1/containers"), 200);
    assert_non_null(find(f, "\"running\":null"));
    assert_non_null(find(f, "\"live_tick\":null"));
    assert_non_null(find(f, "\"own_cgroup_id\":null"));
    drop(f);
    pages_free(f->pages);
    live_free(empty);
    f->pages = pages;
}

TEST_ON(its_script_and_style_are_its_own, struct fixture *f, setup, teardown)
{
    assert_int_equal(get(f, "/live.js"), 200);
    assert_string_equal(f->response.content_type, "text/javascript; charset=utf-8");
    assert_non_null(find(f, "\"use strict\""));
    assert_int_equal(get(f, "/live.css"), 200);
    assert_string_equal(f->response.content_type, "text/css; charset=utf-8");
    assert_non_null(find(f, "prefers-color-scheme: dark"));
    assert_int_equal(get(f, "/"), 200);
    assert_null(find(f, " style="));
    assert_null(find(f, "onclick"));
    assert_null(find(f, "http://"));
    assert_null(find(f, "https://"));
}

/* ---- the document ---- */

static json_t *document(struct fixture *f, const char *name, const char *value)
{
    f->arguments[0][0] = name;
    f->arguments[0][1] = value;
    assert_int_equal(get(f, "/api/v1/containers"), 200);
    json_t *root = json_loadb(f->response.bytes, f->response.len, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    return root;
}

static const char *name_of(json_t *root, size_t i)
{
    return json_string_value(
        json_object_get(json_array_get(json_object_get(root, "containers"), i), "container"));
}

TEST_ON(the_document_has_who_is_in_trouble_first, struct fixture *f, setup, teardown)
{
    json_t *root = document(f, NULL, NULL);
    static const char *const names[] = {"cart", "report", "other"};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(name_of(root, i), names[i]);
    assert_int_equal(json_integer_value(json_object_get(root, "total")), CONTAINERS);
    json_t *first = json_array_get(json_object_get(root, "containers"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "workload")), "cart");
    assert_true(json_is_true(json_object_get(first, "running")));
    assert_string_equal(json_string_value(json_object_get(first, "state")), "waits");
    assert_true(fabs(json_real_value(json_object_get(first, "latency_ratio")) - 1.5) < 1e-9);
    assert_true(json_real_value(json_object_get(first, "reads_share_ratio")) == 0.25);
    assert_true(json_is_null(json_object_get(first, "slowdown_ratio")));
    assert_true(json_is_null(json_object_get(first, "caused_latency_seconds")));
    assert_true(json_is_null(json_object_get(first, "suspicion")));
    json_t *second = json_array_get(json_object_get(root, "containers"), 1);
    assert_string_equal(json_string_value(json_object_get(second, "suspicion")), "named");
    assert_true(json_is_array(json_object_get(json_object_get(first, "values"), "running")));
    json_decref(root);
}

TEST_ON(the_document_says_both_of_who_waits_and_is_named, struct fixture *f, setup, teardown)
{
    suspect(f, LIVE_NAMED, LIVE_UNSUSPECTED);
    json_t *root = document(f, NULL, NULL);
    json_t *first = json_array_get(json_object_get(root, "containers"), 0);
    assert_string_equal(json_string_value(json_object_get(first, "state")), "waits");
    assert_string_equal(json_string_value(json_object_get(first, "suspicion")), "named");
    json_decref(root);
}

/* What a label has and the live view clips is the same container. */
TEST_ON(a_long_name_is_found, struct fixture *f, setup, teardown)
{
    char longest[300];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    struct container *cart = &f->containers[1];
    cart->name = longest;
    const struct container_diff diff = {.named = {&cart, 1}};
    assert_int_equal(container_labels_reconcile(f->labels, &diff), 0);
    assert_int_equal(store_publish(f->store, &f->status.tick), 0);
    f->next = 0;
    fill_live(f);
    pages_update(f->pages, &f->status, loop_now_ns());
    json_t *root = document(f, NULL, NULL);
    json_t *first = json_array_get(json_object_get(root, "containers"), 0);
    assert_int_equal(strlen(name_of(root, 0)), sizeof longest - 1);
    assert_true(json_is_true(json_object_get(first, "running")));
    assert_string_equal(json_string_value(json_object_get(first, "state")), "waits");
    json_decref(root);
}

static double tick_number(json_t *root, const char *name)
{
    return json_number_value(json_object_get(json_object_get(root, name), "number"));
}

/* The live view is shown before what is published with it. */
TEST_ON(each_number_is_of_a_tick_that_is_told, struct fixture *f, setup, teardown)
{
    f->status.tick.number = 2;
    f->next = 0;
    fill_live(f);
    pages_update(f->pages, &f->status, loop_now_ns());
    json_t *root = document(f, NULL, NULL);
    assert_true(tick_number(root, "tick") == 1);
    assert_true(tick_number(root, "live_tick") == 2);
    json_decref(root);
}

TEST_ON(the_document_comes_in_parts, struct fixture *f, setup, teardown)
{
    json_t *root = document(f, "limit", "1");
    assert_int_equal(json_array_size(json_object_get(root, "containers")), 1);
    json_decref(root);
    root = document(f, "offset", "3");
    assert_int_equal(json_array_size(json_object_get(root, "containers")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "offset")), 3);
    json_decref(root);
    assert_null(find(f, "\n  \"pod\""));
    json_decref(document(f, "pretty", ""));
    assert_non_null(find(f, "\n  \"pod\""));
    json_decref(document(f, "pretty", "0"));
    assert_null(find(f, "\n  \"pod\""));
    static const char *const wrong[] = {
        "", "-1", "1e3", " 1", "1 ", "1000001", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        f->arguments[0][0] = i % 2 ? "limit" : "offset";
        f->arguments[0][1] = wrong[i];
        assert_int_equal(get(f, "/api/v1/containers"), 400);
    }
}
