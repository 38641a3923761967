#include "exporter/base/textbuf.h"
#include "exporter/governor/see/view.h"
#include "tests/unit/support/malloc_count.h"
#include "tests/unit/support/unit.h"

static int parse(const char *text, struct view *view)
{
    char error[256] = "";
    int err = view_parse(text, strlen(text), view, error, sizeof error);
    assert_int_equal(err != 0, error[0] != '\0');
    return err;
}

TEST(a_whole_document)
{
    struct view view = {0};
    assert_int_equal(
        parse("{\"source\":\"perf\",\"replay_ended\":false,\"own_cgroup_id\":843,"
              "\"base_frequency_hz\":2100000000,"
              "\"tick\":{\"number\":812,"
              "\"monotonic_seconds\":4711.25,\"timestamp_seconds\":1.7e9,\"interval_seconds\":1},"
              "\"containers\":[{\"namespace\":\"shop\",\"pod\":\"cart-0\",\"container\":\"cart\","
              "\"container_id\":\"0a1b\",\"cgroup_id\":857,\"suspicion\":\"named\","
              "\"cpu_seconds_per_second\":1.5,\"caused_latency_seconds\":2.4e-08,"
              "\"caused_latency_uncertainty_seconds\":3e-09,"
              "\"caused_probability_ratio\":0.97,\"values\":{"
              "\"interference_container_info\":[{\"labels\":{\"id\":\"/kubepods/c\","
              "\"pod_uid\":\"u-1\","
              "\"qos_class\":\"burstable\"},\"value\":1}],"
              "\"interference_container_memory_reads_total\":[{\"labels\":{},\"value\":3000000}],"
              "\"interference_container_cpu_cycles_total\":9e9,"
              "\"interference_container_caused_wait_seconds_total\":0.25,"
              "\"interference_container_caused_latency_seconds_total\":[{\"labels\":{"
              "\"numa_node\":\"0\"},\"value\":3e-8},{\"labels\":{\"numa_node\":\"1\"},"
              "\"value\":2e-8}],"
              "\"interference_container_slowdown_observed_cycles_total\":[{\"labels\":{"
              "\"model\":\"shadow\"},\"value\":7e9},{\"labels\":{\"model\":\"passive\"},"
              "\"value\":8e9}],\"interference_container_interference_cycles_total\":[{\"labels\":{"
              "\"model\":\"passive\",\"resource\":\"cache\"},\"value\":1e9},{\"labels\":{"
              "\"model\":\"passive\",\"resource\":\"memory\"},\"value\":2e9}],"
              "\"interference_container_memory_read_latency_seconds\":1.14e-07,"
              "\"interference_container_memory_read_latency_baseline_seconds\":"
              "[{\"labels\":{\"basis\":\"calm\"},\"value\":8e-08}]}},{\"suspicion\":\"group\","
              "\"cpu_seconds_per_second\":null,\"caused_latency_seconds\":2e-08,"
              "\"caused_latency_uncertainty_seconds\":3e-09}]}",
              &view),
        0);
    assert_string_equal(view.source, "perf");
    assert_true(view.has_tick && !view.replay_ended);
    assert_int_equal(view.own_cgroup, 843);
    assert_float_equal(view.base_hz, 2.1e9, 0);
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
    assert_string_equal(cart->pod_uid, "u-1");
    assert_string_equal(cart->qos_class, "burstable");
    assert_int_equal(cart->cgroup_id, 857);
    assert_true(cart->latency_seconds == 1.14e-7);
    assert_true(cart->baseline_seconds == 8e-8);
    assert_true(cart->memory_reads == 3e6 && cart->cycles == 9e9);
    assert_true(cart->caused_wait_seconds == 0.25);
    assert_true(cart->caused_latency_seconds == 3e-8 + 2e-8);
    assert_true(cart->cpus == 1.5 && cart->caused_seconds == 2.4e-8);
    assert_true(cart->caused_sd_seconds == 3e-9 && cart->probability == 0.97);
    assert_true(isnan(bare->probability) && bare->in_group && !cart->in_group);
    assert_true(isnan(bare->cpus) && isnan(bare->caused_seconds) && isnan(bare->caused_sd_seconds));
    const struct view_loss *passive = &cart->losses[VIEW_PASSIVE];
    const struct view_loss *shadow = &cart->losses[VIEW_SHADOW];
    assert_true(passive->observed == 8e9 && passive->memory == 2e9 && passive->cache == 1e9);
    assert_true(shadow->observed == 7e9 && isnan(shadow->memory) && isnan(shadow->cache));
    assert_string_equal(bare->path, "");
    assert_int_equal(bare->cgroup_id, 0);
    assert_true(isnan(bare->latency_seconds) && isnan(bare->baseline_seconds) &&
                isnan(bare->memory_reads) && isnan(bare->llc_reads) &&
                isnan(bare->caused_latency_seconds) && isnan(bare->caused_wait_seconds) &&
                isnan(bare->losses[VIEW_PASSIVE].observed));
    view_release(&view);
}

/* What an exporter of today says: nobody may act on it. */
TEST(without_a_tick_there_is_none)
{
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
        struct view view = {0};
        strcat(text, ticks[i]);
        strcat(text, "}");
        assert_int_equal(parse(text, &view), 0);
        assert_false(view.has_tick);
        assert_string_equal(view.source, "");
        view_release(&view);
    }
}

TEST(odd_values_are_not_known)
{
    static const char *const values[] = {
        "null", "\"1\"", "-1", "0", "true", "[]", "[1]", "[{\"value\":-1}]", "{}"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[512] = "{\"containers\":[{\"cgroup_id\":-5,\"pod\":7,\"values\":{"
                         "\"interference_container_memory_read_latency_seconds\":";
        struct view view = {0};
        strcat(text, values[i]);
        strcat(text, ",\"interference_container_info\":3}}]}");
        assert_int_equal(parse(text, &view), 0);
        assert_true(isnan(view.containers[0].latency_seconds));
        assert_int_equal(view.containers[0].cgroup_id, 0);
        assert_string_equal(view.containers[0].pod, "");
        view_release(&view);
    }
}

/* Of two NUMA nodes with one that is no number the sum is not known. */
TEST(odd_parts_of_a_sum)
{
    static const char *const parts[] = {
        "[]", "[1]", "[{\"value\":1},{\"value\":null}]", "[{\"value\":-2},{\"value\":1}]",
        "{}", "-1"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char text[256] = "{\"containers\":[{\"values\":{"
                         "\"interference_container_caused_latency_seconds_total\":";
        struct view view = {0};
        strcat(text, parts[i]);
        strcat(text, "}}]}");
        assert_int_equal(parse(text, &view), 0);
        assert_true(isnan(view.containers[0].caused_latency_seconds));
        view_release(&view);
    }
}

TEST(what_a_counter_grew_by)
{
    assert_true(view_grown(1, 3.5) == 2.5 && view_grown(2, 2) == 0);
    assert_true(isnan(view_grown(2, 1)) && isnan(view_grown(NAN, 1)) && isnan(view_grown(1, NAN)));
}

TEST(what_is_no_document_is_refused)
{
    struct view view = {0};
    static const char *const texts[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"containers\":{}}",
                                        "{\"containers\":[",
                                        "{\"containers\":[]}x",
                                        "{\"containers\":[],\"containers\":[]}",
                                        "{\"containers\":[{\"cgroup_id\":NaN}]}",
                                        "{\"containers\":[],\"\\u0073ource\":1}",
                                        "{\"containers\":[{\"pod\":\"\xff\"}]}",
                                        "{\"containers\":[{\"pod\":\"a\",\"pod\":\"b\"}]}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(parse(texts[i], &view), -EINVAL);
    view_release(&view);
}

/* What the probe sees at best is less than is normal for anybody: theta of it would be exceeded by
 * calm reads. */
TEST(a_lower_bound_is_no_baseline)
{
    struct view view = {0};
    assert_int_equal(parse("{\"containers\":[{\"values\":{"
                           "\"interference_container_memory_read_latency_baseline_seconds\":"
                           "[{\"labels\":{\"basis\":\"machine\"},\"value\":8e-08}]}}]}",
                           &view),
                     0);
    assert_true(isnan(view.containers[0].baseline_seconds));
    view_release(&view);
}

TEST(names_of_all_kinds)
{
    struct view view = {0};
    assert_int_equal(parse("{\"containers\":[{\"pod\":\"caf\\u00e9\\n\",\"container\":\"\xc3\xa9\","
                           "\"container_id\":[1],\"cgroup_id\":18446744073709551615},"
                           "{\"cgroup_id\":18446744073709551616},{\"cgroup_id\":1e3},[]]}",
                           &view),
                     0);
    assert_int_equal(view.n, 4);
    assert_string_equal(view.containers[0].pod, "caf\xc3\xa9\n");
    assert_string_equal(view.containers[0].container, "\xc3\xa9");
    assert_string_equal(view.containers[0].container_id, "");
    assert_true(view.containers[0].cgroup_id == UINT64_MAX);
    assert_int_equal(view.containers[1].cgroup_id, 0);
    assert_int_equal(view.containers[2].cgroup_id, 1000);
    assert_string_equal(view.containers[3].path, "");
    view_release(&view);
}

/* Tick after tick the same memory; a document that cannot be read leaves nothing of the last. */
TEST(memory_is_used_again)
{
    static const char text[] =
        "{\"source\":\"perf\",\"containers\":[{\"pod\":\"a\"},{\"pod\":\"b\"}]}";
    struct view view = {0};
    char error[256];
    assert_int_equal(parse(text, &view), 0);
    uint64_t before = malloc_count();
    for (int i = 0; i < 10; i++)
        assert_int_equal(view_parse(text, sizeof text - 1, &view, error, sizeof error), 0);
    assert_int_equal(malloc_count() - before, 0);
    assert_string_equal(view.containers[1].pod, "b");
    assert_int_equal(parse("{\"source\":\"perf\",\"containers\":[{}", &view), -EINVAL);
    assert_string_equal(view.source, "");
    assert_int_equal(view.n, 0);
    view_release(&view);
}

TEST(too_many_containers)
{
    struct textbuf text = TEXTBUF_INIT;
    struct view view = {0};
    char error[256];
    textbuf_str(&text, "{\"containers\":[{}");
    for (int i = 1; i < VIEW_CONTAINERS_MAX; i++)
        textbuf_str(&text, ",{}");
    size_t most = text.len;
    textbuf_str(&text, "]}");
    assert_int_equal(view_parse(text.data, text.len, &view, error, sizeof error), 0);
    assert_int_equal(view.n, VIEW_CONTAINERS_MAX);
    text.len = most;
    textbuf_str(&text, ",{}]}");
    assert_int_equal(view_parse(text.data, text.len, &view, error, sizeof error), -E2BIG);
    assert_string_equal(error, "too many containers");
    textbuf_release(&text);
    view_release(&view);
}

TEST(without_memory)
{
    static const char text[] = "{\"source\":\"perf\",\"containers\":[{\"pod\":\"a\"}]}";
    if (!malloc_fail(0))
        skip();
    for (uint64_t n = 1; n <= 2; n++) {
        struct view view = {0};
        char error[256] = "";
        malloc_fail(n);
        int err = view_parse(text, sizeof text - 1, &view, error, sizeof error);
        malloc_fail(0);
        assert_int_equal(err, -ENOMEM);
        assert_string_equal(error, strerror(ENOMEM));
        assert_int_equal(view.n, 0);
        assert_int_equal(view_parse(text, sizeof text - 1, &view, error, sizeof error), 0);
        view_release(&view);
    }
}
