/*
 * Touches as many pages as it is asked for, each a page fault, and ends.
 *
 *     touch_pages PAGES
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t pages = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, (pages + 1) * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, (pages + 1) * size, MADV_NOHUGEPAGE)) {
        return 1;
    }
    for (size_t i = 0; i < pages; i++) {
        *(volatile char *)(memory + i * size) = 1;
    }
    return 0;
}
