#include "exporter/http/web_config/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/textbuf.h"

static int fail_at(struct web_yaml *yaml, size_t line, const char *format, va_list args)
{
    struct textbuf text;
    char words[512];
    vsnprintf(words, sizeof words, format, args);
    textbuf_init_fixed(&text, yaml->error, yaml->error_size);
    textbuf_printf(&text, "line %zu: ", line);
    textbuf_str(&text, words);
    if (textbuf_finish(&text))
        snprintf(yaml->error, yaml->error_size, "line %zu", line);
    return -EINVAL;
}

int web_yaml_fail(struct web_yaml *yaml, const yaml_node_t *node, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int err = fail_at(yaml, node->start_mark.line + 1, format, args);
    va_end(args);
    return err;
}

const char *web_yaml_quote(const char *text, char out[WEB_QUOTED_SIZE])
{
    char start[40]; /* a byte becomes at most six */
    struct textbuf buf;
    snprintf(start, sizeof start, "%s", text);
    textbuf_init_fixed(&buf, out, WEB_QUOTED_SIZE);
    textbuf_quoted(&buf, start);
    return out;
}

const yaml_node_t *web_yaml_node(struct web_yaml *yaml, int id)
{
    return yaml_document_get_node(yaml->document, id);
}

static bool is_one_of(const yaml_node_t *node, const char *const *words)
{
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    for (; *words; words++)
        if (strcmp((const char *)node->data.scalar.value, *words) == 0)
            return true;
    return false;
}

static bool is_null(const yaml_node_t *node)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL", NULL};
    return is_one_of(node, words);
}

int web_yaml_text(struct web_yaml *yaml, const yaml_node_t *node, const char **out)
{
    if (node->type != YAML_SCALAR_NODE)
        return web_yaml_fail(yaml, node, "a list or a mapping stands where a text belongs");
    const char *text = (const char *)node->data.scalar.value;
    if (strlen(text) != node->data.scalar.length)
        return web_yaml_fail(yaml, node, "a text contains a NUL");
    *out = is_null(node) ? "" : text;
    return 0;
}

int web_yaml_string(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    const char *text;
    int err = web_yaml_text(yaml, node, &text);
    if (err || !*text)
        return err;
    char *copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    *(char **)member = copy;
    return 0;
}

int web_yaml_bool(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    static const char *const yes[] = {"true", "True", "TRUE", "yes", "Yes", "YES",
                                      "on",   "On",   "ON",   "y",   "Y",   NULL};
    static const char *const no[] = {"false", "False", "FALSE", "no", "No", "NO",
                                     "off",   "Off",   "OFF",   "n",  "N",  NULL};
    if (!is_one_of(node, yes) && !is_one_of(node, no))
        return web_yaml_fail(yaml, node, "neither true nor false");
    *(bool *)member = is_one_of(node, yes);
    return 0;
}

int web_yaml_count(struct web_yaml *yaml, const yaml_node_t *node, void *member)
{
    const char *text;
    int err = web_yaml_text(yaml, node, &text);
    if (err)
        return err;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits] || digits > 9)
        return web_yaml_fail(yaml, node, "not a whole number of at most nine digits");
    *(uint64_t *)member = strtoull(text, NULL, 10);
    return 0;
}

static int take_field(struct web_yaml *yaml, const yaml_node_pair_t *pair,
                      const struct web_yaml_field *fields, size_t n, void *base, uint32_t *seen)
{
    const yaml_node_t *key = web_yaml_node(yaml, pair->key);
    const yaml_node_t *value = web_yaml_node(yaml, pair->value);
    char quoted[WEB_QUOTED_SIZE];
    const char *name;
    size_t i = 0;
    int err = web_yaml_text(yaml, key, &name);
    if (err)
        return err;
    while (i < n && strcmp(fields[i].name, name) != 0)
        i++;
    if (i == n)
        return web_yaml_fail(yaml, key, "unknown key %s", web_yaml_quote(name, quoted));
    if (*seen & (UINT32_C(1) << i))
        return web_yaml_fail(yaml, key, "%s is there twice", name);
    *seen |= UINT32_C(1) << i;
    if (is_null(value))
        return 0;
    return fields[i].take(yaml, value, (char *)base + fields[i].offset);
}

int web_yaml_struct(struct web_yaml *yaml, const yaml_node_t *node,
                    const struct web_yaml_field *fields, size_t n, void *base)
{
    uint32_t seen = 0;
    int err = 0;
    if (node->type != YAML_MAPPING_NODE)
        return web_yaml_fail(yaml, node, "a mapping of names to values belongs here");
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top && !err; pair++)
        err = take_field(yaml, pair, fields, n, base, &seen);
    return err;
}

/* What libyaml could not read; it quotes no outside text. */
static int fail_to_parse(const yaml_parser_t *parser, char *error, size_t error_size)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return -ENOMEM;
    if (parser->error == YAML_READER_ERROR)
        snprintf(error, error_size, "byte %zu: %s", parser->problem_offset, parser->problem);
    else
        snprintf(error, error_size, "line %zu: %s", parser->problem_mark.line + 1,
                 parser->problem ? parser->problem : "not YAML");
    return -EINVAL;
}

static int read_document(yaml_parser_t *parser, web_yaml_take *take_root, void *out, char *error,
                         size_t error_size)
{
    yaml_document_t document, next;
    if (!yaml_parser_load(parser, &document))
        return fail_to_parse(parser, error, error_size);
    struct web_yaml yaml = {&document, error, error_size};
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    int err = 0;
    if (root && !yaml_parser_load(parser, &next))
        err = fail_to_parse(parser, error, error_size);
    else if (root) {
        const yaml_node_t *second = yaml_document_get_root_node(&next);
        if (second)
            err = web_yaml_fail(&yaml, second, "a second document");
        yaml_document_delete(&next);
    }
    if (root && !err && !is_null(root))
        err = take_root(&yaml, root, out);
    yaml_document_delete(&document);
    return err;
}

int web_yaml_read(const char *text, size_t len, web_yaml_take *take_root, void *out, char *error,
                  size_t error_size)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        snprintf(error, error_size, "out of memory");
        return -ENOMEM;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    int err = read_document(&parser, take_root, out, error, error_size);
    yaml_parser_delete(&parser);
    if (err == -ENOMEM)
        snprintf(error, error_size, "out of memory");
    return err;
}
