/*
 * Parsing in progress, for the files of this folder: parse.c takes arguments apart, values.c
 * understands what follows a flag.
 */
#ifndef IE_OPTIONS_INTERNAL_H
#define IE_OPTIONS_INTERNAL_H

#include "exporter/options/options.h"

struct parse {
    struct options options;
    bool listen_given; /* the default address is to be forgotten */
    char *error;
    size_t error_size;
};

/* Both return -EINVAL, with the message in 'error'. */
int parse_fail(struct parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));
int parse_refuse(struct parse *parse, const struct option_flag *flag, const char *text,
                 const char *what);

/* Sets the member that belongs to a flag which takes a value; 'base' is the struct that it is in:
 * the options, or the config of the flag's collector. 0 or -EINVAL. */
int parse_value(struct parse *parse, const struct option_flag *flag, const char *text, void *base);

#endif
