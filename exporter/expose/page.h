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

struct rendered_page {
    atomic_uint refs;
    uint64_t number; /* of the snapshot it shows */
    struct textbuf text;
    _Atomic(struct rendered_page *) *spare; /* NULL: freed at the end */
};

/* An empty page with one reference: the spare, if there is one. */
int page_new(_Atomic(struct rendered_page *) *spare, struct rendered_page **out);
/* Frees the spare. */
void page_spare_release(_Atomic(struct rendered_page *) *spare);

/* Appends the gzip form of bytes. */
int page_compress(struct libdeflate_compressor *compressor, const void *bytes, size_t len,
                  struct textbuf *out);

#endif
