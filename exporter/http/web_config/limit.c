#include "exporter/http/web_config/limit.h"

/* What is missing in the bucket, in time: full_ns - now_ns. A token fits as long as with it no more
 * than 'burst' are missing. */
bool web_limit_take(struct web_limit *limit, uint64_t now_ns)
{
    unsigned __int128 most = (unsigned __int128)limit->interval_ns * limit->burst;
    if (limit->interval_ns == 0)
        return true;
    uint64_t missing = limit->full_ns > now_ns ? limit->full_ns - now_ns : 0;
    if ((unsigned __int128)missing + limit->interval_ns > most)
        return false;
    limit->full_ns = now_ns + missing + limit->interval_ns;
    return true;
}
