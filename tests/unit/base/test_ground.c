#include "exporter/base/array.h"
#include "exporter/base/clock.h"
#include "exporter/base/hash.h"
#include "tests/unit/support/unit.h"

TEST(clocks_go_on_in_nanoseconds)
{
    struct timespec now;
    uint64_t before = clock_mono_ns();
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t after = clock_mono_ns();
    uint64_t between = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    assert_true(before > 0 && before <= between && between <= after);
    before = clock_ns(CLOCK_REALTIME);
    assert_true(before > UINT64_C(1600000000) * 1000000000u); /* later than September 2020 */
    assert_int_equal(clock_ns((clockid_t)12345), 0);
}

/* Values of the FNV reference code, http://www.isthe.com/chongo/tech/comp/fnv/. */
TEST(bytes_are_hashed_by_fnv_1a)
{
    assert_true(hash_bytes(HASH_START, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(hash_bytes(HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_bytes(HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_true(hash_bytes(hash_bytes(HASH_START, "foo", 3), "bar", 3) ==
                UINT64_C(0x85944171f73967e8));
    assert_true(hash_bytes(HASH_START, "\xff", 1) != hash_bytes(HASH_START, "\x7f", 1));
}

/* The paper's example (appendix A) and the reference implementation's vectors: the key's bytes are
 * 0 to 15, the text's 0, 1, 2 and so on. */
TEST(texts_are_hashed_by_siphash)
{
    const struct siphash_key key = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    static const struct {
        size_t n;
        uint64_t hash;
    } vectors[] = {
        {0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
        {7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
        {15, UINT64_C(0xa129ca6149be45e5)}, {16, UINT64_C(0x3f2acc7f57c29bdb)},
    };
    unsigned char text[16];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        assert_true(siphash(&key, text, vectors[i].n) == vectors[i].hash);
    struct siphash_key one, other;
    siphash_key_init(&one);
    siphash_key_init(&other);
    assert_true(one.k0 != other.k0 && one.k1 != other.k1);
    assert_true(siphash(&one, text, 16) != siphash(&other, text, 16));
}

/* Consecutive numbers, such as pids, fall on different places of a table by the high bits. */
TEST(numbers_are_spread)
{
    uint8_t seen[256] = {0};
    size_t places = 0;
    for (uint64_t i = 1; i <= 128; i++) {
        uint64_t place = hash_u64(i) >> 56;
        places += seen[place]++ == 0;
    }
    assert_int_equal(hash_u64(0), 0);
    assert_int_equal(places, 128); /* the golden ratio: none twice */
}

TEST(an_array_doubles)
{
    uint32_t *at = NULL;
    size_t cap = 0;
    assert_int_equal(array_reserve(&at, &cap, 0, sizeof *at), 0);
    assert_null(at); /* nothing was asked for */
    for (uint32_t i = 0; i < 1000; i++) {
        size_t before = cap;
        assert_int_equal(array_reserve(&at, &cap, i + 1, sizeof *at), 0);
        assert_true(cap == before || cap == (before ? before * 2 : 16));
        at[i] = i;
    }
    assert_int_equal(cap, 1024);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(at[i], i);
    assert_int_equal(array_reserve(&at, &cap, 5000, sizeof *at), 0);
    assert_int_equal(cap, 8192);
    assert_int_equal(at[999], 999);
    free(at);
}

TEST(an_array_that_cannot_grow_stays)
{
    uint64_t *at = NULL;
    size_t cap = 0;
    assert_int_equal(array_reserve(&at, &cap, 1, sizeof *at), 0);
    at[0] = 7;
    uint64_t *before = at;
    /* The first does not double, the bytes of the second overflow. */
    static const size_t too_many[] = {SIZE_MAX, SIZE_MAX / 4};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(array_reserve(&at, &cap, too_many[i], sizeof *at), -ENOMEM);
        assert_ptr_equal(at, before);
        assert_int_equal(cap, 16);
        assert_int_equal(at[0], 7);
    }
    free(at);
}
