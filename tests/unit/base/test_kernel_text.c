/* Taking text apart from its front, and files read and written whole. */
#include <unistd.h>

#include "exporter/base/kernel_text.h"
#include "exporter/base/whole.h"
#include "tests/unit/support/unit.h"

static struct kernel_text of(const char *text)
{
    return kernel_text_of(text, strlen(text));
}

TEST(numbers)
{
    static const struct {
        const char *text;
        unsigned base;
        bool good;
        uint64_t value;
        const char *rest;
    } cases[] = {
        {"0", 10, true, 0, ""},
        {"007 ", 10, true, 7, " "},
        {"12a", 10, true, 12, "a"},
        {"12a", 16, true, 0x12a, ""},
        {"12A", 16, true, 0x12, "A"},
        {"7fg", 16, true, 0x7f, "g"},
        {"18446744073709551615", 10, true, UINT64_MAX, ""},
        {"18446744073709551616", 10, false, 0, NULL},
        {"10000000000000000", 16, false, 0, NULL},
        {"", 10, false, 0, NULL},
        {"-1", 10, false, 0, NULL},
        {" 1", 10, false, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kernel_text in = of(cases[i].text);
        uint64_t value = 1;
        assert_int_equal(kernel_text_number_in(&in, cases[i].base, &value), cases[i].good);
        if (!cases[i].good)
            continue;
        assert_true(value == cases[i].value);
        assert_string_equal(in.at, cases[i].rest);
    }
}

TEST(lines_and_words)
{
    struct kernel_text in = of("one=1\n\nlast"), line, front;
    assert_true(kernel_text_rest_line(&in, &line));
    assert_false(kernel_text_word(&line, "one=12"));
    assert_true(kernel_text_until(&line, '=', &front));
    assert_true(front.end - front.at == 3 && kernel_text_char(&line, '1'));
    assert_false(kernel_text_char(&line, '\n') || kernel_text_begins(&line, '\n'));
    assert_true(kernel_text_rest_line(&in, &line) && line.at == line.end);
    assert_false(kernel_text_line(&in, &line));
    assert_true(kernel_text_rest_line(&in, &line) && kernel_text_word(&line, "last"));
    assert_false(kernel_text_rest_line(&in, &line));
    in = of("");
    assert_false(kernel_text_char(&in, '\0') || kernel_text_line(&in, &line));
    assert_true(kernel_text_word(&in, ""));
}

/* A pipe gives what is in it, and then waits or ends: never all at once. */
TEST(all_of_it)
{
    int ends[2];
    char back[8];
    size_t len = 0;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write_whole(ends[1], "abc", 3), 0);
    assert_int_equal(write_whole(ends[1], "defgh", 5), 0);
    assert_int_equal(read_whole(ends[0], back, 4, &len), 0);
    assert_true(len == 4 && memcmp(back, "abcd", 4) == 0);
    close(ends[1]);
    assert_int_equal(read_whole(ends[0], back, sizeof back, &len), 0);
    assert_true(len == 4 && memcmp(back, "efgh", 4) == 0);
    close(ends[0]);
    assert_true(read_whole(ends[0], back, sizeof back, &len) < 0 && len == 4);
    assert_true(write_whole(ends[1], "a", 1) < 0);
    assert_int_equal(write_whole(ends[1], "", 0), 0);
}
