/* The documents of collectors, and who may not read them. */
#include <string.h>

#include "exporter/pages/internal.h"

void pages_refuse(struct http_response *response)
{
    pages_answer_text(response, 403,
                      "this document names containers and processes: ask from the exporter's own "
                      "machine or pod (kubectl port-forward), or with a password or certificate of "
                      "--web.config.file, or start it with --web.api\n");
}

struct collector_document {
    const struct pages_collector *collector;
    const char *source;
};

static int render_document(void *context, struct textbuf *out)
{
    const struct collector_document *document = context;
    const struct pages_collector *collector = document->collector;
    return collector->ops->page->render(collector->self, document->source, out);
}

void pages_api_collector(void *context, const struct http_request *request,
                         struct http_response *response)
{
    struct pages *pages = context;
    struct pages_status status;
    uint64_t updated_ns;
    if (!pages_may_read(pages, request)) {
        pages_refuse(response);
        return;
    }
    pages_take_status(pages, &status, &updated_ns);
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_page *page = pages->config.collectors[i].ops->page;
        if (!page || strcmp(page->path, request->path) != 0)
            continue;
        struct collector_document document = {&pages->config.collectors[i],
                                              status.source ? status.source : ""};
        struct rendered_page *rendered;
        if (page_cache_get(&pages->documents[i], updated_ns, render_document, &document, &rendered))
            pages_answer_text(response, 500, "the document could not be generated\n");
        else
            pages_answer_page(response, rendered, "application/json", "json", false);
    }
}
