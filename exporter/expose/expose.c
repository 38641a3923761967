/* The pages of the current snapshot, each made by the first thread that asks for it. */
#include "exporter/expose/expose.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/expose/page.h"

/* ---- selections ---- */

/*
 * The pages of some collectors (collect[]), cut out of the whole page of a snapshot. For the files
 * of this folder.
 *
 * A cut is a copy, which costs no more than sending it. Compressing costs ten times as much, so
 * the compressed form is kept, but of a few selections only: there are more of them than a
 * client may make the exporter compress.
 */

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

static int selections_init(struct selections *selections)
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

static void selections_release(struct selections *selections)
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

/* A page with the parts of these owners, and those that are always served. */
static int selection_cut(const struct rendered_page *whole, const char *const *owners, size_t n,
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

/* The place for the compressed form of a cut, empty at first; the lock is held. NULL when as many
 * other selections of this snapshot are kept as may be, or one that was overtaken is asked for. */
static struct selection *selections_place(struct selections *selections, uint64_t number,
                                          enum expose_format format, const char *const *owners,
                                          size_t n)
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

/* The fastest: higher levels cost 40 % more time for 5 % fewer bytes of such text. */
enum { GZIP_LEVEL = 1 };

struct slot {
    struct rendered_page *page; /* of the newest snapshot that was requested, or NULL */
    bool busy;                  /* some thread makes it */
    _Atomic(struct rendered_page *) spare;
};

struct expose {
    struct store *store;
    bool created;
    pthread_mutex_t lock; /* of the slots; not held while pages are made */
    pthread_cond_t made;
    struct slot slots[EXPOSE_FORMATS][2]; /* plain, gzip */
    pthread_mutex_t compressor_lock;
    struct libdeflate_compressor *compressor;
    struct selections selections;
};

int expose_new(struct store *store, bool created, struct expose **out)
{
    struct expose *expose = calloc(1, sizeof *expose);
    if (!expose)
        return -ENOMEM;
    expose->store = store;
    expose->created = created;
    expose->compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
    if (!expose->compressor) {
        free(expose);
        return -ENOMEM;
    }
    selections_init(&expose->selections);
    pthread_mutex_init(&expose->lock, NULL);
    pthread_mutex_init(&expose->compressor_lock, NULL);
    pthread_cond_init(&expose->made, NULL);
    *out = expose;
    return 0;
}

void expose_free(struct expose *expose)
{
    if (!expose)
        return;
    for (size_t i = 0; i < EXPOSE_FORMATS; i++) {
        for (size_t j = 0; j < 2; j++) {
            page_unref(expose->slots[i][j].page);
            page_spare_release(&expose->slots[i][j].spare);
        }
    }
    selections_release(&expose->selections);
    libdeflate_free_compressor(expose->compressor);
    pthread_mutex_destroy(&expose->lock);
    pthread_mutex_destroy(&expose->compressor_lock);
    pthread_cond_destroy(&expose->made);
    free(expose);
}

static int compress(struct expose *expose, const struct rendered_page *plain,
                    struct rendered_page *out)
{
    size_t len;
    const void *bytes = page_bytes(plain, &len);
    pthread_mutex_lock(&expose->compressor_lock);
    int err = page_compress(expose->compressor, bytes, len, &out->text);
    pthread_mutex_unlock(&expose->compressor_lock);
    out->number = plain->number;
    return err;
}

/* Takes over the snapshot's reference. Without the lock. */
static int make_page(struct expose *expose, enum expose_format format, bool gzip,
                     struct snapshot *snapshot, struct rendered_page **out)
{
    struct rendered_page *page = NULL, *plain;
    int err = page_new(&expose->slots[format][gzip].spare, &page);
    if (!err && gzip) {
        snapshot_release(snapshot);
        snapshot = NULL;
        err = expose_page(expose, format, false, &plain);
        if (!err) {
            err = compress(expose, plain, page);
            page_unref(plain);
        }
    } else if (!err) {
        err = page_render(page, snapshot, format, expose->created);
        textbuf_trim(&page->text); /* recycled from a time with more containers */
        page->number = snapshot_number(snapshot);
    }
    snapshot_release(snapshot);
    if (err) {
        page_unref(page);
        return err;
    }
    *out = page;
    return 0;
}

/* Later callers need no pages of earlier snapshots. With the lock held. */
static void drop_stale(struct expose *expose, uint64_t number)
{
    for (size_t i = 0; i < EXPOSE_FORMATS; i++) {
        for (size_t j = 0; j < 2; j++) {
            struct slot *slot = &expose->slots[i][j];
            if (slot->page && slot->page->number < number) {
                page_unref(slot->page);
                slot->page = NULL;
            }
        }
    }
}

int expose_page(struct expose *expose, enum expose_format format, bool gzip,
                struct rendered_page **out)
{
    struct snapshot *snapshot = store_acquire(expose->store);
    if (!snapshot)
        return -ENODATA;
    struct slot *slot = &expose->slots[format][gzip];
    uint64_t asked = snapshot_number(snapshot);
    struct rendered_page *page = NULL;
    int err = 0;

    pthread_mutex_lock(&expose->lock);
    while (slot->busy)
        pthread_cond_wait(&expose->made, &expose->lock);
    drop_stale(expose, asked);
    if (slot->page) {
        page = page_ref(slot->page);
    } else {
        slot->busy = true;
        pthread_mutex_unlock(&expose->lock);
        err = make_page(expose, format, gzip, snapshot, &page);
        snapshot = NULL;
        pthread_mutex_lock(&expose->lock);
        slot->busy = false;
        if (!err)
            slot->page = page_ref(page);
        pthread_cond_broadcast(&expose->made);
    }
    pthread_mutex_unlock(&expose->lock);
    snapshot_release(snapshot);
    if (!err)
        *out = page;
    return err;
}

static int pack(struct expose *expose, const struct rendered_page *whole, const char *const *owners,
                size_t n, struct rendered_page **out)
{
    struct rendered_page *plain = NULL, *packed = NULL;
    int err = selection_cut(whole, owners, n, &plain);
    if (!err)
        err = page_new(NULL, &packed);
    if (!err)
        err = compress(expose, plain, packed);
    page_unref(plain);
    if (err)
        page_unref(packed);
    else
        *out = packed;
    return err;
}

/* -ENOSPC when no more selections of this snapshot are kept. */
static int packed_selection(struct expose *expose, enum expose_format format,
                            const struct rendered_page *whole, const char *const *owners, size_t n,
                            struct rendered_page **out)
{
    struct selections *selections = &expose->selections;
    pthread_mutex_lock(&selections->lock);
    struct selection *place = selections_place(selections, whole->number, format, owners, n);
    int err = place ? 0 : -ENOSPC;
    if (!err && !place->packed)
        err = pack(expose, whole, owners, n, &place->packed);
    if (!err)
        *out = page_ref(place->packed);
    pthread_mutex_unlock(&selections->lock);
    return err;
}

int expose_selection(struct expose *expose, enum expose_format format, bool *gzip,
                     const char *const *owners, size_t n, struct rendered_page **out)
{
    struct rendered_page *whole;
    int err = expose_page(expose, format, false, &whole);
    if (err)
        return err;
    err = *gzip ? packed_selection(expose, format, whole, owners, n, out) : -ENOSPC;
    if (err == -ENOSPC) {
        *gzip = false;
        err = selection_cut(whole, owners, n, out);
    }
    page_unref(whole);
    return err;
}
