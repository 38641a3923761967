/*
 * Reads a mapped file, a page anywhere in it at a time, until a signal ends it: where its memory
 * limit is below the file's size, it reads again what it had to give up.
 *
 *     read_again FILE [MILLISECONDS OF]
 *
 * Reads for so many milliseconds of each OF, and sleeps in between: a slow disk does not make it
 * wait for longer than that.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    struct stat status;
    int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status) || status.st_size == 0) {
        return 1;
    }
    uint64_t reads_ms = argc > 3 ? strtoul(argv[2], NULL, 10) : 1;
    uint64_t of_ms = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    size_t size = (size_t)status.st_size;
    const volatile char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED || of_ms == 0) {
        return 1;
    }
    for (uint64_t x = (uint64_t)getpid();;) {
        uint64_t at = now_ms() % of_ms;
        if (at >= reads_ms) {
            usleep((useconds_t)(of_ms - at) * 1000);
            continue;
        }
        x = x * 6364136223846793005u + 1442695040888963407u;
        (void)bytes[(x >> 16) % size];
    }
}
