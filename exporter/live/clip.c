#include "exporter/live/clip.h"

#include <string.h>

void clip_text(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);
    if (len >= size)
        for (len = size - 1; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    memcpy(to, text, len);
    to[len] = '\0';
}
