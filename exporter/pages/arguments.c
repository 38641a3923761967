#include "exporter/pages/arguments.h"

#include <string.h>

bool argument_number(const char *text, size_t max, size_t *out)
{
    size_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (size_t)(*text - '0');
        if (value > max)
            return false;
    }
    *out = value;
    return true;
}

const char *argument_text(const struct http_request *request, const char *name)
{
    const char *value;
    return request->query(request, name, &value, 1) == 1 ? value : NULL;
}

bool argument_switch(const struct http_request *request, const char *name)
{
    const char *value = argument_text(request, name);
    return value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}
