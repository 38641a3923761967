#include "exporter/http/peer.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

static struct peer peer_ipv4(const unsigned char bytes[4])
{
    uint32_t address;
    memcpy(&address, bytes, sizeof address);
    return (struct peer){PEER_IPV4, address, bytes[0] == 127};
}

static struct peer peer_ipv6(const struct in6_addr *address)
{
    if (IN6_IS_ADDR_V4MAPPED(address))
        return peer_ipv4(address->s6_addr + 12);
    struct peer peer = {.kind = PEER_IPV6, .local = IN6_IS_ADDR_LOOPBACK(address)};
    memcpy(&peer.network, address->s6_addr, sizeof peer.network);
    return peer;
}

struct peer peer_of(const struct sockaddr *address, socklen_t len)
{
    struct sockaddr_storage copy = {0};
    memcpy(&copy, address, len < sizeof copy ? len : sizeof copy);
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    memcpy(&four, &copy, sizeof four);
    memcpy(&six, &copy, sizeof six);
    if (len >= sizeof four && copy.ss_family == AF_INET)
        return peer_ipv4((const unsigned char *)&four.sin_addr);
    if (len >= sizeof six && copy.ss_family == AF_INET6)
        return peer_ipv6(&six.sin6_addr);
    if (len >= sizeof copy.ss_family && copy.ss_family == AF_UNIX)
        return (struct peer){.kind = PEER_UNIX, .local = true};
    return (struct peer){.kind = PEER_UNKNOWN};
}

struct peer peer_of_socket(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &len))
        return (struct peer){.kind = PEER_UNKNOWN};
    return peer_of((const struct sockaddr *)&address, len);
}

bool peer_is_our_user(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

bool peer_same(struct peer a, struct peer b)
{
    return a.kind == b.kind && a.network == b.network;
}
