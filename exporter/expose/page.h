/*
 * Pages: bytes with counted references. For the files of this folder.
 *
 * The buffers of large pages are recycled: each kind of page has a place for one spare, which
 * page_new() takes and the last page_unref() fills unless one is there already. Any thread.
 */
#ifndef IE_EXPOSE_PAGE_H
#define IE_EXPOSE_PAGE_H

#include <stdatomic.h>

#include <libdeflate.h>

#include "exporter/expose/expose.h"

/* Bytes of a whole page from where the part before ends. */
struct page_part {
    const char *owner; /* the collector's name, NULL: always served */
    size_t end;
};

struct rendered_page {
    atomic_uint refs;
    uint64_t number; /* of the state it shows */
    struct textbuf text;
    struct page_part *parts; /* of a whole page */
    size_t n_parts, parts_cap;
    int file;                               /* the same bytes; -1: not asked for yet */
    _Atomic(struct rendered_page *) *spare; /* NULL: freed at the end */
};

/* An empty page with one reference: the spare, if there is one. */
int page_new(_Atomic(struct rendered_page *) *spare, struct rendered_page **out);
/* Notes that the bytes since the part before are the owner's. */
int page_add_part(struct rendered_page *page, const char *owner);
/* Frees the spare. */
void page_spare_release(_Atomic(struct rendered_page *) *spare);

/* Everything, with its parts. */
int page_render(struct rendered_page *page, const struct snapshot *snapshot,
                enum expose_format format, bool created);

/* Appends the gzip form of bytes. */
int page_compress(struct libdeflate_compressor *compressor, const void *bytes, size_t len,
                  struct textbuf *out);

#endif
