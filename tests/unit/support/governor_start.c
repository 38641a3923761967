#include "tests/unit/support/governor_start.h"

#include "tests/unit/support/unit.h"

static const struct log no_log = {.fd = -1};

struct config *governor_start_config(const char *text)
{
    char error[256] = "";
    struct config *config = NULL;
    if (config_parse(text, strlen(text), &config, error, sizeof error))
        fail_msg("%s", error);
    return config;
}

struct config *governor_start_threshold(const struct governor_rig *rig, const char *mode,
                                        const char *rest)
{
    char text[2048];
    snprintf(text, sizeof text,
             "{\"governor\":1,\"mode\":\"enforce\",\"state_directory\":\"%s\",\"classes\":["
             "{\"name\":\"web\",\"role\":\"protected\",\"match\":[{\"namespace\":\"shop\","
             "\"pod\":\"*\",\"container\":\"*\"}]},"
             "{\"name\":\"batch\",\"role\":\"best_effort\",\"match\":[{\"namespace\":\"*\","
             "\"pod\":\"*\",\"container\":\"*\"}]}],\"policies\":{\"threshold\":{\"classes\":["
             "\"batch\"],\"mode\":\"%s\",\"factor\":1.1%s}}}",
             rig->state, mode, rest);
    return governor_start_config(text);
}

static void decided(void *context, const struct decision *decision)
{
    *(struct decision *)context = *decision;
}

struct governor *governor_start(const struct governor_rig *rig, const struct config *config,
                                bool enforce, uint64_t now_ns, struct decision *last)
{
    char error[256] = "";
    struct governor *governor = NULL;
    const struct governor_setup setup = {.config = config,
                                         .enforce = enforce,
                                         .fs = &rig->fs,
                                         .write = &rig->write,
                                         .log = &no_log,
                                         .decided = decided,
                                         .context = last};
    if (governor_new(&setup, now_ns, &governor, error, sizeof error))
        fail_msg("%s", error);
    return governor;
}

void governor_start_undo(struct governor *governor, struct config *config, struct governor_rig *rig)
{
    governor_free(governor);
    config_free(config);
    governor_rig_release(rig);
}

void governor_start_journal(const struct governor_rig *rig, const struct fswrite *write,
                            struct journal *out)
{
    char error[256] = "";
    if (!write)
        journal_open_nowhere(out);
    else if (journal_open(out, rig->state, true, write, &rig->fs, error, sizeof error))
        fail_msg("%s", error);
}

unsigned governor_start_sequences(unsigned otherwise)
{
    const char *given = getenv("GOVERNOR_SEQUENCES");
    return given ? (unsigned)strtoul(given, NULL, 10) : otherwise;
}
