#include "exporter/service/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int channel_open(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

union control {
    struct cmsghdr header; /* for its alignment */
    char bytes[CMSG_SPACE(CHANNEL_FDS_MAX * sizeof(int))];
};

int channel_send(int fd, const void *bytes, size_t len, const int *fds, size_t n_fds)
{
    union control control;
    struct iovec part = {.iov_base = (void *)(size_t)bytes, .iov_len = len};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (n_fds > CHANNEL_FDS_MAX)
        return -EINVAL;
    if (n_fds > 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n_fds * sizeof *fds);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(n_fds * sizeof *fds);
        memcpy(CMSG_DATA(header), fds, n_fds * sizeof *fds);
    }
    ssize_t sent;
    do
        sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : 0;
}

/* All descriptors of the datagram; those beyond the room are closed and reported. */
static int take_fds(struct msghdr *message, int *fds, size_t room, size_t *n)
{
    int err = message->msg_flags & MSG_CTRUNC ? -EMSGSIZE : 0;
    *n = 0;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (at->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(at) + i * sizeof fd, sizeof fd);
            if (*n < room) {
                fds[(*n)++] = fd;
            } else {
                close(fd);
                err = -EMSGSIZE;
            }
        }
    }
    return err;
}

static void close_all(int *fds, size_t *n)
{
    while (*n > 0)
        close(fds[--*n]);
}

int channel_receive(int fd, int timeout_ms, void *bytes, size_t size, int *fds, size_t *n_fds)
{
    union control control;
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    const size_t room = *n_fds;
    *n_fds = 0;
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    int ready;
    do
        ready = poll(&readable, 1, timeout_ms);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0)
        return ready < 0 ? -errno : -ETIMEDOUT;
    ssize_t len;
    do
        len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (len < 0 && errno == EINTR);
    if (len < 0)
        return -errno;
    if (len == 0) /* the end, or a datagram of no bytes, which nobody sends */
        return readable.revents & POLLHUP ? 0 : -EBADMSG;
    int err = take_fds(&message, fds, room, n_fds);
    if (!err && message.msg_flags & MSG_TRUNC)
        err = -EMSGSIZE;
    if (err)
        close_all(fds, n_fds);
    return err ? err : (int)len;
}
