/* What the programs have in common: numbers as arguments, memory, a generator, and a result that
 * keeps the compiler from dropping the work. */
#ifndef DELAY_WORK_H
#define DELAY_WORK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static inline size_t work_argument(int argc, char **argv, int index, size_t otherwise)
{
    return argc > index ? strtoul(argv[index], NULL, 10) : otherwise;
}

static inline void *work_memory(size_t n, size_t size)
{
    void *memory = calloc(n, size);
    if (memory)
        return memory;
    fputs("no memory\n", stderr);
    exit(1);
}

/* xorshift64 (Marsaglia 2003) */
static inline uint64_t work_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static inline int work_result(uint64_t value)
{
    return printf("%llx\n", (unsigned long long)value) < 0;
}

#endif
