#include "exporter/source/sample.h"

#include <errno.h>
#include <string.h>

static const char *const accesses[ACCESS_KINDS] = {
    [ACCESS_STORE] = "store",
    [ACCESS_LOAD] = "load",
};

static const char *const media[MEDIA] = {
    [MEDIUM_NVMM] = "nvmm",
    [MEDIUM_OTHER] = "other",
    [MEDIUM_UNKNOWN] = "unknown",
};

static const char *const sizes[ACCESS_SIZES] = {
    [ACCESS_SIZE_KNOWN] = "known",         [ACCESS_SIZE_REPEATED] = "repeated",
    [ACCESS_SIZE_MASKED] = "masked",       [ACCESS_SIZE_VARIABLE] = "variable",
    [ACCESS_SIZE_NO_ACCESS] = "no_access", [ACCESS_SIZE_INVALID] = "invalid",
    [ACCESS_SIZE_TRUNCATED] = "truncated", [ACCESS_SIZE_UNREADABLE] = "unreadable",
};

static int find(const char *const *names, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    return -ENOENT;
}

const char *access_name(enum access access)
{
    return accesses[access];
}

int access_parse(const char *text, enum access *out)
{
    int found = find(accesses, ACCESS_KINDS, text);
    if (found < 0)
        return found;
    *out = (enum access)found;
    return 0;
}

const char *medium_name(enum medium medium)
{
    return media[medium];
}

int medium_parse(const char *text, enum medium *out)
{
    int found = find(media, MEDIA, text);
    if (found < 0)
        return found;
    *out = (enum medium)found;
    return 0;
}

const char *access_size_name(enum access_size size)
{
    return sizes[size];
}

int access_size_parse(const char *text, enum access_size *out)
{
    int found = find(sizes, ACCESS_SIZES, text);
    if (found < 0)
        return found;
    *out = (enum access_size)found;
    return 0;
}
