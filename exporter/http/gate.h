/* What --web.config.file has to say about a request: whether it is let in, and with which headers
 * it is answered. In the order of the exporter-toolkit: the file, the rate limit, the headers, the
 * password. For the files of this folder. */
#ifndef IE_HTTP_GATE_H
#define IE_HTTP_GATE_H

#include <microhttpd.h>

#include "exporter/http/internal.h"

struct gate {
    struct web_snapshot *snapshot; /* NULL: no headers */
    bool known; /* the client gave a password, or a certificate that was verified */
};

enum { GATE_OPEN = 0, GATE_WAIT = -1 };

/*
 * GATE_OPEN, the status to refuse with, or GATE_WAIT: the connection is suspended, and the request
 * will come again, with *waited as it is left here. A request with a body, which gets no page in
 * any case, never waits.
 */
int gate_enter(struct gate *gate, struct listener *listener, struct MHD_Connection *connection,
               bool body, bool *waited);
bool gate_add_headers(const struct gate *gate, struct MHD_Response *response);
/* After the answer; not after GATE_WAIT. */
void gate_leave(struct gate *gate);

/* A TLS connection that begins, and one that has ended. */
void gate_session(struct listener *listener, struct MHD_Connection *connection,
                  struct connection *track);
void gate_session_end(struct connection *track);

/* How a request waits. */
extern const struct passwords_ops gate_ops;

#endif
