/* --thresholds.file: an accepted file is usable; a rejected one has one line of explanation. */
#include "collectors/contract/thresholds.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct thresholds list;
    char error[256] = "";
    if (thresholds_parse((const char *)data, size, &list, error, sizeof error) != 0) {
        check(error[0] && !strchr(error, '\n'));
        return 0;
    }
    double found = 0;
    for (size_t i = 0; i < list.n; i++) {
        const struct threshold *t = &list.at[i];
        check(t->namespace_ && t->pod && t->container);
        check(t->latency_seconds >= 0 && t->latency_seconds <= 1);
        check(t->slowdown_ratio == 0 || (t->slowdown_ratio > 1 && t->slowdown_ratio <= 100));
        check(t->latency_seconds > 0 || t->slowdown_ratio > 0);
    }
    if (thresholds_find(&list, "shop", "cart-7d9f-x2x", "cart", &found))
        check(found > 0);
    if (thresholds_find_slowdown(&list, "shop", "cart-7d9f-x2x", "cart", &found))
        check(found > 1);
    thresholds_release(&list);
    check(!thresholds_find(&list, "", "", "", &found));
    check(!thresholds_find_slowdown(&list, "", "", "", &found));
    return 0;
}
