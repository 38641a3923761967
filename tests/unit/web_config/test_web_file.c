/* Files that change: what is taken for unchanged, and what never is. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exporter/http/web_config/config.h"
#include "exporter/http/web_config/file.h"
#include "tests/unit/support/unit.h"

struct folder {
    char path[64], file[96], other[96];
};

static int make_folder(void **state)
{
    struct folder *f = calloc(1, sizeof *f);
    *state = f;
    strcpy(f->path, "/tmp/ie-web-file-XXXXXX");
    if (!mkdtemp(f->path))
        return -1;
    snprintf(f->file, sizeof f->file, "%s/file", f->path);
    snprintf(f->other, sizeof f->other, "%s/other", f->path);
    return 0;
}

static int remove_folder(void **state)
{
    struct folder *f = *state;
    unlink(f->file);
    unlink(f->other);
    int err = rmdir(f->path);
    free(f);
    return err;
}

static void write_file(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), (ssize_t)len);
    close(fd);
}

static struct web_stamp read_file(const char *path, const char *expected)
{
    struct web_text text;
    struct web_stamp stamp;
    assert_int_equal(web_file_read(path, &text, &stamp), 0);
    assert_int_equal(text.len, strlen(expected));
    assert_string_equal(text.bytes, expected);
    web_text_release(&text);
    return stamp;
}

/* As if it had been read when it was old enough to be believed. */
static struct web_stamp believed(const char *path, const char *expected)
{
    struct web_stamp stamp = read_file(path, expected);
    stamp.settled = true;
    return stamp;
}

TEST_ON(test_young_files_are_not_believed, const struct folder *f, make_folder, remove_folder)
{
    struct web_stamp stamp;
    for (int i = 0; i == 0 || (stamp.settled && i < 5);
         i++) { /* read two seconds later, it is old */
        write_file(f->file, "a", 1);
        stamp = read_file(f->file, "a");
    }
    assert_false(stamp.settled);
    assert_false(web_file_unchanged(f->file, &stamp));
    /* An old time of modification, which anybody can set, does not make it older. */
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(AT_FDCWD, f->file, old, 0), 0);
    assert_false(read_file(f->file, "a").settled);
    for (int i = 0; i < 300 && !stamp.settled; i++) { /* two seconds, unless the clock jumps */
        usleep(100000);
        stamp = read_file(f->file, "a");
    }
    assert_true(web_file_unchanged(f->file, &stamp));
    assert_true(web_file_unchanged(f->file, &stamp));
}

TEST_ON(test_changes_are_seen, const struct folder *f, make_folder, remove_folder)
{
    const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    write_file(f->file, "a", 1);
    struct web_stamp stamp = believed(f->file, "a");
    assert_true(web_file_unchanged(f->file, &stamp));
    write_file(f->file, "ab", 2);
    assert_false(web_file_unchanged(f->file, &stamp));
    /* Same size, and the time of modification put back. */
    assert_int_equal(utimensat(AT_FDCWD, f->file, old, 0), 0);
    stamp = believed(f->file, "ab");
    usleep(20000);
    write_file(f->file, "cd", 2);
    assert_int_equal(utimensat(AT_FDCWD, f->file, old, 0), 0);
    assert_false(web_file_unchanged(f->file, &stamp));
    /* Another file in its place; a link that leads elsewhere; nothing. */
    stamp = believed(f->file, "cd");
    write_file(f->other, "ef", 2);
    assert_int_equal(rename(f->other, f->file), 0);
    assert_false(web_file_unchanged(f->file, &stamp));
    stamp = believed(f->file, "ef");
    assert_int_equal(unlink(f->file), 0);
    assert_false(web_file_unchanged(f->file, &stamp));
}

TEST_ON(test_refused, const struct folder *f, make_folder, remove_folder)
{
    struct web_text text;
    struct web_stamp stamp;
    assert_int_equal(web_file_read(f->file, &text, &stamp), -ENOENT);
    assert_int_equal(web_file_read(f->path, &text, &stamp), -EINVAL);
    assert_int_equal(mkfifo(f->file, 0600), 0); /* nobody writes: it must not wait */
    assert_int_equal(web_file_read(f->file, &text, &stamp), -EINVAL);
    assert_int_equal(unlink(f->file), 0);

    char *large = calloc(1, WEB_FILE_MAX_BYTES + 1);
    assert_non_null(large);
    write_file(f->file, large, WEB_FILE_MAX_BYTES + 1);
    assert_int_equal(web_file_read(f->file, &text, &stamp), -EFBIG);
    write_file(f->file, large, WEB_FILE_MAX_BYTES);
    assert_int_equal(web_file_read(f->file, &text, &stamp), 0);
    assert_int_equal(text.len, WEB_FILE_MAX_BYTES);
    web_text_release(&text);
    free(large);
}
