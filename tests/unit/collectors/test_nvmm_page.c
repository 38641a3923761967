/* The document of who used persistent memory. */
#include <jansson.h>

#include "collectors/nvmm/list.h"
#include "tests/unit/support/unit.h"

static json_t *page(struct double_buffer *lists)
{
    struct textbuf text;
    textbuf_init(&text);
    assert_int_equal(nvmm_page_render(lists, "perf", &text), 0);
    json_t *root = json_loadb(text.data, text.len, 0, NULL);
    textbuf_release(&text);
    assert_non_null(root);
    return root;
}

static double number(const json_t *object, const char *access, const char *key)
{
    return json_number_value(json_object_get(json_object_get(object, access), key));
}

TEST(nothing_was_shown_yet)
{
    struct double_buffer *lists;
    assert_int_equal(nvmm_list_new(&lists), 0);
    for (int running = 0; running < 2; running++) {
        json_t *root = page(running ? lists : NULL);
        assert_true(json_is_null(json_object_get(root, "window_seconds")));
        assert_int_equal(json_array_size(json_object_get(root, "containers")), 0);
        assert_string_equal(json_string_value(json_object_get(root, "source")), "perf");
        json_decref(root);
    }
    double_buffer_free(lists);
}

TEST(threads_by_process_and_container)
{
    struct double_buffer *lists;
    assert_int_equal(nvmm_list_new(&lists), 0);
    const struct label labels[] = {{"namespace", "shop"},
                                   {"pod", "db-0"},
                                   {"container", "db"},
                                   {"container_id", "0123456789ab"}};
    struct labelset *set;
    assert_int_equal(labelset_new(labels, 4, &set), 0);
    struct nvmm_list *list = nvmm_list_begin(lists);
    list->wall_ns = 1500000000;
    list->mono_ns = 2500000000;
    list->seconds = 1;
    list->interval = 0.1;
    for (int container = 0; container < 2; container++)
        assert_int_equal(nvmm_list_container(list, set), container);
    for (uint32_t i = 0; i < 3; i++) { /* threads 10, 11 of process 10 and 12 of process 12 */
        for (uint32_t container = 0; container < 2; container++)
            nvmm_list_row(list,
                          &(struct nvmm_list_row){.container = container,
                                                  .pid = i > 0 ? 10 : 12,
                                                  .tid = 12 - i,
                                                  .accesses = {1 + i, 7},
                                                  .bytes = {100 * (1 + i), 7},
                                                  .stored_seconds_ago = i == 1 ? NAN : 0.25 * i});
    }
    double_buffer_swap(lists);
    labelset_unref(set);
    json_t *root = page(lists);
    assert_true(json_number_value(json_object_get(root, "timestamp_seconds")) == 1.5);
    assert_true(json_number_value(json_object_get(root, "monotonic_seconds")) == 2.5);
    assert_true(json_number_value(json_object_get(root, "interval_seconds")) == 0.1);
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
        assert_true(json_number_value(json_object_get(thread, "last_store_seconds_ago")) == 0.5);
        assert_true(
            json_is_null(json_object_get(json_array_get(threads, 1), "last_store_seconds_ago")));
        json_t *second = json_array_get(processes, 1);
        assert_int_equal(json_array_size(json_object_get(second, "threads")), 1);
    }
    json_decref(root);
    double_buffer_free(lists);
}
