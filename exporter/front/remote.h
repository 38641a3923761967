/*
 * The server's side: a handler that passes every request on and waits for the answer.
 */
#ifndef IE_FRONT_REMOTE_H
#define IE_FRONT_REMOTE_H

#include "exporter/front/message.h"
#include "exporter/front/tally.h"
#include "exporter/http/http.h"

/* Longer than the reader takes for any page; then the client is answered 503. */
enum { REMOTE_TIMEOUT_MS = 5000 };

struct remote;

/* 'fd' is the server's end of the channel to the desk; what 'start' holds must outlive it. 0 or
 * -errno. */
int remote_new(int fd, const struct start_message *start, struct tally *tally, struct remote **out);
/* No request may be under way. Accepts NULL. */
void remote_free(struct remote *remote);

/* http_config's context is the struct remote. */
const struct http_route *remote_routes(const struct remote *remote, size_t *n);
void remote_answered(void *remote, const char *handler, const char *format, int code);

#endif
