/* The table of containers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/live/order.h"
#include "exporter/pages/sight.h"

static const struct {
    const char *word, *title, *explained;
} columns[COLUMNS] = {
    [COLUMN_TROUBLE] = {"trouble", "State", "who waits first, then who makes it wait"},
    [COLUMN_LOST] = {"lost", "Waits for",
                     "of its time, in the last windows; point at it for what to "
                     "do"},
    [COLUMN_SLOWDOWN] = {"slower", "Slow-down",
                         "times as long as its work would take alone, an estimate"},
    [COLUMN_READ] = {"read", "Read ns", "mean latency of a read of memory in the last second"},
    [COLUMN_NORMAL] = {"normal", "Normal ns", "what is normal for it"},
    [COLUMN_RATIO] = {"ratio", "Ratio", "read divided by normal"},
    [COLUMN_SINCE] = {"since", "Since", "for how long it has been above its threshold"},
    [COLUMN_READS] = {"reads", "Reads/s", "reads of memory per second"},
    [COLUMN_SHARE] = {"share", "Share", "of the reads of all containers"},
    [COLUMN_LLC] = {"llc", "LLC reads/s",
                    "reads of the last-level cache, those of memory included"},
    [COLUMN_SOCKET] = {"socket", "Sockets", "that it reads memory from, by its CPUs"},
    [COLUMN_CPI] = {"cpi", "CPI", "cycles per instruction"},
    [COLUMN_CPU] = {"cpu", "CPUs", "CPU seconds per second"},
    [COLUMN_ELSEWHERE] =
        {"elsewhere", "Elsewhere",
         "times as long with all of its memory there; between the numbers in "
         "brackets with half of it. Too near to 1 for what mainly stores or is prefetched"},
};

enum column sight_column(const char *word)
{
    for (int i = 0; word && i < COLUMNS; i++)
        if (strcmp(columns[i].word, word) == 0)
            return (enum column)i;
    return COLUMN_TROUBLE;
}

void sight_name(struct textbuf *out, const struct live_container *c)
{
    struct textbuf name = TEXTBUF_INIT;
    live_name(&name, c);
    if (!textbuf_finish(&name) && name.len > 0)
        textbuf_html(out, name.data);
    textbuf_release(&name);
}

/* Whether this reader is told that it is suspected. */
static bool is_told(const struct sight *sight, const struct live_container *c)
{
    return sight->all || c->suspicion == LIVE_NAMED;
}

/* What it does to others; NULL: nothing, as far as this reader is told. */
static const char *suspicion_of(const struct sight *sight, const struct live_container *c)
{
    static const char *const words[] = {
        [LIVE_UNSUSPECTED] = NULL,      [LIVE_DOUBTED] = "MAY ONLY WAIT",
        [LIVE_SUSPECTED] = "SUSPECT",   [LIVE_IN_GROUP] = "IN A GROUP",
        [LIVE_NAMED] = "MAKES IT SLOW",
    };
    if (c->waits && c->suspicion == LIVE_DOUBTED)
        return NULL;
    return is_told(sight, c) ? words[c->suspicion] : NULL;
}

/* For memory, by its own reads, or for what its cgroup tells. */
static bool is_waiting(const struct live_view *view, const struct live_container *c)
{
    enum blame blame = live_blame(view, c);
    return c->waits || (blame >= BLAME_OWN_QUOTA && blame <= BLAME_DISK);
}

/* What it suffers. */
static const char *condition_of(const struct live_view *view, const struct live_container *c)
{
    if (is_waiting(view, c))
        return "WAITS";
    if (live_is_slowed(c))
        return "SLOWED DOWN";
    if (c->number[LIVE_READS_PER_SECOND] == 0)
        return "no memory reads";
    if (c->why_no_normal)
        return strcmp(c->why_no_normal, "learning") == 0 ? "learning its normal"
               : strcmp(c->why_no_normal, "idle") == 0   ? "idle"
                                                         : "no normal known";
    return isnan(c->number[LIVE_NORMAL_SECONDS]) ? "" : "ok";
}

/* The one that it reads most from; NaN: not known. */
static double main_socket(const struct live_container *c)
{
    int most = 0;
    for (int i = 1; i < LIVE_SOCKETS; i++)
        if (c->socket_share[i] > c->socket_share[most])
            most = i;
    return c->socket_known ? most : NAN;
}

/* The most that it would cost. */
static double worst_elsewhere(const struct live_container *c)
{
    double worst = NAN;
    for (int t = 0; t < LIVE_TARGETS; t++)
        if (!isnan(c->elsewhere[t].ratio) && !(c->elsewhere[t].ratio <= worst))
            worst = c->elsewhere[t].ratio;
    return worst;
}

/* As it is sorted and shown; NaN: not known, or not for this reader. */
static double value_of(const struct sight *sight, const struct live_container *c,
                       enum column column, double all_reads)
{
    switch (column) {
    case COLUMN_LOST:
        return live_lost_sum(c);
    case COLUMN_SLOWDOWN:
        return c->number[LIVE_SLOWDOWN_RATIO];
    case COLUMN_READ:
        return c->number[LIVE_READ_SECONDS] * 1e9;
    case COLUMN_NORMAL:
        return c->number[LIVE_NORMAL_SECONDS] * 1e9;
    case COLUMN_RATIO:
        return live_ratio(c);
    case COLUMN_SINCE:
        return live_waits_seconds(&sight->view, c);
    case COLUMN_READS:
        return c->number[LIVE_READS_PER_SECOND];
    case COLUMN_SHARE:
        return all_reads > 0 ? c->number[LIVE_READS_PER_SECOND] / all_reads * 100 : NAN;
    case COLUMN_LLC:
        return c->number[LIVE_LLC_READS_PER_SECOND];
    case COLUMN_SOCKET:
        return sight->all ? main_socket(c) : NAN;
    case COLUMN_CPI:
        return c->number[LIVE_CYCLES_PER_INSTRUCTION];
    case COLUMN_CPU:
        return sight->all ? c->number[LIVE_CPUS] : NAN;
    case COLUMN_ELSEWHERE:
        return worst_elsewhere(c);
    default:
        return NAN;
    }
}

static void add_count(struct textbuf *out, double value)
{
    static const char *const units[] = {"", " k", " M", " G"};
    size_t unit = 0;
    for (; value >= 999.5 && unit < 3; unit++)
        value /= 1000;
    textbuf_printf(out, value < 9.95 && unit > 0 ? "%.1f%s" : "%.0f%s", value, units[unit]);
}

/* Less than a hundredth is a thread that passed by. */
static void add_sockets(struct textbuf *out, const struct live_container *c)
{
    const char *separator = "";
    for (int i = 0; i < LIVE_SOCKETS; i++) {
        if (c->socket_share[i] < 0.01f)
            continue;
        textbuf_printf(out, "%s%d", separator, i);
        if (c->socket_share[i] <= 0.99f)
            textbuf_printf(out, " (%.0f %%)", c->socket_share[i] * 100);
        separator = ", ";
    }
}

static void add_value(struct textbuf *out, enum column column, double value)
{
    switch (column) {
    case COLUMN_SINCE:
        live_duration(out, value);
        break;
    case COLUMN_READS:
    case COLUMN_LLC:
        add_count(out, value);
        break;
    case COLUMN_SLOWDOWN:
    case COLUMN_RATIO:
        textbuf_printf(out, "%.2f ×", value);
        break;
    case COLUMN_SHARE:
        textbuf_printf(out, "%.0f %%", value);
        break;
    case COLUMN_CPI:
    case COLUMN_CPU:
        textbuf_printf(out, "%.2f", value);
        break;
    default:
        textbuf_printf(out, "%.0f", value);
        break;
    }
}

static void add_elsewhere(struct textbuf *out, const struct live_view *view,
                          const struct live_container *c)
{
    bool first = true;
    for (int t = 0; t < LIVE_TARGETS; t++) {
        const struct live_elsewhere *there = &c->elsewhere[t];
        if (isnan(there->ratio))
            continue;
        textbuf_str(out, first ? "" : "<br>");
        textbuf_html(out, view->target[t]);
        textbuf_printf(out, " %.2f × (%.2f–%.2f)", there->ratio, there->half_lower,
                       there->half_upper);
        first = false;
    }
}

/* With the sentence behind it, for who points at it. */
static void add_losses(struct textbuf *out, const struct sight *sight,
                       const struct live_container *c)
{
    const struct live_view *view = &sight->view;
    struct textbuf why = TEXTBUF_INIT, losses = TEXTBUF_INIT;
    live_why(&why, view, c, sight->all);
    live_losses(&losses, c);
    if (!textbuf_finish(&why) && !textbuf_finish(&losses)) {
        textbuf_str(out, "<span title=\"");
        textbuf_html(out, why.data);
        textbuf_str(out, "\">");
        textbuf_html(out, losses.len > 0                            ? losses.data
                          : live_blame(view, c) == BLAME_NOTHING    ? "nothing"
                          : blame_name(live_blame(view, c)) != NULL ? "see why"
                                                                    : "not known");
        textbuf_str(out, "</span>");
    }
    textbuf_release(&why);
    textbuf_release(&losses);
}

/* ---- which rows, in which order ---- */

struct row {
    double key;
    size_t at;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (isnan(x->key) != isnan(y->key))
        return isnan(x->key) ? 1 : -1;
    if (x->key != y->key && !isnan(x->key))
        return x->key > y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static struct row *choose_rows(const struct sight *sight, double all_reads, size_t *n)
{
    struct row *rows = calloc(sight->view.n + 1, sizeof *rows);
    *n = 0;
    for (size_t i = 0; rows && i < sight->view.n; i++) {
        const struct live_container *c = &sight->view.containers[i];
        if (strstr(c->namespace_, sight->namespace_))
            rows[(*n)++] = (struct row){value_of(sight, c, sight->sort, all_reads), i};
    }
    if (rows && sight->sort != COLUMN_TROUBLE)
        qsort(rows, *n, sizeof *rows, compare_rows);
    return rows;
}

/* ---- the table ---- */

struct table {
    const struct sight *sight;
    double all_reads;
    bool has[COLUMNS]; /* some container has a value */
};

static void find_columns(struct table *table)
{
    table->has[COLUMN_TROUBLE] = true;
    for (size_t i = 0; i < table->sight->view.n; i++)
        for (int column = COLUMN_LOST; column < COLUMNS; column++)
            table->has[column] |= !isnan(value_of(table->sight, &table->sight->view.containers[i],
                                                  (enum column)column, table->all_reads));
}

static void add_head(struct textbuf *out, const struct table *table)
{
    textbuf_str(out, "<thead><tr><th scope=\"col\">Container</th>");
    for (int column = 0; column < COLUMNS; column++) {
        if (!table->has[column])
            continue;
        bool sorted = table->sight->sort == (enum column)column;
        textbuf_printf(out,
                       "<th scope=\"col\"%s><a href=\"/?sort=%s\" data-sort=\"%s\" "
                       "title=\"%s\">%s</a></th>",
                       sorted ? " aria-sort=\"descending\"" : "", columns[column].word,
                       columns[column].word, columns[column].explained, columns[column].title);
    }
    textbuf_str(out, "</tr></thead>\n");
}

/* Who makes others wait may wait itself. */
static void add_state(struct textbuf *out, const struct sight *sight,
                      const struct live_container *c)
{
    const char *suspicion = suspicion_of(sight, c);
    bool suffers = is_waiting(&sight->view, c) || live_is_slowed(c);
    textbuf_str(out, "<td data-label=\"State\" data-sort=\"trouble\">");
    if (suffers || !suspicion)
        textbuf_str(out, condition_of(&sight->view, c));
    if (suspicion)
        textbuf_printf(out, "%s%s", suffers ? ", " : "", suspicion);
    if (suspicion && c->suspicion >= LIVE_IN_GROUP && !isnan(c->number[LIVE_CAUSED_SECONDS]))
        textbuf_printf(out, " +%.0f ± %.0f ns", c->number[LIVE_CAUSED_SECONDS] * 1e9,
                       c->number[LIVE_CAUSED_SD_SECONDS] * 1e9);
    textbuf_str(out, "</td>");
}

static const char *class_of(const struct sight *sight, const struct live_container *c)
{
    if (c->waits || live_is_slowed(c))
        return " class=\"waits\"";
    return is_told(sight, c) && c->suspicion >= LIVE_SUSPECTED ? " class=\"suspect\"" : "";
}

static void add_row(struct textbuf *out, const struct table *table, const struct live_container *c,
                    size_t at)
{
    textbuf_printf(out, "<tr%s data-trouble=\"%zu\" data-namespace=\"", class_of(table->sight, c),
                   at);
    textbuf_html(out, c->namespace_);
    textbuf_str(out, "\"><th scope=\"row\">");
    sight_name(out, c);
    textbuf_str(out, "</th>");
    add_state(out, table->sight, c);
    for (int column = COLUMN_LOST; column < COLUMNS; column++) {
        double value = value_of(table->sight, c, (enum column)column, table->all_reads);
        if (!table->has[column])
            continue;
        textbuf_printf(out, "<td data-label=\"%s\" data-sort=\"%s\"", columns[column].title,
                       columns[column].word);
        if (isnan(value)) {
            textbuf_str(out, ">–</td>");
            continue;
        }
        textbuf_printf(out, " data-value=\"%.6g\">", value);
        if (column == COLUMN_LOST)
            add_losses(out, table->sight, c);
        else if (column == COLUMN_SOCKET)
            add_sockets(out, c);
        else if (column == COLUMN_ELSEWHERE)
            add_elsewhere(out, &table->sight->view, c);
        else
            add_value(out, (enum column)column, value);
        textbuf_str(out, "</td>");
    }
    textbuf_str(out, "</tr>\n");
}

void sight_containers(struct textbuf *out, const struct sight *sight)
{
    struct table table = {.sight = sight, .all_reads = live_all_reads(&sight->view)};
    size_t n = 0;
    struct row *rows = choose_rows(sight, table.all_reads, &n);
    find_columns(&table);
    textbuf_printf(out,
                   "<section id=\"containers\" class=\"containers live\"><p class=\"count\" "
                   "data-total=\"%zu\">"
                   "%zu of %zu containers</p>\n<table>\n",
                   sight->view.n, n, sight->view.n);
    add_head(out, &table);
    textbuf_str(out, "<tbody>\n");
    for (size_t i = 0; i < n && i < SIGHT_ROWS; i++)
        add_row(out, &table, &sight->view.containers[rows[i].at], rows[i].at);
    textbuf_str(out, "</tbody></table>\n");
    if (n > SIGHT_ROWS)
        textbuf_printf(out, "<p class=\"more\">%zu more are left out: choose a namespace.</p>",
                       n - SIGHT_ROWS);
    textbuf_str(out, "</section>\n");
    free(rows);
}
