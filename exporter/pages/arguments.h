/* A query's arguments, which anybody may have written. */
#ifndef IE_PAGES_ARGUMENTS_H
#define IE_PAGES_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/http/http.h"

/* Decimal digits only, at most 'max'. Pure. */
bool argument_number(const char *text, size_t max, size_t *out);

/* The value of an argument that is given once; NULL: not given, or more than once. */
const char *argument_text(const struct http_request *request, const char *name);
/* Given, with any value but "0" and "false". */
bool argument_switch(const struct http_request *request, const char *name);

#endif
