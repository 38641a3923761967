#include <errno.h>
#include <string.h>

#include "exporter/pages/internal.h"

static bool known_collector(const struct pages *pages, const char *name)
{
    for (size_t i = 0; i < pages->config.n_collectors; i++)
        if (strcmp(pages->config.collectors[i].ops->name, name) == 0)
            return true;
    return false;
}

void pages_metrics(void *context, const struct http_request *request,
                   struct http_response *response)
{
    struct pages *pages = context;
    const char *owners[COLLECTORS_MAX];
    size_t n = request->query(request, "collect[]", owners, COLLECTORS_MAX);
    if (n > COLLECTORS_MAX) {
        pages_answer_text(response, 400, "too many collect[] arguments\n");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (!known_collector(pages, owners[i])) {
            pages_answer_text(
                response, 400,
                "collect[] names an unknown collector; /api/v1/status lists the known ones\n");
            return;
        }
    }
    enum expose_format format = expose_negotiate(request->accept);
    bool gzip = expose_accepts_gzip(request->accept_encoding);
    struct rendered_page *page;
    int err = n > 0 ? expose_selection(pages->config.expose, format, &gzip, owners, n, &page)
                    : expose_page(pages->config.expose, format, gzip, &page);
    if (err == -ENODATA)
        pages_answer_text(response, 503, "nothing has been published yet\n");
    else if (err)
        pages_answer_text(response, 500, "the page could not be generated\n");
    else
        pages_answer_page(response, page, expose_content_type(format), expose_format_name(format),
                          gzip);
}
