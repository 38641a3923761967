/*
 * A server on its own port, whose handlers count the bodies that they hand out and get back, and a
 * client that sends exactly the given bytes.
 *
 * Routes: /metrics (limited) and / answer "hello\n"; /large (limited) one large body for all;
 * /fresh a large one for each; /query what was asked; /nothing leaves the answer empty; /asked is
 * for POST.
 */
#ifndef IE_TESTS_HTTP_RIG_H
#define IE_TESTS_HTTP_RIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/http/http.h"

enum { HTTP_RIG_LARGE = 8 << 20 };

struct http_rig {
    struct http_server *server;
    uint16_t port;
    atomic_int handed_out, released, live, most_live;
    char *large;
    size_t large_len;
};

/* Fills in what the caller's config leaves open. Fails the test when the server does not start. */
struct http_rig *http_rig_start(struct http_config config);
/* Stops the server; fails the test unless every body came back. */
void http_rig_stop(struct http_rig *rig);
/* The routes, for servers that the test starts itself, with a struct http_rig as context. */
const struct http_route *http_rig_routes(size_t *n);

/* A connection to the loopback address; a hang of a minute ends reads and writes. */
int http_dial(uint16_t port);
/* The same from another of the loopback addresses, 127.0.0.'host', which the server takes for
 * another peer, and with a receive buffer of that size; 0: the default. */
int http_dial_from(unsigned host, int buffer_bytes, uint16_t port);
int http_send(int fd, const char *bytes, size_t n);

struct http_reply {
    int status;
    char head[4096];
    char body[4096];
    size_t body_len;
};

/* One response: the head, and as many bytes as it promises (or all up to the end). False when it
 * is not whole. */
bool http_receive(int fd, bool head_only, struct http_reply *reply);
/* One request on a connection of its own; status 0 without an answer. */
struct http_reply http_ask(uint16_t port, const char *request);

#define HTTP_GET(path) "GET " path " HTTP/1.1\r\nHost: h\r\n\r\n"

/* /metrics answers as it should. */
void http_assert_served(struct http_rig *rig);
/* Reads up to the end, and closes. */
void http_assert_closed(int fd);

double http_seconds(void);

#endif
