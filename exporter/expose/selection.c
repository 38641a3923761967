#include "exporter/expose/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int selections_init(struct selections *selections)
{
    *selections = (struct selections){0};
    return -pthread_mutex_init(&selections->lock, NULL);
}

static void drop_all(struct selections *selections)
{
    for (size_t i = 0; i < selections->n; i++)
        page_unref(selections->kept[i].packed);
    selections->n = 0;
}

void selections_release(struct selections *selections)
{
    drop_all(selections);
    pthread_mutex_destroy(&selections->lock);
}

/* ---- cutting ---- */

static bool is_wanted(const char *owner, const char *const *owners, size_t n)
{
    if (!owner)
        return true;
    for (size_t i = 0; i < n; i++)
        if (strcmp(owners[i], owner) == 0)
            return true;
    return false;
}

int selection_cut(const struct rendered_page *whole, const char *const *owners, size_t n,
                  struct rendered_page **out)
{
    struct rendered_page *page;
    size_t start = 0;
    int err = page_new(NULL, &page);
    if (err)
        return err;
    for (size_t i = 0; i < whole->n_parts; i++) {
        const struct page_part *part = &whole->parts[i];
        if (part->end > start && is_wanted(part->owner, owners, n))
            textbuf_add(&page->text, whole->text.data + start, part->end - start);
        start = part->end;
    }
    err = textbuf_finish(&page->text);
    page->number = whole->number;
    if (err)
        page_unref(page);
    else
        *out = page;
    return err;
}

/* ---- compressed cuts ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The same for the same owners, in whatever order and however often they are named. */
static int make_key(enum expose_format format, const char *const *owners, size_t n, char *key)
{
    const char *sorted[SELECTION_KEY_SIZE / 2];
    struct textbuf text;
    if (n > sizeof sorted / sizeof *sorted)
        return -ENOSPC;
    memcpy(sorted, owners, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_name);
    textbuf_init_fixed(&text, key, SELECTION_KEY_SIZE);
    textbuf_u64(&text, (uint64_t)format);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && strcmp(sorted[i], sorted[i - 1]) == 0)
            continue;
        textbuf_char(&text, ',');
        textbuf_str(&text, sorted[i]);
    }
    return textbuf_finish(&text) ? -ENOSPC : 0;
}

struct selection *selections_place(struct selections *selections, uint64_t number,
                                   enum expose_format format, const char *const *owners, size_t n)
{
    char key[SELECTION_KEY_SIZE];
    if (number < selections->number || make_key(format, owners, n, key))
        return NULL;
    if (number > selections->number)
        drop_all(selections);
    selections->number = number;
    for (size_t i = 0; i < selections->n; i++)
        if (strcmp(selections->kept[i].key, key) == 0)
            return &selections->kept[i];
    if (selections->n == SELECTIONS_KEPT)
        return NULL;
    struct selection *place = &selections->kept[selections->n++];
    *place = (struct selection){.packed = NULL};
    memcpy(place->key, key, sizeof key);
    return place;
}
