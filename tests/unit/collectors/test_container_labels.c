/* A container without any collector's series: listed in the API, absent from the pages. */
#include "collectors/contract/container_labels.h"
#include "exporter/expose/expose.h"
#include "tests/unit/support/unit.h"

static const struct metric_desc reads_desc = {
    .name = "t_reads", .type = METRIC_COUNTER, .number = METRIC_U64, .help = "x"};

struct fixture {
    struct store *store;
    struct container_labels *labels;
    struct family *reads;
    struct container container;
};

static int setup(void **state)
{
    static struct fixture f;
    f = (struct fixture){.container = {.slot = 3,
                                       .gen = 1,
                                       .named = true,
                                       .short_id = "0123456789ab",
                                       .path = "/docker/0123456789ab",
                                       .id = "",
                                       .namespace_ = "",
                                       .pod = "",
                                       .name = "web",
                                       .workload = "shop",
                                       .image = "",
                                       .pod_uid = "",
                                       .runtime = "docker",
                                       .qos_class = ""}};
    assert_int_equal(store_new(&f.store), 0);
    assert_int_equal(container_labels_new(f.store, &f.labels), 0);
    assert_int_equal(store_family(f.store, &reads_desc, NULL, &f.reads), 0);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    container_labels_free(f->labels);
    store_free(f->store);
    return 0;
}

static void named(struct fixture *f)
{
    struct container *list[] = {&f->container};
    const struct container_diff diff = {.named = {list, 1}};
    assert_int_equal(container_labels_reconcile(f->labels, &diff), 0);
}

static void ended(struct fixture *f)
{
    struct container *list[] = {&f->container};
    const struct container_diff diff = {.ended = {list, 1}};
    f->container.state = CONTAINER_ENDED;
    assert_int_equal(container_labels_reconcile(f->labels, &diff), 0);
}

static void forgotten(struct fixture *f)
{
    struct container *list[] = {&f->container};
    const struct container_diff diff = {.forgotten = {list, 1}};
    assert_int_equal(container_labels_reconcile(f->labels, &diff), 0);
}

/* Whether the page, or the API's document, has this text after publishing. */
static bool shows(struct fixture *f, bool api, const char *text)
{
    const struct tick tick = {.number = 1, .interval_ns = 1000000000};
    container_labels_settle(f->labels);
    assert_int_equal(store_publish(f->store, &tick), 0);
    struct snapshot *snapshot = store_acquire(f->store);
    struct textbuf page = TEXTBUF_INIT;
    const struct containers_listing all = {.limit = 0};
    size_t total;
    assert_int_equal(api ? expose_containers_json(snapshot, &all, &page, &total)
                         : expose_render(snapshot, EXPOSE_TEXT_004, NULL, 0, false, &page),
                     0);
    bool found = page.data && strstr(page.data, text);
    textbuf_release(&page);
    snapshot_release(snapshot);
    return found;
}

TEST_ON(test_without_series, struct fixture *f, setup, teardown)
{
    named(f);
    assert_false(shows(f, false, "0123456789ab"));
    assert_true(shows(f, true, "0123456789ab"));
    assert_true(shows(f, true, "\"running\":[{\"labels\":{},\"value\":1}]"));
    ended(f);
    assert_true(shows(f, true, "\"running\":[{\"labels\":{},\"value\":0}]"));
    forgotten(f);
    assert_false(shows(f, true, "0123456789ab"));
}

TEST_ON(test_with_series, struct fixture *f, setup, teardown)
{
    struct series *reads;
    named(f);
    assert_int_equal(
        series_new(f->reads, container_labels_get(f->labels, &f->container), NULL, 0, &reads), 0);
    assert_true(shows(f, false,
                      "interference_container_info{namespace=\"\",pod=\"\","
                      "container=\"web\",container_id=\"0123456789ab\","
                      "workload=\"shop\","));
    assert_false(shows(f, false, "running"));
    series_clear(reads); /* kept, but not shown */
    assert_false(shows(f, false, "interference_container_info{"));
    series_set_u64(reads, 1);
    assert_true(shows(f, false, "interference_container_info{"));
    series_free(reads);
    assert_false(shows(f, false, "interference_container_info{"));
}
