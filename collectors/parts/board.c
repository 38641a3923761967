#include "collectors/parts/board.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "exporter/live/words.h"

struct board {
    pthread_mutex_t lock; /* guards 'shown' and the list that it points to */
    void *shown, *hidden;
};

int board_new(size_t bytes, struct board **out)
{
    struct board *board = calloc(1, sizeof *board);
    if (!board)
        return -ENOMEM;
    board->shown = calloc(1, bytes);
    board->hidden = calloc(1, bytes);
    pthread_mutex_init(&board->lock, NULL);
    if (!board->shown || !board->hidden) {
        board_free(board);
        return -ENOMEM;
    }
    *out = board;
    return 0;
}

void board_free(struct board *board)
{
    if (!board)
        return;
    pthread_mutex_destroy(&board->lock);
    free(board->shown);
    free(board->hidden);
    free(board);
}

void *board_hidden(struct board *board)
{
    return board->hidden;
}

bool board_show(struct board *board)
{
    if (pthread_mutex_trylock(&board->lock) != 0)
        return false;
    void *list = board->hidden;
    board->hidden = board->shown;
    board->shown = list;
    pthread_mutex_unlock(&board->lock);
    return true;
}

const void *board_lock(struct board *board)
{
    pthread_mutex_lock(&board->lock);
    return board->shown;
}

void board_unlock(struct board *board)
{
    pthread_mutex_unlock(&board->lock);
}

void board_text(char *to, size_t size, const char *text)
{
    clip_text(to, size, text);
}
