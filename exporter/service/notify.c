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

int notify_systemd(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || !*path)
        return 0;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(path);
    if ((path[0] != '/' && path[0] != '@') || len >= sizeof address.sun_path)
        return -EINVAL;
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* the abstract name space */
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    ssize_t sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT,
                          (struct sockaddr *)&address, size);
    int err = sent < 0 ? -errno : 0;
    close(fd);
    return err;
}

int notify_ready(uint64_t silence_us)
{
    const char *text = getenv("WATCHDOG_USEC");
    uint64_t set_us = text ? strtoull(text, NULL, 10) : 0;
    char state[64] = "READY=1";
    if (set_us && (silence_us == 0 || silence_us > set_us))
        snprintf(state, sizeof state, "READY=1\nWATCHDOG_USEC=%" PRIu64, silence_us);
    return notify_systemd(state);
}
