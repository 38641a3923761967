#include "collectors/attribution/page/list.h"

#include <math.h>
#include <stdlib.h>

#include "exporter/live/words.h"

/* More are in the document. */
enum { NAMES = 3 };
static const double many_steps = 2; /* an hour */

static void add_name(struct textbuf *out, const struct attribution_list_row *row)
{
    const char *const parts[] = {row->who.namespace_, row->who.pod, row->who.name};
    const char *separator = "";
    for (int i = 0; i < 3; i++) {
        if (!parts[i][0])
            continue;
        textbuf_printf(out, "%s%s", separator, parts[i]);
        separator = "/";
    }
}

static void add_odds(struct textbuf *out, double probability)
{
    textbuf_str(out, " (");
    odds_say(out, probability);
    textbuf_char(out, ')');
}

/* Why one coincidence is not worth much here. */
static void add_steps(struct textbuf *out, const struct attribution_list_domain *domain)
{
    if (!(domain->steps_per_hour >= many_steps))
        return;
    textbuf_str(out, "; this node's memory steps ");
    odds_say_rate(out, domain->steps_per_hour);
    textbuf_str(out, " by itself");
}

/* Those of the node in this state; what each causes, if its own part is known. */
static void add_names(struct textbuf *out, const struct attribution_list *list, size_t domain,
                      enum attribution_state state)
{
    unsigned n = 0;
    for (size_t i = 0; i < list->n_rows; i++) {
        const struct attribution_list_row *row = &list->rows[i];
        if (row->domain != domain || row->finding.state != state || ++n > NAMES)
            continue;
        textbuf_str(out, n == 1 ? " " : ", ");
        add_name(out, row);
        if (state == ATTRIBUTION_NAMED)
            textbuf_printf(out, " by %.0f ns (standard deviation %.0f)", row->finding.caused_ns,
                           row->finding.sd_ns);
        else if (!isnan(row->finding.probability))
            add_odds(out, row->finding.probability);
    }
    if (n > NAMES)
        textbuf_printf(out, " and %u more", n - NAMES);
}

/* The host has no name, but whoever is looked for elsewhere is not found. */
static void add_no_container(struct textbuf *out, const struct attribution_list_domain *domain)
{
    textbuf_str(out, "The cause is not known: no container goes on and off with it. ");
    if (domain->by_ns[BY_HOST] > 0 && domain->by_ns[BY_HOST] >= domain->excess_ns / 2)
        textbuf_printf(out,
                       "%.0f ns of it go with processes outside of the monitored containers, or "
                       "with containers that hardly vary",
                       domain->by_ns[BY_HOST]);
    else
        textbuf_str(out, "It may be one that is active all the time, or outside of this machine");
    add_steps(out, domain);
}

static void add_cause(struct textbuf *out, const struct attribution_list *list, size_t index)
{
    switch (list->domains[index].state) {
    case GATE_NAMED:
        textbuf_str(out, "Slower because of");
        add_names(out, list, index, ATTRIBUTION_NAMED);
        break;
    case GATE_GROUP:
        textbuf_str(
            out,
            "Slower because of one or more of these, which work, or began, at the same times:");
        add_names(out, list, index, ATTRIBUTION_IN_GROUP);
        break;
    case GATE_SUSPECTED:
        textbuf_str(out, "The cause is not sure; suspected are");
        add_names(out, list, index, ATTRIBUTION_SUSPECTED);
        add_steps(out, &list->domains[index]);
        break;
    case GATE_LEARNING:
        textbuf_str(out, "Nobody is named in the first minute");
        break;
    case GATE_CALM:
        textbuf_str(out, "That is as fast as in the last hour; who is active all the time "
                         "cannot be seen");
        break;
    default:
        add_no_container(out, &list->domains[index]);
        break;
    }
    textbuf_str(out, ".");
}

void attribution_headline(struct double_buffer *lists, struct textbuf *out)
{
    struct attribution_list *list = lists ? attribution_list_copy(lists) : NULL;
    const char *separator = "";
    for (size_t i = 0; list && i < list->n_domains; i++) {
        const struct attribution_list_domain *domain = &list->domains[i];
        if (!domain->known)
            continue;
        textbuf_printf(out, "%sA read of memory of NUMA node %d takes %.0f ns", separator,
                       domain->numa_node, domain->latency_ns);
        if (!isnan(domain->calm_ns))
            textbuf_printf(out, ", %.0f when calm", domain->calm_ns);
        textbuf_str(out, ". ");
        add_cause(out, list, i);
        separator = " ";
    }
    free(list);
}
