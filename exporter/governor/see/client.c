#include "exporter/governor/see/client.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "exporter/base/clock.h"

enum { HEADERS_MAX = 16384, FIRST_BYTES = 65536 };

/* ---- addresses ---- */

static int fail(const char **why, const char *reason)
{
    *why = reason;
    return -EINVAL;
}

static bool set_ip(struct client_address *out, const char *host, uint16_t port)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&out->address.inet;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->address.inet;
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        out->len = sizeof *v4;
        return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
    }
    if (strcmp(host, "[::1]") != 0)
        return false;
    v6->sin6_family = AF_INET6;
    v6->sin6_addr = in6addr_loopback;
    v6->sin6_port = htons(port);
    out->len = sizeof *v6;
    return true;
}

int client_address_of_url(const char *url, struct client_address *out, const char **why)
{
    static const char scheme[] = "http://";
    struct client_address address = {0};
    char *end;
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return fail(why, "must begin with http://");
    const char *host = url + sizeof scheme - 1;
    const char *colon = strrchr(host, ':');
    if (!colon || (size_t)(colon - host) >= sizeof address.host)
        return fail(why, "must have a host and a port");
    unsigned long port = strtoul(colon + 1, &end, 10);
    if (colon[1] < '0' || colon[1] > '9' || port == 0 || port > 65535 ||
        (*end && strcmp(end, "/") != 0))
        return fail(why, "must end in a port");
    memcpy(address.host, host, (size_t)(colon - host));
    if (!set_ip(&address, address.host, (uint16_t)port))
        return fail(why, "must be on this machine: 127.0.0.1, [::1] or localhost");
    *out = address;
    return 0;
}

int client_address_of_socket(const char *path, struct client_address *out, const char **why)
{
    struct client_address address = {.host = "localhost"};
    if (path[0] != '/' || strlen(path) >= sizeof address.socket)
        return fail(why, "must be an absolute path of less than 108 bytes");
    strcpy(address.socket, path);
    address.address.local.sun_family = AF_UNIX;
    strcpy(address.address.local.sun_path, path);
    address.len = sizeof address.address.local;
    *out = address;
    return 0;
}

void client_buffer_release(struct client_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct client_buffer){0};
}

/* ---- the answer ---- */

static int refuse(const char **why, const char *reason)
{
    *why = reason;
    return -EPROTO;
}

/* What its headers say of a body. */
struct headers {
    bool has_length, encoded;
    size_t length;
};

static bool is_called(const char *at, size_t len, const char *name)
{
    return len == strlen(name) && strncasecmp(at, name, len) == 0;
}

static int read_length(const char *at, size_t len, struct headers *out, const char **why)
{
    if (out->has_length)
        return refuse(why, "the answer has two lengths");
    out->has_length = true;
    if (len == 0 || strspn(at, "0123456789") < len)
        return refuse(why, "the length of the answer is no number");
    for (size_t i = 0; i < len && out->length <= CLIENT_BODY_MAX; i++)
        out->length = out->length * 10 + (size_t)(at[i] - '0');
    return out->length > CLIENT_BODY_MAX ? -EFBIG : 0;
}

/* One line, without its end. What others may understand otherwise is refused: a name with a space,
 * a line that continues the one before. */
static int read_header(const char *at, size_t len, struct headers *out, const char **why)
{
    const char *colon = memchr(at, ':', len), *end = at + len;
    const char *value = colon ? colon + 1 : end;
    size_t name_len = colon ? (size_t)(colon - at) : 0;
    for (size_t i = 0; i < name_len; i++)
        if (!isalnum((unsigned char)at[i]) && !strchr("-_", at[i]))
            name_len = 0;
    if (name_len == 0 || memchr(at, '\n', len) || memchr(at, '\0', len))
        return refuse(why, "a header of the answer is none");
    while (value < end && *value == ' ')
        value++;
    while (end > value && end[-1] == ' ')
        end--;
    if (is_called(at, name_len, "Transfer-Encoding") || is_called(at, name_len, "Content-Encoding"))
        out->encoded = true;
    return is_called(at, name_len, "Content-Length")
               ? read_length(value, (size_t)(end - value), out, why)
               : 0;
}

/* The lines from 'at' up to the empty one, which ends before 'body'. */
static int read_headers(const char *at, const char *body, struct headers *out, const char **why)
{
    int err = 0;
    *out = (struct headers){0};
    while (!err && at < body - 2) {
        const char *stop = memmem(at, (size_t)(body - at), "\r\n", 2);
        err = read_header(at, (size_t)(stop - at), out, why);
        at = stop + 2;
    }
    return !err && out->encoded ? refuse(why, "the answer is encoded") : err;
}

/* Behind the empty line, or NULL. */
static const char *find_body(const char *bytes, size_t len)
{
    const char *at = len ? memmem(bytes, len, "\r\n\r\n", 4) : NULL;
    return at ? at + 4 : NULL;
}

/* "HTTP/1.1 200 OK" or, of an older kind, "HTTP/1.0 200 OK": 1 when the whole of it up to the
 * reason is there, 0 when it may still come, negative when it is something else. */
static int check_status_line(const char *bytes, size_t len, bool ended)
{
    static const char form[] = "HTTP/1.# ### ";
    for (size_t i = 0; i < sizeof form - 1; i++) {
        if (i == len)
            return ended ? -1 : 0;
        bool fits = form[i] == '#' ? bytes[i] >= '0' && bytes[i] <= '9' : bytes[i] == form[i];
        if (!fits)
            return -1;
    }
    return bytes[7] <= '1' ? 1 : -1;
}

int client_answer(const char *bytes, size_t len, bool ended, const char **body, size_t *body_len,
                  size_t *need, const char **why)
{
    struct headers headers;
    *need = 0;
    int status = check_status_line(bytes, len, ended);
    if (status <= 0)
        return status < 0 ? refuse(why, "the answer is no HTTP") : 0;
    const char *start = find_body(bytes, len);
    if (!start && (ended || len > HEADERS_MAX))
        return refuse(why, ended ? "the answer ends within its headers" : "the headers are long");
    if (!start)
        return 0;
    if (memcmp(bytes + 9, "200", 3) != 0)
        return refuse(why, "another status than 200");
    const char *line = memmem(bytes, len, "\r\n", 2);
    int err = read_headers(line + 2, start, &headers, why);
    if (err)
        return err;
    size_t have = len - (size_t)(start - bytes);
    *need = headers.has_length ? (size_t)(start - bytes) + headers.length : 0;
    if (!headers.has_length && have > CLIENT_BODY_MAX)
        return -EFBIG;
    if (headers.has_length ? have < headers.length : !ended)
        return ended ? refuse(why, "the answer is cut") : 0;
    *body = start;
    *body_len = headers.has_length ? headers.length : have;
    return 1;
}

/* ---- the exchange ---- */

struct exchange {
    int fd;
    uint64_t end_ns;
    struct client_buffer *buffer;
    const char *why;
    char words[128]; /* where 'why' is no constant */
};

static int wait_for(const struct exchange *exchange, short events)
{
    for (;;) {
        uint64_t now = clock_mono_ns();
        if (now >= exchange->end_ns)
            return -ETIMEDOUT;
        struct pollfd item = {.fd = exchange->fd, .events = events};
        int ready = poll(&item, 1, (int)((exchange->end_ns - now) / 1000000) + 1);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
}

/* Whoever made the socket listen, whatever has become of it and of its path since. */
static int check_peer(struct exchange *exchange, const struct client_address *address)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    if (!address->socket[0])
        return 0;
    if (getsockopt(exchange->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
        return -errno;
    if (peer.uid == 0 || peer.uid == geteuid() || peer.uid == address->user)
        return 0;
    snprintf(exchange->words, sizeof exchange->words,
             "user %u serves it, who is neither 0 nor exporter.uid, so nothing of it is believed",
             (unsigned)peer.uid);
    exchange->why = exchange->words;
    return -EPERM;
}

static int connect_to(struct exchange *exchange, const struct client_address *address)
{
    int error = 0;
    socklen_t len = sizeof error;
    exchange->fd =
        socket(address->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (exchange->fd < 0)
        return -errno;
    if (connect(exchange->fd, &address->address.any, address->len) == 0)
        return check_peer(exchange, address);
    if (errno != EINPROGRESS)
        return -errno;
    int err = wait_for(exchange, POLLOUT);
    if (!err && getsockopt(exchange->fd, SOL_SOCKET, SO_ERROR, &error, &len))
        err = -errno;
    return err ? err : -error;
}

static int send_request(const struct exchange *exchange, const char *host, const char *path)
{
    char text[512];
    int n = snprintf(text, sizeof text,
                     "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n"
                     "Accept: application/json\r\nAccept-Encoding: identity\r\n\r\n",
                     path, host);
    if (n < 0 || (size_t)n >= sizeof text)
        return -ENAMETOOLONG;
    for (size_t sent = 0; sent < (size_t)n;) {
        ssize_t now = send(exchange->fd, text + sent, (size_t)n - sent, MSG_NOSIGNAL);
        if (now > 0) {
            sent += (size_t)now;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return -errno;
        int err = wait_for(exchange, POLLOUT);
        if (err)
            return err;
    }
    return 0;
}

static int make_room(struct client_buffer *buffer, size_t need)
{
    size_t cap = buffer->cap ? buffer->cap : FIRST_BYTES;
    while (cap < CLIENT_BUFFER_MAX && (cap < need || cap - buffer->len < FIRST_BYTES / 2))
        cap *= 2;
    if (cap > CLIENT_BUFFER_MAX)
        cap = CLIENT_BUFFER_MAX;
    if (cap < need || cap == buffer->len)
        return -EFBIG;
    if (cap == buffer->cap)
        return 0;
    char *bytes = realloc(buffer->bytes, cap);
    if (!bytes)
        return -ENOMEM;
    buffer->bytes = bytes;
    buffer->cap = cap;
    return 0;
}

static int receive(struct exchange *exchange, const char **body, size_t *len)
{
    struct client_buffer *buffer = exchange->buffer;
    size_t need = 0;
    for (;;) {
        int err = make_room(buffer, need);
        if (err)
            return err;
        ssize_t n = recv(exchange->fd, buffer->bytes + buffer->len, buffer->cap - buffer->len, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            err = wait_for(exchange, POLLIN);
            if (err)
                return err;
            continue;
        }
        if (n < 0)
            return -errno;
        buffer->len += (size_t)n;
        int whole =
            client_answer(buffer->bytes, buffer->len, n == 0, body, len, &need, &exchange->why);
        if (whole)
            return whole < 0 ? whole : 0;
        if (clock_mono_ns() >= exchange->end_ns)
            return -ETIMEDOUT;
    }
}

int client_get(const struct client_address *address, const char *path, uint64_t deadline_ns,
               struct client_buffer *buffer, const char **body, size_t *len, char *error,
               size_t error_size)
{
    struct exchange exchange = {
        .fd = -1, .end_ns = clock_mono_ns() + deadline_ns, .buffer = buffer};
    buffer->len = 0;
    int err = connect_to(&exchange, address);
    if (!err)
        err = send_request(&exchange, address->host, path);
    if (!err)
        err = receive(&exchange, body, len);
    if (err)
        snprintf(error, error_size, "%s%s%s", address->socket, address->socket[0] ? ": " : "",
                 exchange.why ? exchange.why : strerror(-err));
    if (err == -EFBIG)
        client_buffer_release(buffer);
    if (exchange.fd >= 0)
        close(exchange.fd);
    return err;
}
