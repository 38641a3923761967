/* The table as a whole: a container's life, what identifies it, and everything at once. */
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/support/observed_table.h"
#include "tests/unit/support/unit.h"

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void random_step(struct observed_table *f, struct opener *opener, uint64_t *handles,
                        uint32_t *rng, uint64_t now)
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
            observed_read_all(f);
        break;
    }
}

TABLE_TEST(a_life)
{
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
    observed_look(f);
    assert_diff(f, 0, 1, 1, 0, 0);
    struct container *c = observed_find(f, "/kubepods/pod1/abc");
    assert_string_equal(c->id, "0123456789abcdef0123");
    assert_string_equal(c->short_id, "0123456789ab");
    assert_string_equal(c->namespace_, "shop");
    assert_string_equal(c->pod, "cart-0");
    assert_string_equal(c->name, "cart");
    assert_string_equal(c->workload, "cart");
    assert_string_equal(c->image, "cart:1");
    assert_string_equal(c->pod_uid, "u");
    assert_string_equal(c->runtime, "containerd");
    assert_string_equal(c->qos_class, "burstable");
    assert_string_equal(c->key, "c0.1");
    assert_int_equal(c->cgroup_id, 0x1234);
    assert_int_equal(c->cgroup_fd, pipe_fds[0]);
    assert_int_equal(c->found_mono_ns, 5 * S);
    assert_int_equal(container_table_slots(f->table), 1);
    assert_counts(f, 1, 0, 0, 0);
    assert_int_equal(container_table_deadline(f->table), UINT64_MAX);

    container_table_end(f->table, handle, 9 * S);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 1);
    assert_int_equal(c->ended_mono_ns, 9 * S);
    assert_true(fcntl(c->cgroup_fd, F_GETFD) >= 0); /* still to be read */
    assert_counts(f, 0, 1, 0, 0);
    /* However long the last read takes, it is not forgotten before. */
    container_table_advance(f->table, 1000 * S);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);

    container_table_read(f->table, c);
    assert_int_equal(c->state, CONTAINER_LINGERING);
    assert_int_equal(fcntl(pipe_fds[0], F_GETFD), -1);
    assert_int_equal(container_table_deadline(f->table), 129 * S);
    container_table_advance(f->table, 129 * S - 1);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);
    container_table_advance(f->table, 129 * S);
    observed_look(f);
    assert_diff(f, 1, 0, 0, 0, 0);
    assert_counts(f, 0, 0, 0, 0);
    assert_int_equal(container_table_deadline(f->table), UINT64_MAX);
    close(pipe_fds[1]);
}

TABLE_TEST(slots_and_generations)
{
    uint64_t a = observed_add_named(f, "/a", "p", "a", S);
    observed_look(f);
    container_table_discard(f->table, a);
    /* The slot must not be reused before consumers have seen the diff, nor while they handle it. */
    observed_add_named(f, "/b", "p", "b", S);
    observed_look(f);
    assert_int_equal(observed_find(f, "/b")->slot, 1);
    observed_add_named(f, "/c", "p", "c", S);
    observed_look(f);
    assert_int_equal(observed_find(f, "/c")->slot, 2);
    observed_add_named(f, "/d", "p", "d", S);
    observed_look(f);
    assert_int_equal(observed_find(f, "/d")->slot, 0);
    assert_int_equal(observed_find(f, "/d")->gen, 2);
    assert_string_equal(observed_find(f, "/d")->key, "c0.2");
    assert_int_equal(container_table_slots(f->table), 3);
}

TABLE_TEST(known_twice)
{
    uint64_t a = observed_add_named(f, "/a", "p", "a", S), again = 77;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct container_spec spec = {.cgroup_fd = fd, .path = "/a", .resolved = true};
    assert_int_equal(container_table_add(f->table, &spec, S, &again), -EEXIST);
    assert_int_equal(again, 77);
    assert_int_equal(fcntl(fd, F_GETFD), -1); /* not leaked on failure */

    /* Created anew at the same path: the old one is still there to be read. */
    container_table_end(f->table, a, 2 * S);
    observed_look(f);
    observed_add_named(f, "/a", "p", "a2", 2 * S);
    observed_look(f);
    assert_counts(f, 1, 1, 0, 0);

    /* Replay goes by key, not by path. */
    spec = (struct container_spec){.key = "k1", .path = "/a", .cgroup_fd = -1};
    assert_int_equal(container_table_add(f->table, &spec, S, &again), 0);
    spec.path = "/other";
    assert_int_equal(container_table_add(f->table, &spec, S, &again), -EEXIST);
    spec.key = "a key of 32 bytes is one too long";
    assert_int_equal(container_table_add(f->table, &spec, S, &again), -ENAMETOOLONG);
    observed_look(f);
}

TABLE_TEST(short_ids)
{
    uint64_t h;
    struct container_spec spec = {.cgroup_fd = -1, .path = "/plain", .cgroup_id = 0x1a2b3};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    assert_string_equal(observed_find(f, "/plain")->short_id, "00000001a2b3");
    spec = (struct container_spec){
        .cgroup_fd = -1, .path = "/huge", .cgroup_id = UINT64_C(0xfedcba9876543210)};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    assert_string_equal(observed_find(f, "/huge")->short_id, "ba9876543210");
    /* A recording knows no cgroup id: two plain cgroups of one name must differ all the same. */
    spec = (struct container_spec){.cgroup_fd = -1, .path = "/x/n", .key = "c1", .resolved = true};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    spec = (struct container_spec){.cgroup_fd = -1, .path = "/y/n", .key = "c2", .resolved = true};
    assert_int_equal(container_table_add(f->table, &spec, S, &h), 0);
    assert_int_equal(strlen(observed_find(f, "/x/n")->short_id), 12);
    assert_string_not_equal(observed_find(f, "/x/n")->short_id, observed_find(f, "/y/n")->short_id);
    assert_string_equal(observed_find(f, "/y/n")->name, "n");
    observed_look(f);
    assert_int_equal(f->named, 2);
}

TABLE_TEST(came_and_went_unseen)
{
    uint64_t a = observed_add_named(f, "/a", "p", "a", S);
    container_table_discard(f->table, a);
    observed_look(f);
    assert_diff(f, 0, 0, 0, 0, 0);
    assert_counts(f, 0, 0, 0, 0);
}

TEST(random_lives)
{
    struct container_limits limits = {.exclude = "shop//secret",
                                      .max = 20,
                                      .linger_ns = 5 * S,
                                      .linger_max = 7,
                                      .name_patience_ns = 2 * S};
    size_t fds = fixture_open_fds();
    for (uint32_t seed = 1; seed <= 20; seed++) {
        struct observed_table *f = observed_table_new(&limits, NULL);
        struct opener opener = {0};
        opener_install(&opener, f->table);
        uint64_t handles[64] = {0}, now = S;
        uint32_t rng = seed;
        for (int step = 0; step < 3000; step++) {
            random_step(f, &opener, handles, &rng, now);
            now += next_random(&rng) % (100 * MS);
            if (next_random(&rng) % 3 == 0)
                observed_look(f);
            assert_true(container_table_count(f->table, CONTAINERS_MONITORED) <= 20);
        }
        for (size_t i = 0; i < 64; i++)
            container_table_end(f->table, handles[i], now);
        observed_look(f);
        observed_read_all(f);
        container_table_advance(f->table, now + 10 * S);
        observed_look(f);
        assert_counts(f, 0, 0, 0, 0);
        assert_true(container_table_slots(f->table) < 100);
        observed_look(f);
        assert_int_equal(fixture_open_fds(), fds);
        observed_table_free(f);
    }
}
