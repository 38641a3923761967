/* What the kernel's resctrl says of monitoring groups, and what others call them. The first byte
 * says which. */
#include "exporter/source/resctrl/tree.h"
#include "tests/fuzz/fuzz.h"

/* What is a number with a fraction and without one is the same number. */
static void read_value(const char *text, size_t len)
{
    uint64_t whole, millionths;
    int err = mon_value_parse(text, len, 0, &whole);
    int other = mon_value_parse(text, len, MON_FRACTION, &millionths);
    check(err || text[len - 1] == '\n');
    check(err || other || millionths == whole * 1000000);
}

static void read_name(const char *text, size_t len)
{
    enum mon_kind kind, again;
    char id[MON_ID_BYTES], same[MON_ID_BYTES];
    if (!mon_name_parse(text, len, &kind, id))
        return;
    check(strlen(id) == (kind == MON_POD ? 32 : 64));
    check(strspn(id, "0123456789abcdef") == strlen(id));
    check(mon_name_parse(id, strlen(id), &again, same) && again == kind && !strcmp(id, same));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = with_nul(data + 1, size - 1);
    if (data[0] % 2 == 0)
        read_value(text, size - 1);
    else
        read_name(text, size - 1);
    check(strlen(mon_class_owner(text)) < 32);
    free(text);
    return 0;
}
