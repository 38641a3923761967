#include "exporter/expose/page.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporter/base/array.h"
#include "exporter/base/whole.h"

static void close_file(struct rendered_page *page)
{
    if (page->file >= 0)
        close(page->file);
    page->file = -1;
}

int page_new(_Atomic(struct rendered_page *) *spare, struct rendered_page **out)
{
    struct rendered_page *page = spare ? atomic_exchange(spare, NULL) : NULL;
    if (!page) {
        page = calloc(1, sizeof *page);
        if (!page)
            return -ENOMEM;
        textbuf_init(&page->text);
        page->file = -1;
        page->spare = spare;
    }
    textbuf_clear(&page->text);
    page->number = 0;
    page->n_parts = 0;
    atomic_store(&page->refs, 1);
    *out = page;
    return 0;
}

static void page_free(struct rendered_page *page)
{
    if (!page)
        return;
    textbuf_release(&page->text);
    free(page->parts);
    free(page);
}

int page_add_part(struct rendered_page *page, const char *owner)
{
    struct page_part *last = page->n_parts > 0 ? &page->parts[page->n_parts - 1] : NULL;
    if (last && last->owner == owner) {
        last->end = page->text.len;
        return 0;
    }
    int err = array_reserve(&page->parts, &page->parts_cap, page->n_parts + 1, sizeof *page->parts);
    if (!err)
        page->parts[page->n_parts++] = (struct page_part){owner, page->text.len};
    return err;
}

void page_spare_release(_Atomic(struct rendered_page *) *spare)
{
    page_free(atomic_exchange(spare, NULL));
}

const void *page_bytes(const struct rendered_page *page, size_t *len)
{
    *len = page->text.len;
    return page->text.data ? page->text.data : "";
}

int page_file(struct rendered_page *page, int *fd)
{
    int err = 0;
    if (page->file < 0)
        err = sealed_file_new(page->text.data, page->text.len, &page->file);
    if (!err)
        *fd = page->file;
    return err;
}

struct rendered_page *page_ref(struct rendered_page *page)
{
    atomic_fetch_add(&page->refs, 1);
    return page;
}

void page_unref(struct rendered_page *page)
{
    if (!page || atomic_fetch_sub(&page->refs, 1) != 1)
        return;
    close_file(page);
    page_free(page->spare ? atomic_exchange(page->spare, page) : page);
}

int page_compress(struct libdeflate_compressor *compressor, const void *bytes, size_t len,
                  struct textbuf *out)
{
    size_t bound = libdeflate_gzip_compress_bound(compressor, len);
    int err = textbuf_reserve(out, bound);
    if (err)
        return err;
    size_t n = libdeflate_gzip_compress(compressor, bytes, len, out->data + out->len, bound);
    if (n == 0)
        return out->error = -EIO;
    out->len += n;
    return 0;
}
