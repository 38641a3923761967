#include "exporter/base/clock.h"
#include "exporter/pages/internal.h"

void pages_healthy(void *context, const struct http_request *request,
                   struct http_response *response)
{
    (void)request;
    struct pages_status status;
    uint64_t updated_ns;
    pages_take_status(context, &status, &updated_ns);
    uint64_t limit = status.tick.interval_ns * PAGES_UNHEALTHY_INTERVALS;
    if (!status.replay_ended && clock_mono_ns() - updated_ns >= limit)
        pages_answer_text(response, 503, "the last tick is 10 intervals old\n");
    else
        pages_answer_text(response, 200, "healthy\n");
}

void pages_ready(void *context, const struct http_request *request, struct http_response *response)
{
    (void)request;
    struct pages *pages = context;
    struct snapshot *snapshot = store_acquire(pages->config.store);
    if (snapshot)
        pages_answer_text(response, 200, "ready\n");
    else
        pages_answer_text(response, 503, "nothing has been published yet\n");
    snapshot_release(snapshot);
}
