/* Who is at the other end of a connection. Pure but for what asks a socket. */
#ifndef IE_HTTP_PEER_H
#define IE_HTTP_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum peer_kind { PEER_UNKNOWN, PEER_UNIX, PEER_IPV4, PEER_IPV6 };

/* What limits count as one: an IPv4 address, the 64 bits of an IPv6 address that a host cannot
 * choose for itself, or all users of a unix socket. */
struct peer {
    enum peer_kind kind;
    uint64_t network; /* in the order of the bytes */
    bool local;       /* on this machine: loopback, or a unix socket */
};

/* An IPv4 address within IPv6 is that IPv4 address. An address shorter than its family is unknown.
 */
struct peer peer_of(const struct sockaddr *address, socklen_t len);
struct peer peer_of_socket(int fd);
/* Of a unix socket: a program of user 0's or of this one's, by the kernel's word. */
bool peer_is_our_user(int fd);
bool peer_same(struct peer a, struct peer b);

#endif
