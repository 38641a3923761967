/* Windows of counts and samples, and the threads' parts of them. */
#include <pthread.h>

#include "collectors/nvmm/list.h"
#include "collectors/nvmm/threads.h"
#include "tests/unit/support/unit.h"

static const struct access_sample nvmm8 = {.medium = MEDIUM_NVMM, .bytes = 8};
static const struct access_sample other = {.medium = MEDIUM_OTHER};

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * fabs(want) + 1e-12))
        fail_msg("got %.12g, want %.12g", got, want);
}

static void add(struct nvmm_windows *w, uint64_t time_ns, const struct access_sample *sample)
{
    nvmm_windows_add(w, nvmm_windows_number(w, time_ns), sample);
}

/* ---- windows ---- */

TEST(test_sample_and_count_of_one_time)
{
    struct nvmm_windows w = {0};
    struct nvmm_settled settled;

    add(&w, 50, &nvmm8);
    add(&w, 60, &other);
    assert_false(nvmm_windows_settle(&w, 1000, &settled)); /* nothing was counted yet */
    nvmm_windows_count(&w, 1000, 100);
    add(&w, 99, &nvmm8);  /* came after the reading, but is of before */
    add(&w, 100, &other); /* of the next window: it begins with the reading */
    add(&w, 130, &other);
    assert_false(nvmm_windows_settle(&w, 99, &settled));
    assert_true(nvmm_windows_settle(&w, 100, &settled));
    assert_int_equal(settled.number, 0);
    assert_int_equal(settled.window.events, 1000);
    assert_int_equal(settled.window.known, 3);
    assert_int_equal(settled.window.nvmm, 2);
    assert_near(settled.usage.accesses, 2000.0 / 3);
    assert_near(settled.usage.bytes, 16000.0 / 3);
    assert_false(nvmm_windows_settle(&w, 1000, &settled));

    nvmm_windows_count(&w, 7, 200);
    assert_true(nvmm_windows_settle(&w, 200, &settled));
    assert_int_equal(settled.number, 1);
    assert_int_equal(settled.window.events, 7);
    assert_int_equal(settled.window.known, 2);
    assert_near(settled.usage.accesses, 0);
    assert_true(nvmm_windows_empty(&w));
}

TEST(test_windows_are_held_until_settled)
{
    struct nvmm_windows w = {0};
    struct nvmm_settled settled;

    for (uint64_t t = 1; t <= NVMM_HELD; t++) {
        assert_false(nvmm_windows_full(&w));
        add(&w, t * 100 - 1, t == 2 ? &nvmm8 : &other);
        nvmm_windows_count(&w, t, t * 100);
    }
    assert_true(nvmm_windows_full(&w));
    add(&w, 150, &nvmm8); /* late ones still find theirs */
    add(&w, 350, &nvmm8);
    assert_true(nvmm_windows_settle(&w, 299, &settled));
    assert_int_equal(settled.window.events, 1);
    assert_int_equal(settled.window.nvmm, 0);
    assert_true(nvmm_windows_settle(&w, 299, &settled));
    assert_int_equal(settled.window.events, 2);
    assert_int_equal(settled.window.nvmm, 2);
    assert_false(nvmm_windows_settle(&w, 299, &settled));
    /* What was not read while full comes with the next reading. */
    nvmm_windows_count(&w, 40, 500);
    assert_true(nvmm_windows_settle(&w, 500, &settled));
    assert_int_equal(settled.window.events, 3);
    assert_true(nvmm_windows_settle(&w, 500, &settled));
    assert_int_equal(settled.window.events, 40);
    assert_int_equal(settled.window.nvmm, 1);
    assert_near(settled.usage.accesses, 40);
}

/* The last reading of a container cannot wait: it makes the last window longer. */
TEST(test_counting_while_full)
{
    struct nvmm_windows w = {0};
    struct nvmm_settled settled;

    for (uint64_t t = 1; t <= NVMM_HELD; t++)
        nvmm_windows_count(&w, 1, t * 100);
    nvmm_windows_count(&w, 5, 1000);
    add(&w, 999, &nvmm8);
    for (int i = 1; i < NVMM_HELD; i++)
        assert_true(nvmm_windows_settle(&w, 999, &settled));
    assert_false(nvmm_windows_settle(&w, 999, &settled));
    assert_true(nvmm_windows_settle(&w, 1000, &settled));
    assert_int_equal(settled.window.events, 6);
    /* with all that was carried by windows without a sample */
    assert_near(settled.usage.accesses, NVMM_HELD + 5);
}

TEST(test_media_and_sizes)
{
    struct nvmm_windows w = {0};
    struct nvmm_settled settled;
    static const enum access_size why[] = {ACCESS_SIZE_REPEATED,  ACCESS_SIZE_MASKED,
                                           ACCESS_SIZE_VARIABLE,  ACCESS_SIZE_INVALID,
                                           ACCESS_SIZE_NO_ACCESS, ACCESS_SIZE_UNREADABLE};

    for (size_t i = 0; i < sizeof why / sizeof *why; i++)
        add(&w, 1, &(struct access_sample){.medium = MEDIUM_NVMM, .size = why[i]});
    add(&w, 1, &(struct access_sample){.medium = MEDIUM_UNKNOWN, .bytes = 64});
    add(&w, 1, &(struct access_sample){.medium = MEDIUM_OTHER, .bytes = 32});
    add(&w, 1, &nvmm8);
    nvmm_windows_count(&w, 800, 2);
    assert_true(nvmm_windows_settle(&w, 2, &settled));
    assert_int_equal(settled.window.unknown, 1);
    assert_int_equal(settled.window.known, 8);
    assert_int_equal(settled.window.nvmm, 7);
    assert_int_equal(settled.window.unsizable, 3);
    assert_int_equal(settled.window.sized, 1);
    assert_int_equal(settled.window.bytes, 8);
    assert_near(settled.usage.accesses, 700);
    assert_near(settled.usage.bytes, 400 * 8); /* three of seven have no bytes */
}

/* ---- threads ---- */

static struct access_sample of(uint64_t owner, uint32_t pid, uint32_t tid, uint32_t bytes)
{
    return (struct access_sample){.owner = owner,
                                  .pid = pid,
                                  .tid = tid,
                                  .bytes = bytes,
                                  .medium = MEDIUM_NVMM,
                                  .time_ns = 10};
}

TEST(test_shares)
{
    struct nvmm_threads *threads = nvmm_threads_new();
    struct access_sample a = of(1, 7, 7, 8), b = of(1, 7, 8, 24);
    const struct nvmm_settled window = {
        .number = 5, .window = {.nvmm = 3, .bytes = 40}, .usage = {.accesses = 300, .bytes = 4000}};

    struct nvmm_thread *first = nvmm_threads_add(threads, &a, 5);
    nvmm_threads_add(threads, &a, 5);
    nvmm_threads_add(threads, &a, 6); /* not of this window */
    struct nvmm_thread *second = nvmm_threads_add(threads, &b, 5);
    assert_ptr_not_equal(first, second);
    for (int twice = 0; twice < 2; twice++) { /* a window is shared out once */
        nvmm_thread_share(first, ACCESS_STORE, &window);
        nvmm_thread_share(second, ACCESS_STORE, &window);
        nvmm_thread_share(first, ACCESS_LOAD, &window);
    }
    assert_near(first->use[ACCESS_STORE].accesses, 200);
    assert_near(first->use[ACCESS_STORE].bytes, 1600);
    assert_near(second->use[ACCESS_STORE].accesses, 100);
    assert_near(second->use[ACCESS_STORE].bytes, 2400);
    assert_near(first->use[ACCESS_LOAD].accesses, 0);
    /* A number that comes round again is another window. */
    nvmm_threads_add(threads, &b, 9);
    nvmm_thread_share(second, ACCESS_STORE, &window);
    assert_near(second->use[ACCESS_STORE].accesses, 100);
    nvmm_threads_free(threads);
}

TEST(test_the_table_is_bounded)
{
    struct nvmm_threads *threads = nvmm_threads_new();

    for (uint32_t i = 0; i < NVMM_MAX_THREADS; i++) {
        struct access_sample sample = of(1 + i % 3, i / 4, i, 1);
        sample.time_ns = i;
        assert_non_null(nvmm_threads_add(threads, &sample, 0));
    }
    struct access_sample one_more = of(1, 1, 1 << 30, 1), known = of(1 + 9 % 3, 9 / 4, 9, 1);
    assert_null(nvmm_threads_add(threads, &one_more, 0));
    assert_int_equal(threads->turned_away, 1);
    assert_non_null(nvmm_threads_add(threads, &known, 0));

    nvmm_threads_forget(threads, UINT64_MAX, 1000); /* the others wait for their window */
    assert_int_equal(threads->n, NVMM_MAX_THREADS - 1000);
    assert_non_null(nvmm_threads_add(threads, &one_more, 0));
    assert_int_equal(threads->n, NVMM_MAX_THREADS - 999);
    /* Those that stayed are still found, and those that went are new. */
    for (uint32_t i = 1000; i < NVMM_MAX_THREADS; i++) {
        struct access_sample sample = of(1 + i % 3, i / 4, i, 1);
        assert_int_equal(nvmm_threads_add(threads, &sample, 0)->use[ACCESS_STORE].part[0].samples,
                         2);
    }
    assert_int_equal(threads->n, NVMM_MAX_THREADS - 999);
    nvmm_threads_forget_owner(threads, 1);
    for (size_t i = 0; i < threads->n; i++)
        assert_int_not_equal(threads->at[i].owner, 1);
    assert_true(threads->n > 2000 && threads->n < 2100);
    nvmm_threads_free(threads);
}

TEST(test_who_has_told_everything_is_forgotten)
{
    struct nvmm_threads *threads = nvmm_threads_new();
    struct access_sample sample = of(1, 7, 7, 8);
    const struct nvmm_settled window = {
        .number = 5, .window = {.nvmm = 1, .bytes = 8}, .usage = {.accesses = 1, .bytes = 8}};

    struct nvmm_thread *thread = nvmm_threads_add(threads, &sample, 5);
    nvmm_threads_forget(threads, 11, 0);
    assert_int_equal(threads->n, 1); /* its window is not settled */
    nvmm_thread_share(thread, ACCESS_STORE, &window);
    nvmm_threads_forget(threads, 11, 0);
    assert_int_equal(threads->n, 1); /* it is still told */
    nvmm_threads_begin(threads);
    nvmm_threads_forget(threads, 11, 0);
    assert_int_equal(threads->n, 1); /* of before */
    nvmm_threads_begin(threads);
    nvmm_threads_forget(threads, 10, 0);
    assert_int_equal(threads->n, 1); /* it is not long ago */
    nvmm_threads_forget(threads, 11, 0);
    assert_int_equal(threads->n, 0);
    nvmm_threads_free(threads);
}

/* ---- the list ---- */

TEST(test_list)
{
    struct double_buffer *lists;
    struct labelset *labels;
    static char longer[400];
    struct label at[] = {{"namespace", "shop"},
                         {"pod", longer},
                         {"container", "cart"},
                         {"container_id", "0123456789ab"}};

    for (size_t i = 0; i + 2 < sizeof longer; i += 2) {
        longer[i] = (char)0xc3; /* two bytes a letter */
        longer[i + 1] = (char)0xa4;
    }
    assert_int_equal(labelset_new(at, 4, &labels), 0);
    assert_int_equal(nvmm_list_new(&lists), 0);
    assert_null(nvmm_list_copy(lists));
    struct nvmm_list *list = nvmm_list_begin(lists);
    list->wall_ns = 1;
    assert_int_equal(nvmm_list_container(list, labels), 0);
    nvmm_list_row(list, &(struct nvmm_list_row){.pid = 9, .tid = 10});
    nvmm_list_row(list, &(struct nvmm_list_row){.pid = 9, .tid = 9});
    nvmm_list_row(list, &(struct nvmm_list_row){.pid = 3, .tid = 11});
    assert_null(nvmm_list_copy(lists)); /* not shown yet */
    double_buffer_swap(lists);
    struct nvmm_list *copy = nvmm_list_copy(lists);
    assert_int_equal(copy->n_rows, 3);
    assert_int_equal(copy->rows[0].pid, 3);
    assert_int_equal(copy->rows[1].tid, 9);
    assert_int_equal(copy->rows[2].tid, 10);
    assert_string_equal(copy->containers[0].name, "cart");
    assert_int_equal(strlen(copy->containers[0].pod), 254); /* no half letter */
    assert_false(copy->cut);
    free(copy);

    list = nvmm_list_begin(lists);
    list->wall_ns = 2;
    for (int i = 0; i < NVMM_LIST_CONTAINERS; i++)
        assert_int_equal(nvmm_list_container(list, labels), i);
    assert_false(list->cut);
    assert_int_equal(nvmm_list_container(list, labels), -1);
    assert_true(list->cut);
    double_buffer_swap(lists);
    double_buffer_free(lists);
    labelset_unref(labels);
}

static void *read_lists(void *context)
{
    uintptr_t lists = 0;

    for (int i = 0; i < 500; i++) {
        struct nvmm_list *list = nvmm_list_copy(context);
        for (size_t k = 0; list && k < list->n_rows; k++)
            if (list->rows[k].pid != list->n_rows) /* of two lists */
                return NULL;
        lists += list != NULL;
        free(list);
    }
    return (void *)(lists + 1);
}

/* Lists are of one piece, whenever others look. */
TEST(test_list_is_read_by_other_threads)
{
    struct double_buffer *lists;
    struct labelset *labels;
    const struct label label = {"pod", "a"};
    pthread_t reader;
    void *read = NULL;

    assert_int_equal(labelset_new(&label, 1, &labels), 0);
    assert_int_equal(nvmm_list_new(&lists), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_lists, lists), 0);
    for (uint32_t i = 1; i < 500; i++) {
        struct nvmm_list *list = nvmm_list_begin(lists);
        list->wall_ns = i;
        nvmm_list_container(list, labels);
        for (uint32_t k = 0; k < i % 50; k++)
            nvmm_list_row(list, &(struct nvmm_list_row){.pid = i % 50, .tid = k});
        double_buffer_swap(lists);
    }
    assert_int_equal(pthread_join(reader, &read), 0);
    assert_non_null(read);
    double_buffer_free(lists);
    labelset_unref(labels);
}
