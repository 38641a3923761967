/*
 * The pages of some collectors (collect[]), cut out of the whole page of a snapshot. For the files
 * of this folder.
 *
 * A cut is a copy, which costs no more than sending it. Compressing costs ten times as much, so
 * the compressed form is kept, but of a few selections only: there are more of them than a
 * client may make the exporter compress.
 */
#ifndef IE_EXPOSE_SELECTION_H
#define IE_EXPOSE_SELECTION_H

#include <pthread.h>

#include "exporter/expose/page.h"

enum { SELECTIONS_KEPT = 4, SELECTION_KEY_SIZE = 256 };

struct selections {
    pthread_mutex_t lock; /* held while a page is made */
    uint64_t number;      /* of the snapshot that the pages below show */
    size_t n;
    struct selection {
        char key[SELECTION_KEY_SIZE];
        struct rendered_page *packed;
    } kept[SELECTIONS_KEPT];
};

int selections_init(struct selections *selections);
void selections_release(struct selections *selections);

/* A page with the parts of these owners, and those that are always served. */
int selection_cut(const struct rendered_page *whole, const char *const *owners, size_t n,
                  struct rendered_page **out);

/* The place for the compressed form of a cut, empty at first; the lock is held. NULL when as many
 * other selections of this snapshot are kept as may be, or one that was overtaken is asked for. */
struct selection *selections_place(struct selections *selections, uint64_t number,
                                   enum expose_format format, const char *const *owners, size_t n);

#endif
