/*
 * Datagrams with descriptors, over a pair of SOCK_SEQPACKET sockets.
 */
#ifndef IE_SERVICE_CHANNEL_H
#define IE_SERVICE_CHANNEL_H

#include <stddef.h>

enum { CHANNEL_FDS_MAX = 64 };

/* Both ends, closed by exec. 0 or -errno. */
int channel_open(int ends[2]);

/* Sends the whole datagram with n_fds descriptors, of which the caller keeps its own. 0; -EPIPE:
 * nobody is at the other end; other -errno. */
int channel_send(int fd, const void *bytes, size_t len, const int *fds, size_t n_fds);

/*
 * Waits for a datagram, at most timeout_ms (-1: for ever). Returns its length; 0 at the end: nobody
 * is at the other end; -ETIMEDOUT; -EMSGSIZE for one that is longer than size; other -errno.
 * *n_fds is the room in fds before and the number received after; the caller owns them. What finds
 * no room is closed, and the datagram is -EMSGSIZE.
 */
int channel_receive(int fd, int timeout_ms, void *bytes, size_t size, int *fds, size_t *n_fds);

#endif
