/*
 * The code of other processes, read from their memory: so code that a compiler makes at run time
 * is seen as well.
 */
#ifndef IE_SOURCE_ACCESSES_CODE_H
#define IE_SOURCE_ACCESSES_CODE_H

#include <sys/types.h>

#include "exporter/base/fsroot.h"
#include "exporter/source/accesses/instruction.h"

/*
 * The bytes at an address, at most ACCESS_CODE_BYTES and fewer where the mapping ends. Returns how
 * many, or -errno: -ESRCH no such process; -EFAULT nothing can be read there (also: it is ending);
 * -EPERM this exporter may not (it needs SYS_PTRACE).
 */
int process_code_read(pid_t pid, uint64_t address, uint8_t out[ACCESS_CODE_BYTES]);

/* Whether the process runs 64-bit code, by the program that it executes. 0 or -errno; -ENOEXEC when
 * that is no ELF file. */
int process_code_is_wide(const struct fsroot *fs, pid_t pid, bool *out);

#endif
