#include <jansson.h>

#include "exporter/json/scan.h"
#include "tests/unit/support/unit.h"

static int skip_all(const char *text, size_t len, const char **why)
{
    struct json_scan scan;
    size_t where;
    json_scan_init(&scan, text, len);
    json_scan_skip(&scan);
    int err = json_scan_finish(&scan, why, &where);
    assert_true(where <= len);
    return err;
}

/* jansson is the judge of what is JSON. */
TEST(as_jansson_says)
{
    static const char *const texts[] = {
        "{}", "[]", "null", "true", "false", "0", "-0", "-1.5e-7", "1E+9", "10", "\"\"", " [ ] ",
        "[1,\"a\",null,{\"b\":[true]},[]]", "{\"a\":{\"b\":{}},\"c\":-2}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\"",
        /* and none of these */
        "", " ", "{", "[", "\"", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "[1,]", "[,1]",
        "[1 2]", "{\"a\" 1}", "{1:2}", "{\"a\":1 \"b\":2}", "[}", "{]", "[[]", "[]]", "{}x", "nul",
        "nulls", "tru", "True", "NaN", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "0x1",
        "1.5.2", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\u0000\"",
        "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\ude00\"", "\"\n\"", "\"\x01\"", "\"\\", "\"\\u"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_error_t error;
        json_t *root = json_loads(texts[i], JSON_DECODE_ANY, &error);
        const char *why = NULL;
        /* Not NUL-terminated, and the sanitizer guards its end. */
        size_t len = strlen(texts[i]);
        char *text = malloc(len + (len == 0));
        assert_non_null(text);
        memcpy(text, texts[i], len);
        int err = skip_all(text, len, &why);
        if ((err == 0) != (root != NULL))
            fail_msg("%s: %s", texts[i], why ? why : "accepted");
        free(text);
        json_decref(root);
    }
}

TEST(strings_are_decoded)
{
    static const char *const texts[] = {"\"\"", "\"caf\xc3\xa9\"",
                                        "\"\\u00e9\\u20ac\\ud83d\\ude00\\u007f\\u07ff\\u0800\"",
                                        "\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct json_scan scan;
        char out[64];
        json_t *root = json_loads(texts[i], JSON_DECODE_ANY, NULL);
        json_scan_init(&scan, texts[i], strlen(texts[i]));
        assert_true(json_scan_string(&scan, out));
        assert_string_equal(out, json_string_value(root));
        assert_true(strlen(out) + 1 <= strlen(texts[i]));
        json_decref(root);
    }
    static const char *const wrong[] = {"\"\xff\"",         "\"\xc3\"",
                                        "\"\xc0\x80\"",     "\"\xed\xa0\x80\"",
                                        "\"\xe0\x80\x80\"", "\"\xf4\x90\x80\x80\"",
                                        "\"\xc3(\"",        "\"a\\u0000\""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct json_scan scan;
        char out[64];
        json_scan_init(&scan, wrong[i], strlen(wrong[i]));
        assert_false(json_scan_string(&scan, out));
        assert_non_null(scan.why);
    }
}

TEST(members_and_elements)
{
    static const char text[] = "{\"a\":[1,{\"x\":[]},\"s\"],\"b\":{},\"c\":-7.5}";
    struct json_scan scan;
    struct json_span name, number;
    const char *why;
    char out[16];
    size_t where;
    json_scan_init(&scan, text, sizeof text - 1);
    assert_true(json_scan_enter(&scan, JSON_SCAN_OBJECT));
    assert_true(json_scan_member(&scan, &name) && json_span_is(name, "a"));
    assert_true(json_scan_enter(&scan, JSON_SCAN_ARRAY));
    assert_true(json_scan_element(&scan) && json_scan_number(&scan, &number));
    assert_true(json_span_is(number, "1"));
    assert_true(json_scan_element(&scan));
    assert_false(json_scan_number(&scan, &number)); /* an object: stepped over */
    assert_true(json_scan_element(&scan) && json_scan_string(&scan, out));
    assert_string_equal(out, "s");
    assert_false(json_scan_element(&scan));
    assert_true(json_scan_member(&scan, &name) && json_span_is(name, "b"));
    assert_true(json_scan_enter(&scan, JSON_SCAN_OBJECT));
    assert_false(json_scan_member(&scan, &name));
    assert_true(json_scan_member(&scan, &name) && json_scan_number(&scan, &number));
    assert_true(json_span_is(number, "-7.5"));
    assert_false(json_scan_member(&scan, &name));
    assert_int_equal(json_scan_finish(&scan, &why, &where), 0);
}

TEST(the_first_error_stays)
{
    struct json_scan scan;
    struct json_span name;
    const char *why;
    size_t where;
    json_scan_init(&scan, "[1,2]", 5);
    assert_true(json_scan_enter(&scan, JSON_SCAN_ARRAY) && json_scan_element(&scan));
    json_scan_fail(&scan, "enough");
    json_scan_fail(&scan, "more than enough");
    assert_int_equal(json_scan_next(&scan), JSON_SCAN_NOTHING);
    json_scan_skip(&scan);
    assert_false(json_scan_element(&scan) || json_scan_member(&scan, &name));
    assert_int_equal(json_scan_finish(&scan, &why, &where), -EINVAL);
    assert_string_equal(why, "enough");
    assert_int_equal(where, 1);
}

TEST(depth_is_bounded)
{
    char text[2 * JSON_SCAN_DEPTH + 2];
    const char *why = NULL;
    memset(text, '[', JSON_SCAN_DEPTH);
    memset(text + JSON_SCAN_DEPTH, ']', JSON_SCAN_DEPTH);
    assert_int_equal(skip_all(text, (size_t)2 * JSON_SCAN_DEPTH, &why), 0);
    memset(text, '[', JSON_SCAN_DEPTH + 1);
    memset(text + JSON_SCAN_DEPTH + 1, ']', JSON_SCAN_DEPTH + 1);
    assert_int_equal(skip_all(text, sizeof text, &why), -EINVAL);
    assert_string_equal(why, "it is nested too deep");
}
