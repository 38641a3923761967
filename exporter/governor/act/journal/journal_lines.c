#include "exporter/governor/act/journal/journal_lines.h"

#include <errno.h>
#include <jansson.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/array.h"

enum { CRC_DIGITS = 8 };

/* ---- the claims ---- */

void journal_claims_release(struct journal_claims *claims)
{
    free(claims->claims);
    *claims = (struct journal_claims){0};
}

struct claim *journal_claims_find(const struct journal_claims *claims, uint64_t id)
{
    for (size_t i = 0; i < claims->n; i++)
        if (claims->claims[i].id == id)
            return &claims->claims[i];
    return NULL;
}

int journal_claims_reserve(struct journal_claims *claims)
{
    if (claims->n >= CLAIMS_MAX)
        return -ENOSPC;
    return array_reserve(&claims->claims, &claims->cap, claims->n + 1, sizeof *claims->claims);
}

void journal_claims_remove(struct journal_claims *claims, uint64_t id)
{
    struct claim *claim = journal_claims_find(claims, id);
    if (!claim)
        return;
    size_t at = (size_t)(claim - claims->claims);
    memmove(claim, claim + 1, (claims->n - at - 1) * sizeof *claim);
    claims->n--;
}

/* ---- reading ---- */

static bool take_text(const json_t *value, char *out, size_t size)
{
    const char *text = json_string_value(value);
    if (!text || json_string_length(value) >= size || strlen(text) != json_string_length(value))
        return false;
    memcpy(out, text, json_string_length(value) + 1);
    return true;
}

static bool take_id(const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) <= 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

/* Inodes may be as large as they like; 0 is none. */
static bool take_number(const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

/* Journals of earlier versions do not have it. */
static bool take_root(const json_t *line, struct claim *claim)
{
    const json_t *dev = json_object_get(line, "root_dev"), *ino = json_object_get(line, "root_ino");
    return (!dev && !ino) ||
           (take_number(dev, &claim->root_dev) && take_number(ino, &claim->root_ino));
}

/* A thread's knob without a thread is nobody's, and neither is a cgroup's of a thread. */
static bool take_thread(const json_t *line, struct claim *claim)
{
    uint64_t tid;
    const json_t *number = json_object_get(line, "tid");
    if (claim->knob != KNOB_AFFINITY)
        return !number;
    if (!take_id(number, &tid) || tid > INT_MAX)
        return false;
    claim->tid = (int)tid;
    return take_number(json_object_get(line, "tid_start"), &claim->tid_start) &&
           take_number(json_object_get(line, "tid_claimed"), &claim->tid_claimed);
}

static bool take_limits(const json_t *line, struct claim *claim)
{
    const json_t *least = json_object_get(line, "least"), *most = json_object_get(line, "most");
    claim->least = json_number_value(least);
    claim->most = json_number_value(most);
    return json_is_number(least) && json_is_number(most) && claim->least >= 0 &&
           claim->least <= claim->most &&
           take_text(json_object_get(line, "original"), claim->original, sizeof claim->original) &&
           claim->original[0] != '\0';
}

static enum knob find_knob(const char *name)
{
    int knob = 0;
    while (knob < KNOB_COUNT && strcmp(knob_name((enum knob)knob), name) != 0)
        knob++;
    return (enum knob)knob;
}

static const char *read_claim(const json_t *line, struct journal_claims *out, int *err)
{
    struct claim claim = {0};
    char knob[16];
    if (!take_id(json_object_get(line, "claim"), &claim.id) || claim.id <= out->last_id)
        return "its number is not above those before";
    if (!take_text(json_object_get(line, "knob"), knob, sizeof knob) ||
        (claim.knob = find_knob(knob)) == KNOB_COUNT)
        return "its knob is not known";
    if (!take_text(json_object_get(line, "path"), claim.path, sizeof claim.path) ||
        !claim_path_is_safe(claim.path))
        return "its path leads elsewhere";
    if (!take_text(json_object_get(line, "container"), claim.container, sizeof claim.container) ||
        !take_text(json_object_get(line, "container_id"), claim.container_id,
                   sizeof claim.container_id) ||
        !take_number(json_object_get(line, "dev"), &claim.dev) ||
        !take_number(json_object_get(line, "ino"), &claim.ino) || !take_root(line, &claim) ||
        !take_thread(line, &claim) || !take_limits(line, &claim))
        return "it is no whole claim";
    claim.value = claim.most;
    *err = journal_claims_reserve(out);
    if (*err)
        return "too many claims";
    out->claims[out->n++] = claim;
    out->last_id = claim.id;
    return NULL;
}

static const char *read_adopt(const json_t *line, struct journal_claims *out)
{
    uint64_t id;
    struct claim *claim =
        take_id(json_object_get(line, "adopt"), &id) ? journal_claims_find(out, id) : NULL;
    struct claim adopted;
    if (!claim)
        return "there is no such claim";
    adopted = *claim;
    if (!take_limits(line, &adopted))
        return "it has no original";
    adopted.value = adopted.most;
    adopted.from[0] = adopted.set[0] = '\0';
    *claim = adopted;
    return NULL;
}

static const char *read_intent(const json_t *item, struct journal_claims *out)
{
    uint64_t id;
    struct claim *claim = json_array_size(item) == 3 && take_id(json_array_get(item, 0), &id)
                              ? journal_claims_find(out, id)
                              : NULL;
    char from[CLAIM_TEXT_MAX], to[CLAIM_TEXT_MAX];
    if (!claim)
        return "there is no such claim";
    if (!take_text(json_array_get(item, 1), from, sizeof from) ||
        !take_text(json_array_get(item, 2), to, sizeof to))
        return "it is no whole intent";
    memcpy(claim->from, from, sizeof from);
    memcpy(claim->set, to, sizeof to);
    return NULL;
}

static const char *read_intents(const json_t *list, struct journal_claims *out)
{
    const char *why = json_is_array(list) ? NULL : "it is no list";
    for (size_t i = 0; i < json_array_size(list) && !why; i++)
        why = read_intent(json_array_get(list, i), out);
    return why;
}

static const char *read_releases(const json_t *list, struct journal_claims *out)
{
    if (!json_is_array(list))
        return "it is no list";
    for (size_t i = 0; i < json_array_size(list); i++) {
        uint64_t id;
        if (!take_id(json_array_get(list, i), &id) || !journal_claims_find(out, id))
            return "there is no such claim";
        journal_claims_remove(out, id);
    }
    return NULL;
}

static const char *read_boot(const json_t *line, const char *boot_id, struct journal_claims *out)
{
    char boot[BOOT_ID_MAX];
    const json_t *version = json_object_get(line, "journal");
    if (!take_text(json_object_get(line, "boot"), boot, sizeof boot))
        return "it does not say of which boot it is";
    if (json_integer_value(version) != JOURNAL_VERSION)
        return "it is of another version";
    out->other_boot = strcmp(boot, boot_id) != 0;
    return NULL;
}

static const char *read_object(const json_t *line, size_t number, const char *boot_id,
                               struct journal_claims *out, int *err)
{
    if (number == 1)
        return read_boot(line, boot_id, out);
    if (json_object_get(line, "claim"))
        return read_claim(line, out, err);
    if (json_object_get(line, "adopt"))
        return read_adopt(line, out);
    if (json_object_get(line, "intend"))
        return read_intents(json_object_get(line, "intend"), out);
    if (json_object_get(line, "release"))
        return read_releases(json_object_get(line, "release"), out);
    return "it is of no known kind";
}

/* The JSON of a line whose checksum is right. */
static bool check_line(const char *line, size_t len)
{
    char digits[CRC_DIGITS + 1] = "", *end;
    if (len < CRC_DIGITS + 1 || line[CRC_DIGITS] != ' ')
        return false;
    memcpy(digits, line, CRC_DIGITS);
    if (strspn(digits, "0123456789abcdef") != CRC_DIGITS)
        return false;
    uint32_t crc = (uint32_t)strtoul(digits, &end, 16);
    return crc == libdeflate_crc32(0, line + CRC_DIGITS + 1, len - CRC_DIGITS - 1);
}

static const char *read_line(const char *line, size_t len, size_t number, const char *boot_id,
                             struct journal_claims *out, int *err)
{
    json_error_t where;
    json_t *object =
        json_loadb(line + CRC_DIGITS + 1, len - CRC_DIGITS - 1, JSON_REJECT_DUPLICATES, &where);
    if (!object && json_error_code(&where) == json_error_out_of_memory)
        *err = -ENOMEM;
    const char *why = json_is_object(object) ? read_object(object, number, boot_id, out, err)
                                             : "it is no JSON object";
    json_decref(object);
    return why;
}

int journal_read(const char *text, size_t len, const char *boot_id, struct journal_claims *out,
                 size_t *line, const char **why)
{
    const char *at = text, *end = text + len;
    int err = 0;
    *why = NULL;
    for (*line = 1; at < end && !*why; ++*line) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        bool whole = stop && check_line(at, (size_t)(stop - at));
        if (!whole && (!stop || stop + 1 == end)) {
            out->torn = true;
            break;
        }
        *why = whole ? read_line(at, (size_t)(stop - at), *line, boot_id, out, &err)
                     : "its checksum is wrong";
        if (*why || out->other_boot)
            break;
        at = stop + 1;
    }
    if (!*why)
        return 0;
    journal_claims_release(out);
    return err ? err : -EINVAL;
}
