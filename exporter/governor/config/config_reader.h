/*
 * Reading a configuration's JSON: values within bounds, and the first error in words.
 *
 * Each function leaves *out alone where the key is absent. 'where' is the object's place in the
 * document, for the words.
 */
#ifndef IE_GOVERNOR_CONFIG_READER_H
#define IE_GOVERNOR_CONFIG_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "exporter/governor/config/config.h"

/* Reading in progress: the first error stays. */
struct config_reader {
    struct config *config;
    char *error;
    size_t error_size;
    int err;
};

void config_fail(struct config_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An object with no other keys than these, ended by NULL. */
void config_check_object(struct config_reader *reader, json_t *object, const char *where,
                         const char *const *keys);
void config_read_bool(struct config_reader *reader, const json_t *object, const char *where,
                      const char *key, bool *out);
void config_read_number(struct config_reader *reader, const json_t *object, const char *where,
                        const char *key, double min, double max, double *out);
void config_read_count(struct config_reader *reader, const json_t *object, const char *where,
                       const char *key, unsigned min, unsigned max, unsigned *out);
void config_read_duration(struct config_reader *reader, const json_t *object, const char *where,
                          const char *key, double min, double max, double *out_seconds);
/* Whether it is there. */
bool config_read_text(struct config_reader *reader, const json_t *object, const char *where,
                      const char *key, char *out, size_t size);
/* The index of the word, of those ended by NULL. */
int config_read_word(struct config_reader *reader, const json_t *object, const char *where,
                     const char *key, const char *const *words, int fallback);

/* The member "policies" of the document; classes and limits have been read. */
void config_read_policies(struct config_reader *reader, json_t *root);

#endif
