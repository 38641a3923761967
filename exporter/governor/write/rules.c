#include "exporter/governor/write/rules.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/terms/claim.h"

bool rules_text(const char *text, size_t size)
{
    size_t len = strnlen(text, size);
    for (size_t i = 0; i < len; i++)
        if (text[i] < ' ' || text[i] > '~')
            return false;
    return len < size;
}

/* ---- paths ---- */

/* "<64 hex digits>" or "<runtime>-<64 hex digits>.scope"; a runtime's monitor is none. */
static bool is_container(const char *name)
{
    enum { DIGITS = 64 };
    const char *id = strrchr(name, '-');
    id = id ? id + 1 : name;
    if (strspn(id, "0123456789abcdef") != DIGITS || strstr(name, "conmon"))
        return false;
    return id[DIGITS] == '\0' || strcmp(id + DIGITS, ".scope") == 0;
}

bool rules_path(const char *path, const char *const *names, size_t n)
{
    if (!rules_text(path, CLAIM_PATH_MAX) || !claim_path_is_safe(path))
        return false;
    const char *name = strrchr(path, '/') + 1;
    if (is_container(name))
        return true;
    if (!name[0] || fnmatch("*.slice", name, 0) == 0 || strstr(path, "kubepods"))
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* ---- numbers ---- */

/* Behind the digits, or NULL: there are none, or too many. */
static const char *take_digits(const char *at, int base, uint64_t *out)
{
    size_t len = strspn(at, base == 16 ? "0123456789abcdef" : "0123456789");
    if (len == 0 || len > 15)
        return NULL;
    *out = strtoull(at, NULL, base);
    return at + len;
}

bool rules_number(const char *text, int base, uint64_t most, uint64_t *out)
{
    const char *end = take_digits(text, base, out);
    return end && *end == '\0' && *out <= most;
}

bool rules_cpus(const char *text, cpu_set_t *out)
{
    uint64_t first = 0, last;
    CPU_ZERO(out);
    do {
        text = take_digits(text, 10, &first);
        last = first;
        if (text && *text == '-')
            text = take_digits(text + 1, 10, &last);
        if (!text || first > last || last >= CPU_SETSIZE)
            return false;
        for (; first <= last; first++)
            CPU_SET((size_t)first, out);
    } while (*text++ == ',');
    return text[-1] == '\0';
}

bool rules_quota(int version, const char *text, struct rules_quota *out)
{
    static const char burst[] = " burst ";
    const char *none = version == 1 ? "-1" : "max", *at = text;
    *out = (struct rules_quota){.unlimited = strncmp(text, none, strlen(none)) == 0};
    at = out->unlimited ? at + strlen(none) : take_digits(at, 10, &out->us);
    if (at && version != 1)
        at = *at == ' ' ? take_digits(at + 1, 10, &out->period_us) : NULL;
    if (!at || (version != 1 && out->period_us == 0))
        return false;
    if (strncmp(at, burst, sizeof burst - 1) == 0)
        at = take_digits(at + sizeof burst - 1, 10, &out->burst_us);
    return at && *at == '\0';
}

/* ---- groups ---- */

bool rules_group(const char *name, unsigned *mask, unsigned *percent)
{
    uint64_t ways, bandwidth;
    const char *at = strncmp(name, "ig_", 3) == 0 ? take_digits(name + 3, 16, &ways) : NULL;
    if (!at || *at != '_' || ways > UINT32_MAX || !rules_number(at + 1, 10, 100, &bandwidth))
        return false;
    *mask = (unsigned)ways;
    *percent = (unsigned)bandwidth;
    return true;
}

/* "0=7ff;1=7ff\n"; behind it, or NULL. */
static const char *check_domains(const char *at, bool ways, uint64_t value)
{
    uint64_t id, given;
    do {
        at = take_digits(at, 10, &id);
        if (!at || *at != '=' || !(at = take_digits(at + 1, ways ? 16 : 10, &given)))
            return NULL;
        if (ways ? given != value : given < value)
            return NULL;
    } while (*at++ == ';');
    return at[-1] == '\n' ? at : NULL;
}

bool rules_schemata(const char *text, unsigned mask, unsigned percent)
{
    while (text && *text) {
        bool ways = strncmp(text, "L3:", 3) == 0;
        bool known = ways || strncmp(text, "MB:", 3) == 0;
        text = known ? check_domains(text + 3, ways, ways ? mask : percent) : NULL;
    }
    return text != NULL;
}

unsigned rules_whole(const char *schemata, const char *resource, int base)
{
    uint64_t value = 0;
    const char *at = strstr(schemata, resource);
    at = at ? strchr(at, '=') : NULL;
    if (!at || !take_digits(at + 1 + strspn(at + 1, " "), base, &value) || value > UINT32_MAX)
        return 0;
    return (unsigned)value;
}
