#include "tests/unit/support/observed_table.h"

#include <fcntl.h>

#include "tests/unit/support/unit.h"

const struct container_limits observed_limits = {
    .max = 512, .linger_ns = 120 * S, .linger_max = 2048, .name_patience_ns = 2 * S};

/* ---- the model of a consumer ---- */

static void labels_of(const struct container *c, char *out, size_t size)
{
    snprintf(out, size, "%s/%s/%s/%s", c->namespace_, c->pod, c->name, c->short_id);
}

static struct observed_slot *seen_of(struct observed_table *f, const struct container *c)
{
    assert_true(c->slot < OBSERVED_SLOTS);
    struct observed_slot *seen = &f->slots[c->slot];
    assert_ptr_equal(seen->c, c);
    assert_int_equal(seen->gen, c->gen);
    return seen;
}

static void take_labels(struct observed_table *f, struct observed_slot *seen)
{
    labels_of(seen->c, seen->labels, sizeof seen->labels);
    for (size_t i = 0; i < OBSERVED_SLOTS; i++) {
        const struct observed_slot *other = &f->slots[i];
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

static void apply(struct observed_table *f, const struct container_diff *diff)
{
    for (size_t i = 0; i < diff->forgotten.n; i++) {
        const struct container *c = diff->forgotten.at[i];
        struct observed_slot *seen = seen_of(f, c);
        assert_false(in_list(diff->added, c) || in_list(diff->named, c) ||
                     in_list(diff->renamed, c) || in_list(diff->ended, c));
        *seen = (struct observed_slot){0};
    }
    for (size_t i = 0; i < diff->added.n; i++) {
        const struct container *c = diff->added.at[i];
        assert_null(f->slots[c->slot].c);
        f->slots[c->slot] = (struct observed_slot){.c = c, .gen = c->gen};
    }
    for (size_t i = 0; i < diff->named.n; i++) {
        struct observed_slot *seen = seen_of(f, diff->named.at[i]);
        assert_false(seen->named);
        assert_true(seen->c->named);
        seen->named = true;
        take_labels(f, seen);
    }
    for (size_t i = 0; i < diff->renamed.n; i++) {
        struct observed_slot *seen = seen_of(f, diff->renamed.at[i]);
        assert_true(seen->named);
        take_labels(f, seen);
    }
    for (size_t i = 0; i < diff->ended.n; i++) {
        struct observed_slot *seen = seen_of(f, diff->ended.at[i]);
        assert_false(seen->ended);
        assert_int_equal(seen->c->state, CONTAINER_ENDED);
        assert_true(seen->c->ended_mono_ns > 0);
        seen->ended = true;
    }
}

void observed_look(struct observed_table *f)
{
    struct container_diff diff;
    container_table_take_diff(f->table, &diff);
    apply(f, &diff);
    f->forgotten = diff.forgotten.n;
    f->added = diff.added.n;
    f->named = diff.named.n;
    f->renamed = diff.renamed.n;
    f->ended = diff.ended.n;

    size_t cursor = 0, walked = 0, known = 0;
    const struct container *c;
    while ((c = container_table_next(f->table, &cursor))) {
        struct observed_slot *seen = seen_of(f, c);
        assert_int_equal(seen->named, c->named);
        assert_int_equal(seen->ended, c->state != CONTAINER_LIVE);
        char labels[1024];
        labels_of(c, labels, sizeof labels);
        if (seen->named)
            assert_string_equal(seen->labels, labels);
        walked++;
    }
    for (size_t i = 0; i < OBSERVED_SLOTS; i++)
        known += f->slots[i].c != NULL;
    assert_int_equal(walked, known);
    assert_int_equal(walked, container_table_count(f->table, CONTAINERS_MONITORED) +
                                 container_table_count(f->table, CONTAINERS_LINGERING));
}

/* ---- the table ---- */

static const struct log silent = {.fd = -1};

struct observed_table *observed_table_new(const struct container_limits *limits,
                                          const struct log *log)
{
    struct observed_table *f = calloc(1, sizeof *f);
    assert_non_null(f);
    char error[256];
    assert_int_equal(
        container_table_new(limits, log ? log : &silent, &f->table, error, sizeof error), 0);
    return f;
}

void observed_table_free(struct observed_table *f)
{
    container_table_free(f->table);
    free(f);
}

static uint64_t add(struct observed_table *f, const char *path, uint64_t cgroup_id, const char *pod,
                    const char *name, uint64_t now)
{
    struct container_spec spec = {.cgroup_fd = -1,
                                  .cgroup_id = cgroup_id,
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

uint64_t observed_add_named(struct observed_table *f, const char *path, const char *pod,
                            const char *name, uint64_t now)
{
    return add(f, path, 7, pod, name, now);
}

uint64_t observed_add_in_cgroup(struct observed_table *f, const char *path, uint64_t cgroup_id,
                                const char *name, uint64_t now)
{
    return add(f, path, cgroup_id, "p", name, now);
}

uint64_t observed_add_unresolved(struct observed_table *f, const char *path, const char *id,
                                 uint64_t now)
{
    struct container_spec spec = {.cgroup_fd = -1, .cgroup_id = 7, .path = path, .id = id};
    uint64_t handle = 0;
    assert_int_equal(container_table_add(f->table, &spec, now, &handle), 0);
    return handle;
}

int observed_rename(struct observed_table *f, uint64_t handle, const char *pod, const char *name,
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

struct container *observed_find(struct observed_table *f, const char *path)
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

void observed_read_all(struct observed_table *f)
{
    size_t cursor = 0;
    struct container *c;
    while ((c = container_table_next(f->table, &cursor))) {
        if (c->state == CONTAINER_ENDED)
            container_table_read(f->table, c);
    }
}

int observed_table_setup(void **state)
{
    *state = observed_table_new(&observed_limits, NULL);
    return 0;
}

int observed_table_teardown(void **state)
{
    observed_table_free(*state);
    return 0;
}

/* ---- hooks ---- */

static int open_hook(void *arg, void *owner)
{
    struct opener *opener = arg;
    assert_ptr_equal(owner, opener);
    opener->calls++;
    return opener->answer ? opener->answer : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void held_hook(void *arg, void *owner, const struct container *c)
{
    assert_ptr_equal(arg, owner);
    ((struct opener *)arg)->held++;
}

static void dropped_hook(void *arg, void *owner, const struct container *c)
{
    assert_ptr_equal(arg, owner);
    ((struct opener *)arg)->dropped++;
}

void opener_install(struct opener *opener, struct container_table *table)
{
    const struct container_hooks hooks = {opener, open_hook, held_hook, dropped_hook};
    container_table_set_hooks(table, &hooks);
}
