/* What a flag has set, found by the flag's name: collectors keep theirs to themselves. */
#ifndef IE_TESTS_FLAG_MEMBER_H
#define IE_TESTS_FLAG_MEMBER_H

#include <stdlib.h>
#include <string.h>

#include "exporter/options/options.h"
#include "exporter/options/table.h"

/* Aborts when there is no such flag. The member's type is the flag's (enum flag_type). */
static inline const void *flag_member(const struct options *options, const char *name)
{
    struct flag_walk walk = {0};
    const struct option_flag *flag;
    while ((flag = flag_next(&walk)))
        if (strcmp(flag->name, name) == 0)
            return (walk.collector == FLAG_OWN ? (const char *)options
                                               : (const char *)&options->config[walk.collector]) +
                   flag->offset;
    abort();
}

#endif
