#include "exporter/containers/pseudonyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/hash.h"
#include "exporter/base/hash_table.h"

struct known {
    const char *kind;
    char pseudonym[80];
    char name[];
};

struct pseudonyms {
    struct hash_table names;
    unsigned long numbers; /* given so far, of all kinds: a number is nobody else's */
};

int pseudonyms_new(struct pseudonyms **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? 0 : -ENOMEM;
}

void pseudonyms_free(struct pseudonyms *pseudonyms)
{
    if (!pseudonyms)
        return;
    for (size_t i = 0; i < pseudonyms->names.cap; i++)
        free(pseudonyms->names.slots[i].value);
    hash_table_release(&pseudonyms->names);
    free(pseudonyms);
}

static uint64_t hash_of(const char *kind, const char *name)
{
    uint64_t hash = hash_bytes(HASH_START, kind, strlen(kind));
    hash = hash_bytes(hash, name, strlen(name));
    return hash ^ hash >> 32;
}

static struct known *find(const struct pseudonyms *pseudonyms, const char *kind, const char *name)
{
    struct known *known;
    size_t at = 0;
    do
        known = hash_table_next(&pseudonyms->names, hash_of(kind, name), &at);
    while (known && (strcmp(known->kind, kind) != 0 || strcmp(known->name, name) != 0));
    return known;
}

/* NULL: out of memory. Its pseudonym is not said yet when it is new. */
static struct known *take(struct pseudonyms *pseudonyms, const char *kind, const char *name)
{
    struct known *known = find(pseudonyms, kind, name);
    if (known || hash_table_reserve(&pseudonyms->names, pseudonyms->names.n + 1))
        return known;
    known = calloc(1, sizeof *known + strlen(name) + 1);
    if (!known)
        return NULL;
    known->kind = kind;
    strcpy(known->name, name);
    hash_table_insert(&pseudonyms->names, hash_of(kind, name), known);
    pseudonyms->numbers++;
    return known;
}

const char *pseudonym_of(struct pseudonyms *pseudonyms, const char *kind, const char *name)
{
    struct known *known = *name ? take(pseudonyms, kind, name) : NULL;
    if (known && !known->pseudonym[0])
        snprintf(known->pseudonym, sizeof known->pseudonym, "%s-%lu", kind, pseudonyms->numbers);
    return !*name ? "" : known ? known->pseudonym : NULL;
}

const char *pseudonym_of_id(struct pseudonyms *pseudonyms, const char *id)
{
    struct known *known = *id ? take(pseudonyms, "id", id) : NULL;
    if (known && !known->pseudonym[0])
        snprintf(known->pseudonym, sizeof known->pseudonym, "%012lx%052d", pseudonyms->numbers, 0);
    return !*id ? "" : known ? known->pseudonym : NULL;
}
