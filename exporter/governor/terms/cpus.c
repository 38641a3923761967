#include "exporter/governor/terms/cpus.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exporter/base/kernel_text.h"

int cpus_parse(const char *text, cpu_set_t *out)
{
    int list[CPU_SETSIZE];
    size_t n;
    if (cpulist_parse(text, strlen(text), list, CPU_SETSIZE, &n) || n == 0 || n > CPU_SETSIZE)
        return -EINVAL;
    if (list[n - 1] >= CPU_SETSIZE)
        return -EINVAL;
    CPU_ZERO(out);
    for (size_t i = 0; i < n; i++)
        CPU_SET((size_t)list[i], out);
    return 0;
}

int cpus_format(const cpu_set_t *cpus, char *out, size_t size)
{
    size_t len = 0;
    char part[32];
    if (size == 0)
        return -ENOSPC;
    out[0] = '\0';
    for (size_t first = 0; first < CPU_SETSIZE; first++) {
        size_t last = first;
        if (!CPU_ISSET(first, cpus))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
            last++;
        size_t n = (size_t)snprintf(part, sizeof part, last > first ? "%s%zu-%zu" : "%s%zu",
                                    len ? "," : "", first, last);
        if (len + n >= size)
            return -ENOSPC;
        memcpy(out + len, part, n + 1);
        len += n;
        first = last;
    }
    return 0;
}

bool cpus_resolve(const char *text, const cpu_set_t *allowed, cpu_set_t *out)
{
    cpu_set_t cpus;
    *out = *allowed;
    if (strcmp(text, CPUS_ALL) == 0)
        return true;
    if (cpus_parse(text, &cpus))
        return false;
    CPU_AND(&cpus, &cpus, allowed);
    if (CPU_COUNT(&cpus) > 0)
        *out = cpus;
    return true;
}

bool cpus_are(const char *text, const cpu_set_t *allowed, const cpu_set_t *cpus)
{
    cpu_set_t expected;
    return cpus_resolve(text, allowed, &expected) && CPU_EQUAL(&expected, cpus);
}

int cpus_spell(const cpu_set_t *cpus, const cpu_set_t *allowed, char *out, size_t size)
{
    if (!CPU_EQUAL(cpus, allowed))
        return cpus_format(cpus, out, size);
    if (size < sizeof CPUS_ALL)
        return -ENOSPC;
    memcpy(out, CPUS_ALL, sizeof CPUS_ALL);
    return 0;
}
