#include "exporter/source/sample.h"
#include "tests/unit/support/unit.h"

TEST(words_are_read_as_they_are_written)
{
    enum access access;
    enum medium medium;
    enum access_size size;
    for (int i = 0; i < ACCESS_KINDS; i++) {
        assert_int_equal(access_parse(access_name((enum access)i), &access), 0);
        assert_int_equal(access, i);
    }
    for (int i = 0; i < MEDIA; i++) {
        assert_int_equal(medium_parse(medium_name((enum medium)i), &medium), 0);
        assert_int_equal(medium, i);
    }
    for (int i = 0; i < ACCESS_SIZES; i++) {
        assert_non_null(access_size_name((enum access_size)i));
        assert_int_equal(access_size_parse(access_size_name((enum access_size)i), &size), 0);
        assert_int_equal(size, i);
    }
    assert_int_equal(medium_parse("pmem", &medium), -ENOENT);
    assert_int_equal(access_size_parse("", &size), -ENOENT);
}
