/*
 * The table, with a model of its consumers: what they would know from the diffs alone is held
 * against the table after every step, and no two containers that have series share their labels.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/containers/table/table.h"

#define MS UINT64_C(1000000)
#define S UINT64_C(1000000000)

/* ---- the model of a consumer ---- */

struct seen {
    const struct container *c;
    uint32_t gen;
    bool named, ended;
    char labels[1024];
};

struct model {
    struct seen slots[4096];
    size_t forgotten, added, named, renamed, ended; /* of the last diff */
};

static void labels_of(const struct container *c, char *out, size_t size)
{
    snprintf(out, size, "%s/%s/%s/%s", c->namespace_, c->pod, c->name, c->short_id);
}

static struct seen *seen_of(struct model *m, const struct container *c)
{
    assert_true(c->slot < 4096);
    struct seen *seen = &m->slots[c->slot];
    assert_ptr_equal(seen->c, c);
    assert_int_equal(seen->gen, c->gen);
    return seen;
}

static void take_labels(struct model *m, struct seen *seen)
{
    labels_of(seen->c, seen->labels, sizeof seen->labels);
    for (size_t i = 0; i < 4096; i++) {
        const struct seen *other = &m->slots[i];
        if (other != seen && other->c && other->named && !strcmp(other->labels, seen->labels))
            fail_msg("two containers with the labels %s", seen->labels);
    }
}

static bool in_list(struct container_list list, const struct container *c)
{
    for (size_t i = 0; i < list.n; i++) {
        if (list.at[i] == c)
            return true;
    }
    return false;
}

static void apply(struct model *m, const struct container_diff *diff)
{
    for (size_t i = 0; i < diff->forgotten.n; i++) {
        const struct container *c = diff->forgotten.at[i];
        struct seen *seen = seen_of(m, c);
        assert_false(in_list(diff->added, c) || in_list(diff->named, c) ||
                     in_list(diff->renamed, c) || in_list(diff->ended, c));
        *seen = (struct seen){0};
    }
    for (size_t i = 0; i < diff->added.n; i++) {
        const struct container *c = diff->added.at[i];
        assert_null(m->slots[c->slot].c);
        m->slots[c->slot] = (struct seen){.c = c, .gen = c->gen};
    }
    for (size_t i = 0; i < diff->named.n; i++) {
        struct seen *seen = seen_of(m, diff->named.at[i]);
        assert_false(seen->named);
        assert_true(seen->c->named);
        seen->named = true;
        take_labels(m, seen);
    }
    for (size_t i = 0; i < diff->renamed.n; i++) {
        struct seen *seen = seen_of(m, diff->renamed.at[i]);
        assert_true(seen->named);
        take_labels(m, seen);
    }
    for (size_t i = 0; i < diff->ended.n; i++) {
        struct seen *seen = seen_of(m, diff->ended.at[i]);
        assert_false(seen->ended);
        assert_int_equal(seen->c->state, CONTAINER_ENDED);
        assert_true(seen->c->ended_mono_ns > 0);
        seen->ended = true;
    }
}

static void look(struct model *m, struct container_table *table)
{
    struct container_diff diff;
    container_table_take_diff(table, &diff);
    apply(m, &diff);
    m->forgotten = diff.forgotten.n;
    m->added = diff.added.n;
    m->named = diff.named.n;
    m->renamed = diff.renamed.n;
    m->ended = diff.ended.n;

    size_t cursor = 0, walked = 0, known = 0;
    const struct container *c;
    while ((c = container_table_next(table, &cursor))) {
        struct seen *seen = seen_of(m, c);
        assert_int_equal(seen->named, c->named);
        assert_int_equal(seen->ended, c->state != CONTAINER_LIVE);
        char labels[1024];
        labels_of(c, labels, sizeof labels);
        if (seen->named)
            assert_string_equal(seen->labels, labels);
        walked++;
    }
    for (size_t i = 0; i < 4096; i++)
        known += m->slots[i].c != NULL;
    assert_int_equal(walked, known);
    assert_int_equal(walked, container_table_count(table, CONTAINERS_MONITORED) +
                                 container_table_count(table, CONTAINERS_LINGERING));
}

#define assert_diff(m, f, a, n, r, e)                                                              \
    do {                                                                                           \
        assert_int_equal((m)->forgotten, f);                                                       \
        assert_int_equal((m)->added, a);                                                           \
        assert_int_equal((m)->named, n);                                                           \
        assert_int_equal((m)->renamed, r);                                                         \
        assert_int_equal((m)->ended, e);                                                           \
    } while (0)

#define assert_counts(t, m, l, x, o)                                                               \
    do {                                                                                           \
        assert_int_equal(container_table_count(t, CONTAINERS_MONITORED), m);                       \
        assert_int_equal(container_table_count(t, CONTAINERS_LINGERING), l);                       \
        assert_int_equal(container_table_count(t, CONTAINERS_EXCLUDED), x);                        \
        assert_int_equal(container_table_count(t, CONTAINERS_OVER_LIMIT), o);                      \
    } while (0)

/* ---- fixture ---- */

static const struct container_limits usual = {
    .max = 512, .linger_ns = 120 * S, .linger_max = 2048, .name_patience_ns = 2 * S};

struct fixture {
    struct container_table *table;
    struct model model;
};

static const struct log silent = {.fd = -1};

static struct fixture *fixture_new(const struct container_limits *limits)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    char error[256];
    assert_int_equal(container_table_new(limits, &silent, &f->table, error, sizeof error), 0);
    return f;
}

static void fixture_free(struct fixture *f)
{
    container_table_free(f->table);
    free(f);
}

static uint64_t add_named(struct fixture *f, const char *path, const char *pod, const char *name,
                          uint64_t now)
{
    struct container_spec spec = {.cgroup_fd = -1,
                                  .cgroup_id = 7,
                                  .path = path,
                                  .id = "0123456789abcdef",
                                  .namespace_ = "shop",
                                  .pod = pod,
                                  .name = name,
                                  .resolved = true};
    uint64_t handle = 0;
    assert_int_equal(container_table_add(f->table, &spec, now, &handle), 0);
    assert_true(handle != 0);
    return handle;
}

static uint64_t add_unresolved(struct fixture *f, const char *path, const char *id, uint64_t now)
{
    struct container_spec spec = {.cgroup_fd = -1, .cgroup_id = 7, .path = path, .id = id};
    uint64_t handle = 0;
    assert_int_equal(container_table_add(f->table, &spec, now, &handle), 0);
    return handle;
}

static int rename_to(struct fixture *f, uint64_t handle, const char *pod, const char *name,
                     uint64_t now)
{
    struct container_spec spec = {.cgroup_fd = -1,
                                  .namespace_ = "shop",
                                  .pod = pod,
                                  .name = name,
                                  .image = "i",
                                  .resolved = true};
    return container_table_rename(f->table, handle, &spec, now);
}

static struct container *only(struct fixture *f, const char *path)
{
    size_t cursor = 0;
    struct container *c, *found = NULL;
    while ((c = container_table_next(f->table, &cursor))) {
        if (!strcmp(c->path, path)) {
            assert_null(found);
            found = c;
        }
    }
    return found;
}

static void read_all(struct fixture *f)
{
    size_t cursor = 0;
    struct container *c;
    while ((c = container_table_next(f->table, &cursor))) {
        if (c->state == CONTAINER_ENDED)
            container_table_last_read(f->table, c);
    }
}

/* ---- tests ---- */

static void a_life(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    int pipe_fds[2];
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    struct container_spec spec = {.cgroup_fd = pipe_fds[0],
                                  .cgroup_id = 0x1234,
                                  .path = "/kubepods/pod1/abc",
                                  .id = "0123456789abcdef0123",
                                  .namespace_ = "shop",
                                  .pod = "cart-0",
                                  .name = "cart",
                                  .image = "cart:1",
                                  .pod_uid = "u",
                                  .runtime = "containerd",
                                  .qos_class = "burstable",
                                  .resolved = true};
    uint64_t handle;
    assert_int_equal(container_table_add(f->table, &spec, 5 * S, &handle), 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 1, 1, 0, 0);
    struct container *c = only(f, "/kubepods/pod1/abc");
    assert_string_equal(c->id, "0123456789abcdef0123");
    assert_string_equal(c->short_id, "0123456789ab");
    assert_string_equal(c->namespace_, "shop");
    assert_string_equal(c->pod, "cart-0");
    assert_string_equal(c->name, "cart");
    assert_string_equal(c->image, "cart:1");
    assert_string_equal(c->pod_uid, "u");
    assert_string_equal(c->runtime, "containerd");
    assert_string_equal(c->qos_class, "burstable");
    assert_string_equal(c->key, "c0.1");
    assert_int_equal(c->cgroup_id, 0x1234);
    assert_int_equal(c->cgroup_fd, pipe_fds[0]);
    assert_int_equal(c->found_mono_ns, 5 * S);
    assert_int_equal(container_table_slots(f->table), 1);
    assert_counts(f->table, 1, 0, 0, 0);
    assert_int_equal(container_table_deadline(f->table), UINT64_MAX);

    container_table_end(f->table, handle, 9 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 1);
    assert_int_equal(c->ended_mono_ns, 9 * S);
    assert_true(fcntl(c->cgroup_fd, F_GETFD) >= 0); /* still to be read */
    assert_counts(f->table, 0, 1, 0, 0);
    /* However long the last read takes, it is not forgotten before. */
    container_table_advance(f->table, 1000 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);

    container_table_last_read(f->table, c);
    assert_int_equal(c->state, CONTAINER_LINGERING);
    assert_int_equal(fcntl(pipe_fds[0], F_GETFD), -1);
    assert_int_equal(container_table_deadline(f->table), 129 * S);
    container_table_advance(f->table, 129 * S - 1);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);
    container_table_advance(f->table, 129 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 0, 0, 0, 0);
    assert_counts(f->table, 0, 0, 0, 0);
    assert_int_equal(container_table_deadline(f->table), UINT64_MAX);
    close(pipe_fds[1]);
    fixture_free(f);
}

static void slots_and_generations(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t a = add_named(f, "/a", "p", "a", S);
    look(&f->model, f->table);
    container_table_discard(f->table, a);
    /* The slot must not be reused before consumers were told, nor while they handle that. */
    add_named(f, "/b", "p", "b", S);
    look(&f->model, f->table);
    assert_int_equal(only(f, "/b")->slot, 1);
    add_named(f, "/c", "p", "c", S);
    look(&f->model, f->table);
    assert_int_equal(only(f, "/c")->slot, 2);
    add_named(f, "/d", "p", "d", S);
    look(&f->model, f->table);
    assert_int_equal(only(f, "/d")->slot, 0);
    assert_int_equal(only(f, "/d")->gen, 2);
    assert_string_equal(only(f, "/d")->key, "c0.2");
    assert_int_equal(container_table_slots(f->table), 3);
    fixture_free(f);
}

static void known_twice(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t a = add_named(f, "/a", "p", "a", S), again = 77;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct container_spec spec = {.cgroup_fd = fd, .path = "/a", .resolved = true};
    assert_int_equal(container_table_add(f->table, &spec, S, &again), -EEXIST);
    assert_int_equal(again, 77);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* not leaked on failure */

    /* Created anew at the same path: the old one is still there to be read. */
    container_table_end(f->table, a, 2 * S);
    look(&f->model, f->table);
    add_named(f, "/a", "p", "a2", 2 * S);
    look(&f->model, f->table);
    assert_counts(f->table, 1, 1, 0, 0);

    /* Replay goes by key, not by path. */
    spec = (struct container_spec){.key = "k1", .path = "/a", .cgroup_fd = -1};
    assert_int_equal(container_table_add(f->table, &spec, S, &again), 0);
    spec.path = "/other";
    assert_int_equal(container_table_add(f->table, &spec, S, &again), -EEXIST);
    spec.key = "a key of 32 bytes is one too long";
    assert_int_equal(container_table_add(f->table, &spec, S, &again), -ENAMETOOLONG);
    look(&f->model, f->table);
    fixture_free(f);
}

static void short_ids(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t h;
    struct container_spec spec = {.cgroup_fd = -1, .path = "/plain", .cgroup_id = 0x1a2b3};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    assert_string_equal(only(f, "/plain")->short_id, "00000001a2b3");
    spec = (struct container_spec){
        .cgroup_fd = -1, .path = "/huge", .cgroup_id = UINT64_C(0xfedcba9876543210)};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    assert_string_equal(only(f, "/huge")->short_id, "ba9876543210");
    /* A recording knows no cgroup id: two plain cgroups of one name must differ all the same. */
    spec = (struct container_spec){.cgroup_fd = -1, .path = "/x/n", .key = "c1", .resolved = true};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    spec = (struct container_spec){.cgroup_fd = -1, .path = "/y/n", .key = "c2", .resolved = true};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    assert_int_equal(strlen(only(f, "/x/n")->short_id), 12);
    assert_string_not_equal(only(f, "/x/n")->short_id, only(f, "/y/n")->short_id);
    assert_string_equal(only(f, "/y/n")->name, "n");
    look(&f->model, f->table);
    assert_int_equal(f->model.named, 2);
    fixture_free(f);
}

static void late_names(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t soon = add_unresolved(f, "/p/soon", "aaa", 10 * S);
    uint64_t late = add_unresolved(f, "/p/late", "bbb", 10 * S + 1);
    add_unresolved(f, "/p/never", "ccc", 10 * S + 2);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 3, 0, 0, 0); /* counted from the start */
    assert_int_equal(container_table_deadline(f->table), 12 * S);

    assert_int_equal(rename_to(f, soon, "cart-0", "cart", 11 * S), 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 1, 0, 0);
    assert_int_equal(container_table_deadline(f->table), 12 * S + 1);

    container_table_advance(f->table, 12 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);
    container_table_advance(f->table, 12 * S + 2);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 2, 0, 0);
    assert_string_equal(only(f, "/p/never")->name, "never");
    assert_string_equal(only(f, "/p/never")->pod, "");

    assert_int_equal(rename_to(f, late, "cart-1", "cart", 15 * S), 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 1, 0);
    assert_string_equal(only(f, "/p/late")->pod, "cart-1");
    /* The same again is no change. */
    assert_int_equal(rename_to(f, late, "cart-1", "cart", 16 * S), 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);
    assert_int_equal(rename_to(f, 4711, "x", "y", 16 * S), -ENOENT);
    fixture_free(f);
}

/* A tick carries the time it was due, which may be before the last event. */
static void time_a_little_back(void **state)
{
    (void)state;
    struct container_limits limits = usual;
    limits.max = 1;
    struct fixture *f = fixture_new(&limits);
    uint64_t a = add_unresolved(f, "/a", "aaa", 10 * S);
    uint64_t b = add_unresolved(f, "/b", "bbb", 10 * S);
    container_table_advance(f->table, 9 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 1, 0, 0, 0);
    container_table_discard(f->table, a);
    container_table_advance(f->table, 9 * S); /* promotes the other */
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 1, 0, 0, 0);
    container_table_end(f->table, b, 10 * S);
    look(&f->model, f->table);
    read_all(f);
    container_table_advance(f->table, 9 * S);
    look(&f->model, f->table);
    assert_counts(f->table, 0, 1, 0, 0);
    fixture_free(f);
}

/* What lived shorter than the patience is named at its end, so that it is seen at all. */
static void named_at_the_end(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t a = add_unresolved(f, "/p/short", "aaa", 10 * S);
    container_table_end(f->table, a, 10 * S + 100 * MS);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 1, 1, 0, 1);
    assert_string_equal(only(f, "/p/short")->name, "short");
    container_table_end(f->table, a, 11 * S); /* not known any more */
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);
    fixture_free(f);
}

static void came_and_went_unseen(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t a = add_named(f, "/a", "p", "a", S);
    container_table_discard(f->table, a);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);
    assert_counts(f->table, 0, 0, 0, 0);
    fixture_free(f);
}

static void filters(void **state)
{
    (void)state;
    struct container_limits limits = usual;
    limits.include = "shop/.*|//plain.*";
    limits.exclude = ".*/debug|shop/hidden-[0-9]+/.*";
    struct fixture *f = fixture_new(&limits);
    add_named(f, "/1", "cart", "cart", S);
    add_named(f, "/2", "cart", "debug", S);
    add_named(f, "/3", "hidden-12", "x", S);
    add_named(f, "/4", "hidden-12x", "x", S); /* whole match: not excluded */
    struct container_spec spec = {.cgroup_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                  .path = "/system.slice/other",
                                  .resolved = true};
    int fd = spec.cgroup_fd;
    uint64_t h;
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* an excluded one costs no descriptor */
    spec = (struct container_spec){.cgroup_fd = -1, .path = "/plain1", .resolved = true};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 3, 3, 0, 0);
    assert_counts(f->table, 3, 0, 3, 0);
    assert_non_null(only(f, "/1"));
    assert_non_null(only(f, "/4"));
    assert_non_null(only(f, "/plain1"));
    fixture_free(f);
}

static void bad_filters(void **state)
{
    (void)state;
    struct container_table *table = NULL;
    char error[256] = "";
    struct container_limits limits = usual;
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
static void excluded_when_named(void **state)
{
    (void)state;
    struct container_limits limits = usual;
    limits.exclude = "shop/.*";
    struct fixture *f = fixture_new(&limits);
    uint64_t a = add_unresolved(f, "/a", "aaa", 10 * S);
    look(&f->model, f->table);
    assert_counts(f->table, 1, 0, 0, 0);
    assert_int_equal(rename_to(f, a, "p", "n", 11 * S), 0);
    assert_counts(f->table, 0, 0, 1, 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 0, 0, 0, 0);
    /* Still known: its end takes it off the count. */
    container_table_end(f->table, a, 12 * S);
    assert_counts(f->table, 0, 0, 0, 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);

    /* By the fallback name when patience is over; and in again when the real names pass. */
    limits.exclude = "//dark";
    struct fixture *g = fixture_new(&limits);
    uint64_t b = add_unresolved(g, "/x/dark", "bbb", 10 * S);
    look(&g->model, g->table);
    container_table_advance(g->table, 12 * S);
    look(&g->model, g->table);
    assert_diff(&g->model, 1, 0, 0, 0, 0);
    assert_counts(g->table, 0, 0, 1, 0);
    assert_int_equal(rename_to(g, b, "p", "light", 13 * S), 0);
    look(&g->model, g->table);
    assert_diff(&g->model, 0, 1, 1, 0, 0);
    assert_counts(g->table, 1, 0, 0, 0);
    assert_string_equal(only(g, "/x/dark")->name, "light");
    fixture_free(g);
    fixture_free(f);
}

struct opener {
    int answer; /* 0: a real descriptor */
    int calls, held, dropped;
};

static int open_hook(void *arg, void *owner)
{
    struct opener *opener = arg;
    assert_ptr_equal(owner, opener);
    opener->calls++;
    return opener->answer ? opener->answer : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void held_hook(void *arg, void *owner, const struct container *c)
{
    (void)c;
    assert_ptr_equal(arg, owner);
    ((struct opener *)arg)->held++;
}

static void dropped_hook(void *arg, void *owner, const struct container *c)
{
    (void)c;
    assert_ptr_equal(arg, owner);
    ((struct opener *)arg)->dropped++;
}

static uint64_t add_live(struct fixture *f, struct opener *opener, const char *path, uint64_t now)
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

static size_t open_fds(void)
{
    size_t n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void over_the_limit(void **state)
{
    (void)state;
    struct container_limits limits = usual;
    limits.max = 2;
    struct fixture *f = fixture_new(&limits);
    struct opener opener = {0};
    const struct container_hooks hooks = {&opener, open_hook, held_hook, dropped_hook};
    container_table_set_hooks(f->table, &hooks);
    size_t fds = open_fds();
    uint64_t a = add_live(f, &opener, "/a", 1 * S);
    uint64_t b = add_live(f, &opener, "/b", 2 * S);
    uint64_t c = add_live(f, &opener, "/c", 3 * S);
    add_live(f, &opener, "/d", 4 * S);
    add_live(f, &opener, "/e", 5 * S);
    assert_int_equal(open_fds(), fds + 2); /* those that wait cost none */
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 2, 2, 0, 0);
    assert_counts(f->table, 2, 0, 0, 3);
    assert_int_equal(container_table_deadline(f->table), UINT64_MAX);
    assert_int_equal(opener.held, 2);

    container_table_end(f->table, c, 6 * S); /* ended while it waited */
    assert_counts(f->table, 2, 0, 0, 2);
    container_table_end(f->table, a, 7 * S);
    assert_true(container_table_deadline(f->table) <= 7 * S);
    opener.answer = -EMFILE;
    container_table_advance(f->table, 7 * S);
    assert_counts(f->table, 1, 1, 0, 2);
    assert_int_equal(opener.calls, 1);
    assert_true(container_table_deadline(f->table) > 7 * S); /* no busy loop */
    opener.answer = 0;
    container_table_advance(f->table, 9 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 1, 1, 0, 1);
    assert_non_null(only(f, "/d")); /* the oldest that is still there */
    assert_true(only(f, "/d")->cgroup_fd >= 0);
    assert_counts(f->table, 2, 1, 0, 1);
    assert_int_equal(opener.held, 3);

    /* A newcomer does not overtake. */
    container_table_end(f->table, b, 10 * S);
    add_live(f, &opener, "/g", 10 * S);
    assert_non_null(only(f, "/e"));
    assert_null(only(f, "/g"));
    assert_counts(f->table, 2, 2, 0, 1);
    fixture_free(f);
    assert_int_equal(open_fds(), fds);
}

static void dropped_by_the_filter(void **state)
{
    (void)state;
    struct container_limits limits = usual;
    limits.exclude = "shop/.*";
    struct fixture *f = fixture_new(&limits);
    struct opener opener = {0};
    const struct container_hooks hooks = {&opener, open_hook, held_hook, dropped_hook};
    container_table_set_hooks(f->table, &hooks);
    size_t fds = open_fds();
    struct container_spec spec = {.cgroup_fd = open("/dev/null", O_RDONLY | O_CLOEXEC),
                                  .path = "/a",
                                  .id = "aaa",
                                  .owner = &opener};
    uint64_t a;
    assert_int_equal(container_table_add(f->table, &spec, S, &a), 0);
    look(&f->model, f->table);
    assert_int_equal(rename_to(f, a, "p", "n", S), 0);
    assert_int_equal(opener.held, 1);
    assert_int_equal(opener.dropped, 1);
    look(&f->model, f->table); /* forgotten is reported; the descriptor may still be in use */
    look(&f->model, f->table);
    assert_int_equal(open_fds(), fds);
    container_table_end(f->table, a, 2 * S);
    fixture_free(f);
}

static void linger_max(void **state)
{
    (void)state;
    struct container_limits limits = usual;
    limits.linger_max = 2;
    struct fixture *f = fixture_new(&limits);
    uint64_t h[4];
    for (int i = 0; i < 4; i++) {
        char path[16];
        snprintf(path, sizeof path, "/c%d", i);
        h[i] = add_named(f, path, path, "n", S);
    }
    look(&f->model, f->table);
    /* Ended in another order than that of their slots. */
    container_table_end(f->table, h[2], 10 * S);
    container_table_end(f->table, h[0], 11 * S);
    container_table_end(f->table, h[3], 12 * S);
    look(&f->model, f->table);
    read_all(f);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 0, 0, 0, 0);
    assert_null(only(f, "/c2"));
    assert_counts(f->table, 1, 2, 0, 0);
    container_table_advance(f->table, 131 * S);
    look(&f->model, f->table);
    assert_null(only(f, "/c0"));
    assert_non_null(only(f, "/c3"));
    fixture_free(f);

    limits.linger_max = 2048;
    limits.linger_ns = 0;
    f = fixture_new(&limits);
    h[0] = add_named(f, "/a", "p", "n", S);
    look(&f->model, f->table);
    container_table_end(f->table, h[0], 2 * S);
    look(&f->model, f->table);
    read_all(f);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 0, 0, 0, 0);
    fixture_free(f);
}

/* docker stop, docker start: the same id, the same names, a new cgroup. */
static void same_labels_as_a_lingering_one(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t a = add_named(f, "/a", "p", "n", S);
    look(&f->model, f->table);
    const struct container *old = only(f, "/a");
    container_table_end(f->table, a, 2 * S);
    look(&f->model, f->table);
    read_all(f);
    add_named(f, "/a", "p", "n", 3 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 1, 1, 0, 0);
    assert_counts(f->table, 1, 0, 0, 0);
    assert_ptr_not_equal(only(f, "/a"), old);
    fixture_free(f);
}

/* Back before the old one was read for the last time: its last counts are not lost. */
static void same_labels_as_an_ended_one(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t a = add_named(f, "/a", "p", "n", S);
    look(&f->model, f->table);
    struct container *old = only(f, "/a");
    container_table_end(f->table, a, 2 * S);
    add_named(f, "/a", "p", "n", 2 * S);
    container_table_last_read(f->table, old); /* nobody was told yet that it is the last time */
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 1, 0, 0, 1);
    container_table_last_read(f->table, old);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 0, 1, 0, 0);
    assert_counts(f->table, 1, 0, 0, 0);
    fixture_free(f);
}

static void same_labels_as_a_live_one(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t a = add_named(f, "/a", "p", "n", S);
    uint64_t b = add_named(f, "/b", "p", "n", S);
    add_named(f, "/c", "p", "n", S);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 3, 1, 0, 0); /* counted, but without series */
    container_table_advance(f->table, 100 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);
    container_table_end(f->table, a, 101 * S);
    look(&f->model, f->table);
    read_all(f);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 0, 1, 0, 0); /* its turn; /c still waits */
    assert_true(only(f, "/b")->named);
    assert_false(only(f, "/c")->named);
    /* Renamed away: the labels are free for the third from the next diff on. */
    assert_int_equal(rename_to(f, b, "p", "other", 102 * S), 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 1, 0);
    assert_true(container_table_deadline(f->table) <= 102 * S);
    container_table_advance(f->table, 102 * S);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 1, 0, 0);
    assert_true(only(f, "/c")->named);
    /* One that never had series leaves no trace when it ends. */
    uint64_t d = add_named(f, "/d", "p", "other", 103 * S);
    look(&f->model, f->table);
    container_table_end(f->table, d, 104 * S);
    look(&f->model, f->table);
    read_all(f);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 0, 0, 0, 0);
    fixture_free(f);
}

static void renamed_into_taken_labels(void **state)
{
    (void)state;
    struct fixture *f = fixture_new(&usual);
    uint64_t a = add_named(f, "/a", "p", "a", S);
    uint64_t b = add_named(f, "/b", "p", "b", S);
    look(&f->model, f->table);
    assert_int_equal(rename_to(f, a, "p", "b", 2 * S), -EEXIST);
    assert_string_equal(only(f, "/a")->name, "a");
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 0, 0);
    /* Two that change places need three steps and at no time share their labels. */
    assert_int_equal(rename_to(f, a, "p", "c", 2 * S), 0);
    assert_int_equal(rename_to(f, b, "p", "a", 2 * S), -EEXIST);
    look(&f->model, f->table);
    assert_int_equal(rename_to(f, b, "p", "a", 2 * S), 0);
    look(&f->model, f->table);
    assert_int_equal(rename_to(f, a, "p", "b", 2 * S), 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 0, 0, 0, 1, 0);
    /* A lingering one gives way. */
    container_table_end(f->table, b, 3 * S);
    look(&f->model, f->table);
    read_all(f);
    assert_int_equal(rename_to(f, a, "p", "a", 4 * S), 0);
    look(&f->model, f->table);
    assert_diff(&f->model, 1, 0, 0, 1, 0);
    fixture_free(f);
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

static void says_what_is_not_monitored(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    const struct log log = {.fd = fds[1], .level = LOG_LEVEL_INFO};
    struct container_limits limits = usual;
    limits.max = 1;
    limits.exclude = ".*/secret";
    struct fixture *f = calloc(1, sizeof *f);
    char error[256];
    assert_int_equal(container_table_new(&limits, &log, &f->table, error, sizeof error), 0);
    for (int i = 0; i < 100; i++) {
        char path[16];
        snprintf(path, sizeof path, "/c%d", i);
        add_named(f, path, path, i % 2 ? "n" : "secret", S);
        container_table_advance(f->table, S + (uint64_t)i * S);
    }
    assert_int_equal(logged(fds[0], "not monitored"), 1);
    container_table_advance(f->table, 700 * S);
    assert_int_equal(logged(fds[0], "50 excluded"), 1);
    container_table_advance(f->table, 2000 * S);
    assert_int_equal(logged(fds[0], "not monitored"), 0); /* nothing new to say */

    add_named(f, "/twin1", "p", "same", S);
    fixture_free(f);
    limits.max = 100;
    f = calloc(1, sizeof *f);
    assert_int_equal(container_table_new(&limits, &log, &f->table, error, sizeof error), 0);
    add_named(f, "/twin1", "p", "same", S);
    add_named(f, "/twin2", "p", "same", S);
    for (int i = 0; i < 10; i++)
        container_table_advance(f->table, (uint64_t)i * S);
    assert_int_equal(logged(fds[0], "another live container"), 1);
    fixture_free(f);
    close(fds[0]);
    close(fds[1]);
}

/* ---- everything at once ---- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void random_step(struct fixture *f, struct opener *opener, uint64_t *handles, uint32_t *rng,
                        uint64_t now)
{
    static const char *const names[] = {"a", "b", "c", "secret"};
    size_t i = next_random(rng) % 64;
    char path[32], id[32];
    snprintf(path, sizeof path, "/c%zu", i);
    snprintf(id, sizeof id, "%zu", i % 8);
    struct container_spec spec = {.cgroup_fd = -1,
                                  .cgroup_id = i + 1,
                                  .path = path,
                                  .id = id,
                                  .namespace_ = "shop",
                                  .name = names[next_random(rng) % 4],
                                  .image = names[next_random(rng) % 4],
                                  .resolved = next_random(rng) % 2,
                                  .owner = opener};
    switch (next_random(rng) % 8) {
    case 0:
    case 1:
    case 2:
        spec.cgroup_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (container_table_add(f->table, &spec, now, &handles[i]) != 0)
            assert_true(handles[i] != 0);
        break;
    case 3:
        container_table_rename(f->table, handles[i], &spec, now);
        break;
    case 4:
        container_table_end(f->table, handles[i], now);
        handles[i] = 0;
        break;
    case 5:
        if (next_random(rng) % 4 == 0) {
            container_table_discard(f->table, handles[i]);
            handles[i] = 0;
        }
        break;
    case 6:
        container_table_advance(f->table, now);
        break;
    default:
        if (next_random(rng) % 2)
            read_all(f);
        break;
    }
}

static void random_lives(void **state)
{
    (void)state;
    struct container_limits limits = {.exclude = "shop//secret",
                                      .max = 20,
                                      .linger_ns = 5 * S,
                                      .linger_max = 7,
                                      .name_patience_ns = 2 * S};
    size_t fds = open_fds();
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct fixture *f = fixture_new(&limits);
        struct opener opener = {0};
        const struct container_hooks hooks = {&opener, open_hook, held_hook, dropped_hook};
        container_table_set_hooks(f->table, &hooks);
        uint64_t handles[64] = {0}, now = S;
        uint32_t rng = seed;
        for (int step = 0; step < 3000; step++) {
            random_step(f, &opener, handles, &rng, now);
            now += next_random(&rng) % (100 * MS);
            if (next_random(&rng) % 3 == 0)
                look(&f->model, f->table);
            assert_true(container_table_count(f->table, CONTAINERS_MONITORED) <= 20);
        }
        for (size_t i = 0; i < 64; i++)
            container_table_end(f->table, handles[i], now);
        look(&f->model, f->table);
        read_all(f);
        container_table_advance(f->table, now + 10 * S);
        look(&f->model, f->table);
        assert_counts(f->table, 0, 0, 0, 0);
        assert_true(container_table_slots(f->table) < 100);
        look(&f->model, f->table);
        assert_int_equal(open_fds(), fds);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life),
        cmocka_unit_test(slots_and_generations),
        cmocka_unit_test(known_twice),
        cmocka_unit_test(short_ids),
        cmocka_unit_test(late_names),
        cmocka_unit_test(time_a_little_back),
        cmocka_unit_test(named_at_the_end),
        cmocka_unit_test(came_and_went_unseen),
        cmocka_unit_test(filters),
        cmocka_unit_test(bad_filters),
        cmocka_unit_test(excluded_when_named),
        cmocka_unit_test(over_the_limit),
        cmocka_unit_test(dropped_by_the_filter),
        cmocka_unit_test(linger_max),
        cmocka_unit_test(same_labels_as_a_lingering_one),
        cmocka_unit_test(same_labels_as_an_ended_one),
        cmocka_unit_test(same_labels_as_a_live_one),
        cmocka_unit_test(renamed_into_taken_labels),
        cmocka_unit_test(says_what_is_not_monitored),
        cmocka_unit_test(random_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
