/* The state's file: replaced whole, read only if it is ours, and written beside the loop. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/state/file/file.h"
#include "exporter/state/state.h"
#include "tests/unit/support/unit.h"

static char directory[64], path[80], beside[96];

static int setup(void **unused)
{
    strcpy(directory, "/tmp/test_state_XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/state", directory);
    snprintf(beside, sizeof beside, "%s.new", path);
    return 0;
}

static int teardown(void **unused)
{
    unlink(path);
    unlink(beside);
    rmdir(path);
    rmdir(beside);
    return rmdir(directory);
}

static void replace(const char *text)
{
    char why[128] = "";
    assert_int_equal(state_file_replace(path, (const uint8_t *)text, strlen(text), why, sizeof why),
                     0);
}

static void expect(const char *text)
{
    uint8_t *bytes;
    size_t len;
    char why[128] = "";
    assert_int_equal(state_file_read(path, 100, &bytes, &len, why, sizeof why), 0);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(bytes, text, len);
    free(bytes);
}

static void expect_refused(size_t max, int expected, const char *reason)
{
    uint8_t *bytes = NULL;
    size_t len;
    char why[128] = "";
    assert_int_equal(state_file_read(path, max, &bytes, &len, why, sizeof why), expected);
    assert_string_equal(why, reason);
    assert_null(bytes);
}

TEST_WITH(it_is_replaced_whole_and_is_only_ours, setup, teardown)
{
    struct stat st;
    replace("the first, which is longer");
    umask(0);
    replace("the second");
    expect("the second");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(access(beside, F_OK), -1);
}

/* What a killed exporter was writing. */
TEST_WITH(half_a_file_beside_it_does_no_harm, setup, teardown)
{
    replace("whole");
    int fd = open(beside, O_WRONLY | O_CREAT, 0666);
    assert_int_equal(write(fd, "ha", 2), 2);
    close(fd);
    expect("whole");
    replace("again");
    expect("again");
}

/* A name that others put there is not followed. */
TEST_WITH(a_link_beside_it_is_not_followed, setup, teardown)
{
    char elsewhere[96];
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", directory);
    assert_int_equal(symlink(elsewhere, beside), 0);
    replace("here");
    expect("here");
    assert_int_equal(access(elsewhere, F_OK), -1);
}

TEST_WITH(what_is_not_ours_is_refused, setup, teardown)
{
    char other[96];
    expect_refused(100, -ENOENT, "it cannot be opened: No such file or directory");
    replace("text");
    expect_refused(3, -EINVAL, "it is too large");
    chmod(path, 0620);
    expect_refused(100, -EINVAL, "others can write to it");
    chmod(path, 0602);
    expect_refused(100, -EINVAL, "others can write to it");
    chmod(path, 0600);
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 1000, (gid_t)-1), 0);
        expect_refused(100, -EINVAL, "it belongs to another user");
        assert_int_equal(chown(path, 0, (gid_t)-1), 0);
    }
    snprintf(other, sizeof other, "%s/other", directory);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0);
    expect_refused(100, -EINVAL, "it is a symbolic link");
    unlink(path);
    unlink(other);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused(100, -EINVAL, "it is not a regular file");
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* no writer: an open that waits would hang here */
    expect_refused(100, -EINVAL, "it is not a regular file");
}

TEST_WITH(a_failure_leaves_what_was_there, setup, teardown)
{
    char why[128] = "";
    replace("before");
    assert_int_equal(mkdir(beside, 0700), 0);
    assert_int_equal(state_file_replace(path, (const uint8_t *)"after", 5, why, sizeof why),
                     -EISDIR);
    assert_string_equal(why, "cannot create a file beside it: Is a directory");
    expect("before");
    assert_int_equal(state_file_replace("/dev/full/x", (const uint8_t *)"x", 1, why, sizeof why),
                     -ENOTDIR);
    char long_name[5000];
    memset(long_name, 'a', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(state_file_replace(long_name, (const uint8_t *)"x", 1, why, sizeof why),
                     -ENAMETOOLONG);
}

/* ---- beside the loop ---- */

static void save(struct state_saver *saver, uint64_t now_ns)
{
    static const struct state_identity here = {.boot_id = "boot"};
    struct state_writer writer;
    while (!state_saver_is_idle(saver))
        usleep(1000);
    assert_int_equal(state_saver_reserve(saver, 200), 0);
    size_t size;
    uint8_t *room = state_saver_buffer(saver, &size);
    assert_true(size >= 200);
    state_write_begin(&writer, room, size, &here, now_ns);
    state_saver_start(saver, state_write_end(&writer));
    while (!state_saver_is_idle(saver))
        usleep(1000);
}

static uint64_t saved_at(void)
{
    static const struct state_identity here = {.boot_id = "boot"};
    uint8_t *bytes;
    size_t len;
    char why[128];
    struct state *state;
    assert_int_equal(state_file_read(path, 1000, &bytes, &len, why, sizeof why), 0);
    assert_int_equal(state_parse(bytes, len, &here, 1000, &state, why, sizeof why), 0);
    uint64_t mono_ns = state_mono_ns(state);
    state_free(state);
    return mono_ns;
}

static size_t lines(int fd, char *text, size_t size)
{
    ssize_t n = pread(fd, text, size - 1, 0);
    size_t count = 0;
    assert_true(n >= 0);
    text[n] = '\0';
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        count++;
    return count;
}

TEST_WITH(failures_are_told_once_and_when_they_end, setup, teardown)
{
    char log_path[] = "/tmp/test_state_log_XXXXXX", text[4096];
    int fd = mkstemp(log_path);
    unlink(log_path);
    const struct log log = {.fd = fd};
    struct state_saver *saver;
    struct state_saver_report report;
    assert_int_equal(state_saver_new(path, &log, &saver), 0);
    state_saver_report(saver, &report);
    assert_true(report.saved_wall_ns == 0 && !report.failure[0]);
    save(saver, 1);
    assert_int_equal(saved_at(), 1);
    state_saver_report(saver, &report);
    uint64_t first = report.saved_wall_ns;
    assert_true(first > 0 && !report.failure[0]);
    assert_int_equal(lines(fd, text, sizeof text), 0);

    assert_int_equal(mkdir(beside, 0700), 0);
    save(saver, 2);
    save(saver, 3);
    assert_int_equal(lines(fd, text, sizeof text), 1);
    assert_non_null(strstr(text, "Is a directory"));
    state_saver_report(saver, &report);
    assert_true(report.saved_wall_ns == first);
    assert_string_equal(report.failure, "cannot create a file beside it: Is a directory");
    assert_int_equal(saved_at(), 1);

    rmdir(beside);
    save(saver, 4);
    assert_int_equal(lines(fd, text, sizeof text), 2);
    assert_non_null(strstr(text, "is written again"));
    assert_int_equal(saved_at(), 4);
    state_saver_free(saver);
    state_saver_free(NULL);
    close(fd);
}

TEST_WITH(what_was_started_is_finished, setup, teardown)
{
    static const struct state_identity here = {.boot_id = "boot"};
    const struct log log = {.fd = -1};
    struct state_saver *saver;
    struct state_writer writer;
    size_t size;
    assert_int_equal(state_saver_new(path, &log, &saver), 0);
    assert_int_equal(state_saver_reserve(saver, 200), 0);
    uint8_t *room = state_saver_buffer(saver, &size);
    state_write_begin(&writer, room, size, &here, 9);
    state_saver_start(saver, state_write_end(&writer));
    state_saver_free(saver);
    assert_int_equal(saved_at(), 9);
}
