#include "exporter/service/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "exporter/base/process_stat.h"
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

void confine_bounding_set(void)
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
    confine_bounding_set();
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

static const uint64_t read_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
/* Of them 'truncate' came with version 3 only; devices' ioctl, which perf's descriptors are not, is
 * nobody's business here. */
static const uint64_t write_rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                                     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                     UINT64_C(1) << 14;

static long interface_version(void)
{
    if (!confine_supported())
        return 0;
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

/* Of the rights 'handled', only those 'allowed' below the directories. */
static unsigned restrict_files(uint64_t handled, uint64_t allowed, const int *directories, size_t n)
{
    const struct landlock_ruleset_attr attr = {.handled_access_fs = handled};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    long err = 0;
    if (ruleset < 0)
        return 0;
    for (size_t i = 0; i < n && !err; i++) {
        const struct landlock_path_beneath_attr below = {.allowed_access = handled & allowed,
                                                         .parent_fd = directories[i]};
        err = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &below, 0);
    }
    if (!err)
        err = syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return err ? 0 : CONFINED_FILES;
}

unsigned confine_files(const int *directories, size_t n)
{
    long version = interface_version();
    return version < 1 ? 0 : restrict_files(all_file_rights(version), read_rights, directories, n);
}

unsigned confine_directory(int directory)
{
    long version = interface_version();
    return version < 1 ? 0
                       : restrict_files(all_file_rights(version), read_rights | write_rights,
                                        &directory, 1);
}

/* As the kernel has it from version 4 on; older headers do not. */
bool confine_tcp(uint16_t port)
{
    enum { BIND = 1, CONNECT = 2, RULE_NET_PORT = 2 };
    const uint64_t handled[] = {0, BIND | CONNECT}, rule[] = {CONNECT, port};
    if (interface_version() < 4)
        return false;
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, handled, sizeof handled, 0);
    if (ruleset < 0)
        return false;
    long err = port ? syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, rule, 0) : 0;
    if (!err)
        err = syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return err == 0;
}

static unsigned restrict_writes(uint64_t allowed, const int *directories, size_t n)
{
    long version = interface_version();
    if (version < 1)
        return 0;
    /* Bit 15, from version 5 on, is ioctl of devices. */
    uint64_t handled = all_file_rights(version) & ~read_rights & ~(UINT64_C(1) << 15);
    return restrict_files(handled, allowed, directories, n);
}

unsigned confine_writes(const int *directories, size_t n)
{
    return restrict_writes(write_rights, directories, n);
}

unsigned confine_changes(const int *directories, size_t n)
{
    return restrict_writes(
        write_rights | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR, directories, n);
}

/* ---- system calls ---- */

/* The library's own macro leaves a field out, which clang does not like. */
static struct scmp_arg_cmp arg(unsigned n, enum scmp_compare op, scmp_datum_t a, scmp_datum_t b)
{
    return (struct scmp_arg_cmp){.arg = n, .op = op, .datum_a = a, .datum_b = b};
}

static struct scmp_arg_cmp first(enum scmp_compare op, scmp_datum_t value)
{
    return arg(0, op, value, 0);
}

/* What the filter lets those of its calls do that tell apart. */
struct lets {
    bool forbids; /* it is none of its calls, but all others */
    bool write;   /* openat() for writing */
    pid_t child;  /* the only one that kill() reaches; 0: not looked at */
    int family;   /* the only one of socket(); 0: not looked at */
};

/* Not those that make a file send signals: of user 0 they would reach every process. */
static int allow_fcntl(scmp_filter_ctx filter)
{
    static const unsigned commands[] = {
        F_DUPFD,  F_GETFD,     F_SETFD,     F_GETFL,         F_SETFL,     F_GETLK,    F_SETLK,
        F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_DUPFD_CLOEXEC, F_ADD_SEALS, F_GET_SEALS};
    int err = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands && !err; i++) /* 32 bits count */
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                               arg(1, SCMP_CMP_MASKED_EQ, UINT32_MAX, commands[i]));
    return err;
}

static int add_call(scmp_filter_ctx filter, const char *word, size_t len, struct lets lets)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)len, word);
    int number = seccomp_syscall_resolve_name(name);
    if (number == __NR_SCMP_ERROR)
        return 0;
    struct scmp_arg_cmp only = first(SCMP_CMP_EQ, 0); /* prlimit64: of itself */
    unsigned n = 1;
    if (lets.forbids)
        n = 0;
    else if (number == SCMP_SYS(fcntl))
        return allow_fcntl(filter);
    else if (number == SCMP_SYS(openat) && !lets.write)
        only = arg(2, SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY);
    else if (number == SCMP_SYS(ioctl))
        only = arg(1, SCMP_CMP_EQ, PROCMAP_QUERY_REQUEST, 0);
    else if (number == SCMP_SYS(tgkill)) /* abort(); a child's ends by its last resort, a fault */
        only = first(SCMP_CMP_EQ, (scmp_datum_t)getpid());
    else if (number == SCMP_SYS(kill) && lets.child)
        only = first(SCMP_CMP_EQ, (scmp_datum_t)lets.child);
    else if (number == SCMP_SYS(socket) && lets.family)
        only = first(SCMP_CMP_EQ, (scmp_datum_t)lets.family);
    else if (number != SCMP_SYS(prlimit64))
        n = 0;
    int err = seccomp_rule_add_array(filter, lets.forbids ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW,
                                     number, n, &only);
    return err == -EDOM ? 0 : err; /* another architecture's */
}

static int add_calls(scmp_filter_ctx filter, const char *names, struct lets lets)
{
    int err = 0;
    for (const char *at = names; *at && !err; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        err = add_call(filter, at, len, lets);
        at += len;
    }
    return err;
}

static unsigned confine_to(const char *names, struct lets lets)
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
                               first(SCMP_CMP_EQ, PR_SET_NAME));
    if (!err)
        err = add_calls(filter, names, lets);
    if (!err)
        err = seccomp_load(filter);
    seccomp_release(filter);
    return err ? 0 : CONFINED_CALLS;
}

unsigned confine_calls(const char *names)
{
    return confine_to(names, (struct lets){0});
}

unsigned confine_caller(const char *names, int family)
{
    return confine_to(names, (struct lets){.family = family});
}

unsigned confine_writer(const char *names, pid_t child)
{
    char all[2048];
    snprintf(all, sizeof all, "%s kill", names);
    return confine_to(all, (struct lets){.write = true, .child = child});
}

/* By name, so that a kernel or an architecture without one is no problem. */
static const char forbidden_calls[] =
    "execve execveat fork vfork ptrace process_vm_writev bind listen connect accept accept4 mount "
    "umount2 pivot_root chroot unshare setns fsopen fsmount move_mount open_tree mount_setattr "
    "init_module finit_module delete_module kexec_load kexec_file_load keyctl add_key request_key "
    "userfaultfd io_uring_setup io_uring_enter io_uring_register open_by_handle_at personality "
    "reboot swapon swapoff acct quotactl setuid setgid setreuid setregid setresuid setresgid "
    "setgroups capset settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname "
    "iopl ioperm tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal pidfd_getfd "
    "process_madvise chmod fchmodat chown fchown lchown fchownat setxattr lsetxattr mknod mknodat "
    "link linkat symlink symlinkat";

/* Of bpf() at most what uses a program that was loaded before: nothing is loaded, made or looked
 * for. */
static int confine_bpf(scmp_filter_ctx filter, bool counts_by_bpf)
{
    enum { UPDATE = 2, DELETE = 3, RUN = 10 }; /* <linux/bpf.h> has them as an enum of its own */
    int err = 0;
    if (!counts_by_bpf)
        return seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 0);
    for (scmp_datum_t command = 0; command < RUN && !err; command++)
        if (command != UPDATE && command != DELETE)
            err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 1,
                                   first(SCMP_CMP_EQ, command));
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(bpf), 1,
                               first(SCMP_CMP_GT, RUN));
    return err;
}

unsigned confine_actions(pid_t child, bool counts_by_bpf)
{
    if (!confine_supported())
        return 0;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return 0;
    int err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    if (!err)
        err = add_calls(filter, forbidden_calls, (struct lets){.forbids = true});
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 1,
                               first(SCMP_CMP_NE, (scmp_datum_t)child));
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
                               first(SCMP_CMP_NE, (scmp_datum_t)getpid()));
    if (!err)
        err = confine_bpf(filter, counts_by_bpf);
    /* systemd is told by a unix socket, to which nothing is connected. */
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
                               first(SCMP_CMP_NE, AF_UNIX));
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
