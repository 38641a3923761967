/* /api/v1/containers: what is known of each container, who is in trouble first. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/workload.h"
#include "exporter/live/blame.h"
#include "exporter/live/order.h"
#include "exporter/live/verdict.h"
#include "exporter/live/words.h"
#include "exporter/pages/internal.h"

enum { CONTAINERS_LISTED_MAX = 1000000 }; /* of limit and offset */

/* What the document is made of, while it is made. */
struct listing {
    struct pages *pages;
    struct pages_status status;
    struct live_view view; /* sorted; empty before the first tick */
    bool known;            /* there was one */
    double all_reads;
    const struct live_container **by_name; /* of the view */
    struct containers_listing parts;
};

/* ---- finding a container by its labels ---- */

static int compare_names(const struct live_container *a, const struct live_container *b)
{
    int order = strcmp(a->id, b->id);
    order = order ? order : strcmp(a->namespace_, b->namespace_);
    order = order ? order : strcmp(a->pod, b->pod);
    return order ? order : strcmp(a->name, b->name);
}

static int compare_pointers(const void *a, const void *b)
{
    return compare_names(*(const struct live_container *const *)a,
                         *(const struct live_container *const *)b);
}

/* Clipped as the live view has them: otherwise a long name is no name of its container. */
static size_t rank(void *context, const struct label *labels, size_t n)
{
    const struct listing *listing = context;
    struct live_container key = {.tag = 0};
    for (size_t i = 0; i < n; i++) {
        const char *name = labels[i].name, *value = labels[i].value;
        if (strcmp(name, "namespace") == 0)
            clip_text(key.namespace_, sizeof key.namespace_, value);
        else if (strcmp(name, "pod") == 0)
            clip_text(key.pod, sizeof key.pod, value);
        else if (strcmp(name, "container") == 0)
            clip_text(key.name, sizeof key.name, value);
        else if (strcmp(name, "container_id") == 0)
            clip_text(key.id, sizeof key.id, value);
    }
    const struct live_container *wanted = &key;
    const struct live_container **found = listing->view.n == 0
                                              ? NULL
                                              : bsearch(&wanted, listing->by_name, listing->view.n,
                                                        sizeof *listing->by_name, compare_pointers);
    return found ? (size_t)(*found - listing->view.containers) : SIZE_MAX;
}

/* ---- what is said of it ---- */

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *word(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* A time of the ticks' clock, as the clock of the wall has it now: somebody may have set that. */
static json_t *timestamp(const struct listing *listing, bool known, uint64_t mono_ns)
{
    const struct tick *tick = &listing->view.tick;
    double age_seconds = (double)(int64_t)(tick->mono_ns - mono_ns) * 1e-9;
    return number(known ? (double)tick->wall_ns * 1e-9 - age_seconds : NAN);
}

/* By socket, those that it reads from. */
static json_t *sockets(const struct live_container *c)
{
    json_t *object = c->socket_known ? json_object() : json_null();
    for (int i = 0; c->socket_known && i < LIVE_SOCKETS; i++) {
        char name[12];
        snprintf(name, sizeof name, "%d", i);
        if (c->socket_share[i] > 0)
            json_object_set_new(object, name, json_real((double)c->socket_share[i]));
    }
    return object;
}

static const char *suspicion_of(const struct live_container *c)
{
    static const char *const words[] = {
        [LIVE_UNSUSPECTED] = NULL, [LIVE_DOUBTED] = "doubted", [LIVE_SUSPECTED] = "suspected",
        [LIVE_IN_GROUP] = "group", [LIVE_NAMED] = "named",
    };
    return words[c->suspicion];
}

static const char *state_of(const struct live_container *c, enum blame blame)
{
    if (c->waits)
        return "waits";
    if (c->suspicion != LIVE_UNSUSPECTED)
        return suspicion_of(c);
    if (blame != BLAME_UNKNOWN && blame != BLAME_NOTHING)
        return "waits";
    return isnan(c->number[LIVE_NORMAL_SECONDS]) && blame == BLAME_UNKNOWN ? "unknown" : "ok";
}

/* Seconds per second, by cause; null: nobody looks for it. */
static json_t *lost_of(const struct live_container *c)
{
    json_t *object = c->lost.told ? json_object() : json_null();
    for (int i = 0; c->lost.told && i < LOSSES; i++)
        if (c->lost.per_second[i] > 0)
            json_object_set_new(object, loss_name((enum loss)i), number(c->lost.per_second[i]));
    return object;
}

static json_t *why_of(const struct live_view *view, const struct live_container *c)
{
    struct textbuf words = TEXTBUF_INIT;
    live_why(&words, view, c, true);
    json_t *text = textbuf_finish(&words) ? NULL : json_stringn(words.data, words.len);
    textbuf_release(&words);
    return text ? text : json_null();
}

/* By its labels, which those have, too, that have ended. */
static json_t *workload_of(const json_t *object)
{
    const char *pod = json_string_value(json_object_get(object, "pod"));
    const char *name = json_string_value(json_object_get(object, "container"));
    if (!pod || !name)
        return json_null();
    return json_stringn(*pod ? pod : name, workload_owner_len(pod, name));
}

/* What other memory would cost it; null: not known. */
static json_t *elsewhere_of(const struct live_view *view, const struct live_container *c)
{
    json_t *list = json_array();
    for (int t = 0; t < LIVE_TARGETS && list; t++) {
        const struct live_elsewhere *there = &c->elsewhere[t];
        if (isnan(there->ratio))
            continue;
        json_t *one = json_pack("{s:s,s:f,s:f,s:f}", "target", view->target[t], "slowdown_ratio",
                                there->ratio, "half_slowdown_lower_ratio", there->half_lower,
                                "half_slowdown_upper_ratio", there->half_upper);
        if (json_array_append_new(list, one) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    if (!list || json_array_size(list) > 0)
        return list;
    json_decref(list);
    return json_null();
}

/* One that has ended, or that no tick has shown yet, has the same members. */
static int describe(void *context, size_t at, json_t *object)
{
    const struct listing *listing = context;
    static const struct live_container nothing = {.caused_numa_node = -1};
    bool shown = at < listing->view.n;
    struct live_container c = shown ? listing->view.containers[at] : nothing;
    for (int i = 0; i < LIVE_NUMBERS && !shown; i++)
        c.number[i] = NAN;
    for (int t = 0; t < LIVE_TARGETS && !shown; t++)
        c.elsewhere[t].ratio = NAN;
    enum blame blame = shown ? live_blame(&listing->view, &c) : BLAME_UNKNOWN;
    const struct {
        const char *name;
        json_t *value;
    } members[] = {
        {"workload", workload_of(object)},
        {"cgroup_id", c.cgroup_id ? json_integer((json_int_t)c.cgroup_id) : json_null()},
        {"running", listing->known ? json_boolean(shown) : json_null()},
        {"state", word(shown            ? state_of(&c, blame)
                       : listing->known ? "ended"
                                        : NULL)},
        {"suspicion", word(suspicion_of(&c))},
        {"verdict", word(blame_name(blame))},
        {"why", shown ? why_of(&listing->view, &c) : json_null()},
        {"lost", lost_of(&c)},
        {"read_latency_seconds", number(c.number[LIVE_READ_SECONDS])},
        {"normal_latency_seconds", number(c.number[LIVE_NORMAL_SECONDS])},
        {"latency_ratio", number(live_ratio(&c))},
        {"slowdown_ratio", number(c.number[LIVE_SLOWDOWN_RATIO])},
        {"slowdown_limit_ratio", number(c.number[LIVE_SLOWDOWN_LIMIT])},
        {"waits_since_timestamp_seconds", timestamp(listing, c.waits, c.waits_since_mono_ns)},
        {"reads_per_second", number(c.number[LIVE_READS_PER_SECOND])},
        {"reads_share_ratio",
         number(listing->all_reads > 0 ? c.number[LIVE_READS_PER_SECOND] / listing->all_reads
                                       : NAN)},
        {"socket_shares", sockets(&c)},
        {"llc_reads_per_second", number(c.number[LIVE_LLC_READS_PER_SECOND])},
        {"cycles_per_instruction", number(c.number[LIVE_CYCLES_PER_INSTRUCTION])},
        {"cpu_seconds_per_second", number(c.number[LIVE_CPUS])},
        {"memory_level_parallelism", number(c.number[LIVE_PARALLELISM])},
        {"elsewhere", elsewhere_of(&listing->view, &c)},
        {"caused_latency_seconds", number(c.number[LIVE_CAUSED_SECONDS])},
        {"caused_latency_uncertainty_seconds", number(c.number[LIVE_CAUSED_SD_SECONDS])},
        {"caused_probability_ratio", number(shown ? c.probability : NAN)},
        {"caused_numa_node", number(c.caused_numa_node < 0 ? NAN : c.caused_numa_node)},
        {"normal_basis", word(c.normal_basis)},
        {"normal_since_timestamp_seconds",
         timestamp(listing, c.normal_basis != NULL, c.normal_since_mono_ns)},
        {"why_no_normal", word(c.why_no_normal)},
        {"why_no_slowdown", word(c.why_no_slowdown)},
    };
    int err = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_set_new(object, members[i].name, members[i].value))
            err = -ENOMEM;
    return err;
}

/* ---- the document ---- */

static int look(struct listing *listing)
{
    int err = listing->pages->config.live ? live_copy(listing->pages->config.live, &listing->view)
                                          : -ENODATA;
    listing->known = err == 0;
    if (err && err != -ENODATA)
        return err;
    live_sort(&listing->view);
    listing->all_reads = live_all_reads(&listing->view);
    listing->by_name = calloc(listing->view.n + 1, sizeof *listing->by_name);
    if (!listing->by_name)
        return -ENOMEM;
    for (size_t i = 0; i < listing->view.n; i++)
        listing->by_name[i] = &listing->view.containers[i];
    qsort(listing->by_name, listing->view.n, sizeof *listing->by_name, compare_pointers);
    return 0;
}

static void add_tick(struct textbuf *out, const char *name, const struct tick *tick,
                     const char *space)
{
    textbuf_printf(out,
                   "\"%s\":{\"number\":%llu,\"monotonic_seconds\":%.9f,"
                   "\"interval_seconds\":%.9f},%s",
                   name, (unsigned long long)tick->number, (double)tick->mono_ns * 1e-9,
                   (double)tick->interval_ns * 1e-9, space);
}

/* "tick" is of "values", which are the snapshot's; "live_tick" of the other numbers: the live view
 * may be a tick ahead of the snapshot, or behind. */
static void add_origin(struct textbuf *out, const struct snapshot_origin *origin,
                       const struct listing *listing, const char *space)
{
    uint64_t own_cgroup = listing->pages->config.own_cgroup;
    double base_hz = listing->status.machine.base_frequency_hz;
    textbuf_str(out, "{\"source\":");
    textbuf_quoted(out, origin->source ? origin->source : "");
    textbuf_printf(out, ",%s\"replay_ended\":%s,%s\"timestamp_seconds\":%.3f,%s", space,
                   origin->replay_ended ? "true" : "false", space,
                   (double)origin->tick.wall_ns * 1e-9, space);
    if (own_cgroup)
        textbuf_printf(out, "\"own_cgroup_id\":%llu,%s", (unsigned long long)own_cgroup, space);
    else
        textbuf_printf(out, "\"own_cgroup_id\":null,%s", space);
    if (base_hz > 0)
        textbuf_printf(out, "\"base_frequency_hz\":%.0f,%s", base_hz, space);
    else
        textbuf_printf(out, "\"base_frequency_hz\":null,%s", space);
    add_tick(out, "tick", &origin->tick, space);
    struct textbuf costliest = TEXTBUF_INIT;
    textbuf_str(out, "\"costliest\":");
    if (live_say_costliest(&costliest, &listing->view, true) && !textbuf_finish(&costliest))
        textbuf_quoted(out, costliest.data);
    else
        textbuf_str(out, "null");
    textbuf_release(&costliest);
    textbuf_printf(out, ",%s", space);
    if (listing->known)
        add_tick(out, "live_tick", &listing->view.tick, space);
    else
        textbuf_printf(out, "\"live_tick\":null,%s", space);
}

static int render(void *context, struct textbuf *out)
{
    struct listing *listing = context;
    struct textbuf list = TEXTBUF_INIT;
    size_t total = 0;
    struct snapshot *snapshot = store_acquire(listing->pages->config.store);
    const char *space = listing->parts.pretty ? "\n" : "";
    int err = snapshot ? look(listing) : -ENODATA;
    listing->parts.context = listing;
    listing->parts.rank = rank;
    listing->parts.describe = describe;
    if (!err)
        err = expose_containers_json(snapshot, &listing->parts, &list, &total);
    if (!err) {
        add_origin(out, snapshot_origin(snapshot), listing, space);
        textbuf_printf(out, "\"total\":%zu,%s\"offset\":%zu,%s", total, space,
                       listing->parts.offset, space);
        textbuf_str(out, "\"containers\":");
        textbuf_add(out, list.data, list.len);
        textbuf_str(out, "}\n");
    }
    textbuf_release(&list);
    live_view_release(&listing->view);
    free(listing->by_name);
    listing->by_name = NULL;
    snapshot_release(snapshot);
    return err;
}

int pages_containers(struct pages *pages, struct textbuf *out)
{
    struct listing listing = {.pages = pages};
    uint64_t updated_ns;
    pages_take_status(pages, &listing.status, &updated_ns);
    int err = render(&listing, out);
    return err ? err : textbuf_finish(out);
}

/* False: one of them is wrong. */
static bool take_arguments(const struct http_request *request, struct containers_listing *out)
{
    const char *limit = argument_text(request, "limit");
    const char *offset = argument_text(request, "offset");
    out->pretty = argument_switch(request, "pretty");
    return (!limit || argument_number(limit, CONTAINERS_LISTED_MAX, &out->limit)) &&
           (!offset || argument_number(offset, CONTAINERS_LISTED_MAX, &out->offset));
}

void pages_api_containers(void *context, const struct http_request *request,
                          struct http_response *response)
{
    struct pages *pages = context;
    struct listing listing = {.pages = pages};
    struct rendered_page *page;
    uint64_t updated_ns;
    if (!pages_may_read(pages, request)) {
        pages_refuse(response);
        return;
    }
    if (!take_arguments(request, &listing.parts)) {
        pages_answer_text(response, 400, "limit and offset are numbers from 0 to 1000000\n");
        return;
    }
    pages_take_status(pages, &listing.status, &updated_ns);
    bool whole = !listing.parts.pretty && !listing.parts.limit && !listing.parts.offset;
    struct textbuf text = TEXTBUF_INIT;
    int err = whole ? page_cache_get(&pages->containers, updated_ns, render, &listing, &page)
                    : render(&listing, &text);
    if (err == -ENODATA)
        pages_answer_text(response, 503, "nothing has been published yet\n");
    else if (err)
        pages_answer_text(response, 500, "the document could not be generated\n");
    else if (whole)
        pages_answer_page(response, page, "application/json", "json", false);
    else
        pages_answer_textbuf(response, "application/json", "json", &text);
    if (err)
        textbuf_release(&text);
}
