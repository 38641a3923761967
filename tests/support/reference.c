#include "tests/support/reference.h"

#include <ctype.h>
#include <string.h>

#include "collectors/contract/collector.h"
#include "exporter/self/metrics.h"

static const char *const type_names[] = {
    [METRIC_COUNTER] = "counter",     [METRIC_GAUGE] = "gauge", [METRIC_INFO] = "info",
    [METRIC_HISTOGRAM] = "histogram", [METRIC_NOTE] = "note",
};

void reference_each(void (*each)(void *context, const struct metric_desc *desc, const char *owner),
                    void *context)
{
    for (size_t i = 0; collector_table[i]; i++) {
        const struct collector_ops *collector = collector_table[i];
        for (size_t j = 0; collector->metrics[j]; j++)
            each(context, collector->metrics[j], collector->name);
    }
    each(context, &container_info_desc, NULL);
    for (size_t i = 0; i < SELF_METRICS; i++)
        each(context, &self_descs[i], NULL);
}

void reference_name(const struct metric_desc *desc, struct textbuf *out)
{
    textbuf_str(out, desc->name);
    if (desc->type == METRIC_COUNTER)
        textbuf_str(out, "_total");
    else if (desc->type == METRIC_INFO)
        textbuf_str(out, "_info");
}

/* ---- the page ---- */

/* Text in a cell of a table. */
static void write_cell(struct textbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<')
            textbuf_char(out, '\\');
        textbuf_char(out, *text);
    }
}

static void write_row(struct textbuf *out, const struct metric_desc *desc)
{
    textbuf_str(out, "| `");
    reference_name(desc, out);
    textbuf_printf(out, "` | %s | %s | ", type_names[desc->type], metric_unit(desc));
    write_cell(out, desc->labels ? desc->labels : "");
    textbuf_str(out, " | ");
    write_cell(out, desc->help);
    if (desc->type == METRIC_HISTOGRAM) {
        textbuf_str(out, " Upper bounds:");
        for (size_t i = 0; i < desc->n_edges; i++) {
            textbuf_char(out, ' ');
            textbuf_double(out, desc->edges[i]);
        }
        textbuf_char(out, '.');
    }
    textbuf_str(out, " |\n");
}

static void write_heading(struct textbuf *out, const char *title)
{
    textbuf_printf(out, "\n## %s\n\n", title);
}

static void write_table_head(struct textbuf *out)
{
    textbuf_str(out, "| metric | type | unit | labels | meaning |\n|---|---|---|---|---|\n");
}

void reference_table(const struct metric_desc *descs, size_t n, struct textbuf *out)
{
    write_table_head(out);
    for (size_t i = 0; i < n; i++)
        write_row(out, &descs[i]);
}

static void write_collector(struct textbuf *out, const struct collector_ops *collector)
{
    static const char *const defaults[] = {
        [COLLECTOR_OFF] = "Off by default",
        [COLLECTOR_ON] = "On by default",
        [COLLECTOR_AUTO] = "On if its hardware is present",
    };
    const char *summary = collector->summary;
    write_heading(out, collector->name);
    textbuf_printf(out, "%c%s. %s; `--collector.%s`, `--no-collector.%s`.\n\n",
                   toupper((unsigned char)*summary), summary + (*summary != '\0'),
                   defaults[collector->default_on], collector->name, collector->name);
    write_table_head(out);
    for (size_t i = 0; collector->metrics[i]; i++) {
        if (collector->metrics[i]->type != METRIC_NOTE)
            write_row(out, collector->metrics[i]);
    }
}

int reference_write(struct textbuf *out)
{
    textbuf_str(
        out, "# Metrics\n\nThis page is generated from the definitions in the code. After changing "
             "one, run\n`build/plain/programs/metrics_reference > collectors/METRICS.md`.\n\n- A "
             "value that cannot be computed is absent: never zero, never a stale number.\n- The "
             "label *container* in the tables stands for `namespace`, `pod`, `container` and\n  "
             "`container_id`. Outside Kubernetes `namespace` and `pod` are empty.\n- Counters of a "
             "container stay for a while after it has ended; its gauges do not.\n- Use counters in "
             "rules: a gauge shows only the last window, and a scrape every 30 s\n  sees one "
             "window in 30.\n- A histogram has `_bucket`, `_sum` and `_count`. With "
             "`--web.openmetrics-created`,\n  OpenMetrics also has `_created`.\n- In protobuf, "
             "which Prometheus asks for where native histograms are switched on, a\n  histogram is "
             "native as well: eight buckets for each power of 2, from half of its first\n  edge or "
             "less on, until an observation is beyond the 64th: then four, and so on.\n");
    for (size_t i = 0; collector_table[i]; i++)
        write_collector(out, collector_table[i]);

    write_heading(out, "Containers");
    write_table_head(out);
    write_row(out, &container_info_desc);

    write_heading(out, "The exporter itself");
    textbuf_str(
        out, "These metrics are on every page, whatever `collect[]` selects. The metrics from\n`");
    reference_name(&self_descs[SELF_ALWAYS], out);
    textbuf_str(out, "` on are left\nout with `--web.disable-exporter-metrics`.\n\n");
    write_table_head(out);
    for (size_t i = 0; i < SELF_METRICS; i++)
        write_row(out, &self_descs[i]);
    return textbuf_finish(out);
}
