/* --containers.include and --containers.exclude. */
#ifndef IE_CONTAINERS_TABLE_FILTER_H
#define IE_CONTAINERS_TABLE_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct container_filter {
    bool has_include, has_exclude;
    regex_t include, exclude;
};

/* POSIX extended regexes that must match the whole of namespace/pod/container; NULL: none.
 * -EINVAL with the message in error; then there is nothing to release. */
int container_filter_init(struct container_filter *filter, const char *include, const char *exclude,
                          char *error, size_t error_size);
void container_filter_release(struct container_filter *filter);

bool container_filter_passes(const struct container_filter *filter, const char *namespace_,
                             const char *pod, const char *name);

#endif
