#include "exporter/store/labels.h"

#include <errno.h>
#include <string.h>

static bool valid_name(const char *name)
{
    if (!name || !*name || (*name >= '0' && *name <= '9') || strncmp(name, "__", 2) == 0)
        return false;
    if (strcmp(name, "le") == 0 || strcmp(name, "quantile") == 0)
        return false;
    for (; *name; name++)
        if (!((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
              (*name >= '0' && *name <= '9') || *name == '_'))
            return false;
    return true;
}

int labels_render(const struct label *labels, size_t n, struct textbuf *out)
{
    for (size_t i = 0; i < n; i++) {
        if (!valid_name(labels[i].name))
            return -EINVAL;
        for (size_t j = 0; j < i; j++)
            if (strcmp(labels[i].name, labels[j].name) == 0)
                return -EINVAL;
        if (i > 0)
            textbuf_char(out, ',');
        textbuf_str(out, labels[i].name);
        textbuf_str(out, "=\"");
        textbuf_label_value(out, labels[i].value ? labels[i].value : "");
        textbuf_char(out, '"');
    }
    return textbuf_finish(out);
}

bool labels_next(const char **at, const char *end, struct label_slice *out)
{
    const char *p = *at;
    if (p < end && *p == ',')
        p++;
    if (p >= end)
        return false;
    out->name = p;
    while (*p != '=')
        p++;
    out->name_len = (size_t)(p - out->name);
    p += 2;
    out->value = p;
    while (*p != '"')
        p += *p == '\\' ? 2 : 1;
    out->value_len = (size_t)(p - out->value);
    *at = p + 1;
    return true;
}

void labels_unescape(const char *value, size_t len, struct textbuf *out)
{
    for (const char *p = value, *end = value + len; p < end; p++) {
        if (*p == '\\' && ++p < end && *p == 'n')
            textbuf_char(out, '\n');
        else
            textbuf_char(out, *p);
    }
}

uint64_t labels_mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product =
        (unsigned __int128)(a ^ UINT64_C(0x9e3779b97f4a7c15)) * (b ^ UINT64_C(0xd1b54a32d192ed03));
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_bytes(const char *bytes, size_t n, uint64_t seed)
{
    uint64_t hash = labels_mix(seed, n), word;
    for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
        memcpy(&word, bytes, sizeof word);
        hash = labels_mix(hash, word);
    }
    word = 0;
    memcpy(&word, bytes, n);
    return labels_mix(hash, word);
}

uint64_t labels_hash(const char *text, size_t len, uint64_t seed)
{
    uint64_t sum = 0;
    struct label_slice label;
    for (const char *at = text; labels_next(&at, text + len, &label);)
        if (label.value_len > 0)
            sum += hash_bytes(label.value, label.value_len,
                              hash_bytes(label.name, label.name_len, seed));
    return sum;
}

static bool same_name(const struct label_slice *a, const struct label_slice *b)
{
    return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

/* The value of a label, "" when absent. */
static void find(const struct label_text *labels, struct label_slice *label)
{
    struct label_slice other;
    for (int part = 0; part < 2; part++) {
        const char *at = labels->text[part], *end = at + labels->len[part];
        while (labels_next(&at, end, &other)) {
            if (same_name(label, &other)) {
                *label = other;
                return;
            }
        }
    }
    label->value_len = 0;
}

static bool covers(const struct label_text *a, const struct label_text *b)
{
    struct label_slice label, other;
    for (int part = 0; part < 2; part++) {
        const char *at = b->text[part], *end = at + b->len[part];
        while (labels_next(&at, end, &label)) {
            other = label;
            find(a, &other);
            if (other.value_len != label.value_len ||
                memcmp(other.value, label.value, label.value_len) != 0)
                return false;
        }
    }
    return true;
}

bool labels_equal(const struct label_text *a, const struct label_text *b)
{
    return covers(a, b) && covers(b, a);
}

bool labels_clash(const struct label_text *labels)
{
    struct label_slice a, b;
    const char *first = labels->text[0];
    while (labels_next(&first, labels->text[0] + labels->len[0], &a)) {
        const char *second = labels->text[1];
        while (labels_next(&second, labels->text[1] + labels->len[1], &b))
            if (same_name(&a, &b))
                return true;
    }
    return false;
}
