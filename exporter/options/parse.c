#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exporter/options/internal.h"
#include "exporter/options/table.h"
#include "exporter/options/text.h"

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
