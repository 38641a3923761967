/* Which clients are connected, and which one is cut off when connections run short. */
#include <stdlib.h>
#include <sys/socket.h>

#include "exporter/http/internal.h"

/* The memory for different bodies that slow readers hold, unless the largest body is bigger than a
 * quarter of it. */
static const size_t bodies_limit = (size_t)64 << 20;

/* A response that takes longer than this may be cut off when its place is wanted. */
static const uint64_t slow_ns = 2000000000;

static void unlink_connection(struct connections *all, struct connection *connection)
{
    struct connection_list *list = &all->lists[connection->state];
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        list->first = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    else
        list->last = connection->previous;
}

static void append(struct connections *all, struct connection *connection,
                   enum connection_state state)
{
    struct connection_list *list = &all->lists[state];
    connection->state = state;
    connection->next = NULL;
    connection->previous = list->last;
    if (list->last)
        list->last->next = connection;
    else
        list->first = connection;
    list->last = connection;
}

/* The daemon sees the end of the stream and closes; it alone may close the descriptor. What the
 * kernel still holds for a slow reader is thrown away then, so that it sees a broken response. */
static void send_away(struct connections *all, struct connection *connection)
{
    const struct linger none = {.l_onoff = 1};
    if (connection->state == CONNECTION_ACTIVE)
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    unlink_connection(all, connection);
    append(all, connection, CONNECTION_LEAVING);
    shutdown(connection->fd, SHUT_RDWR);
}

bool connections_make_room(struct connections *all)
{
    struct connection *oldest = all->lists[CONNECTION_IDLE].first;
    if (!oldest)
        oldest = all->lists[CONNECTION_ACTIVE].first;
    if (oldest)
        send_away(all, oldest);
    return oldest != NULL;
}

/* Room is made before the limit is reached, since a connection that was sent away stays for one
 * more turn of the daemon's loop. */
static bool crowded(const struct connections *all)
{
    unsigned leaving = 0;
    for (struct connection *c = all->lists[CONNECTION_LEAVING].first; c; c = c->next)
        leaving++;
    return all->n - leaving > all->limit - all->limit / 8;
}

struct connection *connections_add(struct connections *all, int fd, uint64_t now_ns, bool *evicted)
{
    *evicted = crowded(all) && connections_make_room(all);
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->fd = fd;
    connection->since_ns = now_ns;
    append(all, connection, CONNECTION_IDLE);
    all->n++;
    return connection;
}

void connections_remove(struct connections *all, struct connection *connection)
{
    unlink_connection(all, connection);
    all->n--;
    free(connection);
}

void connections_idle(struct connections *all, struct connection *connection, uint64_t now_ns)
{
    connection->body = NULL;
    connection->body_len = 0;
    if (connection->state != CONNECTION_ACTIVE)
        return;
    unlink_connection(all, connection);
    append(all, connection, CONNECTION_IDLE);
    connection->since_ns = now_ns;
}

void connections_active(struct connections *all, struct connection *connection, uint64_t now_ns,
                        const void *body, size_t body_len)
{
    connection->body = body;
    connection->body_len = body_len;
    if (connection->state != CONNECTION_IDLE)
        return;
    unlink_connection(all, connection);
    append(all, connection, CONNECTION_ACTIVE);
    connection->since_ns = now_ns;
}

/* Bytes of all bodies that are going out, each counted once however many readers take it. */
static size_t bodies(const struct connections *all, size_t *largest)
{
    size_t sum = 0;
    *largest = 0;
    for (const struct connection *c = all->lists[CONNECTION_ACTIVE].first; c; c = c->next) {
        const struct connection *other = all->lists[CONNECTION_ACTIVE].first;
        while (other->body != c->body)
            other = other->next;
        if (other != c)
            continue;
        sum += c->body_len;
        *largest = c->body_len > *largest ? c->body_len : *largest;
    }
    return sum;
}

void connections_hurry(struct connections *all, uint64_t now_ns)
{
    struct connection *oldest;
    while ((oldest = all->lists[CONNECTION_ACTIVE].first)) {
        size_t largest, limit = bodies_limit;
        bool late = now_ns - oldest->since_ns > all->timeout_ns;
        if (!late) {
            size_t sum = bodies(all, &largest);
            limit = largest > limit / 4 ? largest * 4 : limit;
            if (sum <= limit)
                return;
        }
        send_away(all, oldest);
    }
}

bool connections_take_place(struct connections *all, uint64_t now_ns)
{
    for (struct connection *c = all->lists[CONNECTION_ACTIVE].first; c; c = c->next) {
        if (now_ns - c->since_ns <= slow_ns)
            return false;
        if (c->limited) {
            c->limited = false;
            send_away(all, c);
            return true;
        }
    }
    return false;
}
