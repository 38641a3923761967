#include <string.h>

#include "exporter/pages/internal.h"

static void html_text(struct textbuf *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            textbuf_str(out, "&lt;");
            break;
        case '>':
            textbuf_str(out, "&gt;");
            break;
        case '&':
            textbuf_str(out, "&amp;");
            break;
        case '"':
            textbuf_str(out, "&quot;");
            break;
        default:
            textbuf_char(out, *text);
        }
    }
}

static void add_link(struct textbuf *out, const char *path, const char *title, bool readable)
{
    textbuf_str(out, readable ? "<li><a href=\"" : "<li>");
    if (readable) {
        html_text(out, path);
        textbuf_str(out, "\">");
    }
    html_text(out, title);
    textbuf_str(out, readable ? "</a> (JSON)</li>"
                              : ": from the exporter's own machine, with a password or "
                                "certificate, or with --web.api</li>");
}

/* The collectors' own pages. */
static void add_links(struct textbuf *out, const struct pages *pages, bool readable)
{
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_page *page = pages->config.collectors[i].ops->page;
        if (!page)
            continue;
        add_link(out, page->path, page->title, readable);
    }
}

/* What they say in plain text, which may hold anything. */
static void add_headlines(struct textbuf *out, const struct pages *pages)
{
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct pages_collector *collector = &pages->config.collectors[i];
        if (!collector->self || !collector->ops->page || !collector->ops->page->headline)
            continue;
        struct textbuf text;
        textbuf_init(&text);
        collector->ops->page->headline(collector->self, &text);
        if (!text.error && text.len > 0) {
            textbuf_str(out, "<p><strong>");
            html_text(out, text.data);
            textbuf_str(out, "</strong></p>\n");
        }
        textbuf_release(&text);
    }
}

static void add_collectors(struct textbuf *out, const struct pages *pages,
                           const struct pages_status *status)
{
    textbuf_str(out, "<h2>Collectors</h2>\n<table>\n");
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_ops *ops = pages->config.collectors[i].ops;
        const struct verdict *verdict = &status->collectors[i].verdict;
        textbuf_str(out, "<tr><th>");
        html_text(out, ops->name);
        textbuf_printf(out, "</th><td class=\"%s\">%s</td><td>",
                       status->collectors[i].available ? "ok" : "off",
                       status->collectors[i].available ? "running" : reason_name(verdict->reason));
        html_text(out, verdict->words[0] ? verdict->words : ops->summary);
        textbuf_str(out, "</td></tr>\n");
    }
    textbuf_str(out, "</table>\n");
}

void pages_landing(void *context, const struct http_request *request,
                   struct http_response *response)
{
    struct pages *pages = context;
    bool readable = pages_may_read(pages, request);
    struct pages_status status;
    uint64_t updated_ns;
    pages_take_status(pages, &status, &updated_ns);
    struct textbuf out;
    textbuf_init(&out);
    textbuf_str(&out,
                "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<title>interference_exporter</title>\n<style>body{font:16px/1.5 sans-serif;"
                "max-width:60em;margin:2em auto;padding:0 1em;color:#222}table{border-collapse:"
                "collapse}th,td{text-align:left;padding:.3em 1em .3em 0;vertical-align:top}"
                ".ok{color:#176b34}.off{color:#8a5a00}.replay{background:#fff3cd;padding:.5em 1em}"
                "</style></head><body>\n<h1>interference_exporter " IE_VERSION
                "</h1>\n<p>Which containers wait for memory, for how long, and which container "
                "makes them wait.</p>\n");
    if (status.source && strcmp(status.source, "replay") == 0)
        textbuf_str(&out, "<p class=\"replay\"><strong>This is a replay of a recording.</strong> "
                          "Nothing on these pages was measured on this machine.</p>\n");
    add_headlines(&out, pages);
    textbuf_str(&out, "<ul><li><a href=\"");
    html_text(&out, pages->config.telemetry_path);
    textbuf_str(&out, "\">Metrics</a></li>");
    add_link(&out, "/api/v1/containers", "Containers", readable);
    add_links(&out, pages, readable);
    textbuf_str(&out,
                "<li><a href=\"/api/v1/status\">Status</a> (JSON)</li>"
                "<li><a href=\"/-/healthy\">Health</a>, <a href=\"/-/ready\">readiness</a></li>"
                "</ul>\n");
    add_collectors(&out, pages, &status);
    textbuf_printf(&out,
                   "<p>Containers: %zu monitored, %zu lingering, %zu excluded, %zu over the "
                   "limit.</p>\n</body></html>\n",
                   status.containers[CONTAINERS_MONITORED], status.containers[CONTAINERS_LINGERING],
                   status.containers[CONTAINERS_EXCLUDED],
                   status.containers[CONTAINERS_OVER_LIMIT]);
    pages_answer_textbuf(response, "text/html; charset=utf-8", "html", &out);
}
