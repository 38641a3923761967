#include <sys/stat.h>
#include <unistd.h>

#include "exporter/json/file.h"
#include "tests/unit/support/unit.h"

TEST(what_is_no_json_is_refused_by_its_line)
{
    static const struct {
        const char *text, *error; /* NULL: it is JSON */
    } cases[] = {
        {"{}", NULL},
        {"[1,\n2]\n", NULL},
        {"", "line 1: "},
        {"[1,\n2", "line 2: "},
        {"{\"a\":1,\n\n\"a\":2}", "line 3: duplicate object key"},
        {"[1] x", "line 1: end of file expected near 'x'"},
        {"[\"a\nb\"]", "line 1: "}, /* the quoted text has a newline */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[128] = "";
        json_t *root = NULL;
        int err = json_file_parse(cases[i].text, strlen(cases[i].text), &root, error, sizeof error);
        assert_int_equal(err, cases[i].error ? -EINVAL : 0);
        if (cases[i].error) {
            assert_null(root);
            assert_memory_equal(error, cases[i].error, strlen(cases[i].error));
            assert_null(strchr(error, '\n'));
        }
        json_decref(root);
    }
}

TEST(a_key_is_found_by_its_line)
{
    static const char text[] = "{\"a\":{\n\"bc\":1,\n\"b\":\"c\"},\n\"\\u0064\":1,\"e\"";
    assert_int_equal(json_file_line(text, strlen(text), "a"), 1);
    assert_int_equal(json_file_line(text, strlen(text), "bc"), 2);
    assert_int_equal(json_file_line(text, strlen(text), "b"), 3);
    assert_int_equal(json_file_line(text, strlen(text), "c"), 3);
    assert_int_equal(json_file_line(text, strlen(text), "d"), 0); /* stands there with an escape */
    assert_int_equal(json_file_line(text, strlen(text), "e"), 4);
    assert_int_equal(json_file_line(text, strlen(text) - 1, "e"), 0); /* cut behind the e */
    assert_int_equal(json_file_line(text, 0, ""), 0);
}

static int take_length(void *out, const char *text, size_t len, char *error, size_t error_size)
{
    if (len > 0 && text[0] == 'x') {
        snprintf(error, error_size, "line 1: an x");
        return -ERANGE;
    }
    *(size_t *)out = len;
    return 0;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

TEST(a_file_is_read_whole_and_errors_name_it)
{
    char path[] = "/tmp/json_file.XXXXXX", error[256] = "", expected[256];
    size_t len = 0;
    close(mkstemp(path));

    put(path, "[1]\n");
    assert_int_equal(json_file_load(path, take_length, &len, error, sizeof error), 0);
    assert_int_equal(len, 4);
    assert_string_equal(error, "");

    put(path, "x");
    assert_int_equal(json_file_load(path, take_length, &len, error, sizeof error), -ERANGE);
    snprintf(expected, sizeof expected, "%s: line 1: an x", path);
    assert_string_equal(error, expected);
    assert_int_equal(len, 4);

    assert_int_equal(truncate(path, 0), 0); /* the x is gone: zeros */
    assert_int_equal(truncate(path, 100 << 20), 0);
    assert_int_equal(json_file_load(path, take_length, &len, error, sizeof error), 0);
    assert_int_equal(len, JSON_FILE_MAX_BYTES + 1);

    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* without a writer it is empty, and does not wait */
    assert_int_equal(json_file_load(path, take_length, &len, error, sizeof error), 0);
    assert_int_equal(len, 0);
    unlink(path);

    assert_int_equal(json_file_load(path, take_length, &len, error, sizeof error), -ENOENT);
    snprintf(expected, sizeof expected, "%s: No such file or directory", path);
    assert_string_equal(error, expected);
    assert_int_equal(json_file_load("/", take_length, &len, error, sizeof error), -EISDIR);
    assert_string_equal(error, "/: Is a directory");
}

TEST(larger_texts_are_refused)
{
    char error[64];
    char *text = malloc(JSON_FILE_MAX_BYTES + 1);
    json_t *root = NULL;
    assert_non_null(text);
    memset(text, ' ', JSON_FILE_MAX_BYTES + 1);
    memcpy(text, "{}", 2);
    assert_int_equal(json_file_parse(text, JSON_FILE_MAX_BYTES, &root, error, sizeof error), 0);
    json_decref(root);
    assert_int_equal(json_file_parse(text, JSON_FILE_MAX_BYTES + 1, &root, error, sizeof error),
                     -EINVAL);
    assert_string_equal(error, "larger than 1 MiB");
    free(text);
}
