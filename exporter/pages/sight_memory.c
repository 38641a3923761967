/* The latency of every NUMA node's memory, with a picture of fifteen minutes. */
#include <math.h>

#include "exporter/pages/sight.h"

enum {
    BUCKET = 5, /* seconds that are one point of the picture */
    POINTS = LIVE_HISTORY / BUCKET,
    WIDTH = 2 * POINTS,
    HEIGHT = 48
};

struct picture {
    float point[POINTS]; /* NaN: none */
    double low, high;    /* of the picture's edges */
    size_t known;
};

static float mean_of(const float *samples)
{
    float sum = 0;
    int n = 0;
    for (int i = 0; i < BUCKET; i++)
        if (!isnan(samples[i])) {
            sum += samples[i];
            n++;
        }
    return n > 0 ? sum / (float)n : NAN;
}

/* With some room around, so that noise does not fill it. */
static void prepare(struct picture *picture, const struct live_domain *domain)
{
    double low = domain->usual_seconds, high = domain->usual_seconds;
    picture->known = 0;
    for (int i = 0; i < POINTS; i++) {
        double value = picture->point[i] = mean_of(domain->history + i * BUCKET);
        picture->known += !isnan(value);
        low = fmin(low, value);
        high = fmax(high, value);
    }
    picture->low = low * 0.95;
    picture->high = fmax(high * 1.05, picture->low * 1.5);
}

static double y_of(const struct picture *picture, double value)
{
    return HEIGHT * (1 - (value - picture->low) / (picture->high - picture->low));
}

static void add_line(struct textbuf *out, const struct picture *picture)
{
    bool open = false;
    textbuf_str(out, "<path class=\"line\" d=\"");
    for (int i = 0; i < POINTS; i++) {
        bool known = !isnan(picture->point[i]);
        if (known)
            textbuf_printf(out, "%c%d %.1f", open ? 'L' : 'M', 2 * i + 1,
                           y_of(picture, picture->point[i]));
        if (known && !open) /* one point alone has a line, too */
            textbuf_str(out, "h.1");
        open = known;
    }
    textbuf_str(out, "\"/>");
}

static void add_picture(struct textbuf *out, const struct live_domain *domain)
{
    struct picture picture;
    double low = INFINITY, high = -INFINITY;
    prepare(&picture, domain);
    if (picture.known == 0)
        return;
    for (int i = 0; i < POINTS; i++) {
        low = picture.point[i] < low ? picture.point[i] : low; /* not NaN, which is never less */
        high = picture.point[i] > high ? picture.point[i] : high;
    }
    textbuf_printf(out,
                   "<svg viewBox=\"0 0 %d %d\" role=\"img\" preserveAspectRatio=\"none\" "
                   "aria-label=\"the last 15 minutes: %.0f to %.0f ns\">",
                   WIDTH, HEIGHT, low * 1e9, high * 1e9);
    if (!isnan(domain->usual_seconds))
        textbuf_printf(out, "<path class=\"usual\" d=\"M0 %.1fH%d\"/>",
                       y_of(&picture, domain->usual_seconds), WIDTH);
    add_line(out, &picture);
    textbuf_printf(out, "</svg><small>15 min: %.0f to %.0f ns</small>", low * 1e9, high * 1e9);
}

static const char *words_of(const struct live_domain *domain)
{
    static const char *const words[] = {
        [LIVE_CAUSE_NOT_SOUGHT] = "nobody looks for a cause",
        [LIVE_CAUSE_LEARNING] = "learning what is usual",
        [LIVE_CAUSE_CALM] = "as fast as usual",
        [LIVE_CAUSE_UNKNOWN] = "slow, the cause is not known",
        [LIVE_CAUSE_SUSPECTED] = "slow, the cause is suspected",
        [LIVE_CAUSE_GROUP] = "slow because of a group of containers",
        [LIVE_CAUSE_ONE_OF] = "slow because of one of a group of containers",
        [LIVE_CAUSE_NAMED] = "slow because of a container",
    };
    return words[domain->cause];
}

static void add_domain(struct textbuf *out, const struct sight *sight,
                       const struct live_domain *domain)
{
    double ratio = domain->latency_seconds / domain->usual_seconds;
    textbuf_printf(out, "<div class=\"domain%s\"><h3>NUMA node %d</h3><p><b>",
                   domain->cause > LIVE_CAUSE_CALM ? " slow" : "", domain->numa_node);
    if (isnan(domain->latency_seconds))
        textbuf_str(out, "–</b> no reading for a minute");
    else
        textbuf_printf(out, "%.0f ns</b>", domain->latency_seconds * 1e9);
    if (!isnan(domain->usual_seconds))
        textbuf_printf(out, " usual %.0f", domain->usual_seconds * 1e9);
    if (!isnan(ratio))
        textbuf_printf(out, " · %.2f ×", ratio);
    textbuf_printf(out, "<br><span>%s</span></p>", words_of(domain));
    if (sight->all)
        add_picture(out, domain);
    textbuf_str(out, "</div>\n");
}

void sight_memory(struct textbuf *out, const struct sight *sight)
{
    textbuf_str(out, "<section id=\"memory\" class=\"live\"><h2>Memory: how long a read takes</h2>"
                     "<div class=\"domains\">\n");
    for (size_t i = 0; i < sight->view.n_domains; i++)
        add_domain(out, sight, &sight->view.domains[i]);
    if (sight->view.n_domains == 0)
        textbuf_str(out, "<p>Not measured yet, or not here: see below.</p>");
    textbuf_str(out, "</div></section>\n");
}

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
