/*
 * What a collector's page shows: two lists of the collector's own kind. The loop's thread fills the
 * hidden one after a tick and shows it; any thread looks at the shown one, under a lock. Neither is
 * ever waited for by the loop: while somebody looks, the list is not shown until the next tick.
 */
#ifndef IE_COLLECTORS_PARTS_DOUBLE_BUFFER_H
#define IE_COLLECTORS_PARTS_DOUBLE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct double_buffer;

/* Two lists of this many bytes, all zero; pages of them that are never written cost nothing. 0 or
 * -ENOMEM. */
int double_buffer_new(size_t bytes, struct double_buffer **out);
/* Accepts NULL. */
void double_buffer_free(struct double_buffer *lists);

/* The hidden list, to be filled, as it was when it was filled last. Loop thread. */
void *double_buffer_back(struct double_buffer *lists);
/* Shows the hidden list, and hides the other. False: somebody is looking, and nothing has changed.
 * Loop thread. */
bool double_buffer_swap(struct double_buffer *lists);

/* The list that is shown, which stays as it is until double_buffer_unlock. Any thread. */
const void *double_buffer_lock(struct double_buffer *lists);
void double_buffer_unlock(struct double_buffer *lists);

#endif
