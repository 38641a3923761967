#include "exporter/source/accesses/code.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int process_code_read(pid_t pid, uint64_t address, uint8_t out[ACCESS_CODE_BYTES])
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end;
    size_t n = ACCESS_CODE_BYTES, first;

    if (__builtin_add_overflow(address, n, &end))
        return -EFAULT;
    /* A piece is read whole or not at all: the next page may not be there. */
    first = (size_t)(page - (address & (page - 1)));
    if (first > n)
        first = n;
    const struct iovec local = {out, n};
    const struct iovec remote[] = {{(void *)(uintptr_t)address, first},
                                   {(void *)(uintptr_t)(address + first), n - first}};
    ssize_t got = process_vm_readv(pid, &local, 1, remote, first < n ? 2 : 1, 0);
    if (got < 0)
        return -errno;
    return got == 0 ? -EFAULT : (int)got;
}

int process_code_is_wide(const struct fsroot *fs, pid_t pid, bool *out)
{
    char relative[32];
    unsigned char ident[EI_NIDENT];
    snprintf(relative, sizeof relative, "%d/exe", (int)pid);
    int fd = fsroot_open(fs, FSROOT_PROC, relative, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return fd;
    ssize_t n = read(fd, ident, sizeof ident);
    int err = n < 0 ? -errno : 0;
    close(fd);
    if (err)
        return err;
    if (n < (ssize_t)sizeof ident || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
        (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64))
        return -ENOEXEC;
    *out = ident[EI_CLASS] == ELFCLASS64;
    return 0;
}
