#include "exporter/service/privileges.h"

#include <errno.h>
#include <grp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static bool is_permitted(cap_t now, cap_value_t value)
{
    cap_flag_value_t permitted = CAP_CLEAR; /* also where the kernel does not know it */
    return cap_get_flag(now, value, CAP_PERMITTED, &permitted) == 0 && permitted == CAP_SET;
}

bool privileges_has(int capability)
{
    cap_t now = cap_get_proc();
    bool has = now && is_permitted(now, capability);
    cap_free(now);
    return has;
}

/* Keeps those of the wanted capabilities that the process has: asking for more would fail. */
static int keep_only(cap_t now, cap_t wanted, const int *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_permitted(now, values[i]))
            continue;
        if (cap_set_flag(wanted, CAP_PERMITTED, 1, &values[i], CAP_SET) != 0 ||
            cap_set_flag(wanted, CAP_EFFECTIVE, 1, &values[i], CAP_SET) != 0)
            return -errno;
    }
    return 0;
}

int privileges_drop(const int *keep, size_t n)
{
    cap_t now = cap_get_proc();
    cap_t wanted = cap_init();
    int err = now && wanted ? 0 : -ENOMEM;
    if (!err)
        err = keep_only(now, wanted, keep, n);
    if (!err && cap_set_proc(wanted) != 0)
        err = -errno;
    if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        err = -errno;
    cap_free(now);
    cap_free(wanted);
    return err;
}

int privileges_forgo(int capability)
{
    static const cap_flag_t sets[] = {CAP_EFFECTIVE, CAP_PERMITTED, CAP_INHERITABLE};
    cap_value_t value = capability;
    cap_t now = cap_get_proc();
    int err = now ? 0 : -ENOMEM;
    if (now && is_permitted(now, value)) {
        for (size_t i = 0; i < sizeof sets / sizeof *sets && !err; i++)
            err = cap_set_flag(now, sets[i], 1, &value, CAP_CLEAR) == 0 ? 0 : -errno;
        if (!err && cap_set_proc(now) != 0)
            err = -errno;
    }
    cap_free(now);
    return err;
}

int privileges_become(uid_t user)
{
    if (getuid() == user && geteuid() == user)
        return 0;
    if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0)
        return -errno;
    /* A runtime that gives no SETGID has given no further groups either; whoever has them is told.
     */
    if (getgroups(0, NULL) > 0 && setgroups(0, NULL) != 0)
        return -errno;
    return setresuid(user, user, user) == 0 ? 0 : -errno;
}

int privileges_enclose(bool writes_files)
{
    const struct rlimit nothing = {0, 0};
    int err = 0;
    if (setrlimit(RLIMIT_CORE, &nothing) != 0)
        err = -errno;
    if (!writes_files && setrlimit(RLIMIT_FSIZE, &nothing) != 0 && !err)
        err = -errno;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 && !err)
        err = -errno;
    return err;
}
