#include "collectors/parts/double_buffer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct double_buffer {
    pthread_mutex_t lock; /* guards 'shown' and the list that it points to */
    void *shown, *hidden;
};

int double_buffer_new(size_t bytes, struct double_buffer **out)
{
    struct double_buffer *lists = calloc(1, sizeof *lists);
    if (!lists)
        return -ENOMEM;
    lists->shown = calloc(1, bytes);
    lists->hidden = calloc(1, bytes);
    pthread_mutex_init(&lists->lock, NULL);
    if (!lists->shown || !lists->hidden) {
        double_buffer_free(lists);
        return -ENOMEM;
    }
    *out = lists;
    return 0;
}

void double_buffer_free(struct double_buffer *lists)
{
    if (!lists)
        return;
    pthread_mutex_destroy(&lists->lock);
    free(lists->shown);
    free(lists->hidden);
    free(lists);
}

void *double_buffer_back(struct double_buffer *lists)
{
    return lists->hidden;
}

bool double_buffer_swap(struct double_buffer *lists)
{
    if (pthread_mutex_trylock(&lists->lock) != 0)
        return false;
    void *list = lists->hidden;
    lists->hidden = lists->shown;
    lists->shown = list;
    pthread_mutex_unlock(&lists->lock);
    return true;
}

const void *double_buffer_lock(struct double_buffer *lists)
{
    pthread_mutex_lock(&lists->lock);
    return lists->shown;
}

void double_buffer_unlock(struct double_buffer *lists)
{
    pthread_mutex_unlock(&lists->lock);
}
