/* A name always has the same other one, and no two have one. */
#include "exporter/daemon/feed.h"
#include "tests/unit/support/unit.h"

TEST(test_the_same_name_the_same_number)
{
    struct pseudonyms *names;
    assert_int_equal(pseudonyms_new(&names), 0);
    assert_string_equal(pseudonym_of(names, "pod", "cart"), "pod-1");
    assert_string_equal(pseudonym_of(names, "namespace", "cart"), "namespace-2");
    assert_string_equal(pseudonym_of(names, "pod", ""), "");
    assert_string_equal(pseudonym_of(names, "pod", "<script>"), "pod-3");
    assert_string_equal(pseudonym_of(names, "pod", "cart"), "pod-1");
    assert_string_equal(pseudonym_of_id(names, ""), "");
    const char *id = pseudonym_of_id(names, "0123");
    assert_int_equal(strlen(id), 64);
    assert_memory_equal(id, "000000000004", 12);
    assert_ptr_equal(pseudonym_of_id(names, "0123"), id);
    for (int i = 0; i < 1000; i++) {
        char name[16], expected[16];
        snprintf(name, sizeof name, "web-%d", i);
        snprintf(expected, sizeof expected, "pod-%d", i + 5);
        assert_string_equal(pseudonym_of(names, "pod", name), expected);
    }
    assert_string_equal(pseudonym_of(names, "pod", "web-3"), "pod-8");
    pseudonyms_free(names);
}
