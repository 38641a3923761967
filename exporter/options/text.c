#include "exporter/options/table.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/base/textbuf.h"
#include "exporter/options/options.h"

const char *text_quote(const char *text, char out[QUOTED_SIZE])
{
    /* A byte becomes at most six, "\u001b"; what is cut ends in dots. */
    char start[80];
    size_t len = strnlen(text, sizeof start);
    bool cut = len == sizeof start;
    if (cut)
        len -= sizeof "...";
    memcpy(start, text, len);
    strcpy(start + len, cut ? "..." : "");

    struct textbuf buf;
    textbuf_init_fixed(&buf, out, QUOTED_SIZE);
    textbuf_quoted(&buf, start);
    return out;
}

/* ---- ranges and choices ---- */

void flag_range(const struct option_flag *flag, char *out, size_t size)
{
    bool duration =
        flag->type == FLAG_DURATION || flag->type == FLAG_SECONDS || flag->type == FLAG_LATENCIES;
    void (*add)(struct textbuf *, double) = duration ? duration_add : textbuf_double;
    struct textbuf buf;
    textbuf_init_fixed(&buf, out, size);
    add(&buf, flag->min);
    textbuf_str(&buf, " and ");
    add(&buf, flag->max);
}

void flag_words(const struct option_flag *flag, const char *separator, char *out, size_t size)
{
    struct textbuf buf;
    textbuf_init_fixed(&buf, out, size);
    for (size_t i = 0; flag->choices[i]; i++) {
        if (i > 0)
            textbuf_str(&buf, separator);
        textbuf_str(&buf, flag->choices[i]);
    }
}

/* ---- suggestions ---- */

void flag_each_spelling(void (*each)(void *context, const char *name), void *context)
{
    char name[FLAG_NAME_MAX];
    struct flag_walk walk = {0};
    const struct option_flag *flag;
    while ((flag = flag_next(&walk))) {
        each(context, flag->name);
        if (flag->type != FLAG_BOOL)
            continue;
        snprintf(name, sizeof name, "no-%s", flag->name);
        each(context, name);
    }
    for (size_t i = 0; collector_table[i]; i++) {
        snprintf(name, sizeof name, "no-collector.%s", collector_table[i]->name);
        each(context, name + 3);
        each(context, name);
    }
}

/* Levenshtein's distance; both shorter than FLAG_NAME_MAX. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[FLAG_NAME_MAX + 1];
    size_t width = strlen(b);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            if (best > row[j] + 1)
                best = row[j] + 1;
            if (best > row[j - 1] + 1)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[width];
}

struct suggestion {
    const char *given;
    size_t best; /* distances at or above this are no suggestion */
    char *out;
};

static void consider(void *context, const char *name)
{
    struct suggestion *suggestion = context;
    size_t distance = edit_distance(suggestion->given, name);
    /* "listen-address" and "sampling" are parts of what was meant, if long enough to tell. */
    if (distance > 2 && strlen(suggestion->given) > 3 && strstr(name, suggestion->given))
        distance = 2;
    if (distance >= suggestion->best)
        return;
    suggestion->best = distance;
    strcpy(suggestion->out, name);
}

bool flag_suggest(const char *argument, size_t len, char out[FLAG_NAME_MAX])
{
    for (; len > 0 && *argument == '-'; argument++)
        len--;
    char given[FLAG_NAME_MAX];
    if (len == 0 || len >= sizeof given)
        return false;
    memcpy(given, argument, len);
    given[len] = '\0';
    struct suggestion suggestion = {.given = given,
                                    .best = len < 5   ? 2
                                            : len < 9 ? 3
                                                      : 4,
                                    .out = out};
    if (strcmp(given, "h") == 0)
        strcpy(given, "help");
    out[0] = '\0';
    flag_each_spelling(consider, &suggestion);
    return out[0] != '\0';
}

/* ---- --help ---- */

enum { INDENT = 8, WIDTH = 96 };

static void print_wrapped(FILE *file, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column > 0 && column + 1 + len > WIDTH) {
            fputc('\n', file);
            column = 0;
        }
        column += (size_t)fprintf(file, "%*s%.*s", column ? 1 : INDENT, "", (int)len, text);
        text += len + (text[len] == ' ');
    }
    fputc('\n', file);
}

/* " Between 100ms and 1h. Default: 1s." after the help, as far as it applies. */
static void print_flag(FILE *file, const struct option_flag *flag)
{
    char words[96], text[1024];
    struct textbuf help;
    textbuf_init_fixed(&help, text, sizeof text);
    textbuf_str(&help, flag->help);
    if (flag->max > flag->min) {
        flag_range(flag, words, sizeof words);
        textbuf_printf(&help, " Between %s.", words);
    }
    if (flag->fallback)
        textbuf_printf(&help, " Default: %s.", flag->fallback);

    fprintf(file, "  --%s%s", flag->type == FLAG_BOOL ? "[no-]" : "", flag->name);
    if (flag->choices) {
        flag_words(flag, "|", words, sizeof words);
        fprintf(file, "=%s", words);
    } else if (flag->unit) {
        fprintf(file, "=%s", flag->unit);
    }
    fputc('\n', file);
    print_wrapped(file, text);
}

static void print_collectors(FILE *file)
{
    static const char *const words[] = {
        [COLLECTOR_OFF] = "off",
        [COLLECTOR_ON] = "on",
        [COLLECTOR_AUTO] = "on if its hardware is present",
    };
    for (size_t i = 0; collector_table[i]; i++) {
        const struct collector_ops *collector = collector_table[i];
        char text[1024];
        const char *summary = collector->summary;
        snprintf(text, sizeof text, "%c%s. Default: %s.", toupper((unsigned char)*summary),
                 summary + (*summary != '\0'), words[collector->default_on]);
        fprintf(file, "  --[no-]collector.%s\n", collector->name);
        print_wrapped(file, text);
    }
}

void options_print_help(FILE *file)
{
    fputs("Usage: interference_exporter [FLAGS]\n\nMeasures how long each container waits for "
          "memory and serves the results to Prometheus.\nGive values as --flag=value or --flag "
          "value. Durations: 500ms, 1.5s, 2m, 1h30m.\n\n",
          file);
    struct flag_walk walk = {0};
    const struct option_flag *flag;
    while ((flag = flag_next(&walk))) {
        if (strcmp(flag->name, FLAG_OF_ALL_COLLECTORS) == 0)
            print_collectors(file);
        print_flag(file, flag);
    }
}
