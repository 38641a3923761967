/*
 * Requests that two programs could understand in two ways, and ones that cannot be answered.
 *
 * A proxy before the exporter decides by what it reads in a request; so does the exporter. What may
 * be read otherwise there (two lengths, an escaped path, no host) is refused here, and the
 * connection closed.
 */
#ifndef IE_HTTP_REQUEST_H
#define IE_HTTP_REQUEST_H

#include <microhttpd.h>
#include <stdbool.h>

struct listener;

/* What is known of a request before its headers are: the library keeps it with the request. */
enum {
    REQUEST_UNCLEAR = 1,  /* a percent sign in the path, or a space */
    REQUEST_ANSWERED = 2, /* by request_begins() */
    REQUEST_SEEN = 4,     /* the headers were looked at */
    REQUEST_WAITED = 8,   /* at the gate */
    REQUEST_LENGTH_SHIFT = 4
};

/* Of MHD_OPTION_URI_LOG_CALLBACK; the closure is the listener. The result holds the flags above,
 * and from REQUEST_LENGTH_SHIFT on the length of 'uri'. Answers 414 to more arguments than the
 * library has memory for, which would get no answer at all; within TLS there is none, but the
 * connection ends at once. */
void *request_begins(void *closure, const char *uri, struct MHD_Connection *connection);

/* Whether it is to be refused; 'begun' is what request_begins() returned. */
bool request_is_ambiguous(struct MHD_Connection *connection, const void *begun, const char *url,
                          const char *version);

#endif
