/*
 * What the reader and the server's process say to one another: one datagram each.
 *
 * The server's process is the one that strangers talk to, so what comes from it is taken apart like
 * any other bytes from outside. Both ends are one program, so numbers travel as the machine has
 * them. All functions are pure.
 */
#ifndef IE_FRONT_MESSAGE_H
#define IE_FRONT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MESSAGE_MAX = 64 * 1024,      /* of any message */
    MESSAGE_ARGUMENTS_MAX = 256,  /* of a request's query */
    MESSAGE_ROUTES_MAX = 64,      /* of a start */
    MESSAGE_INLINE_MAX = 8 * 1024 /* longer bodies cross as a descriptor */
};

/* From the server's process: one HTTP request. Strings point into the bytes, and end with NUL. */
struct request_message {
    uint64_t id;
    uint16_t route;              /* index into the routes of the start */
    const char *accept;          /* NULL: not sent */
    const char *accept_encoding; /* NULL: not sent */
    bool local, known;           /* as in http_request */
    size_t n_arguments;
    struct {
        const char *name, *value;
    } arguments[MESSAGE_ARGUMENTS_MAX];
};

/* To the server's process: the answer to it. */
struct reply_message {
    uint64_t id;
    uint16_t status;
    bool has_fd; /* the body is a sealed memory file that comes along; else it is inline */
    uint64_t len;
    const char *content_type, *content_encoding, *format; /* content_encoding may be NULL */
    const void *body;                                     /* has_fd: NULL */
};

/* To the server's process: what to serve. The listening sockets come along. */
struct start_message {
    uint32_t max_requests, max_connections, timeout_seconds;
    size_t n_routes;
    struct {
        const char *path, *handler;
        bool limited, post;
    } routes[MESSAGE_ROUTES_MAX];
};

/* Writes into 'bytes'. The length, or -EMSGSIZE when it does not fit. */
int request_message_write(const struct request_message *message, void *bytes, size_t size);
int reply_message_write(const struct reply_message *message, void *bytes, size_t size);
int start_message_write(const struct start_message *message, void *bytes, size_t size);

/* 0, or -EBADMSG: then 'out' is not to be used. */
int request_message_read(const void *bytes, size_t len, struct request_message *out);
int reply_message_read(const void *bytes, size_t len, struct reply_message *out);
int start_message_read(const void *bytes, size_t len, struct start_message *out);

#endif
