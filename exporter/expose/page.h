/*
 * Pages: bytes with counted references. For the files of this folder.
 *
 * The buffers of large pages are recycled: when the last reader lets go of a page, it returns to
 * the nest it came from, unless another one lies there already. Any thread.
 */
#ifndef IE_EXPOSE_PAGE_H
#define IE_EXPOSE_PAGE_H

#include <stdatomic.h>

#include <libdeflate.h>

#include "exporter/expose/expose.h"

struct page {
    atomic_uint refs;
    uint64_t number; /* of the snapshot it shows */
    struct textbuf text;
    _Atomic(struct page *) *nest; /* NULL: freed at the end */
};

/* An empty page with one reference, recycled from the nest if there is one. */
int page_new(_Atomic(struct page *) *nest, struct page **out);
/* Frees what lies in a nest. */
void page_nest_release(_Atomic(struct page *) *nest);

/* Appends the gzip form of bytes. */
int page_compress(struct libdeflate_compressor *compressor, const void *bytes, size_t len,
                  struct textbuf *out);

#endif
