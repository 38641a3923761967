/*
 * Preloaded into the running exporter: counts its allocations where another process can read them.
 *
 * The counter is the first eight bytes of the file that BENCH_MALLOC_FILE names.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/support/malloc_count.h"

__attribute__((constructor)) static void share(void)
{
    const char *path = getenv("BENCH_MALLOC_FILE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *page = ftruncate(fd, 4096) == 0
                     ? mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                     : MAP_FAILED;
    if (page != MAP_FAILED)
        malloc_count_in(page);
    close(fd);
}
