/* Whole exporters in this process, on recordings. */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/daemon/exporter.h"

static const char header[] =
    "{\"recording\":1,\"machine\":{\"microarchitecture\":\"clx\",\"base_frequency_hz\":2.1e9,"
    "\"cache_cycles\":44},\"interval_ns\":1000000000}\n";

/* A recording of one container "web" of a pod that reads 'reads' times a tick. */
static void write_recording(char *path, const char *pod, unsigned ticks, unsigned reads)
{
    strcpy(path, "/tmp/test_exporter_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    assert_non_null(f);
    fputs(header, f);
    fprintf(f,
            "{\"container\":{\"key\":\"c1\",\"cgroup\":\"/a\",\"id\":\"0123abcd0123abcd\","
            "\"namespace\":\"shop\",\"pod\":\"%s\",\"container\":\"web\",\"image\":\"web:1\","
            "\"pod_uid\":\"\"}}\n",
            pod);
    for (unsigned t = 1; t <= ticks; t++)
        fprintf(f,
                "{\"tick\":%u,\"mono_ns\":%u000000000,\"wall_ns\":1790000000000000000}\n"
                "{\"read\":\"c1\",\"group\":\"core\",\"enabled_ns\":%u000000000,"
                "\"running_ns\":%u000000000,\"values\":{\"cycles\":%llu,\"ref_cycles\":%llu,"
                "\"l3_miss_reads\":%u,\"l3_miss_read_occupancy\":%llu}}\n",
                t, t, t, t, t * 2100000000ull, t * 2100000000ull, t * reads,
                t * reads * 1245ull / 10);
    assert_int_equal(fclose(f), 0);
}

struct daemon {
    char recording[64], flag[96];
    struct options options;
    struct plan plan;
    struct log log;
    struct exporter *exporter;
    pthread_t thread;
    int result;
    char error[512];
};

static void *run(void *context)
{
    struct daemon *d = context;
    d->result = exporter_run(d->exporter, d->error, sizeof d->error);
    return NULL;
}

static void start(struct daemon *d, const char *pod, unsigned ticks, unsigned reads)
{
    write_recording(d->recording, pod, ticks, reads);
    snprintf(d->flag, sizeof d->flag, "--source.replay.file=%s", d->recording);
    char *argv[] = {"test", "--source=replay", d->flag, "--source.replay.speed=max",
                    "--web.listen-address=127.0.0.1:0"};
    assert_int_equal(options_parse(&d->options, 5, argv, d->error, sizeof d->error), 0);
    assert_int_equal(plan_init(&d->plan, &d->options, NULL, d->error, sizeof d->error), 0);
    d->log = (struct log){.fd = -1};
    assert_int_equal(exporter_new(&d->plan, &d->log, NULL, &d->exporter, d->error, sizeof d->error),
                     0);
    assert_int_equal(pthread_create(&d->thread, NULL, run, d), 0);
}

static void stop(struct daemon *d)
{
    exporter_stop(d->exporter);
    pthread_join(d->thread, NULL);
    assert_int_equal(d->result, 0);
    exporter_free(d->exporter);
    plan_release(&d->plan);
    unlink(d->recording);
}

/* The answer to one request, headers included. Freed by the caller. */
static char *fetch(const struct daemon *d, const char *path, const char *headers)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(exporter_port(d->exporter, 0)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    dprintf(fd, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", path, headers);
    size_t cap = 1 << 20, len = 0;
    char *text = malloc(cap);
    ssize_t n;
    while ((n = read(fd, text + len, cap - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    close(fd);
    return text;
}

static void expect(const struct daemon *d, const char *path, const char *piece)
{
    char *text = fetch(d, path, "");
    if (!strstr(text, piece))
        print_message("%s\n", text);
    assert_non_null(strstr(text, piece));
    free(text);
}

/* At full speed the recording ends at some time soon: wait for the value, not for the clock. */
static void wait_for(const struct daemon *d, const char *piece)
{
    for (int i = 0; i < 1000; i++) {
        char *text = fetch(d, "/metrics", "");
        bool there = strstr(text, piece) != NULL;
        free(text);
        if (there)
            return;
        usleep(10000);
    }
    fail_msg("never seen: %s", piece);
}

static void two_exporters_live_in_one_process(void **state)
{
    (void)state;
    struct daemon a = {0}, b = {0};
    start(&a, "one", 3, 1000);
    start(&b, "two", 5, 7000);
    wait_for(&a, "interference_container_memory_reads_total{namespace=\"shop\",pod=\"one\","
                 "container=\"web\",container_id=\"0123abcd0123\"} 3000\n");
    wait_for(&b, "interference_container_memory_reads_total{namespace=\"shop\",pod=\"two\","
                 "container=\"web\",container_id=\"0123abcd0123\"} 35000\n");
    stop(&a);
    expect(&b, "/metrics", "pod=\"two\"");
    stop(&b);
}

static void the_pages_answer(void **state)
{
    (void)state;
    struct daemon d = {0};
    start(&d, "one", 3, 1000);
    wait_for(&d, "} 3000\n");
    expect(&d, "/", "This is a replay of a recording");
    expect(&d, "/-/healthy", "HTTP/1.1 200");
    expect(&d, "/-/ready", "HTTP/1.1 200");
    expect(&d, "/api/v1/status", "\"name\": \"core_latency\"");
    expect(&d, "/api/v1/status", "\"source\": \"replay\"");
    expect(&d, "/api/v1/status", "\"microarchitecture\": \"clx\"");
    expect(&d, "/api/v1/containers", "interference_container_memory_read_latency_seconds");
    expect(&d, "/metrics", "interference_exporter_source_info{source=\"replay\"");
    expect(&d, "/metrics?collect[]=core_latency", "interference_container_memory_reads_total{");
    expect(&d, "/metrics?collect[]=nonsense", "HTTP/1.1 400");
    expect(&d, "/nowhere", "HTTP/1.1 404");
    char *text = fetch(&d, "/metrics?collect[]=probe", "");
    assert_null(strstr(text, "interference_container_memory_reads_total"));
    assert_non_null(strstr(text, "interference_exporter_build_info"));
    free(text);
    text = fetch(&d, "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert_non_null(strstr(text, "# EOF\n"));
    free(text);
    stop(&d);
}

static void once_prints_the_end_of_the_recording(void **state)
{
    (void)state;
    struct daemon d = {0};
    write_recording(d.recording, "one", 4, 10);
    snprintf(d.flag, sizeof d.flag, "--source.replay.file=%s", d.recording);
    char *argv[] = {"test", "--source=replay", d.flag, "--once"};
    assert_int_equal(options_parse(&d.options, 4, argv, d.error, sizeof d.error), 0);
    assert_int_equal(plan_init(&d.plan, &d.options, NULL, d.error, sizeof d.error), 0);
    d.log.fd = -1;
    assert_int_equal(exporter_new(&d.plan, &d.log, NULL, &d.exporter, d.error, sizeof d.error), 0);
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

static void a_bad_recording_is_named_with_its_line(void **state)
{
    (void)state;
    struct daemon d = {0};
    write_recording(d.recording, "one", 2, 10);
    FILE *f = fopen(d.recording, "a");
    fputs("{\"tick\":3,\"mono_ns\":3000000000,\"wall_ns\":1}\n{\"read\":\"c1\",\"grou\n", f);
    fclose(f);
    snprintf(d.flag, sizeof d.flag, "--source.replay.file=%s", d.recording);
    char *argv[] = {"test", "--source=replay", d.flag, "--once"};
    assert_int_equal(options_parse(&d.options, 4, argv, d.error, sizeof d.error), 0);
    assert_int_equal(plan_init(&d.plan, &d.options, NULL, d.error, sizeof d.error), 0);
    d.log.fd = -1;
    assert_int_equal(exporter_new(&d.plan, &d.log, NULL, &d.exporter, d.error, sizeof d.error), 0);
    assert_int_not_equal(exporter_once(d.exporter, stderr, d.error, sizeof d.error), 0);
    char where[80];
    snprintf(where, sizeof where, "%s:8:", d.recording);
    assert_non_null(strstr(d.error, where));
    exporter_free(d.exporter);
    plan_release(&d.plan);
    unlink(d.recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_exporters_live_in_one_process),
        cmocka_unit_test(the_pages_answer),
        cmocka_unit_test(once_prints_the_end_of_the_recording),
        cmocka_unit_test(a_bad_recording_is_named_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
