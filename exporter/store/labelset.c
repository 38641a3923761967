#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/store/internal.h"

/* Copies a name or value into *at; the values repaired, so that JSON shows what the text shows. */
static const char *keep(char **at, const char *bytes, size_t len)
{
    char *copy = *at;
    memcpy(copy, bytes, len);
    copy[len] = '\0';
    *at += len + 1;
    return copy;
}

static void fill_labels(struct labelset *set, char *at)
{
    struct label_slice label;
    const char *text = set->text;
    for (size_t i = 0; labels_next(&text, set->text + set->len, &label); i++) {
        set->labels[i].name = keep(&at, label.name, label.name_len);
        char *value = at, *to = at;
        for (const char *p = label.value; p < label.value + label.value_len; p++)
            *to++ = *p != '\\' ? *p : *++p == 'n' ? '\n' : *p;
        *to = '\0';
        at = to + 1;
        set->labels[i].value = value;
    }
}

int labelset_new(const struct label *labels, size_t n, struct labelset **out)
{
    struct textbuf text = TEXTBUF_INIT;
    int err = labels_render(labels, n, &text);
    if (err)
        goto done;
    /* One block: the labels, the text, and the names and values, which are no longer than it. */
    struct labelset *set = calloc(1, sizeof *set + n * sizeof *set->labels + 2 * (text.len + 1));
    if (!set) {
        err = -ENOMEM;
        goto done;
    }
    set->refs = 1;
    set->n = n;
    set->labels = (struct label *)(void *)set->bytes;
    char *at = set->bytes + n * sizeof *set->labels;
    set->len = text.len;
    set->text = keep(&at, text.data ? text.data : "", text.len);
    fill_labels(set, at);
    *out = set;
done:
    textbuf_release(&text);
    return err;
}

struct labelset *labelset_ref(struct labelset *set)
{
    set->refs++;
    return set;
}

void labelset_unref(struct labelset *set)
{
    if (set && --set->refs == 0)
        free(set);
}

size_t labelset_shown(const struct labelset *set)
{
    return set->shown;
}

const char *labelset_text(const struct labelset *set, size_t *len)
{
    *len = set->len;
    return set->text;
}

const struct label *labelset_labels(const struct labelset *set, size_t *n)
{
    *n = set->n;
    return set->labels;
}
