/* Arrays that grow. */
#ifndef IE_BASE_ARRAY_H
#define IE_BASE_ARRAY_H

#include <stddef.h>

/*
 * Makes room for 'need' elements of 'size' bytes: 'array' is the address of the pointer to the
 * first one (NULL while there is no memory), *cap the number of elements that there is room for.
 * Doubles it, from 16 on, so that appending n elements costs O(n). The contents stay; elements
 * added are not initialised. 0 or -ENOMEM, and then nothing has changed.
 */
int array_reserve(void *array, size_t *cap, size_t need, size_t size);

#endif
