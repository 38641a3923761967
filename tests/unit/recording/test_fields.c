#include "exporter/source/recording/fields.h"
#include "tests/unit/support/unit.h"

static char error[128];

static json_t *load(struct fields *in, const char *text)
{
    *in = (struct fields){.line = "unit", .error = error, .error_size = sizeof error};
    error[0] = '\0';
    return fields_load(in, text, strlen(text));
}

TEST(members_have_types)
{
    struct fields in;
    char word[4];
    json_t *root =
        load(&in, "{\"t\":\"text\",\"w\":\"abc\",\"f\":true,\"n\":5,\"e\":2.5e3,\"r\":0.5}");
    assert_string_equal(fields_text(&in, "t", FIELD_REQUIRED), "text");
    fields_word(&in, "w", word, sizeof word);
    assert_string_equal(word, "abc");
    assert_true(fields_flag(&in, "f"));
    assert_int_equal(fields_whole(&in, "n", FIELD_REQUIRED), 5);
    assert_int_equal(fields_whole(&in, "e", FIELD_REQUIRED), 2500);
    assert_int_equal(fields_int(&in, "n", FIELD_REQUIRED, 5), 5);
    assert_true(fields_real(&in, "r", FIELD_REQUIRED, 9) == 0.5);
    assert_true(fields_real(&in, "n", FIELD_REQUIRED, 9) == 5);
    assert_true(fields_has(&in, "n"));
    assert_false(in.failed);
    json_decref(root);
}

TEST(what_is_absent_has_a_value)
{
    struct fields in;
    json_t *root = load(&in, "{}");
    assert_string_equal(fields_text(&in, "x", FIELD_OPTIONAL), "");
    assert_false(fields_flag(&in, "x"));
    assert_int_equal(fields_whole(&in, "x", FIELD_OPTIONAL), 0);
    assert_int_equal(fields_int(&in, "x", FIELD_OPTIONAL, 1), 0);
    assert_true(fields_real(&in, "x", FIELD_OPTIONAL, 9) == 9);
    assert_false(fields_has(&in, "x"));
    assert_false(in.failed);
    json_decref(root);
}

TEST(the_first_error_sticks)
{
    struct fields in;
    json_t *root = load(&in, "{\"a\":-1,\"b\":\"x\"}");
    assert_int_equal(fields_int(&in, "a", FIELD_REQUIRED, 9), 0);
    fields_whole(&in, "b", FIELD_REQUIRED);
    fields_text(&in, "c", FIELD_REQUIRED);
    fields_fail(&in, "anything");
    assert_true(in.failed);
    assert_string_equal(error, "unit: \"a\" is negative");
    json_decref(root);
}

TEST(an_object_may_be_inside)
{
    struct fields in;
    json_t *root = load(&in, "{\"unit\":{\"n\":1}}");
    fields_enter(&in);
    assert_int_equal(fields_whole(&in, "n", FIELD_REQUIRED), 1);
    assert_false(in.failed);
    json_decref(root);

    root = load(&in, "{\"unit\":[1]}");
    fields_enter(&in);
    assert_string_equal(error, "\"unit\" must be an object");
    /* Going on is harmless: the rest of a line's parser does. */
    assert_string_equal(fields_text(&in, "key", FIELD_OPTIONAL), "");
    json_decref(root);

    root = load(&in, "{}");
    fields_enter(&in);
    assert_true(in.failed);
    assert_false(fields_has(&in, "key"));
    json_decref(root);
}

/* 2^63 - 1 is jansson's largest; a larger neighbour makes doubles of all integers. */
TEST(integers_stay_exact)
{
    struct fields in;
    json_t *root = load(&in, "{\"a\":9223372036854775807}");
    assert_true(fields_whole(&in, "a", FIELD_REQUIRED) == INT64_MAX);
    assert_false(in.rounded);
    json_decref(root);

    root = load(&in, "{\"a\":9223372036854775808,\"b\":9007199254740992,\"c\":9007199254740994}");
    assert_true(in.rounded);
    assert_true(fields_whole(&in, "a", FIELD_REQUIRED) == UINT64_C(1) << 63);
    assert_true(fields_whole(&in, "b", FIELD_REQUIRED) == UINT64_C(1) << 53);
    assert_false(in.failed);
    fields_whole(&in, "c", FIELD_REQUIRED);
    assert_string_equal(error, "unit: \"c\" cannot be read exactly beside an integer larger than "
                               "2^63");
    json_decref(root);
}

TEST(only_objects_are_loaded)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "the line is empty"},
        {"[1]", "a line must be an object"},
        {"{\"a\":1", "malformed JSON at column 6: "},
        {"{\"a\":1,\"a\":2}", "malformed JSON at column "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fields in;
        json_decref(load(&in, cases[i].text));
        assert_true(in.failed);
        assert_memory_equal(error, cases[i].error, strlen(cases[i].error));
    }
}
