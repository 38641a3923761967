/* Whoever has names looked up without end costs a bounded number of readings, and nobody his
 * names. */
#include "exporter/containers/names/names.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"
#include "tests/unit/support/world.h"

#define UID "11112222-3333-4444-5555-666677778888"
#define POD "/kubepods/burstable/pod" UID "/"
#define MS UINT64_C(1000000)

static int lookup(struct names *names, unsigned id, uint64_t now_ns, struct container_names *out)
{
    char path[256], digits[65];
    struct cgroup_path_info info;
    int len = snprintf(path, sizeof path, POD "%s", world_hex(id, digits));
    cgroup_path_parse(path, (size_t)len, &info);
    return names_lookup(names, &info, now_ns, out);
}

static void put_link(struct fixture *f, unsigned id)
{
    char path[256], digits[65];
    snprintf(path, sizeof path, "host/var/log/containers/cart-0_shop_c%u-%s.log", id,
             world_hex(id, digits));
    char target[256];
    snprintf(target, sizeof target, "/var/log/pods/shop_cart-0_" UID "/c%u/0.log", id);
    fixture_link(f, path, target);
}

/* Who starts a pod now and then waits for nothing. */
FIXTURE_TEST(a_new_link_is_found_at_once, f)
{
    struct names *names;
    struct container_names out;
    char name[16];
    assert_int_equal(names_new(&f->fs, NAMES_LOGS, &names), 0);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t now_ns = i * 2000 * MS;
        assert_int_equal(lookup(names, i, now_ns, &out), -ENOENT);
        put_link(f, i);
        assert_int_equal(lookup(names, i, now_ns + 10 * MS, &out), 0);
        snprintf(name, sizeof name, "c%u", i);
        assert_string_equal(out.name, name);
    }
    names_free(names);
}

/* 8,000 in a second, none of which has a name, and then one that has. */
FIXTURE_TEST(a_flood_reads_the_folders_twice_a_second, f)
{
    struct names *names;
    struct container_names out;
    uint64_t now_ns = 0;
    for (unsigned i = 0; i < 250; i++)
        put_link(f, i);
    assert_int_equal(names_new(&f->fs, NAMES_LOGS, &names), 0);
    for (unsigned i = 0; i < 8000; i++)
        assert_int_equal(lookup(names, 1000 + i, now_ns += MS / 8, &out), -ENOENT);
    assert_in_range(names_readings(names), 2 * 9, 2 * 10); /* of two folders */
    put_link(f, 500);
    uint64_t added_ns = now_ns;
    while (lookup(names, 500, now_ns, &out) != 0) {
        assert_int_equal(lookup(names, 2000, now_ns, &out), -ENOENT);
        now_ns += 10 * MS;
    }
    assert_true(now_ns - added_ns <= 500 * MS);
    assert_string_equal(out.name, "c500");
    names_free(names);
}

/* The same moment is not looked at twice, as when the exporter starts beside many containers. */
FIXTURE_TEST(all_at_once_need_one_reading, f)
{
    struct names *names;
    struct container_names out;
    for (unsigned i = 0; i < 250; i++)
        put_link(f, i);
    assert_int_equal(names_new(&f->fs, NAMES_LOGS, &names), 0);
    for (unsigned i = 0; i < 250; i++)
        assert_int_equal(lookup(names, i, 5 * MS, &out), 0);
    assert_int_equal(names_readings(names), 1);
    names_free(names);
}

FIXTURE_TEST(state_files_are_rationed, f)
{
    struct names *names;
    struct container_names out;
    assert_int_equal(names_new(&f->fs, NAMES_RUNTIME, &names), 0);
    unsigned n = 0;
    while (lookup(names, n, 0, &out) == -ENOENT)
        n++;
    assert_int_equal(n, 2048);
    assert_int_equal(lookup(names, n, 0, &out), -EAGAIN);
    for (n = 0; lookup(names, n, 1000 * MS, &out) == -ENOENT; n++)
        ;
    assert_int_equal(n, 200);
    names_free(names);
}
