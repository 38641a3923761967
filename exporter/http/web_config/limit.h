/* A token bucket: 'burst' tokens at most, one more in each interval. Pure; one thread at a time. */
#ifndef IE_HTTP_WEB_CONFIG_LIMIT_H
#define IE_HTTP_WEB_CONFIG_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct web_limit {
    uint64_t interval_ns; /* 0: no limit */
    uint64_t burst;       /* at least 1 */
    uint64_t full_ns;     /* when the bucket will be full again */
};

/* Takes a token, if there is one. */
bool web_limit_take(struct web_limit *limit, uint64_t now_ns);

#endif
