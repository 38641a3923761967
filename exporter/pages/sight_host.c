/* What else the node suffers from, beside slow memory. */
#include <math.h>

#include "exporter/pages/sight.h"

static void add_share(struct textbuf *out, const char *what, double ratio)
{
    textbuf_printf(out, "<li>%s ", what);
    if (isnan(ratio))
        textbuf_str(out, "<b>–</b></li>\n");
    else
        textbuf_printf(
            out, ratio > 0 && ratio < 0.0995 ? "<b>%.1f %%</b></li>\n" : "<b>%.0f %%</b></li>\n",
            ratio * 100);
}

static void add_pressure(struct textbuf *out, const struct live_host *host)
{
    if (host->why_no_pressure) {
        textbuf_str(out, "<p>Who waits for CPUs, free memory or disks is not known: ");
        textbuf_html(out, host->why_no_pressure);
        textbuf_str(out, ".</p>\n");
        return;
    }
    textbuf_str(out, "<p>In the last ten seconds, a task waited (PSI):</p>\n<ul>");
    add_share(out, "for a CPU", host->cpu_pressure);
    add_share(out, "for free memory, which is full then, not slow", host->memory_pressure);
    add_share(out, "for disks", host->io_pressure);
    textbuf_str(out, "</ul>\n");
}

/* What /metrics does not tell is for those who may read the documents. */
void sight_host(struct textbuf *out, const struct sight *sight)
{
    const struct live_host *host = &sight->view.host;
    textbuf_str(out, "<section id=\"host\" class=\"live\">");
    if (sight->all && sight->view.host_known) {
        textbuf_str(out, "<h2>The whole host</h2>\n");
        add_pressure(out, host);
        if (!isnan(host->steal)) {
            textbuf_str(out, "<ul>");
            add_share(out, "The hypervisor took of all CPUs' time", host->steal);
            textbuf_str(out, "</ul>\n");
        }
    }
    textbuf_str(out, "</section>\n");
}
