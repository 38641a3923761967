/* --collector.attribution.prior.file: an accepted file is usable; a rejected one has one line of
 * explanation. */
#include <math.h>

#include "collectors/attribution/lanes/elsewhere.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elsewhere list;
    char error[256] = "";
    if (elsewhere_parse((const char *)data, size, &list, error, sizeof error) != 0) {
        check(error[0] && !strchr(error, '\n'));
        return 0;
    }
    for (size_t i = 0; i < list.n; i++) {
        check(list.at[i].probability >= 0.01 && list.at[i].probability <= 0.5);
        check(i == 0 || strcmp(list.at[i - 1].name, list.at[i].name) < 0);
        if (!strchr(strchr(list.at[i].name, 0x1f) + 1, 0x1f))
            check(elsewhere_find(&list, list.at[i].name) == list.at[i].probability);
    }
    elsewhere_find(&list, "shop\x1f"
                          "cart\x1f"
                          "cart\x1fimage");
    elsewhere_release(&list);
    check(isnan(elsewhere_find(&list, "")));
    return 0;
}
