#include "exporter/base/decimal.h"
#include "exporter/base/textbuf.h"
#include "tests/unit/support/draw.h"
#include "tests/unit/support/unit.h"

TEST(test_append)
{
    struct textbuf buf;
    textbuf_init(&buf);
    textbuf_str(&buf, "a");
    textbuf_char(&buf, 'b');
    textbuf_add(&buf, "cdef", 2);
    textbuf_printf(&buf, "-%d-%s", 42, "xyz");
    textbuf_u64(&buf, UINT64_MAX);
    assert_int_equal(textbuf_finish(&buf), 0);
    assert_string_equal(buf.data, "abcd-42-xyz18446744073709551615");
    assert_int_equal(buf.len, strlen(buf.data));
    textbuf_clear(&buf);
    assert_int_equal(buf.len, 0);
    assert_string_equal(buf.data, "");
    textbuf_release(&buf);
}

/* printf must survive any amount of room left, the exact fit above all. */
TEST(test_growth)
{
    char expected[300];
    memset(expected, 'x', sizeof expected);
    for (size_t before = 0; before < 140; before++) {
        for (int n = 0; n < 140; n += 7) {
            struct textbuf buf = TEXTBUF_INIT;
            textbuf_add(&buf, expected, before);
            textbuf_printf(&buf, "%.*s", n, expected);
            assert_int_equal(textbuf_finish(&buf), 0);
            assert_int_equal(buf.len, before + (size_t)n);
            assert_int_equal(strlen(buf.data), buf.len);
            textbuf_release(&buf);
        }
    }
}

TEST(test_trim)
{
    struct textbuf buf = TEXTBUF_INIT;
    textbuf_str(&buf, "kept");
    textbuf_reserve(&buf, 1000000);
    textbuf_trim(&buf);
    assert_in_range(buf.cap, 5, 65536);
    assert_string_equal(buf.data, "kept");
    textbuf_reserve(&buf, 100000);
    for (int i = 0; i < 50000; i++)
        textbuf_char(&buf, 'x');
    size_t cap = buf.cap;
    textbuf_trim(&buf); /* well used: stays */
    assert_int_equal(buf.cap, cap);
    textbuf_release(&buf);
}

TEST(test_fixed)
{
    char storage[9];
    memset(storage, '#', sizeof storage);
    struct textbuf buf;
    textbuf_init_fixed(&buf, storage, 8);
    textbuf_str(&buf, "1234567"); /* fits with its NUL */
    assert_int_equal(textbuf_finish(&buf), 0);
    assert_string_equal(storage, "1234567");
    textbuf_char(&buf, '8');
    textbuf_str(&buf, ""); /* the error stays */
    textbuf_printf(&buf, "%d", 9);
    assert_int_equal(textbuf_finish(&buf), -ENOBUFS);
    assert_string_equal(storage, "1234567");
    assert_int_equal(storage[8], '#');
    textbuf_clear(&buf);
    textbuf_printf(&buf, "%s", "12345678");
    assert_int_equal(textbuf_finish(&buf), -ENOBUFS);
    assert_string_equal(storage, ""); /* nothing half-written */
    textbuf_clear(&buf);
    assert_int_equal(textbuf_reserve(&buf, SIZE_MAX), -ENOBUFS);
    textbuf_release(&buf);
    textbuf_init_fixed(&buf, storage, 0);
    assert_int_equal(textbuf_finish(&buf), -ENOBUFS);

    struct textbuf heap = TEXTBUF_INIT;
    textbuf_char(&heap, 'a');
    assert_int_equal(textbuf_reserve(&heap, SIZE_MAX - 1), -EOVERFLOW);
    textbuf_release(&heap);
}

static void check_text(void (*add)(struct textbuf *, const char *), const char *in, const char *out)
{
    struct textbuf buf = TEXTBUF_INIT;
    add(&buf, in);
    assert_int_equal(textbuf_finish(&buf), 0);
    assert_string_equal(buf.data, out);
    textbuf_release(&buf);
}

#define BAD "\xef\xbf\xbd"

TEST(test_label_value)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"plain", "plain"},
        {"a\\b\"c\nd", "a\\\\b\\\"c\\nd"},
        {"\ttab \x01", BAD "tab " BAD},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff", BAD},
        {"a\x80z", "a" BAD "z"},
        {"\xc3", BAD},                         /* cut short */
        {"\xe2\x82", BAD BAD},                 /* cut short */
        {"\xc0\xaf", BAD BAD},                 /* overlong */
        {"\xe0\x80\xaf", BAD BAD BAD},         /* overlong */
        {"\xed\xa0\x80", BAD BAD BAD},         /* surrogate */
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* beyond U+10FFFF */
        {"\xf8\x88\x80\x80\x80", BAD BAD BAD BAD BAD},
        {"\xc3\"", BAD "\\\""}, /* the quote is not swallowed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_text(textbuf_label_value, cases[i][0], cases[i][1]);
}

/* Every character of these ranges, and their neighbours, by its code. */
TEST(what_is_not_seen_is_replaced)
{
    static const struct {
        unsigned from, to;
    } ranges[] = {{0x01, 0x09},     {0x0b, 0x1f},     {0x7f, 0x9f},    {0x61c, 0x61c},
                  {0x200e, 0x200f}, {0x202a, 0x202e}, {0x2066, 0x2069}};
    for (unsigned code = 1; code < 0x3000; code++) {
        bool replaced = false;
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
            replaced |= code >= ranges[i].from && code <= ranges[i].to;
        if (strchr("\\\"\n", (int)code & 0x7f) && code < 0x80)
            continue;
        char text[8] = "";
        if (code < 0x80) {
            text[0] = (char)code;
        } else if (code < 0x800) {
            text[0] = (char)(0xc0 | code >> 6);
            text[1] = (char)(0x80 | (code & 0x3f));
        } else {
            text[0] = (char)(0xe0 | code >> 12);
            text[1] = (char)(0x80 | (code >> 6 & 0x3f));
            text[2] = (char)(0x80 | (code & 0x3f));
        }
        check_text(textbuf_label_value, text, replaced ? BAD : text);
    }
}

TEST(test_quoted)
{
    check_text(textbuf_quoted, "a\"b\\c\nd\te\x7f\x01\xff\xc3\xa9",
               "\"a\\\"b\\\\c\\nd\\u0009e\\u007f\\u0001" BAD "\xc3\xa9\"");
}

static const char *write_number(size_t (*write)(char *, double), double value)
{
    static char text[DECIMAL_SIZE + 1];
    text[write(text, value)] = '\0';
    return text;
}

TEST(test_doubles_by_hand)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {1, "1"},
        {-1, "-1"},
        {0.1, "0.1"},
        {-0.25, "-0.25"},
        {0.3, "0.3"},
        {1e-4, "0.0001"},
        {1e-5, "1e-05"},
        {8e-8, "8e-08"},
        {80.238e-9, "8.0238e-08"},
        {1.25e-10, "1.25e-10"},
        {1e-11, "1e-11"},
        {1e-300, "1e-300"},
        {123456.789, "123456.789"},
        {1790000000.123, "1790000000.123"},
        {9007199254740991.0, "9007199254740991"},
        {9007199254740992.0, "9007199254740992"},
        {4503599627370495.5, "4503599627370495.5"},
        {2251799813685247.75, "2251799813685247.8"}, /* shorter, and the same double */
        {1e15, "1000000000000000"},
        {1e22, "1e+22"},
        {0.1 + 0.2, "0.30000000000000004"},
        {2.0 / 3, "0.6666666666666666"},
        {1.0 / 3, "0.3333333333333333"},
        {5e-324, "4.94065645841247e-324"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {INFINITY, "+Inf"},
        {-INFINITY, "-Inf"},
        {NAN, "NaN"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(write_number(decimal_double, cases[i].value), cases[i].text);
}

TEST(test_canonical)
{
    /* The first rows are the examples of the OpenMetrics specification. */
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0.0"},       {0.001, "0.001"},    {0.01, "0.01"},     {0.9, "0.9"},
        {0.95, "0.95"},   {0.999, "0.999"},    {1, "1.0"},         {1.7, "1.7"},
        {10, "10.0"},     {1e-10, "1e-10"},    {1e-9, "1e-09"},    {1e-5, "1e-05"},
        {1e-4, "0.0001"}, {1e5, "100000.0"},   {1e6, "1e+06"},     {1e10, "1e+10"},
        {60e-9, "6e-08"}, {120e-9, "1.2e-07"}, {2e-6, "2e-06"},    {1234567, "1.234567e+06"},
        {-2, "-2.0"},     {-0.5, "-0.5"},      {INFINITY, "+Inf"}, {1500000.5, "1.5000005e+06"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(write_number(decimal_canonical, cases[i].value), cases[i].text);
}

/* Significant digits of a decimal text. */
static int count_digits(const char *text)
{
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (n == 0 && *text == '0'))
            continue;
        n++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return n - zeros;
}

static void check_double(double value)
{
    char shortest[64];
    int digits = 1;
    do
        snprintf(shortest, sizeof shortest, "%.*g", digits, value);
    while (strtod(shortest, NULL) != value && ++digits <= 17);
    const char *text = write_number(decimal_double, value);
    if (strtod(text, NULL) != value)
        fail_msg("%.17g was written as %s", value, text);
    /* Never fewer by luck, and more only where 15 digits are the library's own first trial. */
    int used = count_digits(text);
    if (used > digits && !(used <= 15 && fabs(value) < 1e-9))
        fail_msg("%.17g was written as %s, %s would do", value, text, shortest);
}

TEST(test_doubles_read_back)
{
    uint64_t seed = DRAW_SEED;
    for (int i = 0; i < 60000; i++) {
        uint64_t bits = draw(&seed);
        double any;
        memcpy(&any, &bits, sizeof any);
        if (isfinite(any) && fabs(any) >= 2.3e-308)
            check_double(any);
        double unit = (double)(bits >> 11) * 0x1p-53;
        check_double(unit * 1e-6);
        check_double(unit);
        check_double(unit * pow(10, (double)(bits % 26) - 9));
        check_double((double)(bits % 100000) / 1e3);
        check_double((double)(bits % 100000) * 1e-9);
    }
    /* The powers of two and ten with their neighbours, where the spacing changes. */
    for (int e = -60; e < 60; e++) {
        double two = ldexp(1, e), ten = pow(10, e / 3.0);
        check_double(two);
        check_double(nextafter(two, 0));
        check_double(nextafter(two, INFINITY));
        check_double(ten);
        check_double(nextafter(ten, 0));
        check_double(nextafter(ten, INFINITY));
    }
}

TEST(test_u64)
{
    uint64_t seed = 1;
    for (int i = 0; i < 10000; i++) {
        uint64_t value = draw(&seed) >> i % 64;
        char text[DECIMAL_SIZE + 1];
        text[decimal_u64(text, value)] = '\0';
        assert_true(strtoull(text, NULL, 10) == value);
        assert_true(value == 0 || text[0] != '0');
    }
    char zero[DECIMAL_SIZE];
    assert_int_equal(decimal_u64(zero, 0), 1);
    assert_int_equal(zero[0], '0');
}
