/*
 * What a collector's page shows: two lists of the collector's own kind. The loop's thread fills the
 * hidden one after a tick and shows it; any thread looks at the shown one, under a lock. Neither is
 * ever waited for by the loop: while somebody looks, the list is not shown until the next tick.
 */
#ifndef IE_COLLECTORS_PARTS_BOARD_H
#define IE_COLLECTORS_PARTS_BOARD_H

#include <stdbool.h>
#include <stddef.h>

struct board;

/* Two lists of this many bytes, all zero; pages of them that are never written cost nothing. 0 or
 * -ENOMEM. */
int board_new(size_t bytes, struct board **out);
/* Accepts NULL. */
void board_free(struct board *board);

/* The list to fill, as it was when it was filled before. Loop thread. */
void *board_hidden(struct board *board);
/* Shows it. False: somebody is looking, and it is still hidden. Loop thread. */
bool board_show(struct board *board);

/* The list that is shown, which stays as it is until board_unlock. Any thread. */
const void *board_lock(struct board *board);
void board_unlock(struct board *board);

/* As much of a label as fits, never cut inside a character: labels hold nothing but UTF-8. */
void board_text(char *to, size_t size, const char *text);

#endif
