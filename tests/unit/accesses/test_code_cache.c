/* What instructions access, remembered by address. */
#include "exporter/source/accesses/instruction.h"
#include "tests/unit/support/unit.h"

TEST(much_code)
{
    struct code_cache *cache;
    assert_int_equal(code_cache_new(0, &cache), -EINVAL);
    assert_int_equal(code_cache_new(1000, &cache), 0);
    size_t bytes = code_cache_bytes(cache), found = 0;
    for (uint64_t i = 1; i <= 5000; i++) {
        const struct code_size entry = {.ip = 0x400000 + 3 * i,
                                        .read_ns = i,
                                        .space = 1 + (uint32_t)i % 7,
                                        .access = i % 2,
                                        .bytes = (uint8_t)(i % 64)};
        code_cache_put(cache, &entry);
        assert_int_equal(code_cache_find(cache, entry.space, entry.ip, i % 2)->read_ns, i);
    }
    for (uint64_t i = 1; i <= 5000; i++) {
        const struct code_size *entry =
            code_cache_find(cache, 1 + (uint32_t)i % 7, 0x400000 + 3 * i, i % 2);
        assert_null(code_cache_find(cache, 100, 0x400000 + 3 * i, i % 2));
        if (entry)
            assert_int_equal(entry->bytes, i % 64);
        found += entry != NULL;
    }
    assert_in_range(found, 500, 1024);
    assert_int_equal(code_cache_bytes(cache), bytes);
    assert_null(code_cache_find(cache, 0, 0, ACCESS_STORE));
    code_cache_free(cache);
}
