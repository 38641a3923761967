/*
 * A throw-away tree of small files: stands for /proc, /sys or cgroup mounts.
 */
#ifndef IE_TESTS_FIXTURE_H
#define IE_TESTS_FIXTURE_H

#include "exporter/base/fsroot.h"

struct fixture {
    char root[64];    /* a new directory below TMPDIR or /tmp */
    struct fsroot fs; /* root/proc, root/sys, no cgroup path, root/host */
};

/* Each fails the running cmocka test when it cannot do its work. */
void fixture_init(struct fixture *fixture);
void fixture_release(struct fixture *fixture); /* removes everything */
/* A test with one, by this name. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
#define FIXTURE_TEST(test, name)                                                                   \
    TEST_ON(test, struct fixture *name, fixture_setup, fixture_teardown)

/* Writes a file below root, making its folders; an existing file is rewritten in place, as the
 * kernel does with its own. */
void fixture_write(struct fixture *fixture, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A symbolic link below root, which need not lead anywhere. */
void fixture_link(struct fixture *fixture, const char *path, const char *target);
void fixture_mkdir(struct fixture *fixture, const char *path);

/* How many descriptors this process has: what leaks makes them more. */
size_t fixture_open_fds(void);

#endif
