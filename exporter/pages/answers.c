/* What all pages answer with, and what they are asked. */
#include <stdlib.h>
#include <string.h>

#include "exporter/base/kernel_text.h"
#include "exporter/pages/internal.h"

/* Takes over bytes from malloc (NULL: out of memory). */
static void answer(struct http_response *response, int status, const char *type, const char *format,
                   char *bytes, size_t len)
{
    if (!bytes) {
        *response = (struct http_response){.status = 500,
                                           .content_type = "text/plain; charset=utf-8",
                                           .bytes = "",
                                           .format = "text"};
        return;
    }
    *response = (struct http_response){
        .status = status,
        .content_type = type,
        .bytes = bytes,
        .len = len,
        .release = free,
        .release_context = bytes,
        .format = format,
    };
}

bool pages_may_read(const struct pages *pages, const struct http_request *request)
{
    return pages->config.api || request->local || request->known;
}

void pages_answer_text(struct http_response *response, int status, const char *text)
{
    answer(response, status, "text/plain; charset=utf-8", "text", strdup(text), strlen(text));
}

void pages_answer_textbuf(struct http_response *response, const char *type, const char *format,
                          struct textbuf *text)
{
    if (textbuf_finish(text) != 0) {
        textbuf_release(text);
        answer(response, 500, NULL, NULL, NULL, 0);
        return;
    }
    answer(response, 200, type, format, text->data, text->len);
}

static void release_page(void *context)
{
    page_unref(context);
}

static int page_as_file(void *context, int *fd)
{
    return page_file(context, fd);
}

void pages_answer_page(struct http_response *response, struct rendered_page *page, const char *type,
                       const char *format, bool gzip)
{
    size_t len;
    const void *bytes = page_bytes(page, &len);
    *response = (struct http_response){
        .status = 200,
        .content_type = type,
        .content_encoding = gzip ? "gzip" : NULL,
        .bytes = bytes,
        .len = len,
        .release = release_page,
        .release_context = page,
        .file = page_as_file,
        .format = format,
    };
}

void pages_refuse(struct http_response *response)
{
    pages_answer_text(response, 403,
                      "this document names containers and processes: ask from the exporter's own "
                      "machine or pod (kubectl port-forward), or with a password or certificate of "
                      "--web.config.file, or start it with --web.api\n");
}

void pages_take_status(struct pages *pages, struct pages_status *status, uint64_t *updated_ns)
{
    pthread_mutex_lock(&pages->lock);
    *status = pages->status;
    *updated_ns = pages->updated_ns;
    pthread_mutex_unlock(&pages->lock);
}

double pages_uptime_seconds(const struct pages *pages, uint64_t updated_ns)
{
    uint64_t started_ns = pages->config.started_mono_ns;
    return updated_ns > started_ns ? (double)(updated_ns - started_ns) * 1e-9 : 0;
}

/* ---- arguments ---- */

bool argument_number(const char *text, size_t max, size_t *out)
{
    uint64_t value;
    if (!kernel_text_whole(text, max, &value))
        return false;
    *out = value;
    return true;
}

const char *argument_text(const struct http_request *request, const char *name)
{
    const char *value;
    return request->query(request, name, &value, 1) == 1 ? value : NULL;
}

bool argument_switch(const struct http_request *request, const char *name)
{
    const char *value = argument_text(request, name);
    return value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}
