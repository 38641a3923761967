/* Pieces of sentences. Pure. */
#ifndef IE_LIVE_WORDS_H
#define IE_LIVE_WORDS_H

#include <stddef.h>

#include "exporter/base/textbuf.h"
#include "exporter/live/live.h"

/* "namespace/pod/container", as far as there are such. */
void live_name(struct textbuf *out, const struct live_container *container);
/* "35 s", "4 min", "2 h", "3 d"; rounded down. */
void live_duration(struct textbuf *out, double seconds);

/* A probability: "9 to 1", or "1 to 3" below one half; never beyond 99 to 1. Nothing where it is
 * none. */
void odds_say(struct textbuf *out, double probability);

/* "4 times an hour", "once an hour", "6 times a day"; nothing below once a day. False: nothing. */
bool odds_say_rate(struct textbuf *out, double per_hour);

/* As much of the text as fits, with its NUL, never cut inside a character of UTF-8. */
void clip_text(char *to, size_t size, const char *text);

#endif
