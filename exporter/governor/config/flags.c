#include "exporter/governor/config/flags.h"

#include <errno.h>
#include <string.h>

enum kind { KIND_SWITCH, KIND_TEXT, KIND_LEVEL, KIND_FORMAT, KIND_REPORT };

static const struct flag {
    const char *name;
    enum kind kind;
    size_t offset;
    const char *unit, *help;
} table[] = {
#define MEMBER(m) offsetof(struct flags, m)
    {"config.file", KIND_TEXT, MEMBER(config_file), "FILE",
     "The configuration (JSON). Required. It is read again when it has changed, and at SIGHUP."},
    {"enforce", KIND_SWITCH, MEMBER(enforce), NULL,
     "Act, if the configuration says \"mode\":\"enforce\" as well. Without both it observes: it "
     "decides, logs and counts, and writes nothing."},
    {"experiment", KIND_SWITCH, MEMBER(experiment), NULL,
     "Hold suspected best effort for 0.2 s, up to 40 times an hour, to find whether it makes "
     "memory slow, if policies.threshold of the configuration has \"experiment\":true as well, "
     "and it acts."},
    {"state-directory", KIND_TEXT, MEMBER(state_directory), "DIRECTORY",
     "The journal's. The configuration may name no other one, so that who changes it hides no "
     "journal. Default: " CONFIG_STATE_DIRECTORY "."},
    {"restore", KIND_SWITCH, MEMBER(restore), NULL,
     "Put back what an earlier governor left in the state directory's journal, without a "
     "configuration, and end. Status 0: nothing is left there, 3: something is."},
    {"check", KIND_SWITCH, MEMBER(check), NULL,
     "Check the configuration and the machine, show what could be restricted now, and end."},
    {"replay", KIND_TEXT, MEMBER(replay_file), "RECORDING",
     "With --report: read a recording of the exporter's, or of its black box, instead of asking an "
     "exporter. Nothing is written or served."},
    {"report", KIND_REPORT, MEMBER(report), "table|json",
     "Print what would have been held over the recording, and what that would have brought, and "
     "end. Alone it is a table."},
    {"web.listen-address", KIND_TEXT, MEMBER(listen), "ADDRESS:PORT",
     "Where HTTP is served, or up to eight with a comma between. Default: 127.0.0.1:10067."},
    {"web.config.file", KIND_TEXT, MEMBER(web_config_file), "FILE",
     "TLS and passwords: the YAML of Prometheus' exporter-toolkit."},
    {"path.procfs", KIND_TEXT, MEMBER(procfs), "DIRECTORY", "Where the host's procfs is mounted."},
    {"path.sysfs", KIND_TEXT, MEMBER(sysfs), "DIRECTORY", "Where the host's sysfs is mounted."},
    {"path.cgroupfs", KIND_TEXT, MEMBER(cgroupfs), "DIRECTORY",
     "Where the host's cgroups are mounted, writable."},
    {"allow-replay", KIND_SWITCH, MEMBER(allow_replay), NULL,
     "Act on an exporter that replays a recording. Only with --path.cgroupfs, for tests and "
     "simulations: the control files there are not those of the recording's machine."},
    {"log.level", KIND_LEVEL, MEMBER(log_level), "debug|info|warn|error",
     "Lines below this level are left out. Default: info."},
    {"log.format", KIND_FORMAT, MEMBER(log_format), "logfmt|json", "Default: logfmt."},
    {"help", KIND_SWITCH, MEMBER(help), NULL, "Show this text."},
    {"version", KIND_SWITCH, MEMBER(version), NULL, "Show the version."},
};
enum { FLAGS = sizeof table / sizeof *table };

static const char *const levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const formats[] = {"logfmt", "json", NULL};
static const char *const reports[] = {"", "table", "json", NULL};

_Static_assert(sizeof(enum log_level) == sizeof(int) && sizeof(enum log_format) == sizeof(int) &&
                   sizeof(enum report) == sizeof(int),
               "choices are stored as int");

static int set_word(const struct flag *flag, const char *const *words, const char *value,
                    int *member, char *error, size_t error_size)
{
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], value) != 0)
            continue;
        *member = i;
        return 0;
    }
    snprintf(error, error_size, "--%s: must be one of %s", flag->name, flag->unit);
    return -EINVAL;
}

static int set(struct flags *flags, const struct flag *flag, const char *value, char *error,
               size_t error_size)
{
    void *member = (char *)flags + flag->offset;
    switch (flag->kind) {
    case KIND_SWITCH:
        *(bool *)member = true;
        return 0;
    case KIND_TEXT:
        *(const char **)member = value;
        return 0;
    case KIND_LEVEL:
        return set_word(flag, levels, value, member, error, error_size);
    case KIND_FORMAT:
        return set_word(flag, formats, value, member, error, error_size);
    case KIND_REPORT:
        return set_word(flag, reports, value ? value : "table", member, error, error_size);
    }
    return -EINVAL;
}

static const struct flag *find(const char *name, size_t len)
{
    for (size_t i = 0; i < FLAGS; i++)
        if (strlen(table[i].name) == len && memcmp(table[i].name, name, len) == 0)
            return &table[i];
    return NULL;
}

static int take(struct flags *flags, int argc, char *const *argv, int *next, char *error,
                size_t error_size)
{
    const char *argument = argv[(*next)++];
    size_t len = strcspn(argument, "=");
    const struct flag *flag =
        len > 2 && strncmp(argument, "--", 2) == 0 ? find(argument + 2, len - 2) : NULL;
    const char *value = argument[len] ? argument + len + 1 : NULL;
    if (!flag) {
        snprintf(error, error_size, "unknown flag \"%.*s\"; --help lists all",
                 (int)(len < 64 ? len : 64), argument);
        return -EINVAL;
    }
    if (flag->kind == KIND_SWITCH && value) {
        snprintf(error, error_size, "--%s takes no value", flag->name);
        return -EINVAL;
    }
    bool needs_value = flag->kind != KIND_SWITCH && flag->kind != KIND_REPORT;
    if (needs_value && !value && *next < argc && strncmp(argv[*next], "--", 2) != 0)
        value = argv[(*next)++];
    if (value ? !*value : needs_value) {
        snprintf(error, error_size, "--%s needs a value", flag->name);
        return -EINVAL;
    }
    return set(flags, flag, value, error, error_size);
}

static size_t count(const char *text, char which)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == which;
    return n;
}

static int check(const struct flags *flags, char *error, size_t error_size)
{
    const char *wrong = NULL;
    if (flags->help || flags->version)
        return 0;
    if (!flags->config_file && !flags->restore)
        wrong = "--config.file is required";
    else if (flags->state_directory[0] != '/' ||
             strlen(flags->state_directory) >= CONFIG_DIRECTORY_MAX)
        wrong = "--state-directory: must be an absolute path of less than 256 bytes";
    else if (count(flags->listen, ',') >= FLAGS_LISTEN_MAX ||
             strlen(flags->listen) >= FLAGS_LISTEN_BYTES)
        wrong = "--web.listen-address: must be eight addresses at most";
    else if (flags->restore && flags->check)
        wrong = "--restore contradicts --check";
    else if ((flags->replay_file != NULL) != (flags->report != REPORT_NONE))
        wrong = "--replay and --report go together";
    else if (flags->replay_file && (flags->enforce || flags->restore || flags->check))
        wrong = "--replay only looks: it contradicts --enforce, --restore and --check";
    else if (flags->allow_replay && !flags->cgroupfs)
        wrong = "--allow-replay needs --path.cgroupfs: a recording's containers are not this "
                "machine's";
    if (!wrong)
        return 0;
    snprintf(error, error_size, "%s", wrong);
    return -EINVAL;
}

int flags_parse(struct flags *out, int argc, char *const *argv, char *error, size_t error_size)
{
    struct flags flags = {.listen = "127.0.0.1:10067",
                          .state_directory = CONFIG_STATE_DIRECTORY,
                          .log_level = LOG_LEVEL_INFO};
    int err = 0;
    for (int next = 1; !err && next < argc;)
        err = take(&flags, argc, argv, &next, error, error_size);
    if (!err)
        err = check(&flags, error, error_size);
    if (!err)
        *out = flags;
    return err;
}

struct config_given flags_given(const struct flags *flags)
{
    return (struct config_given){.state_directory = flags->state_directory,
                                 .enforce = flags->enforce};
}

void flags_print_help(FILE *file)
{
    fputs("Usage: interference_governor --config.file=FILE [FLAGS]\n"
          "       interference_governor --restore [FLAGS]\n"
          "       interference_governor --config.file=FILE --replay=RECORDING --report\n\nTakes "
          "CPU quota, ways of the "
          "last-level cache or memory bandwidth from best-effort containers while\nprotected ones "
          "wait longer for memory than is normal for them, as interference_exporter measures\nit, "
          "and keeps threads that write to persistent memory on few CPUs: each where a policy of "
          "the\nconfiguration says so. Never gives more than the containers' own limits.\n\n",
          file);
    for (size_t i = 0; i < FLAGS; i++)
        fprintf(file, "  --%s%s%s\n        %s\n", table[i].name, table[i].unit ? "=" : "",
                table[i].unit ? table[i].unit : "", table[i].help);
}
