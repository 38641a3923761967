#include "tests/unit/support/fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/unit.h"

void fixture_init(struct fixture *fixture)
{
    const char *tmp = getenv("TMPDIR");
    char proc[96], sys[96], host[96];
    snprintf(fixture->root, sizeof fixture->root, "%.40s/ie-test-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(fixture->root));
    snprintf(proc, sizeof proc, "%s/proc", fixture->root);
    snprintf(sys, sizeof sys, "%s/sys", fixture->root);
    snprintf(host, sizeof host, "%s/host", fixture->root);
    assert_int_equal(fsroot_init(&fixture->fs, proc, sys, NULL, host), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove(path);
}

void fixture_release(struct fixture *fixture)
{
    fsroot_release(&fixture->fs);
    assert_int_equal(nftw(fixture->root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void fixture_mkdir(struct fixture *fixture, const char *path)
{
    char full[512];
    int n = snprintf(full, sizeof full, "%s/%s", fixture->root, path);
    assert_in_range(n, 1, sizeof full - 1);
    for (char *p = full + strlen(fixture->root) + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *p = '/';
    }
    assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
}

void fixture_write(struct fixture *fixture, const char *path, const char *format, ...)
{
    char full[512], folder[512], *text;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    assert_true(len >= 0);

    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    assert_non_null(slash);
    *slash = '\0';
    fixture_mkdir(fixture, folder);

    snprintf(full, sizeof full, "%s/%s", fixture->root, path);
    int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, (size_t)len), len);
    close(fd);
    free(text);
}

void fixture_link(struct fixture *fixture, const char *path, const char *target)
{
    char full[512], folder[512];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    assert_non_null(slash);
    *slash = '\0';
    fixture_mkdir(fixture, folder);
    int n = snprintf(full, sizeof full, "%s/%s", fixture->root, path);
    assert_in_range(n, 1, sizeof full - 1);
    assert_int_equal(symlink(target, full), 0);
}

size_t fixture_open_fds(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

int fixture_setup(void **state)
{
    static struct fixture fixture;
    fixture_init(&fixture);
    *state = &fixture;
    return 0;
}

int fixture_teardown(void **state)
{
    fixture_release(*state);
    return 0;
}
