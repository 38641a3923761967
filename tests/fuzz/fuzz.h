/* What fuzz targets share. */
#ifndef IE_TESTS_FUZZ_H
#define IE_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool holds)
{
    if (!holds)
        abort();
}

/* A copy with no NUL behind it to run into; the caller frees it. */
static inline char *without_nul(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1);
    check(text != NULL);
    memcpy(text, data, size);
    return text;
}

/* A copy with one behind it; the caller frees it. */
static inline char *with_nul(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
