#include "exporter/live/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "exporter/live/blame.h"
#include "exporter/live/order.h"
#include "exporter/live/words.h"

static const double many_steps = 2; /* an hour */
static const double much = 0.1;     /* of a container's time */

/* More are in the table. */
enum { NAMES = 3 };

/* "A", "A and B", "A, B, C and 4 more". */
struct listing {
    struct textbuf *out;
    size_t n, of;
};

static bool list_next(struct listing *list)
{
    if (++list->n > NAMES)
        return false;
    if (list->n > 1)
        textbuf_str(list->out, list->n == list->of ? " and " : ", ");
    return true;
}

static void list_end(const struct listing *list)
{
    if (list->of > NAMES)
        textbuf_printf(list->out, " and %zu more", list->of - NAMES);
}

/* ---- what costs most ---- */

bool live_say_costliest(struct textbuf *out, const struct live_view *view, bool all)
{
    const struct live_container *c = live_costliest(view);
    if (!c)
        return false;
    live_name(out, c);
    textbuf_str(out, " loses most here. ");
    live_why(out, view, c, all);
    return true;
}

static enum live_mood say_costliest(struct textbuf *out, const struct live_view *view, bool all)
{
    const struct live_container *c = live_costliest(view);
    if (!live_say_costliest(out, view, all))
        return LIVE_FINE;
    textbuf_char(out, ' ');
    return live_blame_cost(c, live_blame(view, c)) >= much ? LIVE_TROUBLE : LIVE_FINE;
}

/* ---- who waits ---- */

static void add_victim(struct textbuf *out, const struct live_view *view,
                       const struct live_container *c)
{
    double trouble = live_trouble(c);
    live_name(out, c);
    textbuf_str(out, " (");
    if (!isnan(trouble))
        textbuf_printf(out,
                       trouble > live_ratio(c) ? "takes %.2f times as long as alone, "
                                               : "%.2f times its normal latency, ",
                       trouble);
    textbuf_str(out, "for ");
    live_duration(out, live_waits_seconds(view, c));
    textbuf_char(out, ')');
}

static void add_victims(struct textbuf *out, const struct live_view *view, size_t n)
{
    struct listing list = {.out = out, .of = n};
    textbuf_printf(out, "%zu of %zu container%s %s for memory: ", n, view->n,
                   view->n == 1 ? "" : "s", n == 1 ? "waits" : "wait");
    for (size_t i = 0; i < n; i++)
        if (list_next(&list))
            add_victim(out, view, &view->containers[i]);
    list_end(&list);
    textbuf_str(out, ". ");
}

/* 'judged': of whom it is known what is normal; 'counted': of those that read. */
static enum live_mood say_calm(struct textbuf *out, size_t judged, size_t counted)
{
    if (judged == 1)
        textbuf_str(out, "The one container whose normal is known does not wait");
    else
        textbuf_printf(out, "None of the %zu containers whose normal is known waits", judged);
    textbuf_str(out, " for memory longer than is normal");
    if (judged < counted)
        textbuf_printf(out, "; of %zu it is not known", counted - judged);
    textbuf_str(out, ". ");
    return judged * 2 < counted ? LIVE_UNKNOWN : LIVE_FINE;
}

/* What reads nothing does not wait, and needs no normal. */
static enum live_mood say_waiting(struct textbuf *out, const struct live_view *view)
{
    size_t waiting = 0, counted = 0, judged = 0;
    bool are_counted = false;
    for (size_t i = 0; i < view->n; i++) {
        const struct live_container *c = &view->containers[i];
        bool has_normal = !isnan(c->number[LIVE_NORMAL_SECONDS]);
        waiting += c->waits;
        are_counted |= !isnan(c->number[LIVE_READS_PER_SECOND]);
        counted += has_normal || c->number[LIVE_READS_PER_SECOND] > 0;
        judged += has_normal;
    }
    if (waiting > 0) {
        add_victims(out, view, waiting);
        return LIVE_TROUBLE;
    }
    if (judged > 0)
        return say_calm(out, judged, counted);
    textbuf_str(out, view->n == 0 ? "There are no containers here. "
                     : are_counted
                         ? "Whether somebody waits is not known yet: what is normal for the "
                           "containers is being learned. "
                         : "Which containers wait for slow memory cannot be told here: their reads "
                           "of memory are not counted. ");
    return view->n == 0 ? LIVE_FINE : LIVE_UNKNOWN;
}

/* Of those that wait it has been said. */
static enum live_mood say_slowed(struct textbuf *out, const struct live_view *view)
{
    struct listing list = {.out = out};
    for (size_t i = 0; i < view->n; i++)
        list.of += !view->containers[i].waits && live_is_slowed(&view->containers[i]);
    if (list.of == 0)
        return LIVE_FINE;
    textbuf_printf(out, "%zu of %zu container%s %s slowed down: ", list.of, view->n,
                   view->n == 1 ? "" : "s", list.of == 1 ? "is" : "are");
    for (size_t i = 0; i < view->n; i++) {
        const struct live_container *c = &view->containers[i];
        if (c->waits || !live_is_slowed(c) || !list_next(&list))
            continue;
        live_name(out, c);
        textbuf_printf(out, " (takes %.2f times as long as alone)", c->number[LIVE_SLOWDOWN_RATIO]);
    }
    list_end(&list);
    textbuf_str(out, ". ");
    return LIVE_TROUBLE;
}

static enum live_mood worse(enum live_mood a, enum live_mood b)
{
    return a > b ? a : b;
}

/* ---- why memory is slow ---- */

static bool is_told(const struct live_container *c, bool all)
{
    return all ? c->suspicion != LIVE_UNSUSPECTED : c->suspicion == LIVE_NAMED;
}

/* How sure that is, and what it reads: a hint only, for prefetches and writes are not in it. */
static void add_evidence(struct textbuf *out, const struct live_view *view,
                         const struct live_container *c)
{
    double share = c->number[LIVE_READS_PER_SECOND] / live_all_reads(view);
    textbuf_printf(out, " (+%.0f ns, standard deviation %.0f", c->number[LIVE_CAUSED_SECONDS] * 1e9,
                   c->number[LIVE_CAUSED_SD_SECONDS] * 1e9);
    if (share >= 0.005)
        textbuf_printf(out, "; %.0f %% of all reads", share * 100);
    textbuf_char(out, ')');
}

static void add_odds(struct textbuf *out, const struct live_container *c)
{
    if (isnan(c->probability))
        return;
    textbuf_str(out, " (");
    odds_say(out, c->probability);
    textbuf_char(out, ')');
}

static void add_suspects(struct textbuf *out, const struct live_view *view,
                         const struct live_domain *domain, enum live_suspicion suspicion, bool all)
{
    struct listing list = {.out = out};
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < view->n; i++) {
            const struct live_container *c = &view->containers[i];
            if (c->suspicion != suspicion || c->caused_numa_node != domain->numa_node ||
                !is_told(c, all))
                continue;
            if (pass == 0) {
                list.of++;
            } else if (list_next(&list)) {
                live_name(out, c);
                if (suspicion == LIVE_NAMED)
                    add_evidence(out, view, c);
                else
                    add_odds(out, c);
            }
        }
    list_end(&list);
    if (list.of == 0)
        textbuf_str(out, "containers whose names are for who asks from this machine");
}

/* Why one coincidence is not worth much here. */
static void add_steps(struct textbuf *out, const struct live_domain *domain)
{
    if (!(domain->steps_per_hour >= many_steps))
        return;
    textbuf_str(out, "; this node's memory steps ");
    odds_say_rate(out, domain->steps_per_hour);
    textbuf_str(out, " by itself");
}

static void say_cause(struct textbuf *out, const struct live_view *view,
                      const struct live_domain *domain, bool all)
{
    double excess = domain->latency_seconds - domain->usual_seconds;
    switch (domain->cause) {
    case LIVE_CAUSE_NAMED:
        textbuf_str(out, ", because of ");
        add_suspects(out, view, domain, LIVE_NAMED, all);
        break;
    case LIVE_CAUSE_GROUP:
        textbuf_str(out, ", because of one or more of these: ");
        add_suspects(out, view, domain, LIVE_IN_GROUP, all);
        break;
    case LIVE_CAUSE_ONE_OF:
        textbuf_str(out, ", because of one of these, which began within five seconds: ");
        add_suspects(out, view, domain, LIVE_IN_GROUP, all);
        break;
    case LIVE_CAUSE_SUSPECTED:
        textbuf_str(out, ". The cause is not sure; suspected: ");
        add_suspects(out, view, domain, LIVE_SUSPECTED, all);
        add_steps(out, domain);
        break;
    case LIVE_CAUSE_UNKNOWN:
        textbuf_str(out, ". The cause is not known: no container goes on and off with it");
        if (domain->host_seconds > 0 && domain->host_seconds >= excess / 2)
            textbuf_printf(out, "; %.0f ns of it go with what is not monitored, or hardly varies",
                           domain->host_seconds * 1e9);
        add_steps(out, domain);
        break;
    case LIVE_CAUSE_CALM:
        textbuf_str(out, ", as fast as in the last hour");
        break;
    case LIVE_CAUSE_LEARNING:
        textbuf_str(out, "; what is usual, and who makes it slow, is known after a minute");
        break;
    default:
        textbuf_str(out, "; nobody looks for who makes it slow");
        break;
    }
    textbuf_str(out, ". ");
}

static enum live_mood mood_of(enum live_cause cause)
{
    switch (cause) {
    case LIVE_CAUSE_CALM:
        return LIVE_FINE;
    case LIVE_CAUSE_NOT_SOUGHT:
    case LIVE_CAUSE_LEARNING:
        return LIVE_UNKNOWN;
    default:
        return LIVE_TROUBLE;
    }
}

/* The one that most is known against; of these the slowest. */
static const struct live_domain *worst(const struct live_view *view)
{
    const struct live_domain *found = NULL;
    double most = 0;
    for (size_t i = 0; i < view->n_domains; i++) {
        const struct live_domain *d = &view->domains[i];
        double ratio = fmax(d->latency_seconds / d->usual_seconds, 0);
        if (isnan(d->latency_seconds))
            continue;
        if (!found || d->cause > found->cause || (d->cause == found->cause && ratio > most)) {
            found = d;
            most = ratio;
        }
    }
    return found;
}

static enum live_mood say_memory(struct textbuf *out, const struct live_view *view, bool all)
{
    const struct live_domain *domain = worst(view);
    if (!domain) {
        textbuf_str(out, "How long a read of memory takes is not measured now. ");
        return LIVE_UNKNOWN;
    }
    textbuf_printf(out, "A read of the memory of NUMA node %d takes %.0f ns", domain->numa_node,
                   domain->latency_seconds * 1e9);
    if (!isnan(domain->usual_seconds))
        textbuf_printf(out, " (usual: %.0f)", domain->usual_seconds * 1e9);
    say_cause(out, view, domain, all);
    return mood_of(domain->cause);
}

enum live_mood live_verdict(const struct live_view *view, bool all, struct textbuf *out)
{
    enum live_mood costs = say_costliest(out, view, all);
    enum live_mood waiting = say_waiting(out, view);
    enum live_mood slowed = say_slowed(out, view);
    enum live_mood memory = say_memory(out, view, all);
    if (out->len > 0 && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    return worse(costs, worse(waiting, worse(slowed, memory)));
}

enum { NAME_MOST = 64 }; /* longer ones stand out of their column */

struct line {
    double lost;
    size_t at, name_len;
};

static int compare_lines(const void *x, const void *y)
{
    const struct line *a = x, *b = y;
    bool a_first = a->lost > b->lost || (isnan(b->lost) && !isnan(a->lost));
    bool b_first = b->lost > a->lost || (isnan(a->lost) && !isnan(b->lost));
    return a_first != b_first ? (a_first ? -1 : 1) : (a->at > b->at) - (a->at < b->at);
}

static size_t name_length(const struct live_container *c)
{
    struct textbuf name = TEXTBUF_INIT;
    live_name(&name, c);
    size_t len = name.len;
    textbuf_release(&name);
    return len;
}

static void add_line(struct textbuf *out, const struct live_view *view, const struct line *line,
                     int width)
{
    const struct live_container *c = &view->containers[line->at];
    live_name(out, c);
    textbuf_printf(out, "%*s", line->name_len < (size_t)width ? width - (int)line->name_len : 0,
                   "");
    textbuf_printf(out, isnan(c->number[LIVE_CPUS]) ? "      -" : "  %5.2f", c->number[LIVE_CPUS]);
    textbuf_printf(out, isnan(line->lost) ? "     -  " : "  %3.0f %%  ", line->lost * 100);
    live_why(out, view, c, true);
    textbuf_char(out, '\n');
}

int live_table(const struct live_view *view, struct textbuf *out)
{
    struct line *lines = calloc(view->n + 1, sizeof *lines);
    size_t widest = sizeof "CONTAINER" - 1;
    if (!lines)
        return -ENOMEM;
    for (size_t i = 0; i < view->n; i++) {
        const struct live_container *c = &view->containers[i];
        lines[i] = (struct line){live_lost_sum(c), i, name_length(c)};
        if (lines[i].name_len > widest && lines[i].name_len <= NAME_MOST)
            widest = lines[i].name_len;
    }
    qsort(lines, view->n, sizeof *lines, compare_lines);
    (void)live_verdict(view, true, out);
    textbuf_printf(out, "\n\n%-*s   CPUs   LOST  WHY\n", (int)widest, "CONTAINER");
    for (size_t i = 0; i < view->n; i++)
        add_line(out, view, &lines[i], (int)widest);
    free(lines);
    return 0;
}
