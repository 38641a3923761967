#include "exporter/state/state.h"

#include <errno.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

static const char magic[8] = "IESTATE\n";
enum { CHECKED_FROM = 16, ENTRY_LENGTH_BYTES = 4 };

/* The TSC's frequency is measured anew by each kernel, and told in rounded terms. */
static const double same_frequency = 1e-3;

struct entry {
    const char *owner, *key; /* not ended by NUL */
    size_t owner_len, key_len;
    const uint8_t *bytes;
    size_t len;
    uint64_t mono_ns;
    char *own; /* of a key that is not in the block */
    bool claimed;
};

struct state {
    uint8_t *bytes;
    struct entry *entries;
    size_t n, cap;
    uint64_t mono_ns;
};

uint32_t state_digest(uint32_t digest, const void *bytes, size_t len)
{
    return libdeflate_crc32(digest, bytes, len);
}

static uint32_t checksum(const uint8_t *bytes, size_t len)
{
    return libdeflate_crc32(0, bytes + CHECKED_FROM, len - CHECKED_FROM);
}

/* ---- the parts, read and written alike ---- */

static void walk_identity(struct state_fields *f, struct state_identity *identity,
                          uint64_t *mono_ns)
{
    state_bytes(f, identity->boot_id, sizeof identity->boot_id);
    state_bytes(f, identity->microarchitecture, sizeof identity->microarchitecture);
    state_double(f, &identity->base_frequency_hz, 0, 1e12);
    state_u32(f, &identity->cpus, UINT32_MAX);
    state_u32(f, &identity->sockets, UINT32_MAX);
    state_u32(f, &identity->numa_nodes, UINT32_MAX);
    state_u32(f, &identity->events, UINT32_MAX);
    state_u64(f, mono_ns, UINT64_MAX);
}

static void walk_header(struct state_fields *f, uint32_t *version, uint32_t *sum, uint64_t *len)
{
    char word[sizeof magic];
    memcpy(word, magic, sizeof word);
    state_bytes(f, word, sizeof word);
    state_check(f, memcmp(word, magic, sizeof word) == 0);
    state_u32(f, version, UINT32_MAX);
    state_u32(f, sum, UINT32_MAX);
    state_u64(f, len, UINT64_MAX);
}

/* ---- reading ---- */

static int refuse(char *why, size_t why_size, const char *words)
{
    snprintf(why, why_size, "%s", words);
    return -EINVAL;
}

static const char *check_header(const uint8_t *bytes, size_t len)
{
    struct state_fields f = {.from = bytes, .size = len};
    uint32_t version = 0, sum = 0;
    uint64_t rest = 0;
    if (len > STATE_MAX_BYTES)
        return "it is too large";
    if (len == 0)
        return "it is empty";
    walk_header(&f, &version, &sum, &rest);
    if (f.failed)
        return len < STATE_HEADER_BYTES ? "it is cut off" : "it is not a state file";
    if (version != STATE_VERSION)
        return "its format is that of another version of the exporter";
    if (rest > len - f.at)
        return "it is cut off";
    if (rest < len - f.at || sum != checksum(bytes, len))
        return "its checksum is wrong";
    return NULL;
}

static bool same_text(const char *a, const char *b, size_t size)
{
    return strncmp(a, b, size) == 0;
}

static const char *check_identity(const struct state_identity *then,
                                  const struct state_identity *here)
{
    if (!here->boot_id[0])
        return "this boot has no id to compare with";
    if (!same_text(then->boot_id, here->boot_id, sizeof then->boot_id))
        return "it is of another boot";
    if (!same_text(then->microarchitecture, here->microarchitecture,
                   sizeof then->microarchitecture))
        return "it is of another microarchitecture";
    if (!(fabs(then->base_frequency_hz - here->base_frequency_hz) <=
          same_frequency * here->base_frequency_hz))
        return "it is of another base frequency";
    if (then->cpus != here->cpus)
        return "it is of another number of CPUs";
    if (then->sockets != here->sockets || then->numa_nodes != here->numa_nodes)
        return "it is of another number of sockets or NUMA nodes";
    if (then->events != here->events)
        return "other events were counted";
    return NULL;
}

static const char *check_age(uint64_t mono_ns, uint64_t now_ns)
{
    if (mono_ns > now_ns)
        return "it is of the future";
    if (now_ns - mono_ns > STATE_MAX_AGE_NS)
        return "it is more than a day old";
    return NULL;
}

/* A text inside the block, after its length. */
static void take_text(struct state_fields *f, size_t len, const char **text)
{
    state_check(f, f->at <= f->size && len <= f->size - f->at);
    *text = f->failed ? "" : (const char *)f->from + f->at;
    f->at += f->failed ? 0 : len;
}

static bool parse_entry(struct state_fields *f, struct entry *entry)
{
    uint8_t owner_len = 0, key_len[2] = {0};
    uint32_t len = 0;
    state_u32(f, &len, UINT32_MAX);
    size_t from = f->at;
    state_u64(f, &entry->mono_ns, f->mono_ns);
    state_u8(f, &owner_len, STATE_MAX_OWNER);
    take_text(f, owner_len, &entry->owner);
    state_bytes(f, key_len, sizeof key_len);
    entry->owner_len = owner_len;
    entry->key_len = (size_t)(key_len[0] | key_len[1] << 8);
    take_text(f, entry->key_len, &entry->key);
    state_check(f, entry->key_len <= STATE_MAX_KEY && f->at - from <= len);
    if (f->failed || len > f->size - from)
        return false;
    entry->bytes = f->from + f->at;
    entry->len = len - (f->at - from);
    f->at = from + len;
    return true;
}

static int parse_entries(struct state *state, struct state_fields *f)
{
    while (f->at < f->size) {
        struct entry entry = {0};
        if (!parse_entry(f, &entry))
            return -EINVAL;
        if (array_reserve(&state->entries, &state->cap, state->n + 1, sizeof *state->entries))
            return -ENOMEM;
        state->entries[state->n++] = entry;
    }
    return 0;
}

static int compare_texts(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return memcmp(a, b, a_len);
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int by_owner = compare_texts(x->owner, x->owner_len, y->owner, y->owner_len);
    return by_owner ? by_owner : compare_texts(x->key, x->key_len, y->key, y->key_len);
}

static void sort(struct state *state)
{
    if (state->n > 0)
        qsort(state->entries, state->n, sizeof *state->entries, compare_entries);
}

int state_parse(uint8_t *bytes, size_t len, const struct state_identity *here, uint64_t now_ns,
                struct state **out, char *why, size_t why_size)
{
    struct state_identity then = {0};
    uint64_t mono_ns = 0;
    const char *words = check_header(bytes, len);
    if (words)
        return refuse(why, why_size, words);
    struct state_fields f = {.from = bytes, .size = len, .at = STATE_HEADER_BYTES};
    walk_identity(&f, &then, &mono_ns);
    f.mono_ns = mono_ns;
    words = f.failed ? "it is damaged" : check_identity(&then, here);
    if (!words)
        words = check_age(mono_ns, now_ns);
    if (words)
        return refuse(why, why_size, words);

    struct state *state = calloc(1, sizeof *state);
    int err = state ? parse_entries(state, &f) : -ENOMEM;
    if (err) {
        state_free(state);
        return err == -ENOMEM ? err : refuse(why, why_size, "it is damaged");
    }
    sort(state);
    state->bytes = bytes;
    state->mono_ns = mono_ns;
    *out = state;
    return 0;
}

int state_rename(struct state *state, char *(*other)(void *context, const char *key), void *context)
{
    for (size_t i = 0; i < state->n; i++) {
        struct entry *entry = &state->entries[i];
        char *key = strndup(entry->key, entry->key_len);
        if (!key)
            return -ENOMEM;
        entry->own = other(context, key);
        free(key);
        if (!entry->own)
            continue;
        entry->key = entry->own;
        entry->key_len = strlen(entry->own);
    }
    sort(state);
    return 0;
}

void state_forget(struct state *state)
{
    if (!state)
        return;
    for (size_t i = 0; i < state->n; i++)
        free(state->entries[i].own);
    free(state->bytes);
    free(state->entries);
    *state = (struct state){.mono_ns = state->mono_ns};
}

void state_free(struct state *state)
{
    state_forget(state);
    free(state);
}

size_t state_entries(const struct state *state)
{
    return state->n;
}

uint64_t state_mono_ns(const struct state *state)
{
    return state->mono_ns;
}

bool state_claim(struct state *state, const char *owner, const char *key,
                 struct state_fields *fields)
{
    const struct entry wanted = {
        .owner = owner, .owner_len = strlen(owner), .key = key, .key_len = strlen(key)};
    if (!state || state->n == 0)
        return false;
    struct entry *entry =
        bsearch(&wanted, state->entries, state->n, sizeof wanted, compare_entries);
    if (!entry || entry->claimed)
        return false;
    entry->claimed = true;
    *fields =
        (struct state_fields){.from = entry->bytes, .size = entry->len, .mono_ns = state->mono_ns};
    return true;
}

/* ---- writing ---- */

void state_write_begin(struct state_writer *writer, uint8_t *room, size_t size,
                       const struct state_identity *here, uint64_t now_ns)
{
    *writer = (struct state_writer){.fields = {.to = room, .size = size, .mono_ns = now_ns}};
    struct state_identity identity = *here;
    uint32_t version = STATE_VERSION, sum = 0;
    uint64_t len = 0;
    walk_header(&writer->fields, &version, &sum, &len);
    walk_identity(&writer->fields, &identity, &now_ns);
}

static void begin_entry(struct state_writer *writer, const char *owner, size_t owner_len,
                        const char *key, size_t key_len, uint64_t mono_ns)
{
    struct state_fields *f = &writer->fields;
    uint32_t len = 0;
    uint8_t short_len = (uint8_t)owner_len;
    uint8_t long_len[2] = {(uint8_t)key_len, (uint8_t)(key_len >> 8)};
    writer->entry = f->at;
    state_u32(f, &len, 0);
    state_u64(f, &mono_ns, 0);
    state_u8(f, &short_len, 0);
    state_bytes(f, (void *)owner, owner_len);
    state_bytes(f, long_len, sizeof long_len);
    state_bytes(f, (void *)key, key_len);
}

void state_entry_begin(struct state_writer *writer, const char *owner, const char *key)
{
    begin_entry(writer, owner, strnlen(owner, STATE_MAX_OWNER), key, strnlen(key, STATE_MAX_KEY),
                writer->fields.mono_ns);
}

/* Puts in the length, now that it is known. */
void state_entry_end(struct state_writer *writer)
{
    struct state_fields *f = &writer->fields;
    size_t end = f->at;
    uint32_t len = (uint32_t)(end - writer->entry - ENTRY_LENGTH_BYTES);
    f->at = writer->entry;
    state_u32(f, &len, 0);
    f->at = end;
}

void state_carry(struct state_writer *writer, const struct state *state)
{
    for (size_t i = 0; state && i < state->n; i++) {
        const struct entry *entry = &state->entries[i];
        if (entry->claimed || writer->fields.mono_ns - entry->mono_ns > STATE_UNCLAIMED_NS)
            continue;
        begin_entry(writer, entry->owner, entry->owner_len, entry->key, entry->key_len,
                    entry->mono_ns);
        state_bytes(&writer->fields, (void *)entry->bytes, entry->len);
        state_entry_end(writer);
    }
}

size_t state_write_end(struct state_writer *writer)
{
    return writer->fields.at;
}

void state_seal(uint8_t *bytes, size_t len)
{
    uint32_t version = STATE_VERSION, sum = 0;
    uint64_t rest = len - STATE_HEADER_BYTES;
    struct state_fields f = {.to = bytes, .size = len};
    walk_header(&f, &version, &sum, &rest);
    sum = checksum(bytes, len);
    f.at = 0;
    walk_header(&f, &version, &sum, &rest);
}
