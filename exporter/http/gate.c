#include <string.h>

#include "exporter/base/hash.h"
#include "exporter/http/internal.h"
#include "exporter/http/web_config/passwords.h"
#include "exporter/http/web_config/web.h"

static void suspend(void *request)
{
    MHD_suspend_connection(request);
}

static void resume(void *request)
{
    MHD_resume_connection(request);
}

const struct passwords_ops gate_ops = {.suspend = suspend, .resume = resume, .check = bcrypt_check};

/* Clients on one machine count as one. */
static uint64_t peer_of_connection(const struct listener *listener,
                                   struct MHD_Connection *connection)
{
    const struct connection *track = tracked(connection);
    if (!track)
        return 0;
    const struct peer *peer = &listener->connections.peers[track->peer].peer;
    return hash_u64(peer->network) + (uint64_t)peer->kind;
}

static int status_of(enum password_answer answer)
{
    switch (answer) {
    case PASSWORD_RIGHT:
        return GATE_OPEN;
    case PASSWORD_WRONG:
        return MHD_HTTP_UNAUTHORIZED;
    case PASSWORD_WAIT:
        return GATE_WAIT;
    case PASSWORD_BUSY:
        break;
    }
    return MHD_HTTP_SERVICE_UNAVAILABLE;
}

static int check_password(const struct web_config *config, struct listener *listener,
                          struct MHD_Connection *connection, bool body)
{
    struct passwords *passwords = web_passwords(listener->server->web);
    struct web_basic basic;
    const char *header =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!header || web_basic_parse(header, strlen(header), &basic))
        return MHD_HTTP_UNAUTHORIZED;
    enum password_answer answer =
        body ? passwords_recall(passwords, config, basic.user, basic.password)
             : passwords_ask(passwords, config, basic.user, basic.password,
                             peer_of_connection(listener, connection), connection);
    web_basic_release(&basic);
    return status_of(answer);
}

/* False for what cannot be: a request of a session that did not get through the handshake. */
static bool session_admitted(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    const struct connection *track = tracked(connection);
    return info && track && track->credentials &&
           web_credentials_admit(track->credentials, info->tls_session);
}

/* A program that may read the file of passwords, and the server's memory, has nothing to show. */
static bool is_our_own(const struct listener *listener, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        listener->local ? MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
                        : NULL;
    return info && peer_is_our_user(info->connect_fd);
}

int gate_enter(struct gate *gate, struct listener *listener, struct MHD_Connection *connection,
               bool body, bool *waited)
{
    struct web *web = listener->server->web;
    *gate = (struct gate){.snapshot = NULL};
    if (!web || is_our_own(listener, connection))
        return GATE_OPEN;
    if (web_has_tls(web)) {
        if (!session_admitted(connection))
            return MHD_HTTP_FORBIDDEN;
        gate->known = web_credentials_verify(tracked(connection)->credentials);
    }
    struct web_snapshot *snapshot = web_snapshot_get(web);
    if (!snapshot)
        return MHD_HTTP_INTERNAL_SERVER_ERROR;
    if (!*waited && !web_admits(web)) { /* who waited was counted before */
        web_snapshot_unref(snapshot);
        return MHD_HTTP_TOO_MANY_REQUESTS;
    }
    gate->snapshot = snapshot;
    int status = GATE_OPEN;
    if (snapshot->config.n_users > 0)
        status = check_password(&snapshot->config, listener, connection, body);
    gate->known |= snapshot->config.n_users > 0 && status == GATE_OPEN;
    if (status == GATE_WAIT) {
        *waited = true;
        gate_leave(gate);
    }
    return status;
}

/* nosniff is sent in any case. */
bool gate_add_headers(const struct gate *gate, struct MHD_Response *response)
{
    if (!gate->snapshot)
        return true;
    for (int header = 0; header < WEB_HEADERS; header++) {
        const char *value = gate->snapshot->config.headers[header];
        if (value && header != WEB_X_CONTENT_TYPE_OPTIONS &&
            MHD_add_response_header(response, web_header_name((enum web_header)header), value) !=
                MHD_YES)
            return false;
    }
    return true;
}

void gate_leave(struct gate *gate)
{
    web_snapshot_unref(gate->snapshot);
    gate->snapshot = NULL;
}

void gate_session(struct listener *listener, struct MHD_Connection *connection,
                  struct connection *track)
{
    struct web *web = listener->server->web;
    if (!web || !web_has_tls(web) || listener->local || !track)
        return;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info)
        track->credentials = web_session_begin(web, info->tls_session);
}

/* The daemon has freed the session. */
void gate_session_end(struct connection *track)
{
    web_credentials_unref(track->credentials);
    track->credentials = NULL;
}
