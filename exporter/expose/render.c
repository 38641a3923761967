/*
 * Samples as text. The line of a sample is put together in one place of the buffer, which was
 * reserved for all of it, since a large node has a hundred thousand of them.
 */
#include <string.h>

#include "exporter/base/decimal.h"
#include "exporter/expose/page.h"
#include "exporter/expose/protobuf.h"

static const char end_of_page[] = "# EOF\n"; /* of OpenMetrics */

/* The place where a line is being written. */
struct line {
    struct textbuf *out;
    char *at;
};

/* Room for everything around the given number of bytes: braces, an edge, a number. */
enum { LINE_OVERHEAD = 16 + 2 * DECIMAL_SIZE };

static void line_add(struct line *line, const char *bytes, size_t n)
{
    memcpy(line->at, bytes, n);
    line->at += n;
}

/* A name with its length: the same for all lines of a kind in a family. */
struct name {
    char text[256];
    size_t len;
};

static void name_set(struct name *name, const char *family, const char *suffix)
{
    size_t len = strlen(family), extra = strlen(suffix);
    if (len > sizeof name->text - 16)
        len = sizeof name->text - 16;
    memcpy(name->text, family, len);
    memcpy(name->text + len, suffix, extra);
    name->len = len + extra;
}

/* name{common,own up to where further labels may follow. */
static bool line_start(struct line *line, struct textbuf *out, const struct name *name,
                       const struct sample *sample)
{
    size_t len = 0;
    const char *common = sample->common ? labelset_text(sample->common, &len) : "";
    if (textbuf_reserve(out, name->len + len + sample->own_len + LINE_OVERHEAD))
        return false;
    *line = (struct line){out, out->data + out->len};
    line_add(line, name->text, name->len);
    *line->at++ = '{';
    line_add(line, common, len);
    if (len > 0 && sample->own_len > 0)
        *line->at++ = ',';
    line_add(line, sample->own, sample->own_len);
    return true;
}

static void line_edge(struct line *line, double edge)
{
    if (line->at[-1] != '{')
        *line->at++ = ',';
    line_add(line, "le=\"", 4);
    line->at += decimal_canonical(line->at, edge);
    *line->at++ = '"';
}

static void line_value(struct line *line)
{
    if (line->at[-1] == '{')
        line->at[-1] = ' ';
    else
        line_add(line, "} ", 2);
}

static void line_end(struct line *line)
{
    *line->at++ = '\n';
    *line->at = '\0';
    line->out->len = (size_t)(line->at - line->out->data);
}

static void add_u64(struct textbuf *out, const struct name *name, const struct sample *sample,
                    uint64_t value)
{
    struct line line;
    if (!line_start(&line, out, name, sample))
        return;
    line_value(&line);
    line.at += decimal_u64(line.at, value);
    line_end(&line);
}

static void add_double(struct textbuf *out, const struct name *name, const struct sample *sample,
                       double value)
{
    struct line line;
    if (!line_start(&line, out, name, sample))
        return;
    line_value(&line);
    line.at += decimal_double(line.at, value);
    line_end(&line);
}

static void add_bucket(struct textbuf *out, const struct name *name, const struct sample *sample,
                       double edge, uint64_t value)
{
    struct line line;
    if (!line_start(&line, out, name, sample))
        return;
    line_edge(&line, edge);
    line_value(&line);
    line.at += decimal_u64(line.at, value);
    line_end(&line);
}

/* Seconds with the nanoseconds' exact digits, which a double does not have. */
static void add_created(struct textbuf *out, const struct name *name, const struct sample *sample)
{
    struct line line;
    if (sample->created_wall_ns == 0 || !line_start(&line, out, name, sample))
        return;
    line_value(&line);
    line.at += decimal_u64(line.at, sample->created_wall_ns / 1000000000);
    uint64_t rest = sample->created_wall_ns % 1000000000;
    if (rest > 0)
        *line.at++ = '.';
    for (uint64_t place = 100000000; rest > 0; rest %= place, place /= 10)
        *line.at++ = (char)('0' + rest / place);
    line_end(&line);
}

static void add_numbers(struct textbuf *out, const struct snapshot_family *family,
                        const char *suffix, bool created)
{
    struct name name, created_name;
    name_set(&name, family->desc->name, suffix);
    name_set(&created_name, family->desc->name, "_created");
    struct sample sample;
    for (size_t at = 0; snapshot_next(family, &at, &sample);) {
        if (family->desc->type == METRIC_INFO)
            add_u64(out, &name, &sample, 1);
        else if (family->desc->number == METRIC_U64)
            add_u64(out, &name, &sample, sample.u64);
        else
            add_double(out, &name, &sample, sample.number);
        if (created)
            add_created(out, &created_name, &sample);
    }
}

static void add_histograms(struct textbuf *out, const struct snapshot_family *family, bool created)
{
    const struct metric_desc *desc = family->desc;
    struct name bucket, count, sum, created_name;
    name_set(&bucket, desc->name, "_bucket");
    name_set(&count, desc->name, "_count");
    name_set(&sum, desc->name, "_sum");
    name_set(&created_name, desc->name, "_created");
    struct sample sample;
    for (size_t at = 0; snapshot_next(family, &at, &sample);) {
        uint64_t total = 0;
        for (size_t j = 0; j <= desc->n_edges; j++) {
            total += sample.histogram->buckets[j];
            add_bucket(out, &bucket, &sample, j < desc->n_edges ? desc->edges[j] : __builtin_inf(),
                       total);
        }
        add_double(out, &sum, &sample, sample.histogram->sum);
        add_u64(out, &count, &sample, sample.histogram->count);
        if (created)
            add_created(out, &created_name, &sample);
    }
}

/* HELP escapes backslash and newline, OpenMetrics the double quote too. */
static void add_help(struct textbuf *out, const char *name, const char *help, bool open)
{
    textbuf_str(out, "# HELP ");
    textbuf_str(out, name);
    textbuf_char(out, ' ');
    for (; *help; help++) {
        if (*help == '\n')
            textbuf_str(out, "\\n");
        else if (*help == '\\' || (*help == '"' && open))
            textbuf_printf(out, "\\%c", *help);
        else
            textbuf_char(out, *help);
    }
    textbuf_char(out, '\n');
}

static void add_header(struct textbuf *out, const struct metric_desc *desc, const char *suffix,
                       bool open)
{
    static const char *const types[] = {
        [METRIC_COUNTER] = "counter",
        [METRIC_GAUGE] = "gauge",
        [METRIC_INFO] = "info",
        [METRIC_HISTOGRAM] = "histogram",
    };
    struct name name;
    name_set(&name, desc->name, open ? "" : suffix);
    name.text[name.len] = '\0';
    add_help(out, name.text, desc->help, open);
    const char *type = desc->type == METRIC_INFO && !open ? "gauge" : types[desc->type];
    textbuf_printf(out, "# TYPE %s %s\n", name.text, type);
    const char *unit = metric_unit(desc);
    if (open && *unit)
        textbuf_printf(out, "# UNIT %s %s\n", name.text, unit);
}

static bool wanted(const struct snapshot_family *family, const char *const *owners, size_t n)
{
    if (family->n == 0 || family->desc->type == METRIC_NOTE)
        return false;
    if (n == 0 || !family->owner)
        return true;
    for (size_t i = 0; i < n; i++)
        if (strcmp(owners[i], family->owner) == 0)
            return true;
    return false;
}

static void add_family(struct textbuf *out, const struct snapshot_family *family,
                       enum expose_format format, bool created)
{
    bool open = format == EXPOSE_OPENMETRICS_100;
    enum metric_type type = family->desc->type;
    const char *suffix = type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
    if (format == EXPOSE_PROTOBUF) {
        protobuf_add_family(out, family, suffix);
        return;
    }
    add_header(out, family->desc, suffix, open);
    if (type == METRIC_HISTOGRAM)
        add_histograms(out, family, open && created);
    else
        add_numbers(out, family, suffix, open && created && type == METRIC_COUNTER);
}

int expose_render(const struct snapshot *snapshot, enum expose_format format,
                  const char *const *owners, size_t n, bool created, struct textbuf *out)
{
    size_t n_families;
    const struct snapshot_family *families = snapshot_families(snapshot, &n_families);
    for (size_t i = 0; i < n_families && !textbuf_finish(out); i++)
        if (wanted(&families[i], owners, n))
            add_family(out, &families[i], format, created);
    if (format == EXPOSE_OPENMETRICS_100)
        textbuf_str(out, end_of_page);
    return textbuf_finish(out);
}

int page_render(struct rendered_page *page, const struct snapshot *snapshot,
                enum expose_format format, bool created)
{
    size_t n_families;
    int err = 0;
    const struct snapshot_family *families = snapshot_families(snapshot, &n_families);
    for (size_t i = 0; i < n_families && !err; i++) {
        if (!wanted(&families[i], NULL, 0))
            continue;
        add_family(&page->text, &families[i], format, created);
        err = textbuf_finish(&page->text);
        if (!err)
            err = page_add_part(page, families[i].owner);
    }
    if (format == EXPOSE_OPENMETRICS_100 && !err) {
        textbuf_str(&page->text, end_of_page);
        err = page_add_part(page, NULL);
    }
    return err ? err : textbuf_finish(&page->text);
}
