#include "tests/delay/wait.h"

#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

static uint64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double wait_calibrate(void)
{
    const uint64_t enough_ns = 50000000;
    uint64_t start_ns = raw_ns(), start = __rdtsc(), now_ns;
    do
        now_ns = raw_ns();
    while (now_ns - start_ns < enough_ns);
    return (double)(__rdtsc() - start) / (double)(now_ns - start_ns) * 1e9;
}

uint64_t wait_ticks(uint64_t ticks)
{
    _mm_lfence();
    uint64_t start = __rdtsc(), now;
    do
        now = __rdtsc();
    while (now - start < ticks);
    return now - start;
}

wait_nops *wait_make_nops(unsigned nops)
{
    enum { NOP = 0x90, RETURN = 0xc3 };
    size_t size = nops + 1;
    uint8_t *code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return NULL;
    memset(code, NOP, nops);
    code[nops] = RETURN;
    if (mprotect(code, size, PROT_READ | PROT_EXEC) != 0)
        return NULL;
    return (wait_nops *)(uintptr_t)code;
}
