/* The header Authorization: a name and a password are texts of their own, and no longer than it. */
#include "exporter/http/web_config/passwords.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct web_basic basic;
    if (web_basic_parse((const char *)data, size, &basic) != 0)
        return 0;
    if (strchr(basic.user, ':') || strlen(basic.user) + strlen(basic.password) + 2 != basic.size ||
        basic.size > size)
        abort();
    web_basic_release(&basic);
    return 0;
}
