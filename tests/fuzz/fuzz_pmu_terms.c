/* Both parsers of a PMU's terms: the first line is a format file, the rest are terms. */
#include "exporter/source/event/encode.h"
#include "tests/fuzz/fuzz.h"

static uint64_t bits_of(const struct pmu_field *field)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < field->n; i++)
        for (unsigned bit = field->range[i].low; bit <= field->range[i].high; bit++)
            bits |= UINT64_C(1) << bit;
    return bits;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *newline = memchr(text, '\n', size);
    size_t len = newline ? (size_t)(newline - text) : size;
    struct pmu_field field;
    struct pmu_term term;
    int more, has_field = pmu_field_parse(text, len, &field) == 0;

    const char *rest = newline ? newline + 1 : text;
    len = newline ? size - len - 1 : size;
    while ((more = pmu_term_next(&rest, &len, &term)) > 0) {
        if (!pmu_name_valid(term.name, strlen(term.name)) || strchr(term.name, '/'))
            abort();
        if (!has_field)
            continue;
        /* A deposit sets only the field's bits, and all of them again clears to what was there. */
        uint64_t words[PMU_CONFIG_WORDS] = {0}, before = UINT64_MAX;
        words[field.word] = before;
        if (pmu_field_deposit(&field, term.value, words)) {
            if (words[field.word] != before)
                abort();
        } else if ((words[field.word] | bits_of(&field)) != before) {
            abort();
        }
    }
    return 0;
}
