/* What the process gives up, each in a child of its own. */
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/service/privileges.h"
#include "tests/unit/support/unit.h"

/* The exit code of the function in a child. */
static int in_child(int (*function)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(function());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int write_byte(void)
{
    char path[] = "/tmp/privileges-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : errno;
}

static int enclose_all(void)
{
    struct rlimit core;
    signal(SIGXFSZ, SIG_IGN);
    if (write_byte() != 0 || privileges_enclose(false) != 0)
        return 1;
    if (getrlimit(RLIMIT_CORE, &core) != 0 || core.rlim_cur != 0 || core.rlim_max != 0)
        return 2;
    if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
        return 3;
    return write_byte() == EFBIG ? 0 : 4;
}

static int enclose_one_who_writes(void)
{
    return privileges_enclose(true) != 0 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 ? 1
                                                                                    : write_byte();
}

TEST(memory_stays_where_it_is)
{
    assert_int_equal(in_child(enclose_all), 0);
    assert_int_equal(in_child(enclose_one_who_writes), 0);
}

static int forgo_one(void)
{
    bool chowns = privileges_has(CAP_CHOWN), kills = privileges_has(CAP_KILL);
    if (privileges_forgo(CAP_KILL) != 0 || privileges_has(CAP_KILL))
        return 1;
    if (privileges_forgo(CAP_KILL) != 0 || privileges_has(CAP_CHOWN) != chowns)
        return 2;
    return kills ? 0 : 3;
}

TEST(one_is_given_back)
{
    if (!privileges_has(CAP_KILL))
        skip();
    assert_int_equal(in_child(forgo_one), 0);
}
