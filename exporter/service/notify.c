#include "exporter/service/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Of systemd's kind, and where it is to send to. -ENOENT: NOTIFY_SOCKET is not set. */
static int open_socket(struct sockaddr_un *out, socklen_t *size)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || !*path)
        return -ENOENT;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || len >= sizeof address.sun_path)
        return -EINVAL;
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* the abstract name space */
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    *out = address;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

int notify_systemd(const char *state)
{
    struct sockaddr_un address;
    socklen_t size;
    int fd = open_socket(&address, &size);
    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
                          (struct sockaddr *)&address, size);
    int err = sent < 0 ? -errno : 0;
    close(fd);
    return err;
}

int notify_open(void)
{
    struct sockaddr_un address;
    socklen_t size;
    int fd = open_socket(&address, &size);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, size) == 0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

void notify_ready_words(uint64_t silence_us, char *out, size_t out_size)
{
    const char *text = getenv("WATCHDOG_USEC");
    uint64_t set_us = text ? strtoull(text, NULL, 10) : 0;
    snprintf(out, out_size, "READY=1");
    if (set_us && (silence_us == 0 || silence_us > set_us))
        snprintf(out, out_size, "READY=1\nWATCHDOG_USEC=%" PRIu64, silence_us);
}

int notify_ready(uint64_t silence_us)
{
    char state[NOTIFY_READY_MAX];
    notify_ready_words(silence_us, state, sizeof state);
    return notify_systemd(state);
}
