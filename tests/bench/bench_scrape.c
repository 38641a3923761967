/*
 * Scrapers on loopback: bench_scrape PORT CLIENTS SECONDS INTERVAL_MS GZIP_CLIENTS
 *
 * Each client keeps one connection, as Prometheus does, and asks for /metrics every INTERVAL_MS
 * (0: again as soon as it has an answer). The first GZIP_CLIENTS ask for OpenMetrics in gzip, the
 * others for plain text 0.0.4. An answer counts when its status is 200 and it came whole. Prints
 * one line of JSON.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

enum { MAX_CLIENTS = 256, MAX_SCRAPES = 100000, BUFFER = 256 << 10 };

struct client {
    pthread_t thread;
    uint16_t port;
    bool gzip;
    double first, end, interval; /* seconds of the monotonic clock */
    int fd;
    char *buffer;
    double *seconds; /* of each whole scrape */
    size_t n, failed;
    uint64_t bytes;
};

static void sleep_until(double when)
{
    struct timespec t = {.tv_sec = (time_t)when,
                         .tv_nsec = (long)((when - (double)(time_t)when) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

static int dial(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = 20};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* The head into buffer, NUL-terminated; what came of the body with it is *extra. */
static bool read_head(struct client *c, size_t *extra)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(c->fd, c->buffer + len, BUFFER - 1 - len, 0);
        if (n <= 0)
            return false;
        len += (size_t)n;
        c->buffer[len] = '\0';
        char *end = strstr(c->buffer, "\r\n\r\n");
        if (end) {
            *extra = len - (size_t)(end + 4 - c->buffer);
            *end = '\0';
            return strncmp(c->buffer, "HTTP/1.1 200", 12) == 0;
        }
    }
}

/* Answers of a known length, as the exporter gives. */
static bool read_body(struct client *c, size_t extra)
{
    const char *header = strcasestr(c->buffer, "\r\nContent-Length:");
    if (!header)
        return false;
    uint64_t left = strtoull(header + 17, NULL, 10);
    c->bytes += left;
    if (extra > left)
        return false;
    for (left -= extra; left > 0;) {
        ssize_t n = recv(c->fd, c->buffer, left < BUFFER ? left : BUFFER, 0);
        if (n <= 0)
            return false;
        left -= (uint64_t)n;
    }
    return true;
}

static bool scrape(struct client *c)
{
    static const char gzip[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
                               "Accept: application/openmetrics-text;version=1.0.0\r\n"
                               "Accept-Encoding: gzip\r\n\r\n";
    static const char plain[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
                                "Accept: text/plain;version=0.0.4\r\n\r\n";
    const char *request = c->gzip ? gzip : plain;
    size_t len = strlen(request), extra;
    if (c->fd < 0)
        c->fd = dial(c->port);
    if (c->fd < 0)
        return false;
    if (send(c->fd, request, len, MSG_NOSIGNAL) == (ssize_t)len && read_head(c, &extra) &&
        read_body(c, extra))
        return true;
    close(c->fd);
    c->fd = -1;
    return false;
}

static void *work(void *context)
{
    struct client *c = context;
    double next = c->first;
    while (next < c->end) {
        sleep_until(next);
        double start = now_s();
        if (!scrape(c))
            c->failed++;
        else if (c->n < MAX_SCRAPES)
            c->seconds[c->n++] = now_s() - start;
        next += c->interval;
        if (next < now_s())
            next = now_s() + (c->fd < 0 ? 0.01 : 0);
    }
    if (c->fd >= 0)
        close(c->fd);
    return NULL;
}

static int report(const struct client *clients, size_t n_clients)
{
    size_t n = 0, failed = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n_clients; i++) {
        n += clients[i].n;
        failed += clients[i].failed;
        bytes += clients[i].bytes;
    }
    double *all = calloc(n + 1, sizeof *all);
    if (!all)
        return 1;
    for (size_t i = 0, at = 0; i < n_clients; at += clients[i++].n)
        memcpy(all + at, clients[i].seconds, clients[i].n * sizeof *all);
    qsort(all, n, sizeof *all, by_size);
    printf("{\"scrapes\": %zu, \"failed\": %zu, \"bytes\": %llu, \"median_ms\": %.3f, "
           "\"p99_ms\": %.3f, \"max_ms\": %.3f}\n",
           n, failed, (unsigned long long)bytes, all[n / 2] * 1e3,
           n ? all[(n - 1) * 99 / 100] * 1e3 : 0, n ? all[n - 1] * 1e3 : 0);
    free(all);
    return 0;
}

int main(int argc, char **argv)
{
    static struct client clients[MAX_CLIENTS];
    if (argc != 6) {
        fprintf(stderr, "usage: bench_scrape PORT CLIENTS SECONDS INTERVAL_MS GZIP_CLIENTS\n");
        return 2;
    }
    size_t n = strtoul(argv[2], NULL, 10), gzip = strtoul(argv[5], NULL, 10);
    double seconds = atof(argv[3]), interval = atof(argv[4]) / 1e3, start = now_s() + 0.05;
    if (n == 0 || n > MAX_CLIENTS)
        return 2;
    for (size_t i = 0; i < n; i++) {
        clients[i] = (struct client){.port = (uint16_t)atoi(argv[1]),
                                     .gzip = i < gzip,
                                     .first = start + interval * (double)i / (double)n,
                                     .end = start + seconds,
                                     .interval = interval,
                                     .fd = -1,
                                     .buffer = malloc(BUFFER),
                                     .seconds = malloc(MAX_SCRAPES * sizeof(double))};
        if (!clients[i].buffer || !clients[i].seconds ||
            pthread_create(&clients[i].thread, NULL, work, &clients[i]))
            return 1;
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(clients[i].thread, NULL);
    return report(clients, n);
}
