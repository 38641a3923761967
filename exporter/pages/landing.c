/* The page of the node, at "/". */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "exporter/live/order.h"
#include "exporter/pages/sight.h"

/* ---- what does not change ---- */

static void add_link(struct textbuf *out, const char *path, const char *title, bool readable)
{
    textbuf_str(out, readable ? "<li><a href=\"" : "<li>");
    if (readable) {
        textbuf_html(out, path);
        textbuf_str(out, "\">");
    }
    textbuf_html(out, title);
    bool json = strncmp(path, "/api/", 5) == 0;
    textbuf_str(out, readable ? json ? "</a> (JSON)</li>\n" : "</a></li>\n"
                              : ": from the exporter's own machine, with a password or "
                                "certificate, or with --web.api</li>\n");
}

static void add_links(struct textbuf *out, const struct sight *sight)
{
    const struct pages *pages = sight->pages;
    textbuf_str(out, "<section id=\"raw\"><h2>Raw</h2>\n<ul>");
    add_link(out, pages->config.telemetry_path, "Metrics, for Prometheus", true);
    add_link(out, "/api/v1/containers?pretty", "Containers", sight->all);
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_page *page = pages->config.collectors[i].ops->page;
        if (page)
            add_link(out, page->path, page->title, sight->all);
    }
    add_link(out, "/api/v1/status", "Status", true);
    add_link(out, "/-/healthy", "Health", true);
    textbuf_str(out, "</ul></section>\n");
}

/* ---- the node ---- */

static bool is_replay(const struct sight *sight)
{
    return sight->status.source && strcmp(sight->status.source, "replay") == 0;
}

static void add_time(struct textbuf *out, uint64_t wall_ns)
{
    struct tm utc;
    char when[32];
    time_t seconds = (time_t)(wall_ns / 1000000000);
    if (wall_ns > 0 && gmtime_r(&seconds, &utc) &&
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc) > 0)
        textbuf_printf(out, " · <time>%s</time>", when);
}

static void add_count(struct textbuf *out, int n, const char *what)
{
    if (n > 0)
        textbuf_printf(out, ", %d %s%s", n, what, n == 1 ? "" : "s");
}

/* A recording does not say on which machine it was made, and its page says nothing of this one. */
static void add_node(struct textbuf *out, const struct sight *sight)
{
    const struct machine *machine = &sight->status.machine;
    struct utsname node;
    textbuf_str(out, "<header id=\"node\" class=\"live\"><h1>");
    if (!is_replay(sight) && uname(&node) == 0)
        textbuf_html(out, node.nodename);
    else
        textbuf_str(out, is_replay(sight) ? "A recorded node" : "This node");
    textbuf_str(out, "</h1>\n<p>");
    textbuf_html(out, machine->cpu_model[0]           ? machine->cpu_model
                      : machine->microarchitecture[0] ? machine->microarchitecture
                                                      : "unknown CPU");
    add_count(out, machine->sockets, "socket");
    add_count(out, machine->cpus, "CPU");
    textbuf_str(out, " · interference_exporter ");
    textbuf_html(out, sight->pages->config.version);
    textbuf_str(out, ", started ");
    live_duration(out, pages_uptime_seconds(sight->pages, sight->updated_ns));
    textbuf_str(out, " ago");
    add_time(out, sight->view.tick.wall_ns);
    textbuf_str(out, "</p>\n");
    if (is_replay(sight))
        textbuf_str(out, "<p class=\"replay\"><strong>[REPLAY] This is a replay of a recording."
                         "</strong> Nothing on these pages was measured on this machine.</p>\n");
    textbuf_str(out, "</header>\n");
}

static void add_verdict(struct textbuf *out, const struct sight *sight)
{
    static const struct {
        const char *class_, *mark;
    } moods[] = {
        [LIVE_FINE] = {"fine", "✓ Calm"},
        [LIVE_UNKNOWN] = {"unknown", "? Not known"},
        [LIVE_TROUBLE] = {"trouble", "▲ Trouble"},
    };
    struct textbuf words = TEXTBUF_INIT;
    enum live_mood mood = LIVE_UNKNOWN;
    if (sight->view.tick.number == 0)
        textbuf_str(&words, "Nothing is known yet: the exporter has just been started.");
    else
        mood = live_verdict(&sight->view, sight->all, &words);
    textbuf_printf(out, "<p id=\"verdict\" class=\"verdict live %s\" role=\"status\"><b>%s</b> ",
                   moods[mood].class_, moods[mood].mark);
    if (textbuf_finish(&words) == 0)
        textbuf_html(out, words.data);
    textbuf_str(out, "</p>\n");
    textbuf_release(&words);
}

/* What collectors say of it: in plain text, which may hold anything. */
static void add_headlines(struct textbuf *out, const struct sight *sight)
{
    const struct pages *pages = sight->pages;
    for (size_t i = 0; sight->all && i < pages->config.n_collectors; i++) {
        const struct pages_collector *collector = &pages->config.collectors[i];
        if (!collector->self || !collector->ops->page || !collector->ops->page->headline)
            continue;
        struct textbuf text = TEXTBUF_INIT;
        collector->ops->page->headline(collector->self, &text);
        if (!textbuf_finish(&text) && text.len > 0) {
            textbuf_str(out, "<p>");
            textbuf_html(out, text.data);
            textbuf_str(out, "</p>\n");
        }
        textbuf_release(&text);
    }
}

static void add_collectors(struct textbuf *out, const struct sight *sight)
{
    const struct pages *pages = sight->pages;
    textbuf_str(out, "<section id=\"known\" class=\"live\"><h2>What is known here, and what is "
                     "not</h2>\n<table class=\"collectors\">\n");
    for (size_t i = 0; i < pages->config.n_collectors; i++) {
        const struct collector_ops *ops = pages->config.collectors[i].ops;
        const struct verdict *verdict = &sight->status.collectors[i].verdict;
        bool available = sight->status.collectors[i].available;
        textbuf_str(out, "<tr><th scope=\"row\">");
        textbuf_html(out, ops->name);
        textbuf_printf(out, "</th><td class=\"%s\">%s</td><td>", available ? "ok" : "off",
                       available ? "runs" : reason_name(verdict->reason));
        textbuf_html(out, verdict->words[0] ? verdict->words : ops->summary);
        textbuf_str(out, "</td></tr>\n");
    }
    textbuf_printf(out,
                   "</table>\n<p>Containers: %zu monitored, %zu ended lately, %zu excluded, %zu "
                   "over the limit.</p>\n",
                   sight->status.containers[CONTAINERS_MONITORED],
                   sight->status.containers[CONTAINERS_LINGERING],
                   sight->status.containers[CONTAINERS_EXCLUDED],
                   sight->status.containers[CONTAINERS_OVER_LIMIT]);
    add_headlines(out, sight);
    textbuf_str(out, "</section>\n");
}

/* Outside of what is renewed, so that who types is not disturbed. */
static void add_form(struct textbuf *out, const struct sight *sight)
{
    textbuf_str(out, "<form id=\"filter\" method=\"get\" action=\"/\"><h2>Containers</h2>"
                     "<label>Namespace <input name=\"namespace\" autocomplete=\"off\" value=\"");
    textbuf_html(out, sight->namespace_);
    textbuf_str(out, "\"></label> <button>Filter</button></form>\n");
}

static int render(void *context, struct textbuf *out)
{
    const struct sight *sight = context;
    textbuf_str(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                     "<title>interference_exporter</title>"
                     "<link rel=\"stylesheet\" href=\"/live.css\">"
                     "<script src=\"/live.js\" defer></script>"
                     "<noscript><meta http-equiv=\"refresh\" content=\"5\"></noscript>"
                     "</head><body>\n");
    add_node(out, sight);
    if (sight->pages->reel)
        textbuf_str(out, REEL_MARKER);
    add_verdict(out, sight);
    sight_memory(out, sight);
    sight_host(out, sight);
    add_form(out, sight);
    sight_containers(out, sight);
    sight_advice(out, sight);
    add_collectors(out, sight);
    add_links(out, sight);
    textbuf_str(out, "</body></html>\n");
    return 0;
}

/* ---- the answers ---- */

static void answer(struct pages *pages, struct sight *sight, struct http_response *response)
{
    struct rendered_page *page;
    struct textbuf text = TEXTBUF_INIT;
    bool usual = sight->namespace_[0] == '\0' && sight->sort == COLUMN_TROUBLE;
    if (!usual) {
        render(sight, &text);
        pages_answer_textbuf(response, "text/html; charset=utf-8", "html", &text);
    } else if (page_cache_get(&pages->landing[sight->all], sight->updated_ns, render, sight,
                              &page) != 0) {
        pages_answer_text(response, 500, "the page could not be generated\n");
    } else {
        pages_answer_page(response, page, "text/html; charset=utf-8", "html", false);
    }
}

void pages_landing(void *context, const struct http_request *request,
                   struct http_response *response)
{
    struct pages *pages = context;
    const char *namespace_ = argument_text(request, "namespace");
    struct sight sight = {.pages = pages,
                          .all = pages_may_read(pages, request),
                          .namespace_ = namespace_ ? namespace_ : "",
                          .sort = sight_column(argument_text(request, "sort"))};
    pages_take_status(pages, &sight.status, &sight.updated_ns);
    int err = pages->config.live ? live_copy(pages->config.live, &sight.view) : -ENODATA;
    if (err && err != -ENODATA) {
        pages_answer_text(response, 500, "the page could not be generated\n");
        return;
    }
    live_sort(&sight.view);
    answer(pages, &sight, response);
    live_view_release(&sight.view);
}

static void answer_asset(struct http_response *response, const char *type, const char *bytes,
                         size_t len)
{
    *response = (struct http_response){
        .status = 200, .content_type = type, .bytes = bytes, .len = len, .format = "text"};
}

void pages_live_script(void *context, const struct http_request *request,
                       struct http_response *response)
{
    (void)context;
    (void)request;
    answer_asset(response, "text/javascript; charset=utf-8", asset_live_js, asset_live_js_len);
}

void pages_live_style(void *context, const struct http_request *request,
                      struct http_response *response)
{
    (void)context;
    (void)request;
    answer_asset(response, "text/css; charset=utf-8", asset_live_css, asset_live_css_len);
}
