#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exporter/base/array.h"
#include "exporter/pages/internal.h"

enum { KEPT_ROUTES_MAX = 16, LEVEL = 1, MARKS_SHOWN = 20 };
static const uint64_t second_ns = 1000000000;

/* A document of a tick. */
struct frame {
    void *packed;
    size_t packed_len, len; /* 0: it could not be made */
};

struct reel {
    void *context;
    const char *note;
    struct http_route routes[KEPT_ROUTES_MAX];
    char types[KEPT_ROUTES_MAX][64], formats[KEPT_ROUTES_MAX][16];
    size_t n_routes;
    struct libdeflate_compressor *compressor;
    pthread_mutex_t lock; /* guards what follows */
    struct shot {
        uint64_t wall_ns;
        char *mark;           /* NULL: there is none */
        struct frame *frames; /* by route */
    } * shots;
    size_t n, cap;
};

int reel_new(const struct http_route *routes, size_t n, void *context, const char *note,
             struct reel **out)
{
    struct reel *reel = calloc(1, sizeof *reel);
    if (!reel || !(reel->compressor = libdeflate_alloc_compressor(LEVEL))) {
        free(reel);
        return -ENOMEM;
    }
    reel->context = context;
    reel->note = note;
    for (size_t i = 0; i < n && reel->n_routes < KEPT_ROUTES_MAX; i++)
        if (!routes[i].post &&
            (strcmp(routes[i].path, "/") == 0 || strncmp(routes[i].path, "/api/", 5) == 0))
            reel->routes[reel->n_routes++] = routes[i];
    pthread_mutex_init(&reel->lock, NULL);
    *out = reel;
    return 0;
}

static void free_frames(struct reel *reel, struct frame *frames)
{
    for (size_t i = 0; frames && i < reel->n_routes; i++)
        free(frames[i].packed);
    free(frames);
}

void reel_free(struct reel *reel)
{
    if (!reel)
        return;
    for (size_t i = 0; i < reel->n; i++) {
        free_frames(reel, reel->shots[i].frames);
        free(reel->shots[i].mark);
    }
    free(reel->shots);
    libdeflate_free_compressor(reel->compressor);
    pthread_mutex_destroy(&reel->lock);
    free(reel);
}

/* ---- keeping ---- */

static size_t no_query(const struct http_request *request, const char *name, const char **values,
                       size_t cap)
{
    (void)request;
    (void)name;
    (void)values;
    (void)cap;
    return 0;
}

static void pack(struct reel *reel, size_t i, const struct http_response *response,
                 struct frame *frame)
{
    size_t room = libdeflate_deflate_compress_bound(reel->compressor, response->len);
    if (response->status != 200 || !(frame->packed = malloc(room)))
        return;
    frame->packed_len = libdeflate_deflate_compress(reel->compressor, response->bytes,
                                                    response->len, frame->packed, room);
    void *shrunk = realloc(frame->packed, frame->packed_len + 1);
    if (shrunk)
        frame->packed = shrunk;
    frame->len = response->len;
    snprintf(reel->types[i], sizeof reel->types[i], "%s", response->content_type);
    snprintf(reel->formats[i], sizeof reel->formats[i], "%s", response->format);
}

static struct frame *take_frames(struct reel *reel)
{
    struct frame *frames = calloc(reel->n_routes + 1, sizeof *frames);
    for (size_t i = 0; frames && i < reel->n_routes; i++) {
        const struct http_request request = {
            .path = reel->routes[i].path, .known = true, .query = no_query};
        struct http_response response = {.status = 0};
        reel->routes[i].handle(reel->context, &request, &response);
        pack(reel, i, &response, &frames[i]);
        if (response.release)
            response.release(response.release_context);
    }
    return frames;
}

int reel_keep(struct reel *reel, uint64_t wall_ns, const char *mark)
{
    struct frame *frames = take_frames(reel);
    if (!frames)
        return -ENOMEM;
    pthread_mutex_lock(&reel->lock);
    int err = array_reserve(&reel->shots, &reel->cap, reel->n + 1, sizeof *reel->shots);
    if (!err) {
        struct shot *shot = &reel->shots[reel->n++];
        *shot = (struct shot){
            .wall_ns = wall_ns, .mark = mark[0] ? strdup(mark) : NULL, .frames = frames};
    }
    pthread_mutex_unlock(&reel->lock);
    if (err)
        free_frames(reel, frames);
    return err;
}

/* ---- showing; with the lock held ---- */

/* The last tick up to then, or the first of all. */
static const struct shot *shot_at(const struct reel *reel, uint64_t seconds)
{
    size_t low = 0, high = reel->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reel->shots[middle].wall_ns / second_ns <= seconds)
            low = middle + 1;
        else
            high = middle;
    }
    return &reel->shots[low > 0 ? low - 1 : 0];
}

static const struct shot *first_marked(const struct reel *reel)
{
    for (size_t i = 0; i < reel->n; i++)
        if (reel->shots[i].mark)
            return &reel->shots[i];
    return &reel->shots[reel->n - 1];
}

static void add_clock(struct textbuf *out, uint64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / second_ns);
    struct tm utc;
    char text[16] = "";
    if (gmtime_r(&seconds, &utc))
        strftime(text, sizeof text, "%H:%M:%S", &utc);
    textbuf_str(out, text);
}

static void add_note(const struct reel *reel, struct textbuf *out)
{
    if (!reel->note)
        return;
    textbuf_str(out, "<p class=\"note\">What was normal before the recording: ");
    textbuf_html(out, reel->note);
    textbuf_str(out, "</p>\n");
}

/* A slider, what plays and pauses, and links to what is marked: all of it works without a script,
 * but for playing. */
static void add_controls(const struct reel *reel, const struct shot *shot, struct textbuf *out)
{
    const struct shot *last = &reel->shots[reel->n - 1];
    unsigned shown = 0;
    textbuf_printf(
        out,
        "<form id=\"reel\" method=\"get\" action=\"/\"><label>Time <input type=\"range\" "
        "name=\"at\" min=\"%llu\" max=\"%llu\" value=\"%llu\" step=\"1\"></label> <output>",
        (unsigned long long)(reel->shots[0].wall_ns / second_ns),
        (unsigned long long)(last->wall_ns / second_ns),
        (unsigned long long)(shot->wall_ns / second_ns));
    add_clock(out, shot->wall_ns);
    textbuf_str(out, " UTC</output> <button>Go</button>");
    for (size_t i = 0; i < reel->n && shown < MARKS_SHOWN; i++) {
        const struct shot *marked = &reel->shots[i];
        if (!marked->mark)
            continue;
        textbuf_printf(
            out, "%s<a href=\"/?at=%llu\" data-at=\"%llu\">",
            shown++ ? ", " : " marked: ", (unsigned long long)(marked->wall_ns / second_ns),
            (unsigned long long)(marked->wall_ns / second_ns));
        add_clock(out, marked->wall_ns);
        textbuf_char(out, ' ');
        textbuf_html(out, marked->mark);
        textbuf_str(out, "</a>");
    }
    textbuf_str(out, "</form>\n");
    add_note(reel, out);
}

/* 0 with the text, into which the controls are put where their marker is. */
static int unpack(const struct reel *reel, const struct shot *shot, size_t route, bool controls,
                  struct textbuf *out)
{
    const struct frame *frame = &shot->frames[route];
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    char *text = malloc(frame->len + 1);
    int err = !decompressor || !text ? -ENOMEM : frame->len == 0 ? -ENODATA : 0;
    if (!err && libdeflate_deflate_decompress(decompressor, frame->packed, frame->packed_len, text,
                                              frame->len, NULL) != LIBDEFLATE_SUCCESS)
        err = -EBADMSG;
    if (!err) {
        text[frame->len] = '\0';
        const char *marker = controls && strcmp(reel->routes[route].path, "/") == 0
                                 ? strstr(text, REEL_MARKER)
                                 : NULL;
        size_t before = marker ? (size_t)(marker - text) : 0;
        textbuf_add(out, text, before);
        if (marker)
            add_controls(reel, shot, out);
        textbuf_add(out, text + before, frame->len - before);
        err = textbuf_finish(out);
    }
    libdeflate_free_decompressor(decompressor);
    free(text);
    return err;
}

/* ---- a report ---- */

/* Cuts what begins with 'from' up to the end of the next 'to'. */
static void cut(char *text, const char *from, const char *to)
{
    char *begin = strstr(text, from), *end = begin ? strstr(begin, to) : NULL;
    if (end)
        memmove(begin, end + strlen(to), strlen(end + strlen(to)) + 1);
}

static void add_moments(const struct reel *reel, const struct shot *shot, struct textbuf *out)
{
    textbuf_str(out, "<section id=\"moments\"><h2>What began when</h2>\n<p>This page shows ");
    add_clock(out, shot->wall_ns);
    textbuf_str(out, " UTC.</p>\n<ul>");
    for (size_t i = 0; i < reel->n; i++) {
        if (!reel->shots[i].mark)
            continue;
        textbuf_str(out, "<li>");
        add_clock(out, reel->shots[i].wall_ns);
        textbuf_str(out, " UTC ");
        textbuf_html(out, reel->shots[i].mark);
        textbuf_str(out, "</li>\n");
    }
    textbuf_str(out, "</ul>\n");
    add_note(reel, out);
    textbuf_str(out, "</section>\n");
}

/* What led to the server leads nowhere. */
static void add_unlinked(struct textbuf *out, const char *text)
{
    static const char link[] = "<a href=\"";
    for (const char *at, *end; (at = strstr(text, link)); text = end + 1) {
        end = strchr(at + sizeof link - 1, '"');
        if (!end)
            break;
        textbuf_add(out, text, (size_t)(at - text));
        textbuf_str(out, "<a");
    }
    textbuf_str(out, text);
}

/* The element with this id to the end of the next 'to', without the id, which the page has once. */
static void add_part(struct textbuf *out, char *text, const char *id, const char *to)
{
    char *at = strstr(text, id), *begin = at, *end = at ? strstr(at, to) : NULL;
    while (end && *begin != '<')
        begin--;
    if (!end)
        return;
    textbuf_add(out, begin, (size_t)(at - begin));
    end[strlen(to)] = '\0';
    add_unlinked(out, at + strlen(id));
}

/* What else was marked: what was said then, and of whom. */
static void add_moment(const struct reel *reel, const struct shot *shot, size_t route,
                       struct textbuf *out)
{
    static const char *const parts[][2] = {{" id=\"verdict\"", "</p>\n"},
                                           {" id=\"containers\"", "</section>\n"}};
    struct textbuf text = TEXTBUF_INIT;
    textbuf_str(out, "<section class=\"moment\"><h2>");
    add_clock(out, shot->wall_ns);
    textbuf_str(out, " UTC ");
    textbuf_html(out, shot->mark);
    textbuf_str(out, "</h2>\n");
    for (size_t i = 0; i < 2 && unpack(reel, shot, route, false, &text) == 0; i++) {
        add_part(out, text.data, parts[i][0], parts[i][1]);
        textbuf_clear(&text);
    }
    textbuf_str(out, "</section>\n");
    textbuf_release(&text);
}

static void add_later(const struct reel *reel, const struct shot *shot, size_t route,
                      struct textbuf *out)
{
    unsigned shown = 0;
    for (size_t i = 0; i < reel->n && shown < MARKS_SHOWN; i++) {
        if (!reel->shots[i].mark || &reel->shots[i] == shot)
            continue;
        add_moment(reel, &reel->shots[i], route, out);
        shown++;
    }
}

static void compose(const struct reel *reel, const struct shot *shot, size_t route,
                    const struct reel_style *style, char *text, struct textbuf *out)
{
    static const char ends[] = "</body></html>\n";
    static const char link[] = "<link rel=\"stylesheet\" href=\"/live.css\">";
    cut(text, "<script", "</script>");
    cut(text, "<noscript>", "</noscript>");
    cut(text, "<form id=\"filter\"", "</form>");
    cut(text, "<section id=\"raw\"", "</section>");
    char *head = strstr(text, link), *marker = strstr(text, REEL_MARKER);
    if (!head || !marker || marker < head) {
        textbuf_str(out, text);
        return;
    }
    textbuf_add(out, text, (size_t)(head - text));
    textbuf_str(out, "<style>");
    textbuf_add(out, style->css, style->len);
    textbuf_str(out, "</style>");
    head += sizeof link - 1;
    textbuf_add(out, head, (size_t)(marker - head));
    add_moments(reel, shot, out);
    char *end = strstr(marker, ends);
    if (end)
        *end = '\0';
    add_unlinked(out, marker);
    add_later(reel, shot, route, out);
    textbuf_str(out, ends);
}

int reel_report(struct reel *reel, const struct reel_style *style, struct textbuf *out)
{
    struct textbuf text = TEXTBUF_INIT;
    size_t route = 0;
    while (route < reel->n_routes && strcmp(reel->routes[route].path, "/") != 0)
        route++;
    pthread_mutex_lock(&reel->lock);
    int err = reel->n == 0 || route == reel->n_routes ? -ENODATA : 0;
    const struct shot *shot = err ? NULL : first_marked(reel);
    if (!err)
        err = unpack(reel, shot, route, false, &text);
    if (!err) {
        compose(reel, shot, route, style, text.data, out);
        err = textbuf_finish(out);
    }
    pthread_mutex_unlock(&reel->lock);
    textbuf_release(&text);
    return err;
}

/* ---- answers ---- */

static void answer(const struct reel *reel, const struct shot *shot, size_t route,
                   struct http_response *response)
{
    struct textbuf text = TEXTBUF_INIT;
    if (!unpack(reel, shot, route, true, &text)) {
        pages_answer_textbuf(response, reel->types[route], reel->formats[route], &text);
        return;
    }
    textbuf_release(&text);
    pages_answer_text(response, 500, "the document of that time could not be made\n");
}

bool reel_answer(struct reel *reel, const struct http_request *request,
                 struct http_response *response)
{
    const char *at = argument_text(request, "at");
    size_t route = 0, seconds = 0;
    while (route < reel->n_routes && strcmp(reel->routes[route].path, request->path) != 0)
        route++;
    if (route == reel->n_routes || (!at && strcmp(request->path, "/") != 0))
        return false;
    if (at && !argument_number(at, SIZE_MAX / 100, &seconds)) {
        pages_answer_text(response, 400,
                          "at is a time in whole seconds since 1970, as in the documents\n");
        return true;
    }
    pthread_mutex_lock(&reel->lock);
    bool known = reel->n > 0;
    if (known)
        answer(reel, at ? shot_at(reel, seconds) : first_marked(reel), route, response);
    pthread_mutex_unlock(&reel->lock);
    return known;
}
