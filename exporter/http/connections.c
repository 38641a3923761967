/* Which clients are connected, and which one is cut off when connections run short. */
#include "exporter/http/connections.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- peers ---- */

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

static struct peer peer_of_socket(int fd)
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

/* The memory for different bodies that slow readers hold, unless the largest body is bigger than a
 * quarter of it. */
static const size_t bodies_limit = (size_t)64 << 20;

/* A response that takes longer than this may be cut off when its place is wanted. */
static const uint64_t slow_ns = 2000000000;

enum {
    PEER_PART = 4,    /* of the limit, for the connections of one peer */
    PEER_LEAST = 8,   /* but at least so many */
    PARTING_PART = 8, /* of the limit, for those that part */
};

static unsigned part(unsigned limit, unsigned divisor, unsigned least)
{
    return limit / divisor > least ? limit / divisor : least;
}

int connections_init(struct connections *all, unsigned limit, uint64_t timeout_ns)
{
    *all = (struct connections){.limit = limit, .timeout_ns = timeout_ns};
    for (int state = 0; state < CONNECTION_STATES; state++)
        TAILQ_INIT(&all->lists[state]);
    all->n_peers = (size_t)limit + part(limit, PARTING_PART, 1) + 1;
    all->peers = calloc(all->n_peers, sizeof *all->peers);
    return all->peers ? 0 : -ENOMEM;
}

static void append(struct connections *all, struct connection *connection,
                   enum connection_state state)
{
    connection->state = state;
    TAILQ_INSERT_TAIL(&all->lists[state], connection, link);
}

static void move(struct connections *all, struct connection *connection,
                 enum connection_state state, uint64_t now_ns)
{
    TAILQ_REMOVE(&all->lists[connection->state], connection, link);
    append(all, connection, state);
    connection->since_ns = now_ns;
}

/* ---- what the kernel holds ---- */

static bool is_held(int fd)
{
    int bytes = 0;
    return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* Ends a connection now and throws away what the kernel still holds: the client sees a broken
 * response, not the end of one. */
static void reset(int fd)
{
    const struct linger none = {.l_onoff = 1};
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    connect(fd, &nobody, sizeof nobody); /* not every kind of socket can; the linger time is left */
}

static void forget(struct connections *all, struct connection *connection)
{
    TAILQ_REMOVE(&all->lists[connection->state], connection, link);
    all->peers[connection->peer].connections--;
    free(connection);
}

static void part_now(struct connections *all, struct connection *connection)
{
    if (is_held(connection->fd))
        reset(connection->fd);
    close(connection->fd);
    all->parting--;
    forget(all, connection);
}

void connections_release(struct connections *all)
{
    struct connection *connection;
    while ((connection = TAILQ_FIRST(&all->lists[CONNECTION_PARTING]))) {
        close(connection->fd);
        forget(all, connection);
    }
    free(all->peers);
    all->peers = NULL;
}

/* Closes those that have everything, and those that had time enough. */
static void let_go(struct connections *all, uint64_t now_ns)
{
    struct connection *next;
    for (struct connection *c = TAILQ_FIRST(&all->lists[CONNECTION_PARTING]); c; c = next) {
        next = TAILQ_NEXT(c, link);
        if (now_ns - c->since_ns > all->timeout_ns || !is_held(c->fd))
            part_now(all, c);
    }
}

/* ---- whom it hits ---- */

/* The oldest in a state, of the peer that has most connections among those in it. */
static struct connection *oldest_of_largest(const struct connections *all,
                                            enum connection_state state)
{
    struct connection *found = NULL, *c;
    TAILQ_FOREACH(c, &all->lists[state], link)
        if (!found || all->peers[c->peer].connections > all->peers[found->peer].connections)
            found = c;
    return found;
}

static struct connection *oldest_of(const struct connections *all, enum connection_state state,
                                    size_t peer)
{
    struct connection *c = TAILQ_FIRST(&all->lists[state]);
    while (c && c->peer != peer)
        c = TAILQ_NEXT(c, link);
    return c;
}

/* The daemon sees the end of the stream and closes; it alone may close the descriptor. */
static void send_away(struct connections *all, struct connection *connection, uint64_t now_ns)
{
    if (connection->state == CONNECTION_PARTING) {
        part_now(all, connection);
        return;
    }
    if (connection->state == CONNECTION_ACTIVE || is_held(connection->fd))
        reset(connection->fd);
    move(all, connection, CONNECTION_LEAVING, now_ns);
    shutdown(connection->fd, SHUT_RDWR);
}

bool connections_make_room(struct connections *all, uint64_t now_ns)
{
    struct connection *victim = oldest_of_largest(all, CONNECTION_IDLE);
    if (!victim)
        victim = oldest_of_largest(all, CONNECTION_PARTING);
    if (!victim)
        victim = oldest_of_largest(all, CONNECTION_ACTIVE);
    if (victim)
        send_away(all, victim, now_ns);
    return victim != NULL;
}

/* Room is made before the limit is reached: a connection that was sent away stays for one more turn
 * of the daemon's loop, and at the limit the daemon accepts nobody for whom room could be made. */
static bool crowded(const struct connections *all)
{
    unsigned leaving = 0;
    const struct connection *c;
    TAILQ_FOREACH(c, &all->lists[CONNECTION_LEAVING], link)
        leaving++;
    return all->n + all->parting - leaving >= all->limit - all->limit / 8;
}

/* A peer that is over its share loses the connection that was idle longest, otherwise one that
 * parts, otherwise a slow reader, otherwise the new one. */
static void keep_to_share(struct connections *all, struct connection *newcomer, uint64_t now_ns)
{
    struct connection *victim = oldest_of(all, CONNECTION_IDLE, newcomer->peer);
    if (victim == newcomer)
        victim = oldest_of(all, CONNECTION_PARTING, newcomer->peer);
    if (!victim) {
        victim = oldest_of(all, CONNECTION_ACTIVE, newcomer->peer);
        if (victim && now_ns - victim->since_ns <= slow_ns)
            victim = NULL;
    }
    send_away(all, victim ? victim : newcomer, now_ns);
}

/* ---- coming and going ---- */

/* Its index; n_peers when there is no room. */
static size_t find_peer(struct connections *all, struct peer peer)
{
    size_t empty = all->n_peers;
    for (size_t i = 0; i < all->n_peers; i++) {
        if (all->peers[i].connections == 0)
            empty = i < empty ? i : empty;
        else if (peer_same(all->peers[i].peer, peer))
            return i;
    }
    if (empty < all->n_peers)
        all->peers[empty] = (struct peer_share){.peer = peer};
    return empty;
}

struct connection *connections_add(struct connections *all, int fd, uint64_t now_ns, bool *evicted)
{
    let_go(all, now_ns);
    *evicted = crowded(all) && connections_make_room(all, now_ns);
    struct peer peer = peer_of_socket(fd);
    size_t index = find_peer(all, peer);
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection || index == all->n_peers) {
        free(connection);
        return NULL;
    }
    connection->fd = fd;
    connection->peer = index;
    connection->local = peer.local;
    connection->since_ns = now_ns;
    append(all, connection, CONNECTION_IDLE);
    all->n++;
    if (++all->peers[index].connections > part(all->limit, PEER_PART, PEER_LEAST)) {
        keep_to_share(all, connection, now_ns);
        *evicted = true;
    }
    return connection;
}

/* Keeps the socket open beyond the daemon's close. */
static bool start_parting(struct connections *all, struct connection *connection, uint64_t now_ns)
{
    if (all->parting >= part(all->limit, PARTING_PART, 1))
        part_now(all, oldest_of_largest(all, CONNECTION_PARTING));
    int fd = fcntl(connection->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return false;
    shutdown(fd, SHUT_WR);
    connection->fd = fd;
    move(all, connection, CONNECTION_PARTING, now_ns);
    all->parting++;
    return true;
}

void connections_remove(struct connections *all, struct connection *connection, uint64_t now_ns)
{
    all->n--;
    if (is_held(connection->fd)) {
        if (connection->state == CONNECTION_IDLE && start_parting(all, connection, now_ns))
            return;
        reset(connection->fd);
    }
    forget(all, connection);
}

void connections_idle(struct connections *all, struct connection *connection, uint64_t now_ns)
{
    connection->body = NULL;
    connection->body_len = 0;
    if (connection->state == CONNECTION_ACTIVE)
        move(all, connection, CONNECTION_IDLE, now_ns);
}

void connections_active(struct connections *all, struct connection *connection, uint64_t now_ns,
                        const void *body, size_t body_len)
{
    connection->body = body;
    connection->body_len = body_len;
    if (connection->state == CONNECTION_IDLE)
        move(all, connection, CONNECTION_ACTIVE, now_ns);
}

/* ---- slow readers ---- */

/* Bytes of all bodies that are going out, each counted once however many readers take it. */
static size_t bodies(const struct connections *all, size_t *largest)
{
    size_t sum = 0;
    const struct connection *c;
    *largest = 0;
    TAILQ_FOREACH(c, &all->lists[CONNECTION_ACTIVE], link) {
        const struct connection *other = TAILQ_FIRST(&all->lists[CONNECTION_ACTIVE]);
        while (other->body != c->body)
            other = TAILQ_NEXT(other, link);
        if (other != c)
            continue;
        sum += c->body_len;
        *largest = c->body_len > *largest ? c->body_len : *largest;
    }
    return sum;
}

void connections_hurry(struct connections *all, uint64_t now_ns)
{
    let_go(all, now_ns);
    struct connection *oldest;
    while ((oldest = TAILQ_FIRST(&all->lists[CONNECTION_ACTIVE]))) {
        size_t largest, limit = bodies_limit;
        bool late = now_ns - oldest->since_ns > all->timeout_ns;
        if (!late) {
            size_t sum = bodies(all, &largest);
            limit = largest > limit / 4 ? largest * 4 : limit;
            if (sum <= limit)
                return;
        }
        send_away(all, oldest, now_ns);
    }
}

/* ---- places for limited requests ---- */

unsigned connections_places(const struct connections *all, const struct connection *connection)
{
    return all->peers[connection->peer].places;
}

void connections_hold_place(struct connections *all, struct connection *connection)
{
    connection->has_place = true;
    all->peers[connection->peer].places++;
}

bool connections_leave_place(struct connections *all, struct connection *connection)
{
    if (!connection->has_place)
        return false;
    connection->has_place = false;
    all->peers[connection->peer].places--;
    return true;
}

static struct connection *place_to_take(const struct connections *all,
                                        const struct connection *taker, bool own, uint64_t now_ns)
{
    unsigned most = connections_places(all, taker) + 1;
    struct connection *slow = NULL, *greedy = NULL, *c;
    TAILQ_FOREACH(c, &all->lists[CONNECTION_ACTIVE], link) {
        if (!c->has_place || (own && c->peer != taker->peer))
            continue;
        if (!slow && now_ns - c->since_ns > slow_ns)
            slow = c;
        if (connections_places(all, c) > most) {
            most = connections_places(all, c);
            greedy = c;
        }
    }
    return greedy ? greedy : slow;
}

bool connections_take_place(struct connections *all, struct connection *connection, bool own,
                            uint64_t now_ns)
{
    struct connection *loser = place_to_take(all, connection, own, now_ns);
    if (!loser)
        return false;
    connections_leave_place(all, loser);
    send_away(all, loser, now_ns);
    connections_hold_place(all, connection);
    return true;
}
