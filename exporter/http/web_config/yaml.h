/*
 * Reading YAML into structs by tables of fields, strictly: a key that is in no table is an error,
 * and so is one that comes twice. A null leaves a member as it is. For the files of this folder.
 */
#ifndef IE_HTTP_WEB_CONFIG_YAML_H
#define IE_HTTP_WEB_CONFIG_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yaml.h>

struct web_yaml {
    yaml_document_t *document;
    char *error;
    size_t error_size;
};

/* Sets the member from a node that is not null; 0 or what web_yaml_fail() returned. */
typedef int web_yaml_take(struct web_yaml *yaml, const yaml_node_t *node, void *member);

struct web_yaml_field {
    const char *name;
    web_yaml_take *take;
    size_t offset; /* of the member in what web_yaml_struct() fills */
};

/* "line N: ..." into the error; -EINVAL. */
int web_yaml_fail(struct web_yaml *yaml, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Outside text for a message: quoted, cut. Returns out. */
enum { WEB_QUOTED_SIZE = 288 };
const char *web_yaml_quote(const char *text, char out[WEB_QUOTED_SIZE]);

const yaml_node_t *web_yaml_node(struct web_yaml *yaml, int id);
/* A mapping of at most 32 fields. */
int web_yaml_struct(struct web_yaml *yaml, const yaml_node_t *node,
                    const struct web_yaml_field *fields, size_t n, void *base);
/* The text of a scalar, which stays the document's; NULL is "". */
int web_yaml_text(struct web_yaml *yaml, const yaml_node_t *node, const char **out);

/* Members: char * (NULL for an empty text), bool, uint64_t. */
int web_yaml_string(struct web_yaml *yaml, const yaml_node_t *node, void *member);
int web_yaml_bool(struct web_yaml *yaml, const yaml_node_t *node, void *member);
int web_yaml_count(struct web_yaml *yaml, const yaml_node_t *node, void *member);

/* Calls take_root with the root of the one document; not at all for an empty one. */
int web_yaml_read(const char *text, size_t len, web_yaml_take *take_root, void *out, char *error,
                  size_t error_size);

#endif
