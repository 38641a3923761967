#include "exporter/source/recording/file/packed.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

/* RFC 1952: magic, deflate, FEXTRA; no time, no level, no system; then the field "IE", 4 bytes. */
static const uint8_t begin[PACKED_HEADER_BYTES - 4] = {0x1f, 0x8b, 8, 4, 0,   0,   0, 0,
                                                       0,    255,  8, 0, 'I', 'E', 4, 0};

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get_u32(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

void packed_add(struct textbuf *out, struct libdeflate_compressor *compressor, const char *text,
                size_t len)
{
    size_t room = libdeflate_deflate_compress_bound(compressor, len);
    if (textbuf_reserve(out, PACKED_HEADER_BYTES + room + PACKED_TRAILER_BYTES))
        return;
    uint8_t *piece = (uint8_t *)out->data + out->len, *body = piece + PACKED_HEADER_BYTES;
    size_t n = libdeflate_deflate_compress(compressor, text, len, body, room);
    size_t all = PACKED_HEADER_BYTES + n + PACKED_TRAILER_BYTES;
    memcpy(piece, begin, sizeof begin);
    put_u32(piece + sizeof begin, (uint32_t)all);
    put_u32(body + n, libdeflate_crc32(0, text, len));
    put_u32(body + n + 4, (uint32_t)len);
    out->len += all;
}

int64_t packed_len(const uint8_t *header)
{
    uint32_t len = get_u32(header + sizeof begin);
    if (memcmp(header, begin, sizeof begin) != 0 || len <= PACKED_HEADER_BYTES ||
        len > PACKED_MAX_BYTES)
        return -EBADMSG;
    return len;
}

int64_t packed_text_len(const uint8_t *piece, size_t len)
{
    if (len <= PACKED_HEADER_BYTES + PACKED_TRAILER_BYTES)
        return -EBADMSG;
    uint32_t text_len = get_u32(piece + len - 4);
    return text_len > PACKED_MAX_BYTES ? -EBADMSG : (int64_t)text_len;
}

int packed_read(struct libdeflate_decompressor *decompressor, const uint8_t *piece, size_t len,
                char *text, size_t text_len)
{
    size_t body = len - PACKED_HEADER_BYTES - PACKED_TRAILER_BYTES;
    if (libdeflate_deflate_decompress(decompressor, piece + PACKED_HEADER_BYTES, body, text,
                                      text_len, NULL) != LIBDEFLATE_SUCCESS)
        return -EBADMSG;
    return libdeflate_crc32(0, text, text_len) == get_u32(piece + len - PACKED_TRAILER_BYTES)
               ? 0
               : -EBADMSG;
}
