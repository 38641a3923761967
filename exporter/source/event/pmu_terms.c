#include "exporter/source/event/pmu_terms.h"

#include <errno.h>
#include <string.h>

static bool name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

bool pmu_name_valid(const char *text, size_t len)
{
    if (len == 0 || text[0] == '.')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!name_char(text[i]))
            return false;
    return true;
}

static int digit_value(char c, unsigned base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 16;
    return value < (int)base ? value : -1;
}

/* Decimal or 0x hexadecimal, the whole of the text. */
static int parse_value(const char *text, size_t len, uint64_t *out)
{
    unsigned base = 10;
    uint64_t value = 0;
    if (len > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
        len -= 2;
    }
    if (len == 0)
        return -EINVAL;
    for (size_t i = 0; i < len; i++) {
        int digit = digit_value(text[i], base);
        if (digit < 0 || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit, &value))
            return -EINVAL;
    }
    *out = value;
    return 0;
}

int pmu_term_next(const char **text, size_t *len, struct pmu_term *out)
{
    if (*len == 0)
        return 0;
    const char *comma = memchr(*text, ',', *len);
    size_t term = comma ? (size_t)(comma - *text) : *len;
    const char *equals = memchr(*text, '=', term);
    size_t name = equals ? (size_t)(equals - *text) : term;
    struct pmu_term parsed = {.value = 1, .has_value = equals != NULL};

    if (!pmu_name_valid(*text, name) || name >= sizeof parsed.name)
        return -EINVAL;
    memcpy(parsed.name, *text, name);
    if (equals && parse_value(equals + 1, term - name - 1, &parsed.value))
        return -EINVAL;
    if (comma && term + 1 == *len)
        return -EINVAL; /* a comma with nothing after it */
    *text += term + (comma ? 1 : 0);
    *len -= term + (comma ? 1 : 0);
    *out = parsed;
    return 1;
}

static int parse_bit(const char **p, const char *end, uint8_t *out)
{
    unsigned value = 0;
    const char *start = *p;
    while (*p < end && **p >= '0' && **p <= '9') {
        value = value * 10 + (unsigned)(**p - '0');
        if (value > 63)
            return -EINVAL;
        (*p)++;
    }
    *out = (uint8_t)value;
    return *p > start ? 0 : -EINVAL;
}

static int parse_ranges(const char *p, const char *end, struct pmu_field *field)
{
    for (;;) {
        if (field->n == PMU_FIELD_RANGES)
            return -EINVAL;
        uint8_t low, high;
        if (parse_bit(&p, end, &low))
            return -EINVAL;
        high = low;
        if (p < end && *p == '-') {
            p++;
            if (parse_bit(&p, end, &high) || high < low)
                return -EINVAL;
        }
        field->range[field->n].low = low;
        field->range[field->n].high = high;
        field->n++;
        if (p == end)
            return 0;
        if (*p++ != ',')
            return -EINVAL;
    }
}

int pmu_field_parse(const char *text, size_t len, struct pmu_field *out)
{
    static const char *const words[PMU_CONFIG_WORDS] = {"config:", "config1:", "config2:"};
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == ' '))
        len--;
    for (int i = 0; i < PMU_CONFIG_WORDS; i++) {
        size_t prefix = strlen(words[i]);
        if (len <= prefix || memcmp(text, words[i], prefix) != 0)
            continue;
        struct pmu_field field = {.word = i};
        int err = parse_ranges(text + prefix, text + len, &field);
        if (!err)
            *out = field;
        return err;
    }
    return -EINVAL;
}

int pmu_field_deposit(const struct pmu_field *field, uint64_t value,
                      uint64_t words[PMU_CONFIG_WORDS])
{
    uint64_t set = 0, clear = 0, rest = value;
    for (size_t i = 0; i < field->n; i++) {
        unsigned width = field->range[i].high - field->range[i].low + 1u;
        uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        set |= (rest & mask) << field->range[i].low;
        clear |= mask << field->range[i].low;
        rest = width == 64 ? 0 : rest >> width;
    }
    if (rest)
        return -ERANGE;
    words[field->word] = (words[field->word] & ~clear) | set;
    return 0;
}
