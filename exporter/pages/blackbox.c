/* The files of the black box. */
#include "exporter/blackbox/blackbox.h"

#include "exporter/pages/internal.h"

static void add_time(struct textbuf *out, const char *name, uint64_t wall_ns)
{
    textbuf_printf(out, ",\"%s\":%.3f", name, (double)(wall_ns / 1000000) / 1e3);
}

static void add_file(struct textbuf *out, const struct shelf_file *file, bool active)
{
    textbuf_str(out, "{\"name\":");
    textbuf_quoted(out, file->name);
    textbuf_str(out, ",\"why\":");
    textbuf_quoted(out, file->why);
    add_time(out, "began_timestamp_seconds", file->began_wall_ns);
    add_time(out, "last_timestamp_seconds", file->ended_wall_ns);
    textbuf_str(out, ",\"bytes\":");
    textbuf_u64(out, file->bytes);
    textbuf_str(out, ",\"being_written\":");
    textbuf_str(out, file->open && active ? "true}" : "false}");
}

static void add_count(struct textbuf *out, const char *name, uint64_t value)
{
    textbuf_printf(out, ",\"%s\":", name);
    textbuf_u64(out, value);
}

static void answer_list(struct blackbox *blackbox, struct http_response *response)
{
    struct textbuf out = TEXTBUF_INIT;
    struct blackbox_report report;
    uint64_t dropped;
    bool active;
    blackbox_read(blackbox, &report, &dropped, &active);
    textbuf_str(&out, "{\"directory\":");
    textbuf_quoted(&out, blackbox_directory(blackbox));
    textbuf_str(&out, active ? ",\"active\":true" : ",\"active\":false");
    textbuf_printf(&out, ",\"held_seconds\":%.3f", (double)report.ring_span_ns / 1e9);
    add_count(&out, "held_ticks", report.ring_ticks);
    add_count(&out, "memory_bytes", report.ring_bytes);
    add_count(&out, "ticks_dropped", dropped);
    add_count(&out, "files_written", report.written);
    add_count(&out, "failures", report.failed);
    textbuf_str(&out, ",\"last_failure\":");
    if (report.failure[0])
        textbuf_quoted(&out, report.failure);
    else
        textbuf_str(&out, "null");
    textbuf_str(&out, ",\"files\":[");
    for (size_t i = report.n_files; i > 0; i--) { /* the newest first */
        add_file(&out, &report.files[i - 1], active);
        if (i > 1)
            textbuf_char(&out, ',');
    }
    textbuf_str(&out, "]}\n");
    pages_answer_textbuf(response, "application/json", "json", &out);
}

void pages_api_blackbox(void *context, const struct http_request *request,
                        struct http_response *response)
{
    struct pages *pages = context;
    if (!request->post && !pages_may_read(pages, request)) {
        pages_refuse(response);
    } else if (!request->post) {
        answer_list(pages->config.blackbox, response);
    } else if (!request->known) {
        pages_answer_text(response, 403,
                          "a file is written for who says who he is: with a password or "
                          "certificate of --web.config.file; without one, send the exporter "
                          "SIGUSR2\n");
    } else if (!blackbox_ask(pages->config.blackbox)) {
        pages_answer_text(response, 503, "its process has ended: start the exporter again\n");
    } else {
        pages_answer_text(response, 202, "with the next tick: see GET /api/v1/blackbox\n");
    }
}
