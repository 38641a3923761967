/* Words for flags: quoting, ranges, choices, suggestions. Pure; for the files of this folder. */
#ifndef IE_OPTIONS_TEXT_H
#define IE_OPTIONS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/options/table.h"

enum { QUOTED_SIZE = 512, FLAG_NAME_MAX = 96 };

/* Outside text for a message: quoted, on one line, cut when long. Returns 'out'. */
const char *text_quote(const char *text, char out[QUOTED_SIZE]);

/* "100ms and 1h", in the words that the flag's values have. */
void flag_range(const struct option_flag *flag, char *out, size_t size);
/* The choices, with a separator between them. */
void flag_words(const struct option_flag *flag, const char *separator, char *out, size_t size);

/* The name (without dashes) of the flag that was probably meant by an unknown argument. */
bool flag_suggest(const char *argument, size_t len, char out[FLAG_NAME_MAX]);

/* Calls 'each' with the name of every flag and every --no- form, without dashes. */
void flag_each_spelling(void (*each)(void *context, const char *name), void *context);

#endif
