#include "exporter/governor/serve/governor_pages.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { DECISIONS = 1024 };

struct governor_pages {
    struct expose *expose;
    uint64_t (*now_ns)(void);
    pthread_mutex_t lock; /* of all below */
    struct decision *decisions;
    uint64_t n_decisions; /* ever; the last is at (n - 1) % DECISIONS */
    struct textbuf state, advice;
    uint64_t shown_ns; /* when the state was, at first: when the pages were made */
    bool alive;        /* the exporter's data are acted on */
};

/* ---- answers ---- */

static void free_bytes(void *context)
{
    free(context);
}

static void answer(struct http_response *response, int status, const char *type, const char *format,
                   struct textbuf *text)
{
    if (textbuf_finish(text)) {
        textbuf_release(text);
        *response = (struct http_response){.status = 500,
                                           .content_type = "text/plain; charset=utf-8",
                                           .bytes = "",
                                           .format = "text"};
        return;
    }
    *response = (struct http_response){.status = status,
                                       .content_type = type,
                                       .bytes = text->data,
                                       .len = text->len,
                                       .release = free_bytes,
                                       .release_context = text->data,
                                       .format = format};
}

static void answer_words(struct http_response *response, int status, const char *words)
{
    struct textbuf text = TEXTBUF_INIT;
    textbuf_str(&text, words);
    answer(response, status, "text/plain; charset=utf-8", "text", &text);
}

/* Answers, if the loop hangs: what it showed last would go on to look well. */
static bool hangs(struct governor_pages *pages, struct http_response *response)
{
    uint64_t now_ns = pages->now_ns();
    pthread_mutex_lock(&pages->lock);
    uint64_t shown_ns = pages->shown_ns;
    pthread_mutex_unlock(&pages->lock);
    if (now_ns < shown_ns + GOVERNOR_PAGES_SILENCE_NS)
        return false;
    answer_words(response, 503, "the governor hangs: nothing has happened for 15 seconds\n");
    return true;
}

static void release_page(void *context)
{
    page_unref(context);
}

static void handle_metrics(void *context, const struct http_request *request,
                           struct http_response *response)
{
    struct governor_pages *pages = context;
    enum expose_format format = expose_negotiate(request->accept);
    bool gzip = expose_accepts_gzip(request->accept_encoding);
    struct rendered_page *page;
    if (hangs(pages, response))
        return;
    int err = expose_page(pages->expose, format, gzip, &page);
    if (err) {
        answer_words(response, err == -ENODATA ? 503 : 500,
                     err == -ENODATA ? "nothing has been published yet\n"
                                     : "the page could not be generated\n");
        return;
    }
    size_t len;
    const void *bytes = page_bytes(page, &len);
    *response = (struct http_response){.status = 200,
                                       .content_type = expose_content_type(format),
                                       .content_encoding = gzip ? "gzip" : NULL,
                                       .bytes = bytes,
                                       .len = len,
                                       .release = release_page,
                                       .release_context = page,
                                       .format = expose_format_name(format)};
}

/* What names containers is for this machine, and for who has a password. */
static bool may_read(const struct http_request *request, struct http_response *response)
{
    if (request->local || request->known)
        return true;
    answer_words(response, 403, "this document names containers: ask from this machine\n");
    return false;
}

static void add_number(struct textbuf *out, const char *name, double value)
{
    textbuf_printf(out, ",\"%s\":", name);
    if (isnan(value))
        textbuf_str(out, "null");
    else
        textbuf_double(out, value);
}

static void add_text(struct textbuf *out, const char *name, const char *value)
{
    textbuf_printf(out, ",\"%s\":", name);
    textbuf_quoted(out, value);
}

void governor_pages_add_decision(struct textbuf *out, const struct decision *decision)
{
    textbuf_printf(out, "{\"seq\":%llu,\"tick\":%llu", (unsigned long long)decision->seq,
                   (unsigned long long)decision->tick);
    add_number(out, "timestamp_seconds", (double)decision->wall_ns * 1e-9);
    add_text(out, "policy", policy_kind_names[decision->policy]);
    add_text(out, "action", action_names[decision->action]);
    add_text(out, "outcome", outcome_names[decision->outcome]);
    add_text(out, "container", decision->container);
    if (decision->tid)
        add_number(out, "tid", decision->tid);
    add_text(out, "knob", knob_name(decision->knob));
    add_text(out, "from", decision->from);
    add_text(out, "to", decision->to);
    add_text(out, "cause", decision->cause);
    add_text(out, "chosen_by", chosen_by_names[decision->chosen_by]);
    add_number(out, "measured", decision->measured);
    add_number(out, "limit", decision->limit);
    add_text(out, "why", decision->why);
    textbuf_char(out, '}');
}

static void handle_decisions(void *context, const struct http_request *request,
                             struct http_response *response)
{
    struct governor_pages *pages = context;
    struct textbuf text = TEXTBUF_INIT;
    if (!may_read(request, response))
        return;
    textbuf_str(&text, "{\"decisions\":[");
    pthread_mutex_lock(&pages->lock);
    uint64_t first = pages->n_decisions > DECISIONS ? pages->n_decisions - DECISIONS : 0;
    for (uint64_t i = first; i < pages->n_decisions; i++) {
        if (i > first)
            textbuf_char(&text, ',');
        governor_pages_add_decision(&text, &pages->decisions[i % DECISIONS]);
    }
    pthread_mutex_unlock(&pages->lock);
    textbuf_str(&text, "]}\n");
    answer(response, 200, "application/json", "json", &text);
}

static void handle_kept(struct governor_pages *pages, const struct textbuf *kept,
                        const struct http_request *request, struct http_response *response)
{
    struct textbuf text = TEXTBUF_INIT;
    if (!may_read(request, response))
        return;
    pthread_mutex_lock(&pages->lock);
    textbuf_add(&text, kept->data ? kept->data : "{}\n", kept->data ? kept->len : 3);
    pthread_mutex_unlock(&pages->lock);
    answer(response, 200, "application/json", "json", &text);
}

static void handle_state(void *context, const struct http_request *request,
                         struct http_response *response)
{
    struct governor_pages *pages = context;
    handle_kept(pages, &pages->state, request, response);
}

static void handle_advice(void *context, const struct http_request *request,
                          struct http_response *response)
{
    struct governor_pages *pages = context;
    handle_kept(pages, &pages->advice, request, response);
}

static void handle_healthy(void *context, const struct http_request *request,
                           struct http_response *response)
{
    (void)request;
    if (!hangs(context, response))
        answer_words(response, 200, "healthy\n");
}

static void handle_ready(void *context, const struct http_request *request,
                         struct http_response *response)
{
    struct governor_pages *pages = context;
    (void)request;
    if (hangs(pages, response))
        return;
    pthread_mutex_lock(&pages->lock);
    bool alive = pages->alive;
    pthread_mutex_unlock(&pages->lock);
    answer_words(response, alive ? 200 : 503,
                 alive ? "ready\n" : "the exporter's data are not acted on: see /api/v1/state\n");
}

static void handle_landing(void *context, const struct http_request *request,
                           struct http_response *response)
{
    (void)context;
    (void)request;
    answer_words(response, 200,
                 "interference_governor\n\n/metrics\n/api/v1/decisions\n/api/v1/state\n"
                 "/api/v1/advice\n/-/healthy\n/-/ready\n");
}

static const struct http_route routes[] = {
    {"/", "landing", handle_landing, false, false},
    {"/metrics", "metrics", handle_metrics, true, false},
    {"/api/v1/decisions", "decisions", handle_decisions, true, false},
    {"/api/v1/state", "state", handle_state, true, false},
    {"/api/v1/advice", "advice", handle_advice, true, false},
    {"/-/healthy", "healthy", handle_healthy, false, false},
    {"/-/ready", "ready", handle_ready, false, false},
};

const struct http_route *governor_pages_routes(size_t *n)
{
    *n = sizeof routes / sizeof *routes;
    return routes;
}

/* ---- writing ---- */

int governor_pages_new(struct expose *expose, uint64_t (*now_ns)(void), struct governor_pages **out)
{
    struct governor_pages *pages = calloc(1, sizeof *pages);
    if (!pages)
        return -ENOMEM;
    pages->expose = expose;
    pages->now_ns = now_ns;
    pages->shown_ns = now_ns();
    pages->decisions = calloc(DECISIONS, sizeof *pages->decisions);
    int err = pages->decisions ? -pthread_mutex_init(&pages->lock, NULL) : -ENOMEM;
    if (err) {
        free(pages->decisions);
        free(pages);
        return err;
    }
    *out = pages;
    return 0;
}

void governor_pages_free(struct governor_pages *pages)
{
    if (!pages)
        return;
    pthread_mutex_destroy(&pages->lock);
    textbuf_release(&pages->state);
    textbuf_release(&pages->advice);
    free(pages->decisions);
    free(pages);
}

void governor_pages_decision(struct governor_pages *pages, const struct decision *decision)
{
    pthread_mutex_lock(&pages->lock);
    pages->decisions[pages->n_decisions++ % DECISIONS] = *decision;
    pthread_mutex_unlock(&pages->lock);
}

static void add_holding(struct textbuf *out, const struct holding *holding, uint64_t now_ns)
{
    const struct claim *claim = &holding->claim;
    textbuf_str(out, "{\"container\":");
    textbuf_quoted(out, claim->container);
    add_text(out, "knob", knob_name(claim->knob));
    add_text(out, "path", claim->path);
    if (claim->tid)
        add_number(out, "tid", claim->tid);
    add_text(out, "policy", policy_kind_names[holding->policy]);
    textbuf_printf(out, ",\"held\":%s", claim->id ? "true" : "false");
    add_text(out, "original", claim->original);
    if (claim->set[0])
        add_text(out, "set", claim->set);
    add_number(out, "least", claim->least);
    add_number(out, "most", claim->most);
    add_number(out, "value", claim->value);
    add_number(out, "since_timestamp_seconds",
               holding->since_wall_ns ? (double)holding->since_wall_ns * 1e-9 : NAN);
    textbuf_printf(out, ",\"yielded\":%s}",
                   guard_has_yielded(&holding->memory, now_ns) ? "true" : "false");
}

static void add_calibration(struct textbuf *out, const struct policy_calibration *calibration)
{
    textbuf_str(out, "{\"container\":");
    textbuf_quoted(out, calibration->container);
    add_text(out, "phase", calibration_phase_names[calibration->phase]);
    add_number(out, "samples", calibration->samples);
    add_number(out, "held_seconds", calibration->held_seconds);
    add_number(out, "latency_seconds", calibration->latency_seconds);
    add_number(out, "used_cpus", calibration->used_cpus);
    add_number(out, "cpus", calibration->cpus);
    textbuf_char(out, '}');
}

static void add_experiment(struct textbuf *out, const struct experiment_result *result)
{
    textbuf_str(out, "{\"container\":");
    textbuf_quoted(out, result->container);
    add_number(out, "containers", (double)result->containers);
    add_text(out, "verdict", experiment_verdict_names[result->verdict]);
    add_number(out, "pairs", result->pairs);
    add_number(out, "effect_ratio", result->effect);
    add_number(out, "error_ratio", result->error);
    add_number(out, "probability_before", result->prior);
    add_number(out, "probability", result->probability);
    add_number(out, "held_seconds", result->held_seconds);
    add_number(out, "ended_timestamp_seconds",
               result->ended_wall_ns ? (double)result->ended_wall_ns * 1e-9 : NAN);
    textbuf_char(out, '}');
}

/* Those that are kept, and the one under way. */
static void add_experiments(struct textbuf *out, const struct experiment *experiment)
{
    bool any = false;
    textbuf_str(out, ",\"experiments\":[");
    for (size_t i = 0; i <= EXPERIMENT_RESULTS; i++) {
        const struct experiment_result *result =
            i < EXPERIMENT_RESULTS ? &experiment->results[i] : &experiment->now;
        if (!result->owner)
            continue;
        if (any)
            textbuf_char(out, ',');
        add_experiment(out, result);
        any = true;
    }
    textbuf_char(out, ']');
}

/* With the lock held. */
static void write_advice(struct textbuf *out, const struct advice *advice)
{
    textbuf_clear(out);
    textbuf_printf(out, "{\"enabled\":%s", advice ? "true" : "false");
    if (advice) {
        add_text(out, "admission", advice->hold ? "hold" : "ok");
        add_number(out, "slowdown_ratio", advice->slowdown);
        add_text(out, "slowed_container", advice->cause);
        add_text(out, "candidate_to_move", advice->candidate);
        add_number(out, "candidate_reads_share_ratio", advice->reads_share);
    }
    textbuf_str(out, "}\n");
}

void governor_pages_state(struct governor_pages *pages, const struct governor_state *state,
                          uint64_t now_ns)
{
    size_t n, shown = 0;
    const struct holding *holdings = enforcer_holdings(state->enforcer, &n);
    pthread_mutex_lock(&pages->lock);
    struct textbuf *out = &pages->state;
    pages->shown_ns = now_ns;
    pages->alive = !state->liveness->dead;
    textbuf_clear(out);
    textbuf_printf(out, "{\"mode\":\"%s\",\"paused\":%s,\"acts_on_exporter\":%s",
                   state->enforce ? "enforce" : "observe", state->paused ? "true" : "false",
                   state->liveness->dead ? "false" : "true");
    if (state->liveness->dead)
        add_text(out, "why_not", dead_reason_names[state->liveness->reason]);
    textbuf_printf(out, ",\"tick\":%llu", (unsigned long long)state->liveness->tick);
    textbuf_str(out, ",\"claims\":[");
    for (size_t i = 0; i < n; i++) {
        if (!holdings[i].known)
            continue;
        if (shown++)
            textbuf_char(out, ',');
        add_holding(out, &holdings[i], now_ns);
    }
    textbuf_str(out, "],\"calibrations\":[");
    for (size_t i = 0; i < state->policies.n_calibrations; i++) {
        if (i > 0)
            textbuf_char(out, ',');
        add_calibration(out, &state->policies.calibrations[i]);
    }
    textbuf_char(out, ']');
    if (state->experiment)
        add_experiments(out, state->experiment);
    if (state->forecast) {
        textbuf_str(out, ",\"would_have\":");
        forecast_list(state->forecast, out);
    }
    textbuf_str(out, "}\n");
    write_advice(&pages->advice, state->policies.advice);
    pthread_mutex_unlock(&pages->lock);
}
