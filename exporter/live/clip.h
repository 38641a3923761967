/* Text into a fixed place. */
#ifndef IE_LIVE_CLIP_H
#define IE_LIVE_CLIP_H

#include <stddef.h>

/* As much of the text as fits, with its NUL, never cut inside a character of UTF-8. */
void clip_text(char *to, size_t size, const char *text);

#endif
