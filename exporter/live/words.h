/* Pieces of sentences. Pure. */
#ifndef IE_LIVE_WORDS_H
#define IE_LIVE_WORDS_H

#include "exporter/base/textbuf.h"
#include "exporter/live/live.h"

/* "namespace/pod/container", as far as there are such. */
void live_name(struct textbuf *out, const struct live_container *container);
/* "35 s", "4 min", "2 h", "3 d"; rounded down. */
void live_duration(struct textbuf *out, double seconds);

#endif
