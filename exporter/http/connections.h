/*
 * All connections of one listener, and which of them is closed when they run short. One thread.
 *
 * What is bounded: connections, those of one peer, places for limited requests, bodies in memory,
 * and what the kernel holds for clients that do not take it. For that, the send buffers are small
 * (listen.c), a connection that ends in the middle of a response takes what the kernel holds with
 * it, and one that the daemon closes behind a whole response stays here ("parting") until the
 * client has all of it.
 */
#ifndef IE_HTTP_CONNECTIONS_H
#define IE_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

/* Who is at the other end of a connection. Pure but for what asks a socket. */
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
/* Of a unix socket: a program of user 0's or of this one's, by the kernel's word. */
bool peer_is_our_user(int fd);
bool peer_same(struct peer a, struct peer b);

enum connection_state {
    CONNECTION_IDLE,    /* between requests, or while one is coming in */
    CONNECTION_ACTIVE,  /* a response is going out */
    CONNECTION_LEAVING, /* shut down by us, to be closed by the daemon */
    CONNECTION_PARTING, /* closed by the daemon; the kernel still holds bytes for the client */
    CONNECTION_STATES
};

struct web_credentials;

struct connection {
    TAILQ_ENTRY(connection) link; /* within its state, by age */
    enum connection_state state;
    int fd;            /* the daemon's; our own once it parts */
    size_t peer;       /* index of the peer */
    bool local;        /* the peer is on this machine */
    uint64_t since_ns; /* in this state */
    const void *body;  /* of the response that is going out */
    size_t body_len;
    bool has_place;                      /* counted against max_requests */
    struct web_credentials *credentials; /* of its TLS session; NULL without one */
};

TAILQ_HEAD(connection_list, connection);

struct peer_share {
    struct peer peer;
    unsigned connections, places; /* 0 connections: free */
};

struct connections {
    struct connection_list lists[CONNECTION_STATES];
    struct peer_share *peers;
    size_t n_peers;
    unsigned n, parting, limit; /* n: without those that part */
    uint64_t timeout_ns;
};

/* 0 or -ENOMEM. */
int connections_init(struct connections *all, unsigned limit, uint64_t timeout_ns);
void connections_release(struct connections *all);

/* NULL without memory: such a connection is served, but not tracked. Makes room when there are too
 * many, or too many of this peer: *evicted says whether a connection was closed for it. */
struct connection *connections_add(struct connections *all, int fd, uint64_t now_ns, bool *evicted);
/* The daemon is about to close it. */
void connections_remove(struct connections *all, struct connection *connection, uint64_t now_ns);
void connections_idle(struct connections *all, struct connection *connection, uint64_t now_ns);
void connections_active(struct connections *all, struct connection *connection, uint64_t now_ns,
                        const void *body, size_t body_len);

/* Closes one of the peer that has most: the one that was idle longest, otherwise one that parts,
 * otherwise the slowest reader. False when there is none. */
bool connections_make_room(struct connections *all, uint64_t now_ns);
/* Cuts off responses older than the timeout, and the oldest of those that hold too much memory. */
void connections_hurry(struct connections *all, uint64_t now_ns);

/* How many places for limited requests the connection's peer holds. */
unsigned connections_places(const struct connections *all, const struct connection *connection);
void connections_hold_place(struct connections *all, struct connection *connection);
/* False when it held none. */
bool connections_leave_place(struct connections *all, struct connection *connection);
/*
 * Cuts off a reader that holds a place, and gives the place to the connection: the oldest of the
 * peer that holds most, if these are at least two more than the connection's own; otherwise the
 * slowest one. 'own': only a slow one of the same peer. False when there is none.
 */
bool connections_take_place(struct connections *all, struct connection *connection, bool own,
                            uint64_t now_ns);

#endif
