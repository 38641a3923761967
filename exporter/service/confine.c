#include "exporter/service/confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporter/service/privileges.h"

bool confine_supported(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return false;
#else
    return true;
#endif
#else
    return true;
#endif
}

/* ---- privileges ---- */

static bool change_user(void)
{
    if (!privileges_has(CAP_SETUID) || !privileges_has(CAP_SETGID))
        return false;
    return setgroups(0, NULL) == 0 && setresgid(CONFINE_USER, CONFINE_USER, CONFINE_USER) == 0 &&
           setresuid(CONFINE_USER, CONFINE_USER, CONFINE_USER) == 0;
}

/* Cannot be undone by what this process runs; without SETPCAP it is not ours to empty, and
 * no_new_privs keeps it from being of use. */
static void empty_bounding_set(void)
{
    if (!privileges_has(CAP_SETPCAP))
        return;
    for (int capability = 0; capability <= 63; capability++)
        prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

unsigned confine_privileges(bool keep_user)
{
    const struct rlimit none = {0, 0};
    struct stat log;
    unsigned done = 0;
    empty_bounding_set();
    if (!keep_user)
        change_user();
    if (privileges_drop(NULL, 0) == 0)
        done |= CONFINED_CAPABILITIES;
    if (getuid() != 0 && geteuid() != 0)
        done |= CONFINED_USER;
    setrlimit(RLIMIT_CORE, &none);
    if (fstat(STDERR_FILENO, &log) != 0 || !S_ISREG(log.st_mode))
        setrlimit(RLIMIT_FSIZE, &none);
    if (confine_supported()) /* a sanitizer's report of leaks traces its own process */
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return done;
}

/* ---- files ---- */

/* Every right that the running kernel's version of the interface knows: there are 13, and then one
 * more with each of the versions 2, 3 and 5. */
static uint64_t all_file_rights(long version)
{
    unsigned rights = 13;
    rights += version >= 2;
    rights += version >= 3;
    rights += version >= 5;
    return (UINT64_C(1) << rights) - 1;
}

unsigned confine_files(const int *directories, size_t n)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1 || !confine_supported())
        return 0;
    const struct landlock_ruleset_attr nothing = {.handled_access_fs = all_file_rights(version)};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &nothing, sizeof nothing, 0);
    if (ruleset < 0)
        return 0;
    long err = 0;
    for (size_t i = 0; i < n && !err; i++) {
        const struct landlock_path_beneath_attr readable = {
            .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
            .parent_fd = directories[i]};
        err = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &readable, 0);
    }
    if (!err)
        err = syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return err ? 0 : CONFINED_FILES;
}

/* ---- system calls ---- */

static int allow(scmp_filter_ctx filter, const char *word, size_t len)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)len, word);
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR)
        return 0;
    int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
    return err == -EDOM ? 0 : err; /* another architecture's */
}

unsigned confine_calls(const char *names)
{
    if (!confine_supported())
        return 0;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return 0;
    int err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    /* libmicrohttpd's threads name themselves, and crash where that fails. */
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                               SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
    for (const char *at = names; *at && !err; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        err = allow(filter, at, len);
        at += len;
    }
    if (!err)
        err = seccomp_load(filter);
    seccomp_release(filter);
    return err ? 0 : CONFINED_CALLS;
}

/* ---- words ---- */

void confine_words(unsigned confined, char *out, size_t size)
{
    snprintf(out, size, "%s, %s, %s, %s",
             confined & CONFINED_USER ? "not as root" : "as root (it may not change its user)",
             confined & CONFINED_CAPABILITIES ? "no capabilities" : "capabilities as given",
             confined & CONFINED_FILES ? "no files of others" : "files as given (no Landlock)",
             confined & CONFINED_CALLS ? "few system calls" : "all system calls (no seccomp)");
}
