/*
 * The server's side: a handler that passes every request on and waits for the answer.
 */
#ifndef IE_FRONT_REMOTE_H
#define IE_FRONT_REMOTE_H

#include <pthread.h>
#include <stddef.h>

#include "exporter/front/message.h"
#include "exporter/front/server_counts.h"
#include "exporter/http/http.h"

/*
 * Bodies of answers in the server's process: the reader's sealed files, mapped read-only.
 */

struct body;

/* Bodies that are being sent: one mapping for each, however many clients read it. */
struct body_cache {
    pthread_mutex_t lock;
    struct body *first;
};

/* Maps a sealed file, or takes the mapping that is there already; the caller still owns fd.
 * -EBADMSG unless it is one, and 'len' long. Any thread. */
int body_map(struct body_cache *cache, int fd, size_t len, struct body **out);
const void *body_bytes(const struct body *body);
/* void for http_response.release. Any thread. */
void body_release(void *body);

/* Longer than the reader takes for any page; then the client is answered 503. */
enum { REMOTE_TIMEOUT_MS = 5000 };

struct remote;

/* 'fd' is the server's end of the channel to the dispatcher; what 'start' holds must outlive it. 0
 * or -errno. */
int remote_new(int fd, const struct start_message *start, struct server_counts *counts,
               struct remote **out);
/* No request may be under way. Accepts NULL. */
void remote_free(struct remote *remote);

/* http_config's context is the struct remote. */
const struct http_route *remote_routes(const struct remote *remote, size_t *n);
void remote_answered(void *remote, const char *handler, const char *format, int code);

#endif
