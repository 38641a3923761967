/* Whose pages come without asking a program, and long files in a window. */
#include "exporter/source/accesses/address_spaces.h"
#include "exporter/source/accesses/maps.h"
#include "exporter/source/accesses/own_reader.h"
#include "tests/unit/support/fixture.h"
#include "tests/unit/support/unit.h"

TEST(types)
{
    static const struct {
        const char *type;
        bool local;
    } known[] = {
        {"ext4", true},       {"xfs", true},
        {"btrfs", true},      {"overlay", true},
        {"tmpfs", true},      {"squashfs", true},
        {"erofs", true},      {"fuse", false},
        {"fuseblk", false},   {"fuse.fuse-overlayfs", false},
        {"nfs", false},       {"nfs4", false},
        {"ceph", false},      {"cifs", false},
        {"9p", false},        {"autofs", false},
        {"overlayfs", false}, {"ext", false},
        {"virtiofs", false},  {"rootfs", true},
        {"ramfs", true},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct fixture f;
        struct local_mounts *mounts;
        fixture_init(&f);
        fixture_write(&f, "proc/1/mountinfo",
                      "1 0 8:1 / / rw - ext4 a rw\n2 1 0:50 / /x rw - %s x\n", known[i].type);
        assert_int_equal(local_mounts_new(&f.fs, &mounts), 0);
        if (local_mounts_has(mounts, 0, 50, 1) != known[i].local)
            fail_msg("%s", known[i].type);
        assert_false(local_mounts_has(mounts, 0, 0, 1));
        assert_false(local_mounts_has(mounts, 50, 0, 1));
        local_mounts_free(mounts);
        fixture_release(&f);
    }
}

/* The table is read once a second, however often somebody asks. */
FIXTURE_TEST(age, f)
{
    struct local_mounts *mounts;
    const uint64_t s = LOCAL_MOUNTS_MAX_AGE_NS;
    fixture_write(f, "proc/1/mountinfo", "2 1 0:50 / /x rw - tmpfs x x\n");
    assert_int_equal(local_mounts_new(&f->fs, &mounts), 0);
    assert_true(local_mounts_has(mounts, 0, 50, s));
    fixture_write(f, "proc/1/mountinfo",
                  "2 1 0:50 / /x rw - fuse x x\n3 1 0:51 / /y rw - xfs y y\n");
    assert_true(local_mounts_has(mounts, 0, 50, 2 * s));
    assert_false(local_mounts_has(mounts, 0, 51, 2 * s));
    assert_false(local_mounts_has(mounts, 0, 50, 2 * s + 1));
    assert_true(local_mounts_has(mounts, 0, 51, 2 * s + 1));
    /* What cannot be read whole is nothing. */
    fixture_write(f, "proc/1/mountinfo", "3 1 0:51 / /y rw - xfs y y\n4 1 0:52 / /z rw - xfs z");
    assert_false(local_mounts_has(mounts, 0, 51, 4 * s));
    local_mounts_free(mounts);
}

/* More than one window, in any order. */
TEST(many)
{
    enum { MOUNTS = 5000 };
    struct fixture f;
    struct local_mounts *mounts;
    char *text = malloc(MOUNTS * 96), *at = text;
    assert_non_null(text);
    for (int i = 0; i < MOUNTS; i++)
        at += sprintf(at, "%d 1 0:%d / /a/mount/point/of/some/length/%d rw - %s x rw\n", i,
                      i * 7919 % MOUNTS, i, i % 2 ? "tmpfs" : "fuse");
    fixture_init(&f);
    fixture_write(&f, "proc/1/mountinfo", "%s", text);
    assert_int_equal(local_mounts_new(&f.fs, &mounts), 0);
    for (int i = 0; i < MOUNTS; i++)
        assert_true(local_mounts_has(mounts, 0, (uint32_t)(i * 7919 % MOUNTS), 1) == (i % 2 == 1));
    local_mounts_free(mounts);
    fixture_release(&f);
    free(text);
}

TEST(long_lines)
{
    struct fixture f;
    struct proc_lines *lines = malloc(sizeof *lines);
    const char *text;
    size_t len;
    assert_non_null(lines);
    fixture_init(&f);
    assert_int_equal(proc_lines_open(lines, &f.fs, "7/maps", 100), -ENOENT);
    fixture_write(&f, "proc/7/maps", "%s", "");
    assert_int_equal(proc_lines_open(lines, &f.fs, "7/maps", 100), 0);
    assert_int_equal(proc_lines_next(lines, &text, &len), 0);
    proc_lines_close(lines);
    /* As long as the window, then one more. */
    fixture_write(&f, "proc/7/maps", "%*s\nx\n", PROC_LINES_WINDOW - 1, "");
    assert_int_equal(proc_lines_open(lines, &f.fs, "7/maps", 1 << 20), 0);
    assert_int_equal(proc_lines_next(lines, &text, &len), 1);
    assert_int_equal(len, PROC_LINES_WINDOW);
    assert_int_equal(proc_lines_next(lines, &text, &len), 1);
    assert_int_equal(len, 2);
    assert_memory_equal(text, "x\n", 2);
    assert_int_equal(proc_lines_next(lines, &text, &len), 0);
    proc_lines_close(lines);
    fixture_write(&f, "proc/7/maps", "%*s\nx\n", PROC_LINES_WINDOW, "");
    assert_int_equal(proc_lines_open(lines, &f.fs, "7/maps", 1 << 20), 0);
    assert_int_equal(proc_lines_next(lines, &text, &len), -EFBIG);
    proc_lines_close(lines);
    /* A file longer than allowed, and a line without an end. */
    fixture_write(&f, "proc/7/maps", "abc\ndef\n");
    assert_int_equal(proc_lines_open(lines, &f.fs, "7/maps", 7), 0);
    assert_int_equal(proc_lines_next(lines, &text, &len), -EFBIG);
    proc_lines_close(lines);
    fixture_write(&f, "proc/7/maps", "abc\ndef");
    assert_int_equal(proc_lines_open(lines, &f.fs, "7/maps", 7), 0);
    assert_int_equal(proc_lines_next(lines, &text, &len), 1);
    assert_int_equal(len, 4);
    assert_int_equal(proc_lines_next(lines, &text, &len), -EINVAL);
    proc_lines_close(lines);
    fixture_release(&f);
    free(lines);
}

TEST(budgets)
{
    const uint64_t ms = 1000000, s = 1000 * ms;
    struct budget budget = {0};
    uint64_t now = 100 * s;
    assert_true(budget_allows(&budget, now));
    /* What was saved, 50 ms, is there at once. */
    for (int i = 0; i < 50; i++) {
        assert_true(budget_allows(&budget, now));
        budget_spend(&budget, ms, now);
    }
    assert_true(budget_allows(&budget, now));
    budget_spend(&budget, ms, now);
    assert_false(budget_allows(&budget, now));
    /* From then on a millisecond in twenty. */
    assert_false(budget_allows(&budget, now + 20 * ms - 1));
    assert_true(budget_allows(&budget, now + 20 * ms));
    /* In ten seconds of always asking, 5 % and what was saved. */
    uint64_t spent = 0, end = now + 20 * s;
    for (now += 10 * s; now < end; now += ms)
        if (budget_allows(&budget, now)) {
            now += ms;
            spent += ms;
            budget_spend(&budget, ms, now);
        }
    assert_in_range(spent, 540 * ms, 560 * ms);
}
