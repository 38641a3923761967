#include "exporter/service/descriptors.h"

#include <stdint.h>
#include <sys/resource.h>

/* Counting one takes six at least: two directories, four events on one CPU. So an eighth of the
 * limit never keeps out a container that could have been counted. */
enum { CONTAINERS_PART = 8, CANDIDATES_PART = 32, CANDIDATES_MAX = 256 };

struct descriptor_shares descriptors_share(size_t limit, size_t containers_max)
{
    struct descriptor_shares shares = {containers_max, CANDIDATES_MAX};
    if (limit == 0)
        return shares;
    size_t containers = limit / CONTAINERS_PART > 0 ? limit / CONTAINERS_PART : 1;
    if (shares.containers > containers)
        shares.containers = containers;
    if (shares.candidates > limit / CANDIDATES_PART)
        shares.candidates = limit / CANDIDATES_PART;
    return shares;
}

size_t descriptors_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    return limit.rlim_cur > SIZE_MAX ? SIZE_MAX : (size_t)limit.rlim_cur;
}
