/* What the kernel's resctrl says: schemata, a task's group, names of groups. The first byte says
 * which. What is made of it is taken again. */
#include "exporter/governor/act/actuators/resctrl_text.h"
#include "tests/fuzz/fuzz.h"

static void read_schemata(const char *text, size_t len)
{
    struct schemata schemata, again;
    char written[RESCTRL_SCHEMATA_MAX];
    uint32_t value;
    if (schemata_parse(text, len, &schemata))
        return;
    check(schemata.l3.n <= SCHEMATA_DOMAINS && schemata.mb.n <= SCHEMATA_DOMAINS);
    size_t wrote = schemata_format(&schemata, 0x7ff, UINT32_MAX, written);
    check(wrote < sizeof written && strlen(written) == wrote);
    check(schemata_parse(written, wrote, &again) == 0);
    check(again.l3.n == schemata.l3.n && again.mb.n == schemata.mb.n);
    check(!again.l3.n || (schemata_value(&again.l3, &value) && value == 0x7ff));
    check(!again.mb.n || (schemata_value(&again.mb, &value) && value == UINT32_MAX));
}

static void read_group(const char *text, size_t len)
{
    char name[RESCTRL_GROUP_MAX], again[RESCTRL_GROUP_MAX];
    uint32_t mask, percent;
    if (resctrl_group_parse(text, len, name))
        return;
    check(strlen(name) < sizeof name && !strchr(name, '/'));
    if (!resctrl_name_parse(name, &mask, &percent))
        return;
    resctrl_name_format(mask, percent, again);
    check(strcmp(name, again) == 0);
}

static void make_mask(const uint8_t *data, size_t size)
{
    uint32_t whole;
    if (size < sizeof whole + 1)
        return;
    memcpy(&whole, data, sizeof whole);
    uint32_t mask = resctrl_mask(whole, data[4]);
    int ways = __builtin_popcount(whole);
    check(__builtin_popcount(mask) == (data[4] < ways ? data[4] : ways) || !mask);
    check(!resctrl_mask_is_contiguous(whole) || (mask & ~whole) == 0);
    check(!mask || resctrl_mask_is_contiguous(mask));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = without_nul(data + 1, size - 1);
    if (data[0] % 3 == 0)
        read_schemata(text, size - 1);
    else if (data[0] % 3 == 1)
        read_group(text, size - 1);
    else
        make_mask(data + 1, size - 1);
    free(text);
    return 0;
}
