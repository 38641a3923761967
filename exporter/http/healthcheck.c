#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "exporter/http/http.h"

static const char question[] = "GET /-/healthy HTTP/1.0\r\n\r\n";
enum { PATIENCE_SECONDS = 4 };

/* The status line is all that matters. */
static int ask(int fd)
{
    char answer[64];
    size_t len = 0;
    if (send(fd, question, sizeof question - 1, MSG_NOSIGNAL) != (ssize_t)sizeof question - 1)
        return -errno;
    while (len < sizeof answer - 1 && !memchr(answer, '\n', len)) {
        ssize_t n = recv(fd, answer + len, sizeof answer - 1 - len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    answer[len] = '\0';
    int major, minor, status;
    if (sscanf(answer, "HTTP/%1d.%1d %3d", &major, &minor, &status) != 3 || status != 200)
        return -EPROTO;
    return 0;
}

static int try_at(const struct sockaddr *address, socklen_t len, bool connects)
{
    const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int err = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
        connect(fd, address, len) != 0)
        err = errno == EINPROGRESS ? -ETIMEDOUT : -errno;
    if (!err && !connects)
        err = ask(fd);
    close(fd);
    return err;
}

static int try_unix(const char *path, bool connects)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return try_at((struct sockaddr *)&address, sizeof address, connects);
}

int healthcheck(const char *listen, bool connects)
{
    if (http_unix_path(listen))
        return try_unix(http_unix_path(listen), connects);
    char address[256], service[8];
    uint16_t port;
    struct addrinfo *list, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    int err = http_parse_listen(listen, address, sizeof address, &port);
    if (err)
        return err;
    snprintf(service, sizeof service, "%u", (unsigned)port);
    if (getaddrinfo(*address ? address : NULL, service, &hints, &list) != 0)
        return -EADDRNOTAVAIL;
    err = -EADDRNOTAVAIL;
    for (const struct addrinfo *at = list; at && err; at = at->ai_next)
        err = try_at(at->ai_addr, at->ai_addrlen, connects);
    freeaddrinfo(list);
    return err;
}
