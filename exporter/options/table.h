/*
 * All flags, for parsing, --help and the tests: the one table of the exporter's own, and those that
 * collectors bring (collector_ops.options). The flags that switch collectors on and off are in
 * neither: they are made from collector_table.
 */
#ifndef IE_OPTIONS_TABLE_H
#define IE_OPTIONS_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/contract/collector.h"

extern const struct option_flag flag_table[];
extern const size_t flag_count;

/* In front of it --help has the collectors' switches, behind it their options. */
#define FLAG_OF_ALL_COLLECTORS "collector.disable-defaults"

enum { FLAG_OWN = -1 };

/* All flags in the order of --help. All zero before the first. */
struct flag_walk {
    int collector; /* of the flag returned last: index in collector_table; or FLAG_OWN */
    size_t own, next_collector, next_option;
};

/* NULL: there are no more. */
const struct option_flag *flag_next(struct flag_walk *walk);

/* Words for flags: quoting, ranges, choices, suggestions. Pure; for the files of this folder. */

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
