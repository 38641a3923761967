#include "collectors/nvmm/board.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct nvmm_board {
    pthread_mutex_t lock; /* guards 'shown' and the list that it points to */
    struct nvmm_board_list *shown, *hidden;
};

int nvmm_board_new(struct nvmm_board **out)
{
    struct nvmm_board *board = calloc(1, sizeof *board);
    if (!board)
        return -ENOMEM;
    /* Pages of it that are never written cost nothing. */
    board->shown = calloc(1, sizeof *board->shown);
    board->hidden = calloc(1, sizeof *board->hidden);
    pthread_mutex_init(&board->lock, NULL);
    if (!board->shown || !board->hidden) {
        nvmm_board_free(board);
        return -ENOMEM;
    }
    *out = board;
    return 0;
}

void nvmm_board_free(struct nvmm_board *board)
{
    if (!board)
        return;
    pthread_mutex_destroy(&board->lock);
    free(board->shown);
    free(board->hidden);
    free(board);
}

struct nvmm_board_list *nvmm_board_begin(struct nvmm_board *board)
{
    board->hidden->n_containers = board->hidden->n_rows = 0;
    board->hidden->cut = false;
    return board->hidden;
}

/* Labels hold nothing but UTF-8, and so does what is cut off between two characters. */
static void copy_text(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);
    if (len >= size)
        for (len = size - 1; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    memcpy(to, text, len);
    to[len] = '\0';
}

bool nvmm_board_container(struct nvmm_board_list *list, const struct labelset *labels)
{
    if (list->n_containers == NVMM_BOARD_CONTAINERS) {
        list->cut = true;
        return false;
    }
    struct nvmm_board_container *to = &list->containers[list->n_containers++];
    const struct {
        const char *name;
        char *value;
        size_t size;
    } parts[] = {{"namespace", to->namespace_, sizeof to->namespace_},
                 {"pod", to->pod, sizeof to->pod},
                 {"container", to->name, sizeof to->name},
                 {"container_id", to->short_id, sizeof to->short_id}};
    size_t n;
    const struct label *label = labelset_labels(labels, &n);
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        parts[k].value[0] = '\0';
        for (size_t i = 0; i < n; i++)
            if (strcmp(label[i].name, parts[k].name) == 0)
                copy_text(parts[k].value, parts[k].size, label[i].value);
    }
    return true;
}

void nvmm_board_row(struct nvmm_board_list *list, const struct nvmm_board_row *row)
{
    if (list->n_rows == NVMM_MAX_THREADS) {
        list->cut = true;
        return;
    }
    list->rows[list->n_rows] = *row;
    list->rows[list->n_rows++].container = (uint32_t)list->n_containers - 1;
}

bool nvmm_board_show(struct nvmm_board *board)
{
    if (pthread_mutex_trylock(&board->lock) != 0)
        return false;
    struct nvmm_board_list *list = board->hidden;
    board->hidden = board->shown;
    board->shown = list;
    pthread_mutex_unlock(&board->lock);
    return true;
}

static int compare_rows(const void *a, const void *b)
{
    const struct nvmm_board_row *x = a, *y = b;
    if (x->container != y->container)
        return x->container < y->container ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Only what is in use: the list is large, and mostly empty. */
struct nvmm_board_list *nvmm_board_copy(struct nvmm_board *board)
{
    struct nvmm_board_list *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    pthread_mutex_lock(&board->lock);
    const struct nvmm_board_list *shown = board->shown;
    memcpy(copy, shown, offsetof(struct nvmm_board_list, containers));
    memcpy(copy->containers, shown->containers, shown->n_containers * sizeof *shown->containers);
    memcpy(copy->rows, shown->rows, shown->n_rows * sizeof *shown->rows);
    pthread_mutex_unlock(&board->lock);
    if (copy->wall_ns > 0) {
        qsort(copy->rows, copy->n_rows, sizeof *copy->rows, compare_rows);
        return copy;
    }
    free(copy);
    return NULL;
}
