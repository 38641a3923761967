/*
 * Messages from one process to one of its children, in memory that both have: whoever puts one in
 * never waits, and is told when there is no room.
 */
#ifndef IE_BLACKBOX_CHUTE_H
#define IE_BLACKBOX_CHUTE_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/base/textbuf.h"

struct chute;

/* Before the fork. 'size' bytes; only what is used takes memory. NULL: out of memory. */
struct chute *chute_new(size_t size);
/* In each of the two. Accepts NULL. */
void chute_free(struct chute *chute);

/* One message of n parts; false: there is no room, and nothing was put in. */
bool chute_put(struct chute *chute, const struct textbuf *const *parts, size_t n);
/* Replaces what 'out' holds by the next message. 1; 0: there is none; -ENOMEM; -EBADMSG: the memory
 * holds what was never put in, and all of it is skipped. */
int chute_take(struct chute *chute, struct textbuf *out);

#endif
