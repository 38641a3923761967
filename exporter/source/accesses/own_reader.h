/* Reads other processes in this one, which waits for whatever that takes. */
#ifndef IE_SOURCE_ACCESSES_OWN_READER_H
#define IE_SOURCE_ACCESSES_OWN_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "exporter/base/fsroot.h"
#include "exporter/source/accesses/instruction.h"
#include "exporter/source/accesses/process_reader.h"

/*
 * File systems whose pages come without asking a program: the kernel's own, on disks and in memory.
 *
 * Reading another process's memory can read a page of a file, which waits for whoever serves that
 * file, and cannot be ended. So only what is known to be local is read: the device is mounted where
 * the first process of the node sees it, with a type that is on the list. A tenant's own mounts are
 * not there, among them overlays, whose lower layer may be served by a program of the tenant's
 * while their type tells nothing. A runtime mounts its containers' root file systems on the node.
 */

/* A number goes to another file system when the one that had it is unmounted. */
#define LOCAL_MOUNTS_MAX_AGE_NS 1000000000u

struct local_mounts;

/* 'fs' is borrowed for its life. 0 or -ENOMEM. */
int local_mounts_new(const struct fsroot *fs, struct local_mounts **out);
void local_mounts_free(struct local_mounts *mounts);

/*
 * Whether a mapping of this device may be read, by a table of at most LOCAL_MOUNTS_MAX_AGE_NS. What
 * is not in it is not local: also when the table could not be read. Memory without a file (no
 * device) is not asked about.
 */
bool local_mounts_has(struct local_mounts *mounts, uint32_t major, uint32_t minor, uint64_t now_ns);

/*
 * The code of other processes, read from their memory: so code that a compiler makes at run time
 * is seen as well.
 *
 * No file of theirs is opened, and of their memory only what the kernel has without asking a
 * program: memory without a file, and files of local mounts. The mapping is looked up just before
 * the reading. What remains: a process that puts another file there in between, some microseconds;
 * and one that serves its own page faults (userfaultfd with privileges).
 *
 * One thread.
 */

struct process_code;

/* 'fs' is borrowed for its life. 0 or -ENOMEM. */
int process_code_new(const struct fsroot *fs, struct process_code **out);
void process_code_free(struct process_code *code);

/*
 * The bytes at an address, at most ACCESS_CODE_BYTES and fewer where the mapping ends. Returns how
 * many, or -errno: -ESRCH or -ENOENT no such process, or its first thread has ended (then
 * another thread's number does); -EFAULT nothing can be read there (also: it
 * is ending); -EACCES nothing there is to be run, or the file is on no local file system; -EFBIG
 * the mapping is beyond the first MiB of the process's text; -EPERM this exporter may not (it needs
 * SYS_PTRACE). 'now_ns' is as for local mounts.
 */
int process_code_read(struct process_code *code, pid_t pid, uint64_t address, uint64_t now_ns,
                      uint8_t out[ACCESS_CODE_BYTES]);

/* Whether the process runs 64-bit code, by what the kernel told its program at the start. 0 or
 * -errno as above; -ENOEXEC when that makes no sense. */
int process_code_is_wide(const struct fsroot *fs, pid_t pid, bool *out);

/* ---- the parts, for tests ---- */

/* The same from the bytes of /proc/PID/auxv. 0 or -ENOEXEC. */
int auxv_is_wide(const uint8_t *bytes, size_t len, bool *out);

/* 'fs' is borrowed for its life. 0 or -ENOMEM. */
int own_reader_new(const struct fsroot *fs, struct process_reader **out);
/* Accepts NULL. */
void own_reader_free(struct process_reader *reader);

#endif
