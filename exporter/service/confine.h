/*
 * Confinement: what a process takes from itself before strangers talk to it.
 *
 * Each step stands for itself, so that a kernel or a container that lacks one still gets the
 * others. All of them are for good, and children inherit them.
 */
#ifndef IE_SERVICE_CONFINE_H
#define IE_SERVICE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CONFINE_USER = 65534 }; /* nobody */

/* Bits of what could be done. */
enum confined {
    CONFINED_USER = 1,         /* another user than root */
    CONFINED_CAPABILITIES = 2, /* none is left, nor to be had */
    CONFINED_FILES = 4,        /* no other file can be opened (Landlock: Linux 5.13) */
    CONFINED_CALLS = 8         /* only the system calls of a list (seccomp) */
};

/* No program that is run could have a capability again. Without SETPCAP it is not ours to say, and
 * no_new_privs keeps it from being of use. */
void confine_bounding_set(void);

/*
 * The user becomes nobody, where the process may change it and keep_user is not set; all
 * capabilities go; no core is ever written, no file grows (but the log, where it is one), and no
 * debugger of the same user may attach. Before threads start. Returns bits.
 */
unsigned confine_privileges(bool keep_user);

/* From now on opens nothing but files below the n directories (descriptors, borrowed), to read;
 * what is open stays usable. Before threads start. Returns bits. */
unsigned confine_files(const int *directories, size_t n);

/* From now on TCP connects to this port alone, 0: to none, and listens nowhere; what is open stays
 * usable. False: the kernel knows no such rule (Linux 6.7). */
bool confine_tcp(uint16_t port);

/* From now on opens, makes, changes and removes files in this directory (a descriptor, borrowed)
 * only; what is open stays usable. Before threads start. Returns bits. */
unsigned confine_directory(int directory);

/*
 * Only the system calls named, as in the kernel's tables, with a space between (those that this
 * machine does not have are passed over), and naming a thread; any other fails with EPERM. openat()
 * only to read, ioctl() only to ask for a mapping (process_stat.h), fcntl() not to have signals
 * sent, tgkill() only within the process that asks for this, not within its children, prlimit64()
 * only of itself. For all threads. Returns bits.
 */
unsigned confine_calls(const char *names);

/* The same for who calls somebody: socket() of this family alone. */
unsigned confine_caller(const char *names, int family);

/* The same for who writes files: openat() for that, too, and kill(), of the child alone. */
unsigned confine_writer(const char *names, pid_t child);

/*
 * For who has to read everywhere: no file is made, changed, removed or run, but for files made and
 * written in the n directories (descriptors, borrowed). Nor may it look into processes outside from
 * then on, so whoever samples their accesses cannot have this. Before threads start, and after
 * privileges_drop(). Returns bits.
 */
unsigned confine_writes(const int *directories, size_t n);
/* The same, and directories may be made and removed there. */
unsigned confine_changes(const int *directories, size_t n);

/*
 * For who needs many system calls: not those that run programs, make processes' fate theirs, reach
 * a network or another program's unix socket, load code into the kernel or change what the process
 * sees of the machine. Signals go to 'child' and to itself only. 'counts_by_bpf': it goes on
 * running BPF programs that it loaded before, and changing their tables. For all threads. Returns
 * bits.
 */
unsigned confine_actions(pid_t child, bool counts_by_bpf);

/* What is confined, in words for the log. 'size' of 160 is enough. */
void confine_words(unsigned confined, char *out, size_t size);

/* Whether this build can run confined: sanitizers open files and make threads when they report. */
bool confine_supported(void);

#endif
