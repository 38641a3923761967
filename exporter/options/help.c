#include <ctype.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "exporter/options/options.h"
#include "exporter/options/text.h"

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
