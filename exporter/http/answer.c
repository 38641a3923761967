/* From a request to a response. */
#include <string.h>
#include <strings.h>

#include "exporter/base/clock.h"
#include "exporter/http/internal.h"

static void give_place_back(struct listener *listener, struct connection *track)
{
    if (connections_leave_place(&listener->connections, track))
        atomic_fetch_sub(&listener->server->limited, 1);
}

void answer_connection(void *closure, struct MHD_Connection *connection, void **socket_context,
                       enum MHD_ConnectionNotificationCode what)
{
    struct listener *listener = closure;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        if (*socket_context) {
            gate_session_end(*socket_context);
            give_place_back(listener, *socket_context);
            connections_remove(&listener->connections, *socket_context, clock_mono_ns());
        }
        *socket_context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return;
    bool evicted;
    struct connection *track =
        connections_add(&listener->connections, info->connect_fd, clock_mono_ns(), &evicted);
    *socket_context = track;
    gate_session(listener, connection, track);
    if (track && listener->connections.peers[track->peer].peer.kind == PEER_UNIX)
        listen_bound_connection(info->connect_fd);
    if (evicted && !atomic_exchange(&listener->server->complained, true))
        log_warn(
            listener->server->log, "http",
            "more than %u connections, or more than a quarter of these from one address: closing "
            "the ones that have been idle longest (logged once)",
            listener->connections.limit);
}

/* Called for requests that had a response. */
void answer_completed(void *closure, struct MHD_Connection *connection, void **request,
                      enum MHD_RequestTerminationCode why)
{
    struct listener *listener = closure;
    struct connection *track = tracked(connection);
    (void)request;
    (void)why;
    if (!track)
        return;
    connections_idle(&listener->connections, track, clock_mono_ns());
    give_place_back(listener, track);
}

/* Query arguments. */

struct search {
    const char *name; /* NULL: all */
    const char **names, **values;
    size_t cap, n;
};

static enum MHD_Result look(void *context, enum MHD_ValueKind kind, const char *key,
                            const char *value)
{
    struct search *search = context;
    (void)kind;
    if (search->name && strcmp(key, search->name) != 0)
        return MHD_YES;
    if (search->n < search->cap) {
        search->values[search->n] = value ? value : "";
        if (search->names)
            search->names[search->n] = key;
    }
    search->n++;
    return MHD_YES;
}

static size_t query(const struct http_request *request, const char *name, const char **values,
                    size_t cap)
{
    struct search search = {.name = name, .values = values, .cap = cap};
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, look, &search);
    return search.n;
}

static size_t arguments(const struct http_request *request, const char **names, const char **values,
                        size_t cap)
{
    struct search search = {.names = names, .values = values, .cap = cap};
    MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, look, &search);
    return search.n;
}

/* Responses. */

static const char *words(int status)
{
    switch (status) {
    case 400:
        return "400 bad request\n";
    case 401:
        return "401 a user name and a password are needed\n";
    case 403:
        return "403 a client certificate is needed\n";
    case 404:
        return "404 not found\n";
    case 405:
        return "405 method not allowed: GET and HEAD only\n";
    case 413:
        return "413 no request body is accepted\n";
    case 429:
        return "429 more requests than the rate limit allows, try again later\n";
    case 503:
        return "503 too many requests at once, try again\n";
    default:
        return "500 internal error\n";
    }
}

static struct http_response refusal(int status)
{
    const char *text = words(status);
    return (struct http_response){.status = status,
                                  .content_type = "text/plain; charset=utf-8",
                                  .bytes = text,
                                  .len = strlen(text),
                                  .format = "text"};
}

static struct http_response refusal_of_site(void)
{
    static const char text[] = "403 a page of another site asks for this\n";
    struct http_response response = refusal(403);
    response.bytes = text;
    response.len = sizeof text - 1;
    return response;
}

static void release_nothing(void *context)
{
    (void)context;
}

static const char *page_policy(const struct http_response *response)
{
    bool page = response->format && strcmp(response->format, "html") == 0;
    return page ? "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
                  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
                : NULL;
}

static bool add_headers(struct MHD_Response *out, const struct http_response *response)
{
    const struct {
        const char *name, *value;
    } headers[] = {
        {MHD_HTTP_HEADER_CONTENT_TYPE, response->content_type},
        {MHD_HTTP_HEADER_CONTENT_ENCODING, response->content_encoding},
        {MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding"},
        {"X-Content-Type-Options", "nosniff"},
        /* Nothing but what comes from here, whatever got into a page. */
        {"Content-Security-Policy", page_policy(response)},
        {"Referrer-Policy", page_policy(response) ? "no-referrer" : NULL},
        {MHD_HTTP_HEADER_ALLOW, response->status == 405 ? "GET, HEAD" : NULL},
        {MHD_HTTP_HEADER_RETRY_AFTER, response->status == 503 ? "1" : NULL},
        {MHD_HTTP_HEADER_WWW_AUTHENTICATE, response->status == 401 ? "Basic" : NULL},
        /* What follows the headers of such a request is not worth reading. */
        {MHD_HTTP_HEADER_CONNECTION,
         response->status == 400 || response->status == 405 || response->status == 413 ? "close"
                                                                                       : NULL},
    };
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        if (headers[i].value &&
            MHD_add_response_header(out, headers[i].name, headers[i].value) != MHD_YES)
            return false;
    return true;
}

static enum MHD_Result respond(struct listener *listener, struct MHD_Connection *connection,
                               const struct gate *gate, const char *handler,
                               const struct http_response *response)
{
    struct connection *track = tracked(connection);
    void (*release)(void *) = response->release ? response->release : release_nothing;
    struct MHD_Response *out = MHD_create_response_from_buffer_with_free_callback_cls(
        response->len, (void *)(uintptr_t)response->bytes, release, response->release_context);
    if (!out) {
        release(response->release_context);
        return MHD_NO;
    }
    enum MHD_Result result = MHD_NO;
    if (add_headers(out, response) && gate_add_headers(gate, out))
        result = MHD_queue_response(connection, (unsigned)response->status, out);
    MHD_destroy_response(out);
    if (result == MHD_YES) {
        const char *format = response->format ? response->format : "text";
        request_counts_add(&listener->server->counts, handler, format, response->status);
        if (listener->server->answered)
            listener->server->answered(listener->server->context, handler, format,
                                       response->status);
        if (track)
            connections_active(&listener->connections, track, clock_mono_ns(), response->bytes,
                               response->len);
    }
    return result;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static bool has_body(struct MHD_Connection *connection)
{
    const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return (length && strcmp(length, "0") != 0) ||
           header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* A page of another site, in the browser of somebody whose password the browser knows and sends. It
 * says so; what is no browser says nothing. */
static bool is_another_sites(struct MHD_Connection *connection)
{
    const char *site = header(connection, "Sec-Fetch-Site"), *origin = header(connection, "Origin"),
               *host = header(connection, MHD_HTTP_HEADER_HOST);
    const char *named = origin ? strstr(origin, "://") : NULL;
    if (site)
        return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
    return origin && (!named || !host || strcasecmp(named + 3, host) != 0);
}

/* Takes one of the places for limited requests; an untracked connection could not give it back.
 * Nobody keeps the others out: one peer has three quarters of the places at most, and when all are
 * taken, the peer that has most or the slowest reader loses one. */
static bool take_place(struct listener *listener, struct connection *track)
{
    struct http_server *server = listener->server;
    struct connections *all = &listener->connections;
    unsigned max = server->max_requests;
    if (max == 0)
        return true;
    if (!track)
        return false;
    if (connections_places(all, track) >= max - max / 4)
        return connections_take_place(all, track, true, clock_mono_ns());
    if (atomic_fetch_add(&server->limited, 1) < max) {
        connections_hold_place(all, track);
        return true;
    }
    atomic_fetch_sub(&server->limited, 1);
    return connections_take_place(all, track, false, clock_mono_ns());
}

static void handle(struct http_server *server, const struct http_route *route,
                   struct MHD_Connection *connection, bool known, struct http_response *response)
{
    const struct connection *track = tracked(connection);
    const struct http_request request = {
        .path = route->path,
        .post = route->post,
        .accept = header(connection, MHD_HTTP_HEADER_ACCEPT),
        .accept_encoding = header(connection, MHD_HTTP_HEADER_ACCEPT_ENCODING),
        .local = track && track->local,
        .known = known,
        .query = query,
        .arguments = arguments,
        .connection = connection,
    };
    *response = (struct http_response){0};
    route->handle(server->context, &request, response);
    if (response->status == 0) {
        if (response->release)
            response->release(response->release_context);
        *response = refusal(500);
    }
}

enum MHD_Result answer_request(void *closure, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_size, void **request)
{
    struct listener *listener = closure;
    struct http_server *server = listener->server;
    const struct http_route *route = NULL;
    struct http_response response;
    struct gate gate = {.snapshot = NULL};
    int refused = MHD_HTTP_BAD_REQUEST;
    (void)upload;
    (void)upload_size;
    uintptr_t begun = (uintptr_t)*request;
    if (begun & REQUEST_ANSWERED)
        return MHD_NO;
    bool body = has_body(connection),
         bad = request_is_ambiguous(connection, *request, url, version);
    if (!(begun & REQUEST_SEEN) && !body && !bad) {
        *request = (void *)(begun | REQUEST_SEEN); /* an answer to the first of two calls closes */
        return MHD_YES;
    }
    if (!bad) {
        bool waited = begun & REQUEST_WAITED;
        refused = gate_enter(&gate, listener, connection, body, &waited);
        if (waited)
            *request = (void *)(begun | REQUEST_WAITED);
    }
    if (refused == GATE_WAIT)
        return MHD_YES;
    bool post = strcmp(method, MHD_HTTP_METHOD_POST) == 0, allowed = false;
    for (size_t i = 0; i < server->n_routes && !allowed; i++) {
        if (strcmp(server->routes[i].path, url) != 0)
            continue;
        route = &server->routes[i];
        allowed = route->post ? post
                              : strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
                                    strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
    }
    connections_hurry(&listener->connections, clock_mono_ns());

    if (refused != GATE_OPEN)
        response = refusal(refused);
    else if (!route)
        response = refusal(404);
    else if (!allowed)
        response = refusal(405);
    else if (body)
        response = refusal(413);
    else if (post && is_another_sites(connection))
        response = refusal_of_site();
    else if (route->limited && !take_place(listener, tracked(connection)))
        response = refusal(503);
    else
        handle(server, route, connection, gate.known, &response);
    enum MHD_Result result =
        respond(listener, connection, &gate, route && !bad ? route->handler : "other", &response);
    gate_leave(&gate);
    return result;
}
