/* A line of a recording as text: what recording_parse_line() reads. */
#ifndef IE_SOURCE_RECORDING_LINE_TEXT_H
#define IE_SOURCE_RECORDING_LINE_TEXT_H

#include "exporter/base/textbuf.h"
#include "exporter/source/recording/format.h"

/* Appends the line with its newline; nothing where the format has no place for what it says (a
 * count of 2^63 and more, a latency that is none). The error is the buffer's. Pure. */
void recording_line_text(const struct recording_line *line, struct textbuf *out);

#endif
