#include "exporter/governor/see/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/* The value of a header in the lines between at and end, or NULL; up to the end of its line. */
static const char *find_header(const char *at, const char *end, const char *name, size_t *len)
{
    size_t n = strlen(name);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if ((size_t)(stop - at) > n && at[n] == ':' && strncasecmp(at, name, n) == 0) {
            const char *value = at + n + 1;
            while (value < stop && *value == ' ')
                value++;
            const char *last = stop;
            while (last > value && (last[-1] == '\r' || last[-1] == ' '))
                last--;
            *len = (size_t)(last - value);
            return value;
        }
        at = stop + 1;
    }
    return NULL;
}

static int body_length(const char *at, const char *end, size_t *out, bool *known)
{
    size_t len = 0, n = 0;
    const char *value = find_header(at, end, "Content-Length", &len);
    *known = value != NULL;
    if (value && (len == 0 || len > 9))
        return len ? -EFBIG : -EPROTO;
    for (size_t i = 0; value && i < len; i++) {
        if (value[i] < '0' || value[i] > '9')
            return -EPROTO;
        n = n * 10 + (size_t)(value[i] - '0');
    }
    *out = n;
    return n > CLIENT_BODY_MAX ? -EFBIG : 0;
}

/* Behind the empty line, or NULL. */
static const char *find_body(const char *bytes, size_t len)
{
    const char *at = len ? memmem(bytes, len, "\r\n\r\n", 4) : NULL;
    return at ? at + 4 : NULL;
}

/* "HTTP/1.1 200": 1 when it is there, 0 when it may still come, negative when it is something else.
 */
static int check_status_line(const char *bytes, size_t len, bool ended)
{
    static const char version[] = "HTTP/1.";
    size_t n = sizeof version - 1;
    if (len > 0 && memcmp(bytes, version, len < n ? len : n) != 0)
        return -1;
    if (len < sizeof "HTTP/1.1 200" - 1)
        return ended ? -1 : 0;
    return bytes[n + 1] == ' ' ? 1 : -1;
}

int client_answer(const char *bytes, size_t len, bool ended, const char **body, size_t *body_len,
                  size_t *need, const char **why)
{
    size_t unused, n = 0;
    bool known;
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
    if (find_header(bytes, start, "Transfer-Encoding", &unused) ||
        find_header(bytes, start, "Content-Encoding", &unused))
        return refuse(why, "the answer is encoded");
    int err = body_length(bytes, start, &n, &known);
    if (err)
        return err == -EFBIG ? err : refuse(why, "the length of the answer is no number");
    size_t have = len - (size_t)(start - bytes);
    *need = known ? (size_t)(start - bytes) + n : 0;
    if (!known && have > CLIENT_BODY_MAX)
        return -EFBIG;
    if (known ? have < n : !ended)
        return ended ? refuse(why, "the answer is cut") : 0;
    *body = start;
    *body_len = known ? n : have;
    return 1;
}

/* ---- the exchange ---- */

struct exchange {
    int fd;
    uint64_t end_ns;
    struct client_buffer *buffer;
    const char *why;
};

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int wait_for(const struct exchange *exchange, short events)
{
    for (;;) {
        uint64_t now = clock_ns();
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

static int connect_to(struct exchange *exchange, const struct client_address *address)
{
    struct stat st;
    int error = 0;
    socklen_t len = sizeof error;
    if (address->socket[0] && stat(address->socket, &st))
        return -errno;
    if (address->socket[0] && st.st_uid != 0 && st.st_uid != geteuid())
        return -EPERM;
    exchange->fd =
        socket(address->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (exchange->fd < 0)
        return -errno;
    if (connect(exchange->fd, &address->address.any, address->len) == 0)
        return 0;
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
        if (clock_ns() >= exchange->end_ns)
            return -ETIMEDOUT;
    }
}

int client_get(const struct client_address *address, const char *path, uint64_t deadline_ns,
               struct client_buffer *buffer, const char **body, size_t *len, char *error,
               size_t error_size)
{
    struct exchange exchange = {.fd = -1, .end_ns = clock_ns() + deadline_ns, .buffer = buffer};
    buffer->len = 0;
    int err = connect_to(&exchange, address);
    if (!err)
        err = send_request(&exchange, address->host, path);
    if (!err)
        err = receive(&exchange, body, len);
    if (err)
        snprintf(error, error_size, "%s", exchange.why ? exchange.why : strerror(-err));
    if (err == -EFBIG)
        client_buffer_release(buffer);
    if (exchange.fd >= 0)
        close(exchange.fd);
    return err;
}
