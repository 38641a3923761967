/* Content negotiation, RFC 9110 section 12.5, as far as three formats and one coding need it. */
#include <string.h>
#include <strings.h>

#include "exporter/expose/expose.h"

struct slice {
    const char *at;
    size_t len;
};

static bool is(struct slice slice, const char *word)
{
    return slice.len == strlen(word) && strncasecmp(slice.at, word, slice.len) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static struct slice trim(struct slice slice)
{
    while (slice.len > 0 && is_space(slice.at[0])) {
        slice.at++;
        slice.len--;
    }
    while (slice.len > 0 && is_space(slice.at[slice.len - 1]))
        slice.len--;
    return slice;
}

/* Cuts *rest at the next separator outside of double quotes; false when nothing is left. */
static bool next_part(struct slice *rest, char separator, struct slice *part)
{
    if (!rest->at)
        return false;
    bool quoted = false;
    size_t i = 0;
    for (; i < rest->len; i++) {
        if (quoted && rest->at[i] == '\\' && i + 1 < rest->len)
            i++;
        else if (rest->at[i] == '"')
            quoted = !quoted;
        else if (rest->at[i] == separator && !quoted)
            break;
    }
    *part = trim((struct slice){rest->at, i});
    if (i < rest->len)
        *rest = (struct slice){rest->at + i + 1, rest->len - i - 1};
    else
        rest->at = NULL;
    return true;
}

static struct slice unquote(struct slice slice)
{
    if (slice.len >= 2 && slice.at[0] == '"' && slice.at[slice.len - 1] == '"')
        return (struct slice){slice.at + 1, slice.len - 2};
    return slice;
}

/* Thousandths; -1 for what is not a weight. */
static int parse_weight(struct slice text)
{
    static const int places[] = {100, 10, 1};
    if (text.len == 0 || text.len > 5 || (text.at[0] != '0' && text.at[0] != '1'))
        return -1;
    int weight = (text.at[0] - '0') * 1000;
    if (text.len > 1 && text.at[1] != '.')
        return -1;
    for (size_t i = 2; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return -1;
        weight += (text.at[i] - '0') * places[i - 2];
    }
    return weight > 1000 ? -1 : weight;
}

/* One element of a header: its first word, its weight, and the parameters that matter. */
struct element {
    struct slice word, version, proto, encoding;
    int weight; /* -1: malformed, to be ignored */
};

static bool next_element(struct slice *header, struct element *out)
{
    struct slice item, part;
    if (!next_part(header, ',', &item))
        return false;
    *out = (struct element){.weight = 1000};
    next_part(&item, ';', &out->word);
    while (next_part(&item, ';', &part)) {
        const char *equals = part.len ? memchr(part.at, '=', part.len) : NULL;
        if (!equals)
            continue;
        size_t at = (size_t)(equals - part.at);
        struct slice name = trim((struct slice){part.at, at});
        struct slice value = unquote(trim((struct slice){equals + 1, part.len - at - 1}));
        if (is(name, "q"))
            out->weight = parse_weight(value);
        else if (is(name, "version"))
            out->version = value;
        else if (is(name, "proto"))
            out->proto = value;
        else if (is(name, "encoding"))
            out->encoding = value;
    }
    return true;
}

#define PROTOBUF_TYPE "application/vnd.google.protobuf"
#define PROTOBUF_MESSAGE "io.prometheus.client.MetricFamily"

/* With a message and an encoding: only for who names both, never for a wildcard. */
static const struct offer {
    const char *type, *any_subtype, *version, *proto, *encoding;
    const char *content_type, *name;
} offers[EXPOSE_FORMATS] = {
    [EXPOSE_TEXT_004] = {.type = "text/plain",
                         .any_subtype = "text/*",
                         .version = "0.0.4",
                         .content_type = "text/plain; version=0.0.4; charset=utf-8",
                         .name = "text"},
    [EXPOSE_OPENMETRICS_100] = {.type = "application/openmetrics-text",
                                .any_subtype = "application/*",
                                .version = "1.0.0",
                                .content_type =
                                    "application/openmetrics-text; version=1.0.0; charset=utf-8",
                                .name = "openmetrics"},
    [EXPOSE_PROTOBUF] = {.type = PROTOBUF_TYPE,
                         .proto = PROTOBUF_MESSAGE,
                         .encoding = "delimited",
                         .content_type =
                             PROTOBUF_TYPE "; proto=" PROTOBUF_MESSAGE "; encoding=delimited",
                         .name = "protobuf"},
};

/* How closely an element names an offer: 0 not at all, 1 for any type ... 4 with its version, or
 * its message. */
static int closeness(const struct element *element, const struct offer *offer)
{
    if (offer->proto)
        return is(element->word, offer->type) && is(element->proto, offer->proto) &&
                       is(element->encoding, offer->encoding)
                   ? 4
                   : 0;
    if (is(element->word, "*/*"))
        return 1;
    if (is(element->word, offer->any_subtype))
        return 2;
    if (!is(element->word, offer->type))
        return 0;
    if (!element->version.at)
        return 3;
    return is(element->version, offer->version) ? 4 : 0;
}

/* What the closest element says of an offer. */
struct match {
    int closeness, weight;
    size_t position;
};

static bool better(const struct match *a, const struct match *b)
{
    if (a->weight != b->weight)
        return a->weight > b->weight;
    if (a->closeness != b->closeness)
        return a->closeness > b->closeness;
    return a->position < b->position;
}

enum expose_format expose_negotiate(const char *accept)
{
    struct match matches[EXPOSE_FORMATS] = {{0}};
    struct slice header = {accept, accept ? strlen(accept) : 0};
    struct element element;
    for (size_t position = 0; next_element(&header, &element); position++) {
        if (element.weight < 0)
            continue;
        for (size_t i = 0; i < EXPOSE_FORMATS; i++) {
            struct match found = {closeness(&element, &offers[i]), element.weight, position};
            if (found.closeness == 0)
                continue;
            if (found.closeness > matches[i].closeness ||
                (found.closeness == matches[i].closeness && found.weight > matches[i].weight))
                matches[i] = found;
        }
    }
    enum expose_format best = EXPOSE_TEXT_004;
    for (size_t i = 0; i < EXPOSE_FORMATS; i++)
        if (matches[i].weight > 0 && better(&matches[i], &matches[best]))
            best = (enum expose_format)i;
    return best;
}

bool expose_accepts_gzip(const char *accept_encoding)
{
    struct slice header = {accept_encoding, accept_encoding ? strlen(accept_encoding) : 0};
    struct element element;
    int gzip = -1, any = 0;
    while (next_element(&header, &element)) {
        if (element.weight < 0)
            continue;
        if (is(element.word, "gzip") || is(element.word, "x-gzip"))
            gzip = element.weight > gzip ? element.weight : gzip;
        else if (is(element.word, "*"))
            any = element.weight;
    }
    return gzip >= 0 ? gzip > 0 : any > 0;
}

const char *expose_content_type(enum expose_format format)
{
    return offers[format].content_type;
}

const char *expose_format_name(enum expose_format format)
{
    return offers[format].name;
}
