#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/clock.h"
#include "exporter/http/http.h"
#include "exporter/options/options.h"
#include "exporter/options/table.h"

/* Parsing in progress. */
struct parse {
    struct options options;
    bool listen_given; /* the default address is to be forgotten */
    char *error;
    size_t error_size;
};

/* ---- what follows a flag ---- */

_Static_assert(sizeof(enum option_source) == sizeof(int) &&
                   sizeof(enum names_mode) == sizeof(int) &&
                   sizeof(enum log_level) == sizeof(int) && sizeof(enum log_format) == sizeof(int),
               "FLAG_CHOICE stores an int");

enum { REGEX_MAX = 4096 };

/* -EINVAL, with the message in 'error'. */
__attribute__((format(printf, 2, 3))) static int parse_fail(struct parse *parse, const char *format,
                                                            ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(parse->error, parse->error_size, format, args);
    va_end(args);
    return -EINVAL;
}

static int parse_refuse(struct parse *parse, const struct option_flag *flag, const char *text,
                        const char *what)
{
    char quoted[QUOTED_SIZE];
    return parse_fail(parse, "--%s: %s %s", flag->name, text_quote(text, quoted), what);
}

static int check_range(struct parse *parse, const struct option_flag *flag, const char *text,
                       double value)
{
    if (value >= flag->min && value <= flag->max)
        return 0;
    char range[96], what[128];
    flag_range(flag, range, sizeof range);
    snprintf(what, sizeof what, "is not between %s", range);
    return parse_refuse(parse, flag, text, what);
}

static int set_count(struct parse *parse, const struct option_flag *flag, const char *text,
                     void *member)
{
    uint64_t value = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9')
            return parse_refuse(parse, flag, text, "is not a whole number");
        if (value < UINT64_MAX / 100) /* else far out of every range already */
            value = value * 10 + (uint64_t)(*p - '0');
    }
    int err = check_range(parse, flag, text, (double)value);
    if (!err)
        *(size_t *)member = (size_t)value;
    return err;
}

static int set_number(struct parse *parse, const struct option_flag *flag, const char *text,
                      void *member)
{
    char *end;
    double value = strtod(text, &end);
    bool decimal = strspn(text, "0123456789.eE+-") == strlen(text) && *text != '+' && *text != '-';
    if (*end || end == text || !decimal || !isfinite(value))
        return parse_refuse(parse, flag, text, "is not a number");
    int err = check_range(parse, flag, text, value);
    if (!err)
        *(double *)member = value;
    return err;
}

static int set_duration(struct parse *parse, const struct option_flag *flag, const char *text,
                        void *member)
{
    uint64_t ps;
    if (duration_parse_ps(text, &ps))
        return parse_refuse(parse, flag, text,
                            "is not a duration such as 500ms, 1.5s, 2m or 1h30m");
    int err = check_range(parse, flag, text, (double)ps / 1e3);
    if (err)
        return err;
    if (flag->type == FLAG_SECONDS)
        *(double *)member = (double)ps / 1e12;
    else if (ps % 1000 != 0)
        return parse_refuse(parse, flag, text, "is finer than a nanosecond");
    else
        *(uint64_t *)member = ps / 1000;
    return 0;
}

static bool is_name(const char *text, size_t len)
{
    if (len == 0 || len >= OPTION_NAME_BYTES || *text < 'a' || *text > 'z')
        return false;
    for (size_t i = 1; i < len; i++)
        if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= '0' && text[i] <= '9') &&
            text[i] != '_')
            return false;
    return true;
}

/* "node0": what NUMA nodes are called. */
static bool is_name_of_node(const char *text, size_t len)
{
    static const char node[] = "node";
    const size_t skip = sizeof node - 1;
    return len > skip && memcmp(text, node, skip) == 0 &&
           strspn(text + skip, "0123456789") >= len - skip;
}

static int add_latency(struct parse *parse, const struct option_flag *flag, const char *text,
                       struct option_latencies *latencies)
{
    size_t len = strcspn(text, "=");
    uint64_t ps;
    if (!text[len] || !is_name(text, len) || duration_parse_ps(text + len + 1, &ps))
        return parse_refuse(parse, flag, text,
                            "is not a name of up to 16 small letters, digits and underscores and a "
                            "duration, such as cxl=250ns");
    if (is_name_of_node(text, len))
        return parse_refuse(parse, flag, text, "has the name of a NUMA node");
    for (size_t i = 0; i < latencies->n; i++)
        if (strlen(latencies->at[i].name) == len && memcmp(latencies->at[i].name, text, len) == 0)
            return parse_refuse(parse, flag, text, "has a name that was given already");
    if (latencies->n == OPTION_LATENCIES_MAX)
        return parse_fail(parse, "--%s: given more than %d times", flag->name,
                          OPTION_LATENCIES_MAX);
    int err = check_range(parse, flag, text, (double)ps / 1e3);
    if (err)
        return err;
    struct option_latency *latency = &latencies->at[latencies->n++];
    memcpy(latency->name, text, len);
    latency->name[len] = '\0';
    latency->seconds = (double)ps / 1e12;
    return 0;
}

static int set_choice(struct parse *parse, const struct option_flag *flag, const char *text,
                      void *member)
{
    for (int i = 0; flag->choices[i]; i++) {
        if (strcmp(flag->choices[i], text) != 0)
            continue;
        if (flag->type == FLAG_EITHER)
            *(bool *)member = i == 1;
        else
            *(int *)member = i;
        return 0;
    }
    char words[96], what[128];
    flag_words(flag, ", ", words, sizeof words);
    snprintf(what, sizeof what, "is not one of %s", words);
    return parse_refuse(parse, flag, text, what);
}

static int set_regex(struct parse *parse, const struct option_flag *flag, const char *text,
                     void *member)
{
    regex_t regex;
    if (strlen(text) > REGEX_MAX) /* regcomp recurses on brackets */
        return parse_refuse(parse, flag, text, "is longer than 4096 bytes");
    int err = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
    if (err) {
        char why[128], what[192];
        regerror(err, &regex, why, sizeof why);
        snprintf(what, sizeof what, "is not a regular expression: %s", why);
        return parse_refuse(parse, flag, text, what);
    }
    regfree(&regex);
    *(const char **)member = text;
    return 0;
}

/* A path that a request can ask for as it stands, and that no other page has. */
static int set_url_path(struct parse *parse, const struct option_flag *flag, const char *text,
                        void *member)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789/-._~";
    if (*text != '/' || strspn(text, allowed) != strlen(text))
        return parse_refuse(parse, flag, text,
                            "is not a path of letters, digits, -, ., _, ~ and / that begins with "
                            "/");
    if (strcmp(text, "/") == 0 || strncmp(text, "/-/", 3) == 0 || strncmp(text, "/api/", 5) == 0)
        return parse_refuse(parse, flag, text, "is the path of another page");
    *(const char **)member = text;
    return 0;
}

static int add_listen(struct parse *parse, const struct option_flag *flag, const char *text)
{
    struct options *options = &parse->options;
    char address[256];
    uint16_t port;
    if (!http_unix_path(text) && http_parse_listen(text, address, sizeof address, &port))
        return parse_refuse(parse, flag, text,
                            "is not an address such as :10066, 127.0.0.1:10066, [::1]:10066 or "
                            "unix:/run/interference_exporter/http");
    if (!parse->listen_given)
        options->n_listen = 0;
    parse->listen_given = true;
    if (options->n_listen == OPTIONS_MAX_LISTEN)
        return parse_fail(parse, "--%s: given more than %d times", flag->name, OPTIONS_MAX_LISTEN);
    options->listen[options->n_listen++] = text;
    return 0;
}

/* Sets the member that belongs to a flag which takes a value; 'base' is the struct that it is in:
 * the options, or the config of the flag's collector. 0 or -EINVAL. */
static int parse_value(struct parse *parse, const struct option_flag *flag, const char *text,
                       void *base)
{
    void *member = (char *)base + flag->offset;
    switch (flag->type) {
    case FLAG_TEXT:
        *(const char **)member = text;
        return 0;
    case FLAG_URL_PATH:
        return set_url_path(parse, flag, text, member);
    case FLAG_REGEX:
        return set_regex(parse, flag, text, member);
    case FLAG_LISTEN:
        return add_listen(parse, flag, text);
    case FLAG_COUNT:
        return set_count(parse, flag, text, member);
    case FLAG_NUMBER:
        return set_number(parse, flag, text, member);
    case FLAG_DURATION:
    case FLAG_SECONDS:
        return set_duration(parse, flag, text, member);
    case FLAG_LATENCIES:
        return add_latency(parse, flag, text, member);
    case FLAG_CHOICE:
    case FLAG_EITHER:
        return set_choice(parse, flag, text, member);
    case FLAG_BOOL:
    case FLAG_ACTION:
        break;
    }
    return parse_fail(parse, "--%s takes no value", flag->name);
}

/* ---- arguments ---- */

static bool takes_value(const struct option_flag *flag)
{
    return flag->type != FLAG_BOOL && flag->type != FLAG_ACTION;
}

/* A flag, and the struct that its member is in. */
struct found {
    const struct option_flag *flag; /* NULL: there is none of that name */
    void *base;
};

static void *base_of(struct parse *parse, const struct flag_walk *walk)
{
    return walk->collector == FLAG_OWN ? (void *)&parse->options
                                       : &parse->options.config[walk->collector];
}

static struct found find_flag(struct parse *parse, const char *name, size_t len)
{
    struct flag_walk walk = {0};
    const struct option_flag *flag;
    while ((flag = flag_next(&walk)))
        if (strncmp(flag->name, name, len) == 0 && !flag->name[len])
            return (struct found){flag, base_of(parse, &walk)};
    return (struct found){NULL, NULL};
}

/* The switch behind "collector.<name>", or NULL. */
static enum option_switch *find_switch(struct options *options, const char *name, size_t len)
{
    static const char prefix[] = "collector.";
    const size_t skip = sizeof prefix - 1;
    if (len < skip || memcmp(name, prefix, skip) != 0)
        return NULL;
    for (size_t i = 0; collector_table[i]; i++) {
        const char *collector = collector_table[i]->name;
        if (strlen(collector) == len - skip && memcmp(collector, name + skip, len - skip) == 0)
            return &options->collector[i];
    }
    return NULL;
}

static int unknown_flag(struct parse *parse, const char *argument, size_t len)
{
    char name[QUOTED_SIZE], quoted[QUOTED_SIZE], suggestion[FLAG_NAME_MAX];
    snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name), argument);
    text_quote(name, quoted);
    if (flag_suggest(argument, len, suggestion))
        return parse_fail(parse, "unknown flag %s (did you mean \"--%s\"?)", quoted, suggestion);
    return parse_fail(parse, "unknown flag %s; --help lists all", quoted);
}

/* What takes no value: a boolean of the table or a collector's switch. 'on': without "no-". */
static int set_switch(struct parse *parse, const struct found *found, enum option_switch *collector,
                      bool on, const char *value, const char *name, size_t len)
{
    if (value)
        return parse_fail(parse, "--%.*s takes no value", (int)len, name);
    if (collector)
        *collector = on ? SWITCH_ON : SWITCH_OFF;
    else
        *(bool *)((char *)found->base + found->flag->offset) = on;
    return 0;
}

static int take_argument(struct parse *parse, int argc, char *const *argv, int *next)
{
    const char *argument = argv[(*next)++];
    if (argument[0] != '-') {
        char quoted[QUOTED_SIZE];
        return parse_fail(parse, "unexpected argument %s: only flags are accepted",
                          text_quote(argument, quoted));
    }
    const char *name = argument + 2;
    size_t whole = strcspn(argument, "=");
    if (whole < 3 || argument[1] != '-')
        return unknown_flag(parse, argument, whole);
    size_t len = whole - 2;
    const char *value = argument[whole] ? argument + whole + 1 : NULL;

    struct found found = find_flag(parse, name, len);
    enum option_switch *collector = find_switch(&parse->options, name, len);
    if (collector || (found.flag && !takes_value(found.flag)))
        return set_switch(parse, &found, collector, true, value, name, len);
    if (!found.flag && len > 3 && strncmp(name, "no-", 3) == 0) {
        found = find_flag(parse, name + 3, len - 3);
        collector = find_switch(&parse->options, name + 3, len - 3);
        if (collector || (found.flag && found.flag->type == FLAG_BOOL))
            return set_switch(parse, &found, collector, false, value, name, len);
        found.flag = NULL;
    }
    if (!found.flag)
        return unknown_flag(parse, argument, whole);
    /* A following flag is not a value: a file name may still begin with "--" after "=". */
    if (!value && *next < argc && strncmp(argv[*next], "--", 2) != 0)
        value = argv[(*next)++];
    if (!value || !*value)
        return parse_fail(parse, "--%s needs a value", found.flag->name);
    return parse_value(parse, found.flag, value, found.base);
}

/* ---- the whole ---- */

static int set_defaults(struct parse *parse)
{
    struct flag_walk walk = {0};
    const struct option_flag *flag;
    while ((flag = flag_next(&walk))) {
        int err =
            flag->fallback ? parse_value(parse, flag, flag->fallback, base_of(parse, &walk)) : 0;
        if (err)
            return err;
    }
    parse->listen_given = false;
    return 0;
}

/* What no single flag can say. */
static int check_together(struct parse *parse)
{
    struct options *options = &parse->options;
    if (options->open_file && (options->replay_file || options->once || options->doctor))
        return parse_fail(parse, "--open goes with neither --source.replay.file nor --once");
    if ((options->report || options->anonymise) && !options->open_file)
        return parse_fail(parse, "--report and --anonymise go with --open only");
    if (options->report && strcmp(options->report, "html") != 0)
        return parse_fail(parse, "--report: the format is html");
    if (options->report)
        options->once = true;
    if (options->open_file) {
        options->replay_file = options->open_file;
        options->replay_max_speed = true;
    }
    if (options->open_file && !parse->listen_given)
        options->listen[0] = "127.0.0.1:10066";
    if (options->replay_file && options->source == SOURCE_PERF)
        return parse_fail(parse, "--source.replay.file contradicts --source=perf");
    if (options->replay_file && options->source == SOURCE_BPF)
        return parse_fail(parse, "--source.replay.file contradicts --source=bpf");
    if (options->replay_file)
        options->source = SOURCE_REPLAY;
    if (options->source == SOURCE_REPLAY && !options->replay_file)
        return parse_fail(parse, "--source=replay needs --source.replay.file");
    if (options->replay_file && options->record_file &&
        strcmp(options->replay_file, options->record_file) == 0)
        return parse_fail(parse, "--source.record.file would overwrite --source.replay.file");
    if (options->user && options->names == NAMES_RUNTIME)
        return parse_fail(parse, "--process.user contradicts --containers.names=runtime: the "
                                 "runtimes' state is root's");
    if (options->json && !options->doctor)
        return parse_fail(parse, "--json goes with --doctor only");
    if (options->doctor && options->source == SOURCE_REPLAY)
        return parse_fail(parse, "--doctor contradicts a replay: it is about this machine");
    if (options->doctor) {
        options->once = true;
        options->log_level = LOG_LEVEL_ERROR;
    }
    if (options->state_file && options->once)
        return parse_fail(parse, "--state.file contradicts --once");
    if (options->blackbox_directory && options->once)
        return parse_fail(parse, "--blackbox.directory contradicts --once");
    if (options->table && !options->once)
        return parse_fail(parse, "--table needs --once");
    return 0;
}

int options_parse(struct options *out, int argc, char *const *argv, char *error, size_t error_size)
{
    struct parse parse = {.error = error, .error_size = error_size};
    int err = set_defaults(&parse);
    for (int next = 1; !err && next < argc;)
        err = take_argument(&parse, argc, argv, &next);
    if (!err && !parse.options.help && !parse.options.version)
        err = check_together(&parse);
    if (!err)
        *out = parse.options;
    return err;
}
