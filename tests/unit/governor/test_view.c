#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/governor/view.h"

static int parse(const char *text, struct view *view)
{
    char error[256] = "";
    int err = view_parse(text, strlen(text), view, error, sizeof error);
    assert_int_equal(err != 0, error[0] != '\0');
    return err;
}

static void a_whole_document(void **state)
{
    (void)state;
    struct view view;
    assert_int_equal(
        parse("{\"source\":\"perf\",\"replay_ended\":false,\"tick\":{\"number\":812,"
              "\"monotonic_seconds\":4711.25,\"timestamp_seconds\":1.7e9,\"interval_seconds\":1},"
              "\"containers\":[{\"namespace\":\"shop\",\"pod\":\"cart-0\",\"container\":\"cart\","
              "\"container_id\":\"0a1b\",\"cgroup_id\":857,\"values\":{"
              "\"interference_container_info\":[{\"labels\":{\"id\":\"/kubepods/c\","
              "\"qos_class\":\"burstable\"},\"value\":1}],"
              "\"interference_container_memory_reads_total\":[{\"labels\":{},\"value\":3000000}],"
              "\"interference_container_memory_read_latency_seconds\":1.14e-07,"
              "\"interference_container_memory_read_latency_baseline_seconds\":"
              "[{\"labels\":{\"basis\":\"calm\"},\"value\":8e-08}]}},{}]}",
              &view),
        0);
    assert_string_equal(view.source, "perf");
    assert_true(view.has_tick && !view.replay_ended);
    assert_int_equal(view.tick, 812);
    assert_int_equal(view.monotonic_ns, 4711250000000U);
    assert_int_equal(view.interval_ns, 1000000000);
    assert_int_equal(view.n, 2);
    const struct view_container *cart = &view.containers[0], *bare = &view.containers[1];
    assert_string_equal(cart->namespace_, "shop");
    assert_string_equal(cart->pod, "cart-0");
    assert_string_equal(cart->container, "cart");
    assert_string_equal(cart->container_id, "0a1b");
    assert_string_equal(cart->path, "/kubepods/c");
    assert_string_equal(cart->qos_class, "burstable");
    assert_int_equal(cart->cgroup_id, 857);
    assert_true(cart->latency_seconds == 1.14e-7);
    assert_true(cart->baseline_seconds == 8e-8);
    assert_true(cart->memory_reads == 3e6);
    assert_string_equal(bare->path, "");
    assert_int_equal(bare->cgroup_id, 0);
    assert_true(isnan(bare->latency_seconds) && isnan(bare->baseline_seconds) &&
                isnan(bare->memory_reads));
    view_release(&view);
}

/* What an exporter of today says: nobody may act on it. */
static void without_a_tick_there_is_none(void **state)
{
    (void)state;
    static const char *const ticks[] = {
        "",
        ",\"tick\":null",
        ",\"tick\":{\"number\":1,\"monotonic_seconds\":1}",
        ",\"tick\":{\"number\":0,\"monotonic_seconds\":1,\"interval_seconds\":1}",
        ",\"tick\":{\"number\":-1,\"monotonic_seconds\":1,\"interval_seconds\":1}",
        ",\"tick\":{\"number\":1,\"monotonic_seconds\":-1,\"interval_seconds\":1}",
        ",\"tick\":{\"number\":1,\"monotonic_seconds\":1e300,\"interval_seconds\":1}",
        ",\"tick\":{\"number\":1,\"monotonic_seconds\":1,\"interval_seconds\":0}",
        ",\"tick\":{\"number\":\"1\",\"monotonic_seconds\":1,\"interval_seconds\":1}",
    };
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        char text[256] = "{\"containers\":[]";
        struct view view;
        strcat(text, ticks[i]);
        strcat(text, "}");
        assert_int_equal(parse(text, &view), 0);
        assert_false(view.has_tick);
        assert_string_equal(view.source, "");
        view_release(&view);
    }
}

static void odd_values_are_not_known(void **state)
{
    (void)state;
    static const char *const values[] = {
        "null", "\"1\"", "-1", "0", "true", "[]", "[1]", "[{\"value\":-1}]", "{}"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[512] = "{\"containers\":[{\"cgroup_id\":-5,\"pod\":7,\"values\":{"
                         "\"interference_container_memory_read_latency_seconds\":";
        struct view view;
        strcat(text, values[i]);
        strcat(text, ",\"interference_container_info\":3}}]}");
        assert_int_equal(parse(text, &view), 0);
        assert_true(isnan(view.containers[0].latency_seconds));
        assert_int_equal(view.containers[0].cgroup_id, 0);
        assert_string_equal(view.containers[0].pod, "");
        view_release(&view);
    }
}

static void what_is_no_document_is_refused(void **state)
{
    (void)state;
    struct view view;
    static const char *const texts[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"containers\":{}}",
                                        "{\"containers\":[",
                                        "{\"containers\":[]}x",
                                        "{\"containers\":[],\"containers\":[]}",
                                        "{\"containers\":[{\"cgroup_id\":NaN}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(parse(texts[i], &view), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_document),
        cmocka_unit_test(without_a_tick_there_is_none),
        cmocka_unit_test(odd_values_are_not_known),
        cmocka_unit_test(what_is_no_document_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
