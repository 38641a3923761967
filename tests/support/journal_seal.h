/* Lines of the governor's journal with a right checksum, whatever they say. */
#ifndef IE_TESTS_JOURNAL_SEAL_H
#define IE_TESTS_JOURNAL_SEAL_H

#include <inttypes.h>
#include <libdeflate.h>

#include "exporter/base/textbuf.h"

static inline void journal_seal(struct textbuf *out, const char *json, size_t len)
{
    textbuf_printf(out, "%08" PRIx32 " ", libdeflate_crc32(0, json, len));
    textbuf_add(out, json, len);
    textbuf_char(out, '\n');
}

#endif
