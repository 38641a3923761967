#include "collectors/nvmm/board.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int nvmm_board_new(struct board **out)
{
    return board_new(sizeof(struct nvmm_board_list), out);
}

struct nvmm_board_list *nvmm_board_begin(struct board *board)
{
    struct nvmm_board_list *list = board_hidden(board);
    list->n_containers = list->n_rows = 0;
    list->cut = false;
    return list;
}

int nvmm_board_container(struct nvmm_board_list *list, const struct labelset *labels)
{
    if (list->n_containers == NVMM_BOARD_CONTAINERS) {
        list->cut = true;
        return -1;
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
                board_text(parts[k].value, parts[k].size, label[i].value);
    }
    return (int)list->n_containers - 1;
}

void nvmm_board_row(struct nvmm_board_list *list, const struct nvmm_board_row *row)
{
    if (list->n_rows == NVMM_MAX_THREADS) {
        list->cut = true;
        return;
    }
    list->rows[list->n_rows++] = *row;
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
struct nvmm_board_list *nvmm_board_copy(struct board *board)
{
    struct nvmm_board_list *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    const struct nvmm_board_list *shown = board_lock(board);
    memcpy(copy, shown, offsetof(struct nvmm_board_list, containers));
    memcpy(copy->containers, shown->containers, shown->n_containers * sizeof *shown->containers);
    memcpy(copy->rows, shown->rows, shown->n_rows * sizeof *shown->rows);
    board_unlock(board);
    if (copy->wall_ns > 0) {
        qsort(copy->rows, copy->n_rows, sizeof *copy->rows, compare_rows);
        return copy;
    }
    free(copy);
    return NULL;
}
