/* The table of pointers by hash, against a plain table. */
#include "exporter/base/hash_table.h"
#include "tests/unit/support/unit.h"

enum { KEYS = 500 };

/* Few hashes: several keys have the same, and their neighbours' places are taken. */
static uint64_t hash_of(int key)
{
    return (uint64_t)key / 3 * 5 % 64;
}

static bool finds(const struct hash_table *table, int key, const void *value)
{
    size_t at = 0;
    const void *found;
    while ((found = hash_table_next(table, hash_of(key), &at)) && found != value)
        ;
    return found != NULL;
}

TEST(against_a_plain_table)
{
    static bool there[KEYS];
    struct hash_table table = {0};
    uint32_t random = 99;
    for (int step = 0; step < 50000; step++) {
        random = random * 1664525 + 1013904223;
        int i = (int)((random >> 8) % KEYS);
        if (there[i]) {
            hash_table_remove(&table, hash_of(i), &there[i]);
        } else {
            assert_int_equal(hash_table_reserve(&table, table.n + 1), 0);
            hash_table_insert(&table, hash_of(i), &there[i]);
        }
        there[i] = !there[i];
        if (step % 500 != 0)
            continue;
        size_t n = 0;
        for (i = 0; i < KEYS; i++) {
            assert_int_equal(finds(&table, i, &there[i]), there[i]);
            n += there[i];
        }
        assert_int_equal(table.n, n);
        assert_true(table.n <= table.cap / 4 * 3);
    }
    hash_table_release(&table);
}

TEST(none)
{
    struct hash_table table = {0};
    size_t at = 0;
    int value;
    assert_null(hash_table_next(&table, 1, &at));
    hash_table_remove(&table, 1, &value);
    assert_int_equal(hash_table_reserve(&table, 0), 0);
    assert_int_equal(table.cap, 0);
    assert_int_equal(hash_table_reserve(&table, 100), 0);
    assert_int_equal(table.cap, 256);
    hash_table_insert(&table, 257, &value);
    hash_table_remove(&table, 1, &value); /* another hash, in the same place */
    assert_int_equal(table.n, 0);
    hash_table_release(&table);
}
