/* --thresholds.file: matching, rejected files and their messages, reloading. */
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/contract/thresholds.h"
#include "tests/unit/support/unit.h"

static struct thresholds parsed(const char *text)
{
    struct thresholds out;
    char error[256] = "";
    if (thresholds_parse(text, strlen(text), &out, error, sizeof error) != 0)
        fail_msg("%s: %s", text, error);
    return out;
}

/* 0 for no match. */
static double find(const struct thresholds *list, const char *namespace_, const char *pod,
                   const char *container)
{
    double seconds = 0;
    bool found = thresholds_find(list, namespace_, pod, container, &seconds);
    assert_int_equal(found, seconds != 0);
    return seconds;
}

TEST(test_first_match_wins)
{
    struct thresholds list =
        parsed("[{\"namespace\":\"shop\",\"pod\":\"cart-*\",\"container\":\"cart\","
               "\"latency_seconds\":1.2e-7},\n"
               " {\"namespace\":\"shop\",\"latency_seconds\":2e-7},\n"
               " {\"pod\":\"db-?\",\"latency_seconds\":3e-7},\n"
               " {\"container\":\"[ab]x\",\"latency_seconds\":1}]");
    assert_int_equal(list.n, 4);
    assert_true(find(&list, "shop", "cart-0", "cart") == 1.2e-7);
    assert_true(find(&list, "shop", "cart-0", "sidecar") == 2e-7);
    assert_true(find(&list, "shop", "", "") == 2e-7);
    assert_true(find(&list, "other", "db-1", "bx") == 3e-7);
    assert_true(find(&list, "other", "db-10", "bx") == 1);
    assert_true(find(&list, "other", "db-10", "cx") == 0);
    assert_true(find(&list, "Shop", "cart-0", "cart") == 0);
    thresholds_release(&list);
    assert_null(list.at);
    assert_int_equal(list.n, 0);
}

/* Of either kind, the first that has one: a slowdown for all of a namespace takes no latency away.
 */
TEST(test_slowdowns)
{
    struct thresholds list =
        parsed("[{\"namespace\":\"shop\",\"slowdown_ratio\":2.5},"
               " {\"container\":\"cart\",\"latency_seconds\":2e-7,\"slowdown_ratio\":100}]");
    double ratio = 7;
    assert_true(find(&list, "shop", "x", "cart") == 2e-7);
    assert_true(find(&list, "shop", "x", "other") == 0);
    assert_true(thresholds_find_slowdown(&list, "shop", "x", "cart", &ratio));
    assert_true(ratio == 2.5);
    assert_true(thresholds_find_slowdown(&list, "web", "x", "cart", &ratio));
    assert_true(ratio == 100);
    assert_false(thresholds_find_slowdown(&list, "web", "x", "other", &ratio));
    assert_true(ratio == 100);
    thresholds_release(&list);
}

TEST(test_everything)
{
    struct thresholds list = parsed("[{\"latency_seconds\":2e-7}]");
    assert_true(find(&list, "", "", "") == 2e-7); /* outside Kubernetes names are empty */
    assert_true(find(&list, "a", "b", ".hidden/odd") == 2e-7);
    thresholds_release(&list);

    list = parsed("[{\"namespace\":\"\",\"latency_seconds\":2e-7}]");
    assert_true(find(&list, "", "", "x") == 2e-7);
    assert_true(find(&list, "a", "", "x") == 0);
    thresholds_release(&list);

    list = parsed("[]");
    assert_true(find(&list, "", "", "") == 0);
    thresholds_release(&list);

    struct thresholds none = {0};
    assert_true(find(&none, "", "", "") == 0);
    thresholds_release(&none);
}

/* A glob made to backtrack must not cost more than its length. */
TEST(test_hostile_glob)
{
    char text[2048] = "[{\"container\":\"";
    for (int i = 0; i < 200; i++)
        strcat(text, "*a");
    strcat(text, "*b\",\"latency_seconds\":1}]");
    struct thresholds list = parsed(text);
    char name[254];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_true(find(&list, "", "", name) == 0);
    thresholds_release(&list);
}

static const struct {
    const char *text, *error;
} errors[] = {
    {"", "line 1: '[' or '{' expected near end of file"},
    {"[\n{\"latency_seconds\":1e-7},\n{\"latency_seconds\" 1}]", "line 3: ':' expected near '1'"},
    {"[{\"latency_seconds\":1e-7}] x", "line 1: end of file expected near 'x'"},
    {"[{\"latency_seconds\":1e-7}", "line 1: ']' expected near end of file"},
    {"{}", "not a list of thresholds"},
    {"[1]", "entry 1: not an object"},
    {"[{}]", "entry 1: \"latency_seconds\" or \"slowdown_ratio\" is missing"},
    {"[{\"latency_seconds\":1},{\"pod\":\"x\"}]",
     "entry 2: \"latency_seconds\" or \"slowdown_ratio\" is missing"},
    {"[{\"slowdown_ratio\":\"2\"}]", "entry 1: \"slowdown_ratio\" is not a number"},
    {"[{\"slowdown_ratio\":1}]",
     "entry 1: \"slowdown_ratio\" is 1; it must be above 1 and at most 100 (2 is twice as long)"},
    {"[{\"slowdown_ratio\":150,\"latency_seconds\":1}]",
     "entry 1: \"slowdown_ratio\" is 150; it must be above 1 and at most 100 (2 is twice as long)"},
    {"[{\"latency_seconds\":\"1\"}]", "entry 1: \"latency_seconds\" is not a number"},
    {"[{\"latency_seconds\":null}]", "entry 1: \"latency_seconds\" is not a number"},
    {"[{\"latency_seconds\":0}]",
     "entry 1: \"latency_seconds\" is 0; it must be above 0 and at most 1 (200 ns is 2e-7)"},
    {"[{\"latency_seconds\":-1e-7}]",
     "entry 1: \"latency_seconds\" is -1e-07; it must be above 0 and at most 1 (200 ns is 2e-7)"},
    {"[{\"latency_seconds\":200}]",
     "entry 1: \"latency_seconds\" is 200; it must be above 0 and at most 1 (200 ns is 2e-7)"},
    {"[{\"latency_seconds\":1e999}]", "line 1: real number overflow near '1e999'"},
    {"[{\"namespace\":1,\"latency_seconds\":1e-7}]", "entry 1: \"namespace\" is not a string"},
    {"[{\"pod\":[],\"latency_seconds\":1e-7}]", "entry 1: \"pod\" is not a string"},
    {"[{\"container\":null,\"latency_seconds\":1e-7}]", "entry 1: \"container\" is not a string"},
    {"[{\"pods\":\"x\",\"latency_seconds\":1e-7}]", "entry 1: unknown key \"pods\""},
    {"[{\"a\\nb\":\"x\",\"latency_seconds\":1e-7}]", "entry 1: unknown key \"a\\nb\""},
    {"[{\"pod\":\"x\",\"pod\":\"y\",\"latency_seconds\":1e-7}]",
     "line 1: duplicate object key near '\"pod\"'"},
    {"[{\"pod\":\"\xff\",\"latency_seconds\":1e-7}]",
     "line 1: unable to decode byte 0xff near '\"'"},
    {"[{\"pod\":\"a\\u0000b\",\"latency_seconds\":1e-7}]",
     "line 1: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"a\\u0000b\"'"},
};

TEST(test_errors)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct thresholds out = {.n = 77, .version = 78};
        char error[256] = "";
        int err =
            thresholds_parse(errors[i].text, strlen(errors[i].text), &out, error, sizeof error);
        assert_string_equal(error, errors[i].error);
        assert_int_equal(err, -EINVAL);
        assert_int_equal(out.n, 77);
        assert_int_equal(out.version, 78);
    }
}

TEST(test_size_limit)
{
    size_t size = (1 << 20) + 1;
    char *text = malloc(size);
    assert_non_null(text);
    memset(text, ' ', size);
    memcpy(text, "[]", 2);
    struct thresholds out;
    char error[64];
    assert_int_equal(thresholds_parse(text, size - 1, &out, error, sizeof error), 0);
    thresholds_release(&out);
    assert_int_equal(thresholds_parse(text, size, &out, error, sizeof error), -EINVAL);
    assert_string_equal(error, "larger than 1 MiB");
    free(text);
}

/* ---- files ---- */

static void put_file(const char *path, const char *text, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

TEST(test_load_and_reload)
{
    const char *path = *state;
    struct thresholds list = {0};
    char error[512];
    const char *one = "[{\"latency_seconds\":1e-7}]";
    put_file(path, one, strlen(one));
    assert_int_equal(thresholds_load(path, &list, error, sizeof error), 0);
    assert_int_equal(list.version, 1);
    assert_true(find(&list, "", "", "") == 1e-7);

    const char *two = "[{\"pod\":\"x\",\"latency_seconds\":2e-7},{\"latency_seconds\":3e-7}]";
    put_file(path, two, strlen(two));
    assert_int_equal(thresholds_load(path, &list, error, sizeof error), 0);
    assert_int_equal(list.version, 2);
    assert_true(find(&list, "", "", "") == 3e-7);

    /* What is broken leaves the old list in force. */
    char expected[300];
    put_file(path, "[{", 2);
    assert_int_equal(thresholds_load(path, &list, error, sizeof error), -EINVAL);
    snprintf(expected, sizeof expected, "%s: line 1: string or '}' expected near end of file",
             path);
    assert_string_equal(error, expected);
    assert_int_equal(list.version, 2);
    assert_true(find(&list, "", "", "") == 3e-7);
    thresholds_release(&list);
}

TEST(test_unreadable)
{
    const char *path = *state;
    struct thresholds list = {0};
    char error[512];
    assert_int_equal(thresholds_load("/nonexistent/t.json", &list, error, sizeof error), -ENOENT);
    assert_string_equal(error, "/nonexistent/t.json: No such file or directory");
    assert_int_equal(thresholds_load("/", &list, error, sizeof error), -EISDIR);
    assert_string_equal(error, "/: Is a directory");

    /* A pipe without a writer must not stop the exporter. */
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(thresholds_load(path, &list, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, ": line 1: "));
    unlink(path);

    size_t size = (1 << 20) + 1;
    char *spaces = malloc(size);
    assert_non_null(spaces);
    memset(spaces, ' ', size);
    put_file(path, spaces, size);
    free(spaces);
    assert_int_equal(thresholds_load(path, &list, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, ": larger than 1 MiB"));
    assert_int_equal(truncate(path, 100 << 20), 0);
    assert_int_equal(thresholds_load(path, &list, error, sizeof error), -EINVAL);
    assert_non_null(strstr(error, ": larger than 1 MiB"));
    assert_int_equal(list.version, 0);
}

static int make_path(void **state)
{
    static char path[] = "/tmp/test_thresholds.XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    *state = path;
    return 0;
}

static int remove_path(void **state)
{
    unlink(*state);
    return 0;
}

TESTS_SHARE(make_path, remove_path)
