#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "exporter/base/kernel_text.h"
#include "exporter/http/internal.h"

static bool valid_address(const char *address, size_t len, bool bracketed)
{
    for (size_t i = 0; i < len; i++) {
        bool colon = address[i] == ':' || address[i] == '%';
        if (!isalnum((unsigned char)address[i]) && !strchr("-._", address[i]) &&
            !(bracketed && colon))
            return false;
    }
    return !bracketed ||
           (len > 0 && (memchr(address, ':', len) || strspn(address, "0123456789.") >= len));
}

int http_parse_listen(const char *text, char *address, size_t address_size, uint16_t *port)
{
    const char *colon = strrchr(text, ':'), *start = text;
    if (!colon)
        return -EINVAL;
    size_t len = (size_t)(colon - text);
    bool bracketed = len >= 2 && text[0] == '[' && colon[-1] == ']';
    if (bracketed) {
        start++;
        len -= 2;
    }
    uint64_t value;
    if (len >= address_size || !valid_address(start, len, bracketed) || strlen(colon + 1) > 5 ||
        !kernel_text_whole(colon + 1, UINT16_MAX, &value))
        return -EINVAL;
    memcpy(address, start, len);
    address[len] = '\0';
    *port = (uint16_t)value;
    return 0;
}

static int __attribute__((format(printf, 4, 5)))
fail(int err, char *error, size_t error_size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error, error_size, format, args);
    va_end(args);
    return err;
}

/*
 * What the kernel may hold for a client, in each direction; it doubles both for its own overhead.
 * Left to itself it takes a page of megabytes whole, and keeps it for minutes behind a client that
 * never reads: memory that the server does not see. The sum over all connections stays below
 * 256 x 2 x (24 + 16) KiB = 20 MiB.
 */
enum { SEND_BUFFER_BYTES = 64 << 10, RECEIVE_BUFFER_BYTES = 16 << 10 };

void listen_bound_connection(int fd)
{
    const int out = SEND_BUFFER_BYTES, in = RECEIVE_BUFFER_BYTES;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &out, sizeof out);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &in, sizeof in);
}

/* Connections inherit these from the listening socket, but for those of unix sockets. */
void listen_bound(int fd, unsigned timeout_seconds)
{
    const unsigned patience_ms = timeout_seconds * 1000;
    listen_bound_connection(fd);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof patience_ms);
}

static int try_listen(const struct sockaddr *address, socklen_t len, int *out)
{
    int on = 1, off = 0;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->sa_family == AF_INET6) /* the any address takes IPv4 too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    /* Before it has a name: at no moment may others connect. */
    bool refused = address->sa_family == AF_UNIX && fchmod(fd, S_IRUSR | S_IWUSR);
    if (refused || bind(fd, address, len) || listen(fd, SOMAXCONN)) {
        int err = -errno;
        close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

static int listen_any(uint16_t port, int *out)
{
    const struct sockaddr_in6 both = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_ANY_INIT};
    const struct sockaddr_in four = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_ANY)}};
    int err = try_listen((const struct sockaddr *)&both, sizeof both, out);
    if (err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL) /* IPv6 is compiled out, or switched off */
        err = try_listen((const struct sockaddr *)&four, sizeof four, out);
    return err;
}

/* ---- unix sockets ---- */

static const char prefix[] = "unix:";

const char *http_unix_path(const char *text)
{
    const char *path = text + sizeof prefix - 1;
    size_t len = strlen(text);
    if (strncmp(text, prefix, sizeof prefix - 1) != 0 || path[0] != '/' ||
        len - (sizeof prefix - 1) >= sizeof((struct sockaddr_un *)NULL)->sun_path ||
        text[len - 1] == '/')
        return NULL;
    return path;
}

/* Whoever may write there can put a socket of his own in the place of ours. */
static const char *directory_is_safe(const char *path)
{
    char directory[sizeof((struct sockaddr_un *)NULL)->sun_path + 1];
    const char *slash = strrchr(path, '/');
    struct stat st;
    snprintf(directory, sizeof directory, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(directory, &st))
        return strerror(errno);
    if (!S_ISDIR(st.st_mode))
        return "is not in a directory";
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return "its directory is neither root's nor this user's";
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to its directory";
    return NULL;
}

/* Who listens there is not told from who does but has no room. */
static bool somebody_listens(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return true;
    int err = connect(fd, (const struct sockaddr *)address, sizeof *address) ? errno : 0;
    close(fd);
    return err != ECONNREFUSED;
}

/* A socket that an earlier run has left behind makes place; nothing else does. */
static const char *make_place(const struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(address->sun_path, &st))
        return errno == ENOENT ? NULL : strerror(errno);
    if (!S_ISSOCK(st.st_mode))
        return "something else is there";
    if (st.st_uid != geteuid())
        return "another user's socket is there";
    if (somebody_listens(address))
        return "another program serves it";
    return unlink(address->sun_path) ? strerror(errno) : NULL;
}

/*
 * A socket at this path, of mode 0600. In a directory of root's or of this user's that nobody else
 * may write to. What an earlier run has left there is replaced, if it is a socket of this user's
 * that nobody serves. It stays when this run ends.
 */
static int listen_unix(const char *path, int *out, char *error, size_t error_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    const char *problem = directory_is_safe(path);
    int err = problem ? -EPERM : 0;
    if (!err && (problem = make_place(&address)))
        err = -EADDRINUSE;
    if (!err && (err = try_listen((const struct sockaddr *)&address, sizeof address, out)))
        problem = strerror(-err);
    if (err)
        snprintf(error, error_size, "cannot listen on unix:%s: %s", path, problem);
    return err;
}

int listen_open(const char *text, int *out, char *error, size_t error_size)
{
    char address[256], service[8];
    uint16_t port;
    const char *path = http_unix_path(text);
    if (path)
        return listen_unix(path, out, error, error_size);
    if (http_parse_listen(text, address, sizeof address, &port))
        return fail(-EINVAL, error, error_size,
                    "%s is not an address to listen on; write ADDRESS:PORT, [IPV6]:PORT, :PORT or "
                    "unix:PATH",
                    text);
    int err;
    if (!*address) {
        err = listen_any(port, out);
    } else {
        struct addrinfo *list,
            hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
        snprintf(service, sizeof service, "%u", (unsigned)port);
        int problem = getaddrinfo(address, service, &hints, &list);
        if (problem)
            return fail(-EINVAL, error, error_size, "cannot listen on %s: %s", text,
                        gai_strerror(problem));
        err = -EADDRNOTAVAIL;
        for (struct addrinfo *at = list; at && err; at = at->ai_next)
            err = try_listen(at->ai_addr, at->ai_addrlen, out);
        freeaddrinfo(list);
    }
    return err ? fail(err, error, error_size, "cannot listen on %s: %s", text, strerror(-err)) : 0;
}

static bool environment_number(const char *name, long *out)
{
    const char *text = getenv(name);
    char *end;
    if (!text || !isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *out = strtol(text, &end, 10);
    return errno == 0 && *end == '\0';
}

/* The sockets that systemd passed, by the protocol of sd_listen_fds(3): descriptors from 3 on,
 * meant for the process LISTEN_PID. */
static int listen_inherited(int *first, size_t *n, char *error, size_t error_size)
{
    enum { FIRST = 3, MOST = 64 };
    long pid, count;
    if (!environment_number("LISTEN_PID", &pid) || !environment_number("LISTEN_FDS", &count) ||
        pid != (long)getpid() || count < 1)
        return fail(-EINVAL, error, error_size,
                    "systemd passed no socket (LISTEN_PID, LISTEN_FDS): start through a .socket "
                    "unit, or use --web.listen-address");
    if (count > MOST)
        return fail(-EINVAL, error, error_size, "systemd passed %ld sockets, more than %d", count,
                    MOST);
    for (int fd = FIRST; fd < FIRST + count; fd++) {
        int type = 0, listening = 0;
        socklen_t len = sizeof type, listening_len = sizeof listening;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) || type != SOCK_STREAM ||
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &listening_len) || !listening)
            return fail(-EINVAL, error, error_size,
                        "descriptor %d from systemd is not a listening stream socket", fd);
        int flags = fcntl(fd, F_GETFL);
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK))
            return fail(-errno, error, error_size, "descriptor %d from systemd: %s", fd,
                        strerror(errno));
    }
    *first = FIRST;
    *n = (size_t)count;
    return 0;
}

uint16_t http_listen_port(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &len))
        return 0;
    if (address.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&address)->sin_port);
    if (address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address)->sin6_port);
    return 0;
}

static int listen_all(const struct http_config *config, int *sockets, size_t *n, char *error,
                      size_t error_size)
{
    for (*n = 0; *n < config->n_listen; (*n)++) {
        int err = listen_open(config->listen[*n], &sockets[*n], error, error_size);
        if (err)
            return err;
    }
    return 0;
}

int http_listen(const struct http_config *config, int sockets[HTTP_SOCKETS_MAX], size_t *n,
                char *error, size_t error_size)
{
    int first = 0, err = 0;
    *n = 0;
    if (config->systemd_socket) {
        err = listen_inherited(&first, n, error, error_size);
        for (size_t i = 0; i < *n && !err; i++)
            sockets[i] = first + (int)i;
    } else if (config->n_listen > HTTP_SOCKETS_MAX) {
        err = fail(-EINVAL, error, error_size, "more than %d addresses to listen on",
                   HTTP_SOCKETS_MAX);
    } else {
        err = listen_all(config, sockets, n, error, error_size);
    }
    if (!err && *n == 0)
        err = fail(-EINVAL, error, error_size, "no address to listen on");
    while (err && *n > 0)
        close(sockets[--*n]);
    return err;
}
