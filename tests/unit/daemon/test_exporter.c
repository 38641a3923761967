/* Whole exporters in this process, on recordings. */
#include <unistd.h>

#include "tests/unit/support/daemon_rig.h"
#include "tests/unit/support/unit.h"

TEST(two_exporters_live_in_one_process)
{
    struct daemon_rig a = {0}, b = {0};
    daemon_start(&a, "one", 3, 1000, NULL);
    daemon_start(&b, "two", 5, 7000, NULL);
    daemon_wait_for(&a, "interference_container_memory_reads_total{namespace=\"shop\",pod=\"one\","
                        "container=\"web\",container_id=\"0123abcd0123\"} 3000\n");
    daemon_wait_for(&b, "interference_container_memory_reads_total{namespace=\"shop\",pod=\"two\","
                        "container=\"web\",container_id=\"0123abcd0123\"} 35000\n");
    daemon_stop(&a);
    daemon_expect(&b, "/metrics", "pod=\"two\"");
    daemon_stop(&b);
}

TEST(the_pages_answer)
{
    struct daemon_rig d = {0};
    daemon_start(&d, "one", 3, 1000, NULL);
    daemon_wait_for(&d, "} 3000\n");
    daemon_expect(&d, "/", "This is a replay of a recording");
    daemon_expect(&d, "/-/healthy", "HTTP/1.1 200");
    daemon_expect(&d, "/-/ready", "HTTP/1.1 200");
    daemon_expect(&d, "/api/v1/status", "\"name\": \"core_latency\"");
    daemon_expect(&d, "/api/v1/status", "\"source\": \"replay\"");
    daemon_expect(&d, "/api/v1/status", "\"microarchitecture\": \"clx\"");
    daemon_expect(&d, "/api/v1/containers", "interference_container_memory_read_latency_seconds");
    daemon_expect(&d, "/metrics", "interference_exporter_source_info{source=\"replay\"");
    daemon_expect(&d, "/metrics?collect[]=core_latency",
                  "interference_container_memory_reads_total{");
    daemon_expect(&d, "/metrics?collect[]=nonsense", "HTTP/1.1 400");
    daemon_expect(&d, "/nowhere", "HTTP/1.1 404");
    char *text = daemon_fetch(&d, "/metrics?collect[]=probe", "");
    assert_null(strstr(text, "interference_container_memory_reads_total"));
    assert_non_null(strstr(text, "interference_exporter_build_info"));
    free(text);
    text = daemon_fetch(&d, "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert_non_null(strstr(text, "# EOF\n"));
    free(text);
    daemon_stop(&d);
}

/* The last tick is 1,000 s after the one that is waited for. Nothing of the beginning is lost. */
TEST(a_beginning_is_replayed_fast_and_the_rest_is_not)
{
    struct daemon_rig d = {0};
    daemon_start_skipping(&d, 1500, "--source.replay.skip=500s");
    static const char name[] = "\ninterference_exporter_ticks_total ";
    unsigned long ticks = 0;
    for (int i = 0; i < 6000 && ticks < 501; i++) { /* and one more in each second after it */
        char *text = daemon_fetch(&d, "/metrics", ""), cycles[32];
        const char *at = strstr(text, name);
        ticks = at ? strtoul(at + sizeof name - 1, NULL, 10) : 0;
        snprintf(cycles, sizeof cycles, "} %lu\n", ticks * 1000);
        if (ticks >= 501) {
            assert_non_null(strstr(text, "interference_container_cpu_cycles_total"));
            assert_non_null(strstr(text, cycles));
        }
        free(text);
        usleep(10000);
    }
    assert_in_range(ticks, 501, 1000);
    daemon_expect(&d, "/api/v1/status", "\"replay_ended\": false");
    daemon_stop(&d);
}

TEST(once_prints_the_end_of_the_recording)
{
    struct daemon_rig d = {0};
    daemon_recording(d.recording, "one", 4, 10);
    snprintf(d.flag, sizeof d.flag, "--source.replay.file=%s", d.recording);
    char *argv[] = {"test", "--source=replay", d.flag, "--once"};
    assert_int_equal(options_parse(&d.options, 4, argv, d.error, sizeof d.error), 0);
    assert_int_equal(plan_init(&d.plan, &d.options, NULL, d.error, sizeof d.error), 0);
    d.log.fd = -1;
    assert_int_equal(
        exporter_new(&d.plan, &d.log, NULL, NULL, &d.exporter, d.error, sizeof d.error), 0);
    assert_int_equal(exporter_port(d.exporter, 0), 0);
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(exporter_once(d.exporter, out, d.error, sizeof d.error), 0);
    fclose(out);
    assert_non_null(strstr(text, "container_id=\"0123abcd0123\"} 40\n"));
    assert_non_null(strstr(text, "interference_exporter_ticks_total 4\n"));
    free(text);
    exporter_free(d.exporter);
    plan_release(&d.plan);
    unlink(d.recording);
}

TEST(a_bad_recording_is_named_with_its_line)
{
    struct daemon_rig d = {0};
    daemon_recording(d.recording, "one", 2, 10);
    FILE *f = fopen(d.recording, "a");
    fputs("{\"tick\":3,\"mono_ns\":3000000000,\"wall_ns\":1}\n{\"read\":\"c1\",\"grou\n", f);
    fclose(f);
    snprintf(d.flag, sizeof d.flag, "--source.replay.file=%s", d.recording);
    char *argv[] = {"test", "--source=replay", d.flag, "--once"};
    assert_int_equal(options_parse(&d.options, 4, argv, d.error, sizeof d.error), 0);
    assert_int_equal(plan_init(&d.plan, &d.options, NULL, d.error, sizeof d.error), 0);
    d.log.fd = -1;
    assert_int_equal(
        exporter_new(&d.plan, &d.log, NULL, NULL, &d.exporter, d.error, sizeof d.error), 0);
    assert_int_not_equal(exporter_once(d.exporter, stderr, d.error, sizeof d.error), 0);
    char where[80];
    snprintf(where, sizeof where, "%s:8:", d.recording);
    assert_non_null(strstr(d.error, where));
    exporter_free(d.exporter);
    plan_release(&d.plan);
    unlink(d.recording);
}
