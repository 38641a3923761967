/*
 * One GET of a document from the exporter on this machine, within a deadline.
 *
 * What the answer says is acted on, so only over a unix socket that user 0, our own or a given user
 * serves, by the kernel's word; or over loopback, where nobody can tell who answers, for those who
 * only look. One thread; blocks up to the deadline.
 */
#ifndef IE_GOVERNOR_CLIENT_H
#define IE_GOVERNOR_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* The largest body; no buffer is larger than with its headers. */
enum { CLIENT_BODY_MAX = 32 << 20, CLIENT_BUFFER_MAX = CLIENT_BODY_MAX + (128 << 10) };

struct client_address {
    union {
        struct sockaddr any;
        struct sockaddr_storage inet;
        struct sockaddr_un local;
    } address;
    socklen_t len;
    char socket[108]; /* path of a unix socket; "" for TCP */
    uid_t user;       /* that may serve it beside 0 and ours; 0: no other */
    char host[64];    /* for the header */
};

/* "http://127.0.0.1:10066" (or [::1], or localhost); -EINVAL with the reason in *why. Pure. */
int client_address_of_url(const char *url, struct client_address *out, const char **why);
int client_address_of_socket(const char *path, struct client_address *out, const char **why);

/* Bytes that are used again: no allocation once they are large enough. */
struct client_buffer {
    char *bytes;
    size_t len, cap;
};
void client_buffer_release(struct client_buffer *buffer);

/*
 * The body of 'path' as *body of *len bytes, within the buffer, until its next use. 0, or -errno
 * with the reason in error: -ETIMEDOUT, -ECONNREFUSED, -EPERM (somebody else serves the socket),
 * -EFBIG (the buffer is freed), -EPROTO (no HTTP, or another status than 200), ...
 */
int client_get(const struct client_address *address, const char *path, uint64_t deadline_ns,
               struct client_buffer *buffer, const char **body, size_t *len, char *error,
               size_t error_size);

/*
 * Parses the bytes that have come so far. 1: the answer is whole, with its body; 0: more must come,
 * *need bytes in all (0: not known); -EPROTO with the reason in *why, -EFBIG. 'ended': the other
 * side has closed. Pure.
 */
int client_answer(const char *bytes, size_t len, bool ended, const char **body, size_t *body_len,
                  size_t *need, const char **why);

#endif
