/* The kernel's text about address spaces and mounts. */
#include "exporter/source/accesses/maps.h"
#include "tests/unit/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static int one(const char *text, struct maps_line *out)
{
    size_t len = strlen(text);
    return maps_next(&text, &len, out);
}

TEST(lines)
{
    static const char text[] =
        "00400000-0040b000 r-xp 00001000 103:0a 6029317                           /usr/bin/a b\n"
        "7f0000000000-7f0000200000 rw-s 00000000 00:05 91 /dev/dax1.0 (deleted)\n"
        "7ffff7fff000-7ffff8000000 ---p 00000000 00:00 0 \n"
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]";
    const char *rest = text;
    size_t len = sizeof text - 1;
    struct maps_line line;

    assert_int_equal(maps_next(&rest, &len, &line), 1);
    assert_int_equal(line.start, 0x400000);
    assert_int_equal(line.end, 0x40b000);
    assert_int_equal(line.offset, 0x1000);
    assert_true(line.readable && !line.writable && line.executable && !line.shared);
    assert_int_equal(line.major, 0x103);
    assert_int_equal(line.minor, 0x0a);
    assert_int_equal(line.inode, 6029317);
    assert_int_equal(line.path_len, strlen("/usr/bin/a b"));
    assert_memory_equal(line.path, "/usr/bin/a b", line.path_len);

    assert_int_equal(maps_next(&rest, &len, &line), 1);
    assert_true(line.readable && line.writable && !line.executable && line.shared);
    assert_int_equal(line.minor, 5);
    assert_memory_equal(line.path, "/dev/dax1.0 (deleted)", line.path_len);

    assert_int_equal(maps_next(&rest, &len, &line), 1);
    assert_int_equal(line.inode, 0);
    assert_int_equal(line.path_len, 0);

    assert_int_equal(maps_next(&rest, &len, &line), 1);
    assert_true(line.end == 0xffffffffff601000);
    assert_int_equal(maps_next(&rest, &len, &line), 0);
}

TEST(broken_lines_are_taken_off)
{
    static const char *const bad[] = {
        "",
        "x",
        "1000",
        "1000-2000",
        "1000-1000 r--p 0 00:00 0",
        "2000-1000 r--p 0 00:00 0",
        "1000-2000 rwx 0 00:00 0",
        "1000-2000 r--x 0 00:00 0",
        "1000-2000 r--p 0 0000 0",
        "1000-2000 r--p 0 00:00",
        "1000-2000 r--p 0 00:00 7x",
        "11112222333344445-2 r--p 0 00:00 0",
        "1000-2000 r--p 0 100000000:00 0",
        "1000-2000 r--p 0 00:00 99999999999999999999",
    };
    struct maps_line line = {.start = 77};
    assert_int_equal(one("", &line), 0);
    for (size_t i = 1; i < COUNT(bad); i++) {
        if (one(bad[i], &line) != -EINVAL)
            fail_msg("\"%s\" is a line", bad[i]);
        assert_int_equal(line.start, 77);
    }
    static const char text[] = "nonsense\n1000-2000 r--p 0 00:00 0\n";
    const char *rest = text;
    size_t len = sizeof text - 1;
    assert_int_equal(maps_next(&rest, &len, &line), -EINVAL);
    assert_int_equal(maps_next(&rest, &len, &line), 1);
    assert_int_equal(line.start, 0x1000);
    assert_int_equal(maps_next(&rest, &len, &line), 0);
}

TEST(mounts)
{
    static const char text[] =
        "22 1 259:3 / / rw,relatime shared:1 - ext4 /dev/root rw,dax=always\n"
        "short\n"
        "23 22 0:21 /a\\040b /mnt/x rw,nosuid shared:2 master:1 propagate_from:3 - tmpfs tmpfs\n"
        "24 22 0:22 / /sys rw - sysfs\n"
        "26 22 0:23 / /none rw shared:9\n"
        "27 22 0:24 / /empty rw -  none rw\n"
        "28 22 0:25 / /far rw - fuse.sshfs far rw";
    const char *rest = text;
    size_t len = sizeof text - 1;
    struct mount_line line;
    assert_int_equal(mountinfo_next(&rest, &len, &line), 1);
    assert_int_equal(line.major, 259);
    assert_int_equal(line.minor, 3);
    assert_true(mount_line_is(&line, "ext4"));
    assert_false(mount_line_is(&line, "ext"));
    assert_false(mount_line_is(&line, "ext4 "));
    assert_int_equal(mountinfo_next(&rest, &len, &line), -EINVAL);
    assert_true(mount_line_is(&line, "ext4")); /* untouched */
    assert_int_equal(mountinfo_next(&rest, &len, &line), 1);
    assert_int_equal(line.minor, 21);
    assert_true(mount_line_is(&line, "tmpfs"));
    assert_int_equal(mountinfo_next(&rest, &len, &line), 1);
    assert_true(mount_line_is(&line, "sysfs")); /* the last of its line */
    assert_int_equal(mountinfo_next(&rest, &len, &line), -EINVAL);
    assert_int_equal(mountinfo_next(&rest, &len, &line), -EINVAL);
    assert_int_equal(mountinfo_next(&rest, &len, &line), 1);
    assert_true(mount_line_is(&line, "fuse.sshfs"));
    assert_int_equal(mountinfo_next(&rest, &len, &line), 0);
}
