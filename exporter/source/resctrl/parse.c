#include "exporter/source/resctrl/parse.h"

#include <errno.h>
#include <string.h>

enum { UID_DIGITS = 32, ID_DIGITS = 64 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(const char *text, size_t len, const char *word)
{
    return len == strlen(word) && memcmp(text, word, len) == 0;
}

static int no_number(const char *text, size_t len)
{
    if (is_word(text, len, "Unavailable") || is_word(text, len, "Unassigned"))
        return -ENODATA;
    return is_word(text, len, "Error") ? -EIO : -EINVAL;
}

static bool append(uint64_t *value, unsigned digit)
{
    return !__builtin_mul_overflow(*value, UINT64_C(10), value) &&
           !__builtin_add_overflow(*value, (uint64_t)digit, value);
}

int mon_value_parse(const char *text, size_t len, unsigned fraction, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    if (len < 2 || text[len - 1] != '\n') /* half a line */
        return -EINVAL;
    len--;
    if (!is_digit(text[0]))
        return no_number(text, len);
    for (; i < len && is_digit(text[i]); i++)
        if (!append(&value, (unsigned)(text[i] - '0')))
            return -ERANGE;
    bool point = i < len && text[i] == '.';
    if (point && (fraction == 0 || ++i == len))
        return -EINVAL;
    for (unsigned kept = 0; kept < fraction; kept++) {
        unsigned digit = i < len && is_digit(text[i]) ? (unsigned)(text[i++] - '0') : 0;
        if (!append(&value, digit))
            return -ERANGE;
    }
    while (point && i < len && is_digit(text[i]))
        i++;
    if (i != len)
        return -EINVAL;
    *out = value;
    return 0;
}

/* ---- names ---- */

/* The digits, in lower case, of which there are 'n' and nothing else but dashes where UIDs have
 * them. */
static bool take_digits(const char *text, size_t len, size_t n, char id[MON_ID_BYTES])
{
    size_t taken = 0;
    bool dashes = n == UID_DIGITS && len == n + 4;
    if (len != n && !dashes)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] - 'A' + 'a') : text[i];
        if (dashes && (i == 8 || i == 13 || i == 18 || i == 23)) {
            if (c != '-')
                return false;
            continue;
        }
        if (!is_digit(c) && !(c >= 'a' && c <= 'f'))
            return false;
        id[taken++] = c;
    }
    id[taken] = '\0';
    return true;
}

static size_t without_prefix(const char **text, size_t len, const char *prefix)
{
    size_t n = strlen(prefix);
    if (len < n || memcmp(*text, prefix, n) != 0)
        return len;
    *text += n;
    return len - n;
}

static bool is_pod(const char *name, size_t len, char id[MON_ID_BYTES])
{
    size_t left = without_prefix(&name, len, "pod");
    if (left < len)
        left = without_prefix(&name, left, "_");
    return take_digits(name, left, UID_DIGITS, id);
}

static bool is_container(const char *name, size_t len, char id[MON_ID_BYTES])
{
    static const char scope[] = ".scope";
    if (len > strlen(scope) && is_word(name + len - strlen(scope), strlen(scope), scope))
        len -= strlen(scope);
    if (len > ID_DIGITS && name[len - ID_DIGITS - 1] == '-')
        return take_digits(name + len - ID_DIGITS, ID_DIGITS, ID_DIGITS, id);
    return take_digits(name, len, ID_DIGITS, id);
}

bool mon_name_parse(const char *name, size_t len, enum mon_kind *kind, char id[MON_ID_BYTES])
{
    *kind = MON_POD;
    if (is_pod(name, len, id))
        return true;
    *kind = MON_CONTAINER;
    return is_container(name, len, id);
}

const char *mon_class_owner(const char *name)
{
    static const struct {
        const char *name, *owner;
        bool begins;
    } known[] = {
        {"BE", "koordinator", false},           {"LS", "koordinator", false},
        {"LSR", "koordinator", false},          {"reclaim", "katalyst", true},
        {"shared", "katalyst", true},           {"dedicated", "katalyst", true},
        {"ig_", "interference_governor", true},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].begins ? strncmp(name, known[i].name, strlen(known[i].name)) == 0
                            : strcmp(name, known[i].name) == 0)
            return known[i].owner;
    return "";
}
