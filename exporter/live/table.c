#include "exporter/live/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "exporter/live/blame.h"
#include "exporter/live/verdict.h"

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
