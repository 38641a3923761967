#include <stdlib.h>
#include <string.h>

#include "exporter/pages/internal.h"

static void free_bytes(void *context)
{
    free(context);
}

/* Takes over bytes from malloc (NULL: out of memory). */
void pages_answer(struct http_response *response, int status, const char *type, const char *format,
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
        .release = free_bytes,
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
    pages_answer(response, status, "text/plain; charset=utf-8", "text", strdup(text), strlen(text));
}

void pages_answer_textbuf(struct http_response *response, const char *type, const char *format,
                          struct textbuf *text)
{
    if (textbuf_finish(text) != 0) {
        textbuf_release(text);
        pages_answer(response, 500, NULL, NULL, NULL, 0);
        return;
    }
    pages_answer(response, 200, type, format, text->data, text->len);
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
