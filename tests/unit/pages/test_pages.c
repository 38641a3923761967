/* What the pages answer, without a server and without waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "collectors/nvmm/board.h"
#include "exporter/pages/pages.h"
#include "exporter/service/loop.h"

static const uint64_t second_ns = 1000000000u;

struct fixture {
    struct store *store;
    struct expose *expose;
    struct nvmm_board *board;
    struct pages *pages;
    struct status status;
    struct http_response response;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(store_new(&f->store), 0);
    assert_int_equal(expose_new(f->store, false, &f->expose), 0);
    assert_int_equal(nvmm_board_new(&f->board), 0);
    const struct pages_config config = {.telemetry_path = "/metrics",
                                        .expose = f->expose,
                                        .store = f->store,
                                        .nvmm_board = f->board};
    assert_int_equal(pages_new(&config, &f->pages), 0);
    f->status.source = "perf";
    f->status.tick = (struct tick){.number = 1, .interval_ns = second_ns};
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
    expose_free(f->expose);
    nvmm_board_free(f->board);
    store_free(f->store);
    free(f);
    return 0;
}

/* The status of one page; its bytes stay in the fixture. */
static int get(struct fixture *f, const char *path)
{
    size_t n;
    const struct http_route *routes = pages_routes(f->pages, &n);
    drop(f);
    for (size_t i = 0; i < n; i++) {
        const struct http_request request = {.path = path};
        if (strcmp(routes[i].path, path) == 0)
            routes[i].handle(f->pages, &request, &f->response);
    }
    return f->response.status;
}

static void updated_before(struct fixture *f, uint64_t ns)
{
    pages_update(f->pages, &f->status, loop_now_ns() - ns);
}

static void healthy_until_the_last_tick_is_ten_intervals_old(void **state)
{
    struct fixture *f = *state;
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

static void a_replay_that_ended_is_healthy(void **state)
{
    struct fixture *f = *state;
    f->status.replay_ended = true;
    updated_before(f, 1000 * second_ns);
    assert_int_equal(get(f, "/-/healthy"), 200);
}

static void ready_after_the_first_publication(void **state)
{
    struct fixture *f = *state;
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

static bool landing_says(struct fixture *f, const char *words)
{
    assert_int_equal(get(f, "/"), 200);
    return response_says(f, words);
}

static void a_replay_is_marked(void **state)
{
    struct fixture *f = *state;
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

/* ---- persistent memory ---- */

static json_t *nvmm(struct fixture *f)
{
    assert_int_equal(get(f, "/api/v1/nvmm"), 200);
    json_t *root = json_loadb(f->response.bytes, f->response.len, 0, NULL);
    assert_non_null(root);
    return root;
}

static double number(const json_t *object, const char *access, const char *key)
{
    return json_number_value(json_object_get(json_object_get(object, access), key));
}

static void nobody_uses_persistent_memory(void **state)
{
    struct fixture *f = *state;
    updated_before(f, 0);
    json_t *root = nvmm(f);
    assert_true(json_is_null(json_object_get(root, "window_seconds")));
    assert_int_equal(json_array_size(json_object_get(root, "containers")), 0);
    assert_string_equal(json_string_value(json_object_get(root, "source")), "perf");
    json_decref(root);
}

static void threads_by_process_and_container(void **state)
{
    struct fixture *f = *state;
    const struct label labels[] = {{"namespace", "shop"},
                                   {"pod", "db-0"},
                                   {"container", "db"},
                                   {"container_id", "0123456789ab"}};
    struct labelset *set;
    assert_int_equal(labelset_new(labels, 4, &set), 0);
    struct nvmm_board_list *list = nvmm_board_begin(f->board);
    list->wall_ns = 1500000000;
    list->seconds = 1;
    for (uint32_t container = 0; container < 2; container++) {
        assert_true(nvmm_board_container(list, set));
        for (uint32_t i = 0; i < 3; i++) /* threads 10, 11 of process 10 and 12 of process 12 */
            nvmm_board_row(list, &(struct nvmm_board_row){.pid = i > 0 ? 10 : 12,
                                                          .tid = 12 - i,
                                                          .accesses = {1 + i, 7},
                                                          .bytes = {100 * (1 + i), 7}});
    }
    nvmm_board_show(f->board);
    labelset_unref(set);
    updated_before(f, 0);
    json_t *root = nvmm(f);
    assert_true(json_number_value(json_object_get(root, "timestamp_seconds")) == 1.5);
    assert_true(json_is_false(json_object_get(root, "truncated")));
    json_t *containers = json_object_get(root, "containers");
    assert_int_equal(json_array_size(containers), 2);
    for (size_t i = 0; i < 2; i++) {
        json_t *container = json_array_get(containers, i);
        assert_string_equal(json_string_value(json_object_get(container, "pod")), "db-0");
        json_t *processes = json_object_get(container, "processes");
        assert_int_equal(json_array_size(processes), 2);
        json_t *first = json_array_get(processes, 0);
        assert_int_equal(json_integer_value(json_object_get(first, "pid")), 10);
        assert_true(number(first, "store", "accesses_per_second") == 5);
        assert_true(number(first, "store", "bytes_per_second") == 500);
        assert_null(json_object_get(first, "load")); /* not sampled */
        json_t *threads = json_object_get(first, "threads");
        assert_int_equal(json_array_size(threads), 2);
        json_t *thread = json_array_get(threads, 0);
        assert_int_equal(json_integer_value(json_object_get(thread, "tid")), 10);
        assert_true(number(thread, "store", "accesses_per_second") == 3);
        json_t *second = json_array_get(processes, 1);
        assert_int_equal(json_array_size(json_object_get(second, "threads")), 1);
    }
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(healthy_until_the_last_tick_is_ten_intervals_old),
        T(a_replay_that_ended_is_healthy),
        T(ready_after_the_first_publication),
        T(a_replay_is_marked),
        T(nobody_uses_persistent_memory),
        T(threads_by_process_and_container),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
