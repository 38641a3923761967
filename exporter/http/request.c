#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "exporter/http/internal.h"
#include "exporter/http/web_config/web.h"

/* The words are constants of routes and handlers, so there are few combinations; if a
 * handler makes up more, they are not counted. */
void request_counts_add(struct request_counts *counts, const char *handler, const char *format,
                        int code)
{
    pthread_mutex_lock(&counts->lock);
    size_t i = 0;
    while (i < counts->n &&
           (counts->items[i].code != code || strcmp(counts->items[i].handler, handler) != 0 ||
            strcmp(counts->items[i].format, format) != 0))
        i++;
    if (i == counts->n && counts->n < COUNTERS_CAP)
        counts->items[counts->n++] = (struct request_count){handler, format, code, 0};
    if (i < counts->n)
        counts->items[i].count++;
    pthread_mutex_unlock(&counts->lock);
}

/* There are fewer collectors to name. The library has memory for some hundred. */
enum { ARGUMENTS_MAX = 64 };

static size_t count_arguments(const char *uri)
{
    size_t n = 0;
    for (const char *at = strchr(uri, '?'); at; at = strchr(at + 1, '&'))
        n++;
    return n;
}

/* Past the library, which answers nothing. What was asked before on this connection has been
 * answered whole, and nothing is read after it. */
static void answer_too_long(struct listener *listener, struct MHD_Connection *connection)
{
    static const char answer[] = "HTTP/1.1 414 URI Too Long\r\nContent-Length: 0\r\n"
                                 "Connection: close\r\n\r\n";
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info)
        return;
    /* A full buffer is the client's own doing: it then sees the end without the answer. */
    if (!listener->server->web || !web_has_tls(listener->server->web))
        (void)!send(info->connect_fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(info->connect_fd, SHUT_RDWR);
    request_counts_add(&listener->server->counts, "other", "text", 414);
}

void *request_begins(void *closure, const char *uri, struct MHD_Connection *connection)
{
    uintptr_t begun = (uintptr_t)strlen(uri) << REQUEST_LENGTH_SHIFT;
    if (memchr(uri, '%', strcspn(uri, "?")) || strchr(uri, ' '))
        begun |= REQUEST_UNCLEAR;
    if (count_arguments(uri) > ARGUMENTS_MAX) {
        answer_too_long(closure, connection);
        begun |= REQUEST_ANSWERED;
    }
    return (void *)begun;
}

/* The library cuts path and version out of one line: a byte 0 in the path ends the path for C, but
 * not for the library, and the version begins later than right behind the path. */
static bool has_hidden_end(const void *begun, const char *url, const char *version)
{
    size_t len = (uintptr_t)begun >> REQUEST_LENGTH_SHIFT;
    return *version && (uintptr_t)version != (uintptr_t)url + len + 1;
}

struct headers {
    unsigned lengths, hosts, encodings;
};

static enum MHD_Result look(void *context, enum MHD_ValueKind kind, const char *key,
                            const char *value)
{
    struct headers *headers = context;
    (void)kind;
    (void)value;
    if (strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0)
        headers->lengths++;
    else if (strcasecmp(key, MHD_HTTP_HEADER_HOST) == 0)
        headers->hosts++;
    else if (strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
        headers->encodings++;
    return MHD_YES;
}

bool request_is_ambiguous(struct MHD_Connection *connection, const void *begun, const char *url,
                          const char *version)
{
    struct headers headers = {0};
    MHD_get_connection_values(connection, MHD_HEADER_KIND, look, &headers);
    return ((uintptr_t)begun & REQUEST_UNCLEAR) || has_hidden_end(begun, url, version) ||
           headers.lengths + headers.encodings > 1 || headers.hosts > 1 ||
           (headers.hosts == 0 && strcmp(version, MHD_HTTP_VERSION_1_0) != 0);
}
