#include "collectors/attribution/page/list.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/containers/workload.h"
#include "exporter/live/words.h"

static json_t *number(bool known, double value)
{
    return known && isfinite(value) ? json_real(value) : json_null();
}

/* The most harmful first; names decide between equals, so that the order is always the same. */
static int compare_rows(const void *a, const void *b)
{
    const struct attribution_list_row *x = a, *y = b;
    if (x->finding.caused_ns != y->finding.caused_ns)
        return x->finding.caused_ns > y->finding.caused_ns ? -1 : 1;
    return strcmp(x->who.short_id, y->who.short_id);
}

/* What its pod, or its cgroup, is one of. */
static json_t *workload_json(const struct attribution_list_row *row)
{
    const char *name = row->who.pod[0] ? row->who.pod : row->who.name;
    return json_stringn(name, workload_owner_len(row->who.pod, row->who.name));
}

static json_t *row_json(const struct attribution_list_row *row)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "namespace",
        row->who.namespace_, "pod", row->who.pod, "container", row->who.name, "container_id",
        row->who.short_id, "workload", workload_json(row), "caused_ns",
        number(true, row->finding.caused_ns), "sd_ns", number(true, row->finding.sd_ns), "z",
        number(true, row->finding.score), "episodes", number(true, row->finding.support),
        "activity", number(true, row->finding.activity), "activity_low",
        number(true, row->finding.lowest), "p", number(true, row->finding.probability));
}

/* In the list of this state: with the suspects are those who were refused a name. */
static bool is_listed(enum attribution_state row, enum attribution_state state)
{
    return row == state || (state == ATTRIBUTION_SUSPECTED && row == ATTRIBUTION_DOUBTED);
}

static void add_odds(struct textbuf *out, const struct attribution_list_domain *domain,
                     const struct attribution_list_row *row)
{
    if (isnan(row->finding.probability)) {
        textbuf_str(out, "the latency goes with it, but not with its starts and ends");
        return;
    }
    odds_say(out, row->finding.probability);
    textbuf_str(out, " that it is this one, by its starts and ends so far");
    size_t len = out->len;
    textbuf_str(out, "; this node's memory steps ");
    if (!odds_say_rate(out, domain->steps_per_hour))
        out->len = len;
    else
        textbuf_str(out, " by itself");
}

/* Why nobody says for sure that it is this one; NULL: there is nothing to add. */
static json_t *why_json(const struct attribution_list_domain *domain,
                        const struct attribution_list_row *row)
{
    struct textbuf text;
    textbuf_init(&text);
    if (row->finding.state == ATTRIBUTION_SUSPECTED)
        add_odds(&text, domain, row);
    else if (row->finding.state == ATTRIBUTION_DOUBTED)
        textbuf_str(&text, "its CPU time rises little more than the latency does: it may only be "
                           "waiting");
    json_t *why = text.len ? json_stringn(text.data, text.len) : NULL;
    textbuf_release(&text);
    return why;
}

/* Those of a domain in this state; of a group only its members. */
static json_t *rows_json(const struct attribution_list *list, size_t domain,
                         enum attribution_state state, unsigned group)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->n_rows; i++) {
        const struct attribution_list_row *row = &list->rows[i];
        if (row->domain != domain || !is_listed(row->finding.state, state) ||
            (state == ATTRIBUTION_IN_GROUP && row->finding.group != group + 1))
            continue;
        json_t *object = row_json(row);
        json_t *why = why_json(&list->domains[domain], row);
        if (why)
            json_object_set_new(object, "why", why);
        json_array_append_new(array, object);
    }
    return array;
}

/* As in "kind", and what it means. */
static const struct {
    const char *kind, *why;
} group_words[GROUP_KINDS] = {
    [GROUP_ALIKE] = {"alike", "they switch together"},
    [GROUP_ONE_OF] = {"one_of", "it is one of these: they began within five seconds, and memory "
                                "became slower"},
    [GROUP_WITH_CONSTANT] = {"constant",
                             "some go on and off with it; but what one that always uses whole CPUs "
                             "does to memory, CPU time does not tell"},
    [GROUP_WITH_HOST] = {"host", "it, or processes of the host that go on and off with it"},
};

static json_t *groups_json(const struct attribution_list *list, size_t index)
{
    const struct attribution_list_domain *domain = &list->domains[index];
    json_t *array = json_array();
    for (unsigned i = 0; i < domain->n_groups; i++) {
        const struct attribution_found_group *group = &domain->groups[i];
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:o, s:s, s:s}", "members",
                             rows_json(list, index, ATTRIBUTION_IN_GROUP, i), "caused_ns",
                             number(true, group->caused_ns), "sd_ns", number(true, group->sd_ns),
                             "z", number(true, group->score), "kind", group_words[group->kind].kind,
                             "why", group_words[group->kind].why));
    }
    return array;
}

/* ---- who makes whom wait ---- */

struct pair {
    const struct attribution_list_party *aggressor, *victim;
    double caused_seconds; /* of one read of the victim */
    double wait_seconds;   /* of all of them */
};

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->wait_seconds != y->wait_seconds)
        return x->wait_seconds > y->wait_seconds ? -1 : 1;
    int order = strcmp(x->aggressor->who.short_id, y->aggressor->who.short_id);
    return order ? order : strcmp(x->victim->who.short_id, y->victim->who.short_id);
}

static json_t *party_json(const struct attribution_list_party *party)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "namespace", party->who.namespace_, "pod",
                     party->who.pod, "container", party->who.name, "container_id",
                     party->who.short_id);
}

static json_t *pairs_json(const struct attribution_list *list,
                          const struct attribution_list_domain *d)
{
    struct pair pairs[WAITS_TOP * WAITS_TOP];
    const struct attribution_list_party *aggressors = &list->parties[d->first_party];
    const struct attribution_list_party *victims = aggressors + d->n_aggressors;
    json_t *array = json_array();
    size_t n = 0;
    for (unsigned i = 0; i < d->n_aggressors; i++)
        for (unsigned v = 0; v < d->n_burdened; v++) {
            struct pair pair = {&aggressors[i], &victims[v], 0, 0};
            pair.caused_seconds = attribution_caused_seconds(
                &d->waits.sums, &pair.aggressor->traffic, &pair.victim->traffic);
            pair.wait_seconds = pair.caused_seconds * pair.victim->traffic.reads;
            if (pair.aggressor->slot != pair.victim->slot && pair.wait_seconds > 0)
                pairs[n++] = pair;
        }
    qsort(pairs, n, sizeof *pairs, compare_pairs);
    for (size_t i = 0; i < n && i < WAITS_PAIRS; i++)
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:o}", "aggressor", party_json(pairs[i].aggressor),
                             "victim", party_json(pairs[i].victim), "caused_ns",
                             number(true, pairs[i].caused_seconds * 1e9), "wait_seconds",
                             number(true, pairs[i].wait_seconds)));
    return array;
}

/* Why there may be no pairs. */
static const char *why_no_waits(const struct attribution_list_domain *d)
{
    if (d->waits.state != WAITS_KNOWN || d->waits.victims > 0)
        return waits_why_not(d->waits.state);
    return d->waits.learning > 0 ? "what latency is normal is not known of any container yet"
                                 : "no container read enough of this node's memory to wait for it";
}

static json_t *waits_json(const struct attribution_list_domain *d)
{
    bool known = d->waits.state == WAITS_KNOWN;
    const char *why = why_no_waits(d);
    bool host = known && !isnan(d->total.host);
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "wait_seconds", number(known, d->waits.seconds),
                     "host_wait_seconds", number(host, d->waits.host_seconds), "victims",
                     known ? json_integer(d->waits.victims) : json_null(),
                     "victims_without_baseline",
                     known ? json_integer(d->waits.learning) : json_null(), "why",
                     why ? json_string(why) : json_null());
}

/* Lines of 64 bytes a second. */
static json_t *traffic_json(const struct attribution_total *total)
{
    return json_pack("{s:o, s:o, s:s}", "lines_per_second", number(true, total->all),
                     "host_lines_per_second", number(true, total->host), "of",
                     total->counted ? "everybody" : "containers");
}

/* ---- a node ---- */

static const char *const state_names[GATE_STATES] = {
    [GATE_LEARNING] = "learning", [GATE_NAMED] = "named",         [GATE_GROUP] = "group",
    [GATE_CALM] = "calm",         [GATE_SUSPECTED] = "suspected", [GATE_UNKNOWN] = "unknown",
};

/* Without readings nothing is known, and in the beginning not yet. */
static enum gate_domain_state state_of(const struct attribution_list_domain *domain)
{
    if (domain->known)
        return domain->state;
    return domain->readings == 0 ? GATE_LEARNING : GATE_UNKNOWN;
}

static json_t *domain_json(const struct attribution_list *list, size_t index)
{
    const struct attribution_list_domain *d = &list->domains[index];
    json_t *by = json_object();
    for (int i = 0; i < ATTRIBUTION_PARTS; i++)
        json_object_set_new(by, attribution_by_name[i], number(d->known, d->by_ns[i]));
    json_t *object = json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:s, s:o, s:o, s:o}", "numa_node",
        d->numa_node, "state", state_names[state_of(d)], "latency_ns",
        number(d->known, d->latency_ns), "calm_ns", number(d->known, d->calm_ns), "excess_ns",
        number(d->known, d->excess_ns), "by", by, "noise_ratio", number(d->known, d->noise_ratio),
        "inflation_ratio", number(d->known, d->inflation_ratio), "candidates",
        (json_int_t)d->candidates, "readings", (json_int_t)d->readings, "steps_outside_per_hour",
        number(d->known, d->steps_per_hour), "basis", d->traffic ? "traffic" : "cpu_time",
        "aggressors", rows_json(list, index, ATTRIBUTION_NAMED, 0), "suspects",
        rows_json(list, index, ATTRIBUTION_SUSPECTED, 0), "groups", groups_json(list, index));
    json_object_set_new(object, "waits", waits_json(d));
    if (d->traffic) {
        json_object_set_new(object, "pairs", pairs_json(list, d));
        json_object_set_new(object, "traffic", traffic_json(&d->total));
    }
    return object;
}

/* NULL stands for a list that was never shown. */
static json_t *list_json(struct attribution_list *list, const char *source)
{
    json_t *domains = json_array();
    if (!list)
        return json_pack("{s:s, s:n, s:b, s:o}", "source", source, "timestamp_seconds", "truncated",
                         0, "domains", domains);
    qsort(list->rows, list->n_rows, sizeof *list->rows, compare_rows);
    for (size_t i = 0; i < list->n_domains; i++)
        json_array_append_new(domains, domain_json(list, i));
    return json_pack("{s:s, s:f, s:b, s:o}", "source", source, "timestamp_seconds",
                     (double)list->wall_ns * 1e-9, "truncated", list->cut, "domains", domains);
}

int attribution_page_render(struct double_buffer *lists, const char *source, struct textbuf *out)
{
    struct attribution_list *list = lists ? attribution_list_copy(lists) : NULL;
    json_t *root = list_json(list, source);
    free(list);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text)
        return -ENOMEM;
    textbuf_str(out, text);
    free(text);
    return 0;
}
