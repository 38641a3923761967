#include "tests/unit/support/malloc_count.h"

#include <errno.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED

bool malloc_count_works(void)
{
    return false;
}

uint64_t malloc_count(void)
{
    return 0;
}

bool malloc_fail(uint64_t n)
{
    return false;
}

void malloc_count_in(uint64_t *counter)
{
}

#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);

static void *refuse(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);

static uint64_t own, failing;
static uint64_t *calls = &own;

/* False for the call that is to fail. */
static bool count(void)
{
    return __atomic_add_fetch(calls, 1, __ATOMIC_RELAXED) !=
           __atomic_load_n(&failing, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
    return count() ? __libc_malloc(size) : refuse();
}

void *calloc(size_t n, size_t size)
{
    return count() ? __libc_calloc(n, size) : refuse();
}

void *realloc(void *old, size_t size)
{
    return count() ? __libc_realloc(old, size) : refuse();
}

bool malloc_count_works(void)
{
    return true;
}

uint64_t malloc_count(void)
{
    return __atomic_load_n(calls, __ATOMIC_RELAXED);
}

void malloc_count_in(uint64_t *counter)
{
    calls = counter;
}

bool malloc_fail(uint64_t n)
{
    uint64_t at = n ? malloc_count() + n : 0;
    __atomic_store_n(&failing, at, __ATOMIC_RELAXED);
    return true;
}

#endif
