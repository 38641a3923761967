#include "exporter/base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int array_reserve(void *array, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return 0;
    if (need > SIZE_MAX / 2)
        return -ENOMEM;
    size_t larger = *cap ? *cap : 8, bytes;
    do
        larger *= 2;
    while (larger < need);
    void **at = array;
    void *grown = __builtin_mul_overflow(larger, size, &bytes) ? NULL : realloc(*at, bytes);
    if (!grown)
        return -ENOMEM;
    *at = grown;
    *cap = larger;
    return 0;
}
