#include "tests/unit/support/daemon_rig.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/support/unit.h"

static const char header[] =
    "{\"recording\":1,\"machine\":{\"microarchitecture\":\"clx\",\"base_frequency_hz\":2.1e9,"
    "\"cache_cycles\":44},\"interval_ns\":1000000000}\n";

void daemon_recording(char path[64], const char *pod, unsigned ticks, unsigned reads)
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

static void *run(void *context)
{
    struct daemon_rig *d = context;
    d->result = exporter_run(d->exporter, d->error, sizeof d->error);
    return NULL;
}

/* flag may be NULL. */
static void start(struct daemon_rig *d, const char *pace, const char *flag)
{
    snprintf(d->flag, sizeof d->flag, "--source.replay.file=%s", d->recording);
    char *argv[] = {
        "test",      "--source=replay", d->flag, (char *)pace, "--web.listen-address=127.0.0.1:0",
        (char *)flag};
    assert_int_equal(options_parse(&d->options, flag ? 6 : 5, argv, d->error, sizeof d->error), 0);
    assert_int_equal(plan_init(&d->plan, &d->options, NULL, d->error, sizeof d->error), 0);
    d->log = (struct log){.fd = -1};
    assert_int_equal(
        exporter_new(&d->plan, &d->log, NULL, NULL, &d->exporter, d->error, sizeof d->error), 0);
    assert_int_equal(pthread_create(&d->thread, NULL, run, d), 0);
}

void daemon_start(struct daemon_rig *d, const char *pod, unsigned ticks, unsigned reads,
                  const char *flag)
{
    daemon_recording(d->recording, pod, ticks, reads);
    start(d, "--source.replay.speed=max", flag);
}

void daemon_start_skipping(struct daemon_rig *d, unsigned ticks, const char *skip)
{
    daemon_recording(d->recording, "one", ticks, 1000);
    start(d, skip, NULL);
}

void daemon_stop(struct daemon_rig *d)
{
    exporter_stop(d->exporter);
    pthread_join(d->thread, NULL);
    assert_int_equal(d->result, 0);
    exporter_free(d->exporter);
    plan_release(&d->plan);
    unlink(d->recording);
}

char *daemon_fetch(const struct daemon_rig *d, const char *path, const char *headers)
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

void daemon_expect(const struct daemon_rig *d, const char *path, const char *piece)
{
    char *text = daemon_fetch(d, path, "");
    if (!strstr(text, piece))
        print_message("%s\n", text);
    assert_non_null(strstr(text, piece));
    free(text);
}

/* At full speed the recording ends at some time soon: wait for the value, not for the clock. */
void daemon_wait_for(const struct daemon_rig *d, const char *piece)
{
    for (int i = 0; i < 6000; i++) {
        char *text = daemon_fetch(d, "/metrics", "");
        bool there = strstr(text, piece) != NULL;
        free(text);
        if (there)
            return;
        usleep(10000);
    }
    fail_msg("never seen: %s", piece);
}
