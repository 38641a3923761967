#include "exporter/service/ticker.h"

void ticker_init(struct ticker *ticker, uint64_t interval_ns, uint64_t now_ns)
{
    *ticker = (struct ticker){.interval_ns = interval_ns, .due_ns = now_ns + interval_ns};
}

bool ticker_take(struct ticker *ticker, uint64_t now_ns, uint64_t wall_ns, struct tick *out)
{
    if (now_ns < ticker->due_ns)
        return false;
    uint64_t late = (now_ns - ticker->due_ns) / ticker->interval_ns;
    ticker->missed += late;
    ticker->due_ns += (late + 1) * ticker->interval_ns;
    *out = (struct tick){
        .number = ++ticker->number,
        .mono_ns = now_ns,
        .wall_ns = wall_ns,
        .interval_ns = ticker->interval_ns,
    };
    return true;
}
