/* Where a container goes: wanted or not, held or waiting for room, lingering, forgotten. */
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/support/observed_table.h"
#include "tests/unit/support/unit.h"

static uint64_t add_live(struct observed_table *f, struct opener *opener, const char *path,
                         uint64_t now)
{
    struct container_spec spec = {.cgroup_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                  .path = path,
                                  .cgroup_id = now,
                                  .resolved = true,
                                  .owner = opener};
    uint64_t handle;
    assert_int_equal(container_table_add(f->table, &spec, now, &handle), 0);
    return handle;
}

/* Lines that the log got, in a pipe. */
static size_t logged(int fd, const char *word)
{
    char text[65536];
    ssize_t n = read(fd, text, sizeof text - 1);
    if (n < 0)
        return 0;
    text[n] = '\0';
    size_t lines = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        lines++;
    return lines;
}

TEST(filters)
{
    struct container_limits limits = observed_limits;
    limits.include = "shop/.*|//plain.*";
    limits.exclude = ".*/debug|shop/hidden-[0-9]+/.*";
    struct observed_table *f = observed_table_new(&limits, NULL);
    observed_add_named(f, "/1", "cart", "cart", S);
    observed_add_named(f, "/2", "cart", "debug", S);
    observed_add_named(f, "/3", "hidden-12", "x", S);
    observed_add_named(f, "/4", "hidden-12x", "x", S); /* whole match: not excluded */
    struct container_spec spec = {.cgroup_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                  .path = "/system.slice/other",
                                  .resolved = true};
    int fd = spec.cgroup_fd;
    uint64_t h;
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* an excluded one costs no descriptor */
    spec = (struct container_spec){.cgroup_fd = -1, .path = "/plain1", .resolved = true};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    observed_look(f);
    assert_diff(f, 0, 3, 3, 0, 0);
    assert_counts(f, 3, 0, 3, 0);
    assert_non_null(observed_find(f, "/1"));
    assert_non_null(observed_find(f, "/4"));
    assert_non_null(observed_find(f, "/plain1"));
    observed_table_free(f);
}

TEST(bad_filters)
{
    const struct log silent = {.fd = -1};
    struct container_table *table = NULL;
    char error[256] = "";
    struct container_limits limits = observed_limits;
    limits.include = "a(b";
    assert_int_equal(container_table_new(&limits, &silent, &table, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "--containers.include"));
    assert_non_null(strstr(error, "a(b"));
    limits.include = "x";
    limits.exclude = "a)|(b";
    /* POSIX leaves a lone ) undefined; glibc takes it literally or refuses. Either is fine, but
     * it must not become the other half of our own parenthesis. */
    int err = container_table_new(&limits, &silent, &table, error, sizeof error);
    assert_true(err == 0 || err == -EINVAL);
    container_table_free(table);
    table = NULL;
    limits.exclude = "[z-a]";
    assert_int_equal(container_table_new(&limits, &silent, &table, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, "--containers.exclude"));
    assert_null(table);
}

/* Counted while its names were unknown, then excluded by them. */
TEST(excluded_when_named)
{
    struct container_limits limits = observed_limits;
    limits.exclude = "shop/.*";
    struct observed_table *f = observed_table_new(&limits, NULL);
    uint64_t a = observed_add_unresolved(f, "/a", "aaa", 10 * S);
    observed_look(f);
    assert_counts(f, 1, 0, 0, 0);
    assert_int_equal(observed_rename(f, a, "p", "n", 11 * S), 0);
    assert_counts(f, 0, 0, 1, 0);
    observed_look(f);
    assert_diff(f, 1, 0, 0, 0, 0);
    /* Still known: its end takes it off the count. */
    container_table_end(f->table, a, 12 * S);
    assert_counts(f, 0, 0, 0, 0);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);

    /* By the fallback name when patience is over; and in again when the real names pass. */
    limits.exclude = "//dark";
    struct observed_table *g = observed_table_new(&limits, NULL);
    uint64_t b = observed_add_unresolved(g, "/x/dark", "bbb", 10 * S);
    observed_look(g);
    container_table_advance(g->table, 12 * S);
    observed_look(g);
    assert_diff(g, 1, 0, 0, 0, 0);
    assert_counts(g, 0, 0, 1, 0);
    assert_int_equal(observed_rename(g, b, "p", "light", 13 * S), 0);
    observed_look(g);
    assert_diff(g, 0, 1, 1, 0, 0);
    assert_counts(g, 1, 0, 0, 0);
    assert_string_equal(observed_find(g, "/x/dark")->name, "light");
    observed_table_free(g);
    observed_table_free(f);
}

TEST(over_the_limit)
{
    struct container_limits limits = observed_limits;
    limits.max = 2;
    struct observed_table *f = observed_table_new(&limits, NULL);
    struct opener opener = {0};
    opener_install(&opener, f->table);
    size_t fds = fixture_open_fds();
    uint64_t a = add_live(f, &opener, "/a", 1 * S);
    uint64_t b = add_live(f, &opener, "/b", 2 * S);
    uint64_t c = add_live(f, &opener, "/c", 3 * S);
    add_live(f, &opener, "/d", 4 * S);
    add_live(f, &opener, "/e", 5 * S);
    assert_int_equal(fixture_open_fds(), fds + 2); /* those that wait cost none */
    observed_look(f);
    assert_diff(f, 0, 2, 2, 0, 0);
    assert_counts(f, 2, 0, 0, 3);
    assert_int_equal(container_table_deadline(f->table), UINT64_MAX);
    assert_int_equal(opener.held, 2);

    container_table_end(f->table, c, 6 * S); /* ended while it waited */
    assert_counts(f, 2, 0, 0, 2);
    container_table_end(f->table, a, 7 * S);
    assert_true(container_table_deadline(f->table) <= 7 * S);
    opener.answer = -EMFILE;
    container_table_advance(f->table, 7 * S);
    assert_counts(f, 1, 1, 0, 2);
    assert_int_equal(opener.calls, 1);
    assert_true(container_table_deadline(f->table) > 7 * S); /* no busy loop */
    opener.answer = 0;
    container_table_advance(f->table, 9 * S);
    observed_look(f);
    assert_diff(f, 0, 1, 1, 0, 1);
    assert_non_null(observed_find(f, "/d")); /* the oldest that is still there */
    assert_true(observed_find(f, "/d")->cgroup_fd >= 0);
    assert_counts(f, 2, 1, 0, 1);
    assert_int_equal(opener.held, 3);

    /* A newcomer does not overtake. */
    container_table_end(f->table, b, 10 * S);
    add_live(f, &opener, "/g", 10 * S);
    assert_non_null(observed_find(f, "/e"));
    assert_null(observed_find(f, "/g"));
    assert_counts(f, 2, 2, 0, 1);
    observed_table_free(f);
    assert_int_equal(fixture_open_fds(), fds);
}

TEST(dropped_by_the_filter)
{
    struct container_limits limits = observed_limits;
    limits.exclude = "shop/.*";
    struct observed_table *f = observed_table_new(&limits, NULL);
    struct opener opener = {0};
    opener_install(&opener, f->table);
    size_t fds = fixture_open_fds();
    struct container_spec spec = {.cgroup_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                  .path = "/a",
                                  .id = "aaa",
                                  .owner = &opener};
    uint64_t a;
    assert_int_equal(container_table_add(f->table, &spec, S, &a), 0);
    observed_look(f);
    assert_int_equal(observed_rename(f, a, "p", "n", S), 0);
    assert_int_equal(opener.held, 1);
    assert_int_equal(opener.dropped, 1);
    observed_look(f); /* forgotten is reported; the descriptor may still be in use */
    observed_look(f);
    assert_int_equal(fixture_open_fds(), fds);
    container_table_end(f->table, a, 2 * S);
    observed_table_free(f);
}

TEST(linger_max)
{
    struct container_limits limits = observed_limits;
    limits.linger_max = 2;
    struct observed_table *f = observed_table_new(&limits, NULL);
    uint64_t h[4];
    for (int i = 0; i < 4; i++) {
        char path[16];
        snprintf(path, sizeof path, "/c%d", i);
        h[i] = observed_add_named(f, path, path, "n", S);
    }
    observed_look(f);
    /* Ended in another order than that of their slots. */
    container_table_end(f->table, h[2], 10 * S);
    container_table_end(f->table, h[0], 11 * S);
    container_table_end(f->table, h[3], 12 * S);
    observed_look(f);
    observed_read_all(f);
    observed_look(f);
    assert_diff(f, 1, 0, 0, 0, 0);
    assert_null(observed_find(f, "/c2"));
    assert_counts(f, 1, 2, 0, 0);
    container_table_advance(f->table, 131 * S);
    observed_look(f);
    assert_null(observed_find(f, "/c0"));
    assert_non_null(observed_find(f, "/c3"));
    observed_table_free(f);

    limits.linger_max = 2048;
    limits.linger_ns = 0;
    f = observed_table_new(&limits, NULL);
    h[0] = observed_add_named(f, "/a", "p", "n", S);
    observed_look(f);
    container_table_end(f->table, h[0], 2 * S);
    observed_look(f);
    observed_read_all(f);
    observed_look(f);
    assert_diff(f, 1, 0, 0, 0, 0);
    observed_table_free(f);
}

TEST(says_what_is_not_monitored)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    const struct log log = {.fd = fds[1], .level = LOG_LEVEL_INFO};
    struct container_limits limits = observed_limits;
    limits.max = 1;
    limits.exclude = ".*/secret";
    struct observed_table *f = observed_table_new(&limits, &log);
    for (int i = 0; i < 100; i++) {
        char path[16];
        snprintf(path, sizeof path, "/c%d", i);
        observed_add_named(f, path, path, i % 2 ? "n" : "secret", S);
        container_table_advance(f->table, S + (uint64_t)i * S);
    }
    assert_int_equal(logged(fds[0], "not monitored"), 1);
    container_table_advance(f->table, 700 * S);
    assert_int_equal(logged(fds[0], "50 excluded"), 1);
    container_table_advance(f->table, 2000 * S);
    assert_int_equal(logged(fds[0], "not monitored"), 0); /* nothing new to say */

    observed_add_named(f, "/twin1", "p", "same", S);
    observed_table_free(f);
    limits.max = 100;
    f = observed_table_new(&limits, &log);
    observed_add_named(f, "/twin1", "p", "same", S);
    observed_add_named(f, "/twin2", "p", "same", S);
    for (int i = 0; i < 10; i++)
        container_table_advance(f->table, (uint64_t)i * S);
    assert_int_equal(logged(fds[0], "has the same names and id"), 2);
    observed_table_free(f);
    close(fds[0]);
    close(fds[1]);
}
