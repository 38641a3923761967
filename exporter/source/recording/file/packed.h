/*
 * Compressed text in pieces, each a gzip member of its own that says how long it is.
 *
 * Any gzip reads the file. Because of the length, in a field of the member's header as gzip has
 * for others to use (FEXTRA, "IE"), a reader takes one piece at a time and sees where a file ends
 * whose writer did not come further: what was written before is whole.
 */
#ifndef IE_SOURCE_RECORDING_FILE_PACKED_H
#define IE_SOURCE_RECORDING_FILE_PACKED_H

#include <stddef.h>
#include <stdint.h>

#include "exporter/base/textbuf.h"

/* Of text in a piece: more is refused, whoever wrote it. */
enum { PACKED_MAX_BYTES = 64 << 20 };
enum { PACKED_HEADER_BYTES = 20, PACKED_TRAILER_BYTES = 8 };

struct libdeflate_compressor;
struct libdeflate_decompressor;

/* Appends the piece, of at most PACKED_MAX_BYTES; the error is the buffer's. Pure. */
void packed_add(struct textbuf *out, struct libdeflate_compressor *compressor, const char *text,
                size_t len);

/* The length of the piece that begins with these PACKED_HEADER_BYTES, header and trailer included;
 * -EBADMSG: it is none of ours. Pure. */
int64_t packed_len(const uint8_t *header);
/* The length of its text; -EBADMSG: too much, or less than a piece has. Pure. */
int64_t packed_text_len(const uint8_t *piece, size_t len);
/* 'text' has room for packed_text_len() bytes. 0 or -EBADMSG. Pure. */
int packed_read(struct libdeflate_decompressor *decompressor, const uint8_t *piece, size_t len,
                char *text, size_t text_len);

#endif
