/* Clients that ask for much and take nothing: what they can pin, and what is left for the others.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "exporter/http/connections.h"
#include "tests/unit/support/http_rig.h"
#include "tests/unit/support/tcp_memory.h"
#include "tests/unit/support/unit.h"

enum { GREEDY = 600, SMALL_WINDOW = 4096, PINNED_MAX = 16 << 20 };

static int greedy[GREEDY];

static struct http_rig *rig_with_body(size_t len, struct http_config config)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < 2 * GREEDY)
        skip();
    struct http_rig *f = http_rig_start(config);
    free(f->large);
    f->large_len = len;
    f->large = calloc(1, len);
    assert_non_null(f->large);
    return f;
}

static struct tcp_memory pinned(const struct http_rig *f, const char *by)
{
    struct tcp_memory memory;
    if (!tcp_memory_read(f->port, &memory))
        skip();
    print_message("           %s: %zu KiB in %zu sockets, %zu KiB of them not taken\n", by,
                  memory.bytes >> 10, memory.sockets, memory.unsent_bytes >> 10);
    return memory;
}

static void hang_up(int *fds, size_t n)
{
    const struct linger hard = {1, 0};
    for (size_t i = 0; i < n; i++) {
        setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
        close(fds[i]);
    }
}

/* A page that the kernel would take whole if it were let. */
TEST(readers_that_never_read)
{
    struct http_rig *f =
        rig_with_body(1 << 20, (struct http_config){.timeout_seconds = 600, .max_requests = 40});
    for (int i = 0; i < GREEDY; i++) {
        greedy[i] = http_dial_from(2, SMALL_WINDOW, f->port);
        http_send(greedy[i], HTTP_GET("/large"), strlen(HTTP_GET("/large")));
        if (i % 50 == 0)
            http_assert_served(f);
    }
    http_assert_served(f);
    assert_in_range(pinned(f, "readers").bytes, 0, PINNED_MAX);
    hang_up(greedy, GREEDY);
    http_rig_stop(f);
}

/* While a response goes out nothing more is read: what else the client says stays in the kernel. */
TEST(talkers_that_never_listen)
{
    static const char chatter[65536];
    struct http_rig *f = rig_with_body(1 << 20, (struct http_config){.timeout_seconds = 600});
    for (int i = 0; i < GREEDY; i++) {
        greedy[i] = http_dial_from(2, SMALL_WINDOW, f->port);
        http_send(greedy[i], HTTP_GET("/large"), strlen(HTTP_GET("/large")));
        while (send(greedy[i], chatter, sizeof chatter, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
            ;
    }
    http_assert_served(f);
    assert_in_range(pinned(f, "talkers").bytes, 0, PINNED_MAX);
    hang_up(greedy, GREEDY);
    http_rig_stop(f);
}

/* Their response is whole for the server, which closes; what the kernel holds then belongs to no
 * process. */
TEST(closed_connections_pin_nothing)
{
    static const char once[] = "GET /large HTTP/1.0\r\n\r\n";
    struct http_rig *f = rig_with_body(16000, (struct http_config){.timeout_seconds = 600});
    for (int i = 0; i < GREEDY; i++) {
        greedy[i] = http_dial_from(2, SMALL_WINDOW, f->port);
        http_send(greedy[i], once, sizeof once - 1);
        if (i % 50 == 0)
            http_assert_served(f);
    }
    http_assert_served(f);
    struct tcp_memory memory = pinned(f, "closed");
    assert_in_range(memory.unsent_bytes, 1, 64 * 16384); /* a peer's connections, a page each */
    hang_up(greedy, GREEDY);
    http_rig_stop(f);
}

/* Who takes its time, but does take it, gets all of a response behind which the server closes. */
TEST(a_closed_connection_delivers_its_response)
{
    static const char once[] = "GET /large HTTP/1.0\r\n\r\n";
    static char bytes[4096];
    struct http_rig *f = rig_with_body(16000, (struct http_config){.timeout_seconds = 600});
    int fd = http_dial_from(1, SMALL_WINDOW, f->port);
    http_send(fd, once, sizeof once - 1);
    for (int i = 0; i < 20; i++)
        http_assert_served(f);
    struct http_reply reply;
    assert_true(http_receive(fd, true, &reply));
    size_t total = 0;
    ssize_t n;
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        total += (size_t)n;
    assert_int_equal(n, 0);
    assert_int_equal(total, 16000);
    close(fd);
    http_rig_stop(f);
}

/* Sixty slow readers at one address, forty places: a client at another address never waits. */
TEST(slow_readers_leave_places_to_other_addresses)
{
    struct http_rig *f =
        rig_with_body(1 << 20, (struct http_config){.timeout_seconds = 600, .max_requests = 40});
    for (int i = 0; i < 60; i++) {
        greedy[i] = http_dial_from(2, SMALL_WINDOW, f->port);
        http_send(greedy[i], HTTP_GET("/large"), strlen(HTTP_GET("/large")));
        http_assert_served(f);
    }
    for (int i = 0; i < 32; i++)
        http_assert_served(f);
    /* Two addresses together can take all places, but keep none that a third one wants. */
    for (int i = 60; i < 120; i++) {
        greedy[i] = http_dial_from(3, SMALL_WINDOW, f->port);
        http_send(greedy[i], HTTP_GET("/large"), strlen(HTTP_GET("/large")));
        http_assert_served(f);
    }
    hang_up(greedy, 120);
    http_rig_stop(f);
}

static bool is_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/* Room is made at the cost of the address that has most. */
TEST(a_crowd_closes_its_own_connections)
{
    struct http_rig *f = rig_with_body(1, (struct http_config){.timeout_seconds = 600});
    int honest = http_dial(f->port);
    struct http_reply reply;
    http_send(honest, HTTP_GET("/"), strlen(HTTP_GET("/")));
    assert_true(http_receive(honest, false, &reply));
    for (unsigned i = 0; i < GREEDY; i++)
        greedy[i] = http_dial_from(2 + i % 8, 0, f->port);
    http_assert_served(f);
    assert_true(is_open(honest)); /* the oldest of all, and idle all the time */
    http_send(honest, HTTP_GET("/"), strlen(HTTP_GET("/")));
    assert_true(http_receive(honest, false, &reply));
    assert_int_equal(reply.status, 200);
    hang_up(greedy, GREEDY);
    close(honest);
    http_rig_stop(f);
}

/* One address has a quarter of the connections. */
TEST(an_address_has_a_share)
{
    struct http_rig *f = rig_with_body(1, (struct http_config){.timeout_seconds = 600});
    for (int i = 0; i < 200; i++)
        greedy[i] = http_dial_from(2, 0, f->port);
    http_assert_served(f);
    int open = 0;
    for (int i = 0; i < 200; i++)
        open += is_open(greedy[i]);
    assert_in_range(open, 1, HTTP_DEFAULT_CONNECTIONS / 4);
    hang_up(greedy, 200);
    http_rig_stop(f);
}

/* The same where few descriptors leave the server few connections. */
TEST(a_few_connections_are_enough)
{
    for (unsigned limit = 8; limit <= 24; limit += 8) {
        struct http_rig *f = rig_with_body(
            1, (struct http_config){.timeout_seconds = 600, .max_connections = limit});
        for (unsigned i = 0; i < 3 * limit; i++)
            greedy[i] = http_dial_from(2 + i % 3, 0, f->port);
        for (int i = 0; i < 20; i++)
            http_assert_served(f);
        hang_up(greedy, 3 * limit);
        http_rig_stop(f);
    }
}

static struct peer peer_of_text(int family, const char *text)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (family == AF_INET) {
        assert_int_equal(inet_pton(AF_INET, text, &four.sin_addr), 1);
        return peer_of((const struct sockaddr *)&four, sizeof four);
    }
    assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return peer_of((const struct sockaddr *)&six, sizeof six);
}

TEST(peers_are_told_apart)
{
    static const struct {
        int family;
        const char *text;
        enum peer_kind kind;
        bool local;
    } cases[] = {
        {AF_INET, "127.0.0.1", PEER_IPV4, true},
        {AF_INET, "127.255.0.9", PEER_IPV4, true},
        {AF_INET, "126.0.0.1", PEER_IPV4, false},
        {AF_INET, "10.127.0.1", PEER_IPV4, false},
        {AF_INET, "0.0.0.0", PEER_IPV4, false},
        {AF_INET6, "::1", PEER_IPV6, true},
        {AF_INET6, "::", PEER_IPV6, false},
        {AF_INET6, "::2", PEER_IPV6, false},
        {AF_INET6, "fe80::1", PEER_IPV6, false},
        {AF_INET6, "::ffff:127.0.0.1", PEER_IPV4, true},
        {AF_INET6, "::ffff:10.0.0.1", PEER_IPV4, false},
        {AF_INET6, "::127.0.0.1", PEER_IPV6, false}, /* IPv4-compatible: no loopback */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct peer peer = peer_of_text(cases[i].family, cases[i].text);
        if (peer.kind != cases[i].kind || peer.local != cases[i].local)
            fail_msg("%s", cases[i].text);
    }
    assert_true(
        peer_same(peer_of_text(AF_INET, "10.0.0.1"), peer_of_text(AF_INET6, "::ffff:10.0.0.1")));
    assert_false(peer_same(peer_of_text(AF_INET, "10.0.0.1"), peer_of_text(AF_INET, "10.0.0.2")));
    assert_true(peer_same(peer_of_text(AF_INET6, "2001:db8:1:2::1"),
                          peer_of_text(AF_INET6, "2001:db8:1:2:ffff::9")));
    assert_false(peer_same(peer_of_text(AF_INET6, "2001:db8:1:2::1"),
                           peer_of_text(AF_INET6, "2001:db8:1:3::1")));
    const struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct peer local = peer_of((const struct sockaddr *)&path, sizeof path.sun_family);
    assert_true(local.kind == PEER_UNIX && local.local);
    /* Less than an address of that family is no address. */
    const struct sockaddr_in loopback = {.sin_family = AF_INET,
                                         .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct peer cut = peer_of((const struct sockaddr *)&loopback, sizeof loopback - 1);
    assert_true(cut.kind == PEER_UNKNOWN && !cut.local);
    assert_int_equal(peer_of((const struct sockaddr *)&loopback, 1).kind, PEER_UNKNOWN);
}
