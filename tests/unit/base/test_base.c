#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/kernel_text.h"
#include "exporter/base/log.h"
#include "exporter/base/reason.h"
#include "tests/unit/support/unit.h"

TEST(test_cpulist)
{
    static const struct {
        const char *text;
        size_t n;
        int first, last;
    } good[] = {
        {"0\n", 1, 0, 0},      {"0-3", 4, 0, 3},           {"0-3,8,10-11\n", 7, 0, 11},
        {"5-5", 1, 5, 5},      {"65535", 1, 65535, 65535}, {"0-65535", 65536, 0, 15},
        {"2,4,6 \n", 3, 2, 6},
    };
    int out[16];
    size_t n;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(cpulist_parse(good[i].text, strlen(good[i].text), out, 16, &n), 0);
        assert_int_equal(n, good[i].n);
        assert_int_equal(out[0], good[i].first);
        assert_int_equal(out[n < 16 ? n - 1 : 15], good[i].last);
    }
    static const char *const empty[] = {"", "\n"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(cpulist_parse(empty[i], strlen(empty[i]), NULL, 0, &n), 0);
        assert_int_equal(n, 0);
    }
    static const char *const bad[] = {"a",   "-1",    "1-",    "1,",  ",1",  "3-1", "1,1",
                                      "2,1", "0-3-5", "65536", "1 2", "0x1", "1;2", "99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(cpulist_parse(bad[i], strlen(bad[i]), out, 16, &n), -EINVAL);
    assert_int_equal(cpulist_parse("123", 2, out, 16, &n), 0); /* only the bytes it was given */
    assert_int_equal(out[0], 12);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

TEST(test_fsroot)
{
    char dir[] = "/tmp/fsroot.XXXXXX", path[4096], text[16], file[64];
    assert_non_null(mkdtemp(dir));
    snprintf(file, sizeof file, "%s/number", dir);
    struct fsroot fs;
    char with_slash[32];
    snprintf(with_slash, sizeof with_slash, "%s//", dir);
    assert_int_equal(fsroot_init(&fs, NULL, with_slash, NULL, NULL), 0);

    assert_int_equal(fsroot_path(&fs, FSROOT_PROC, "self/maps", path, sizeof path), 0);
    assert_string_equal(path, "/proc/self/maps");
    assert_int_equal(fsroot_path(&fs, FSROOT_SYS, "/number", path, sizeof path), 0);
    assert_string_equal(path, file);
    assert_int_equal(fsroot_path(&fs, FSROOT_HOST, "/var/log", path, sizeof path), 0);
    assert_string_equal(path, "/var/log");
    assert_int_equal(fsroot_path(&fs, FSROOT_HOST, "var", path, 4), -ENAMETOOLONG);
    assert_int_equal(fsroot_path(&fs, FSROOT_HOST, "var", path, 5), 0);
    assert_int_equal(fsroot_path(&fs, FSROOT_CGROUP, "x", path, sizeof path), -ENOENT);

    static const struct {
        const char *text;
        int err;
        uint64_t value;
    } numbers[] = {
        {"42\n", 0, 42},
        {"0x2a", 0, 42},
        {"18446744073709551615\n", 0, UINT64_MAX},
        {"18446744073709551616\n", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"-1\n", -EINVAL, 0},
        {" 1\n", -EINVAL, 0},
        {"12x\n", -EINVAL, 0},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t value = 0;
        write_file(file, numbers[i].text);
        assert_int_equal(fsroot_read_u64(&fs, FSROOT_SYS, "number", &value), numbers[i].err);
        assert_true(value == numbers[i].value);
    }

    size_t len;
    write_file(file, "0123456789abcde");
    assert_int_equal(fsroot_read(&fs, FSROOT_SYS, "number", text, 16, &len), 0);
    assert_int_equal(len, 15);
    assert_string_equal(text, "0123456789abcde");
    assert_int_equal(fsroot_read(&fs, FSROOT_SYS, "number", text, 15, &len), -EFBIG);
    assert_int_equal(fsroot_read(&fs, FSROOT_SYS, "missing", text, 16, NULL), -ENOENT);
    assert_int_equal(fsroot_read(&fs, FSROOT_SYS, ".", text, 16, NULL), -EISDIR);

    int fd = fsroot_open(&fs, FSROOT_SYS, "number", O_RDONLY);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    for (int i = 0; i < 2; i++) { /* a kept descriptor reads afresh */
        assert_int_equal(fsroot_read_fd(fd, text, sizeof text, &len), 0);
        assert_int_equal(len, 15);
    }
    close(fd);
    unlink(file);
    rmdir(dir);
    fsroot_release(&fs);
}

/* Logs to a pipe and returns the line. */
static const char *log_line(enum log_level minimum, enum log_format format, enum log_level level,
                            const char *message)
{
    static char line[4096];
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    const struct log log = {.fd = fds[1], .level = minimum, .format = format};
    log_write(&log, level, "test", "%s", message);
    close(fds[1]);
    ssize_t n = read(fds[0], line, sizeof line - 1);
    line[n > 0 ? n : 0] = '\0';
    close(fds[0]);
    return line;
}

TEST(test_log_logfmt)
{
    const char *line = log_line(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT, LOG_LEVEL_WARN, "a \"b\"\nc");
    assert_non_null(strstr(line, "Z level=warn module=test msg=\"a \\\"b\\\"\\nc\"\n"));
    assert_int_equal(strncmp(line, "ts=2", 4), 0);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1); /* one line, whatever comes */
    assert_string_equal(log_line(LOG_LEVEL_WARN, LOG_FORMAT_LOGFMT, LOG_LEVEL_INFO, "x"), "");
    assert_string_not_equal(log_line(LOG_LEVEL_DEBUG, LOG_FORMAT_LOGFMT, LOG_LEVEL_DEBUG, "x"), "");
    log_info(NULL, "test", "nowhere");
}

TEST(test_log_json)
{
    static char messages[3][2000];
    memset(messages[1], '"', 1500); /* cut, still one valid line */
    memset(messages[2], '\n', 1500);
    strcpy(messages[0], "tab\t quote\" bad\xff");
    for (size_t i = 0; i < 3; i++) {
        const char *line = log_line(LOG_LEVEL_INFO, LOG_FORMAT_JSON, LOG_LEVEL_ERROR, messages[i]);
        json_error_t error;
        json_t *root = json_loads(line, 0, &error);
        assert_non_null(root);
        assert_string_equal(json_string_value(json_object_get(root, "level")), "error");
        assert_string_equal(json_string_value(json_object_get(root, "module")), "test");
        const char *message = json_string_value(json_object_get(root, "msg"));
        assert_int_equal(message[0], messages[i][0]);
        assert_true(strlen(message) > (i ? 1000 : 15));
        json_decref(root);
    }
}

TEST(test_reasons)
{
    for (int i = 0; i < REASON_COUNT; i++) {
        assert_non_null(reason_name((enum reason)i));
        for (int j = 0; j < i; j++)
            assert_string_not_equal(reason_name((enum reason)i), reason_name((enum reason)j));
    }
    struct verdict verdict;
    char words[1000];
    memset(words, 'w', sizeof words);
    verdict_set(&verdict, REASON_NO_PMU, "%.999s", words);
    assert_int_equal(verdict.reason, REASON_NO_PMU);
    assert_int_equal(strlen(verdict.words), sizeof verdict.words - 1);
}
