#include "exporter/containers/table/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Compiles "^(pattern)$". The pattern is compiled alone first: "a)|(b" must not become valid. */
static int compile(regex_t *out, const char *flag, const char *pattern, char *error,
                   size_t error_size)
{
    regex_t alone;
    int err = regcomp(&alone, pattern, REG_EXTENDED | REG_NOSUB);
    if (err) {
        char why[128];
        regerror(err, &alone, why, sizeof why);
        snprintf(error, error_size, "%s: not a regular expression: \"%s\": %s", flag, pattern, why);
        return -EINVAL;
    }
    regfree(&alone);
    char *whole;
    err = asprintf(&whole, "^(%s)$", pattern) < 0;
    if (!err) {
        err = regcomp(out, whole, REG_EXTENDED | REG_NOSUB);
        free(whole);
    }
    if (!err)
        return 0;
    snprintf(error, error_size, "%s: out of memory", flag);
    return -ENOMEM;
}

int container_filter_init(struct container_filter *filter, const char *include, const char *exclude,
                          char *error, size_t error_size)
{
    *filter = (struct container_filter){0};
    int err;
    if (include) {
        err = compile(&filter->include, "--containers.include", include, error, error_size);
        if (err)
            return err;
        filter->has_include = true;
    }
    if (exclude) {
        err = compile(&filter->exclude, "--containers.exclude", exclude, error, error_size);
        if (err) {
            container_filter_release(filter);
            return err;
        }
        filter->has_exclude = true;
    }
    return 0;
}

void container_filter_release(struct container_filter *filter)
{
    if (filter->has_include)
        regfree(&filter->include);
    if (filter->has_exclude)
        regfree(&filter->exclude);
    *filter = (struct container_filter){0};
}

bool container_filter_passes(const struct container_filter *filter, const char *namespace_,
                             const char *pod, const char *name)
{
    if (!filter->has_include && !filter->has_exclude)
        return true;
    char subject[2048];
    snprintf(subject, sizeof subject, "%s/%s/%s", namespace_, pod, name);
    if (filter->has_include && regexec(&filter->include, subject, 0, NULL, 0) != 0)
        return false;
    return !filter->has_exclude || regexec(&filter->exclude, subject, 0, NULL, 0) != 0;
}
