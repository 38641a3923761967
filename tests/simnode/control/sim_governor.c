#include "tests/simnode/control/sim_governor.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exporter/base/textbuf.h"
#include "exporter/governor/act/journal/fswrite.h"
#include "exporter/governor/decide/governor.h"

struct sim_governor {
    struct fsroot fs;
    struct log log;
    char state[64]; /* its folder */
    struct config *config;
    struct governor *governor;
    struct view view;
    struct writers writers;
    uint64_t wall_ns, changes;
};

static void on_decision(void *context, const struct decision *decision)
{
    struct sim_governor *governor = context;

    governor->changes += decision->outcome == OUTCOME_APPLIED;
}

static int read_config(struct sim_governor *governor, const char *policies, char *error,
                       size_t error_size)
{
    struct textbuf text = TEXTBUF_INIT;

    textbuf_printf(&text, "{\"governor\":1,\"mode\":\"enforce\",\"state_directory\":\"%s\",%s}",
                   governor->state, policies);
    int err = textbuf_finish(&text);
    if (!err)
        err = config_parse(text.data, text.len, &governor->config, error, error_size);
    textbuf_release(&text);
    return err;
}

int sim_governor_new(const char *policies, const struct actuators *actuators, uint64_t now_ns,
                     struct sim_governor **out)
{
    struct sim_governor *governor = calloc(1, sizeof(*governor));
    char error[512] = "out of memory";

    if (!governor)
        return -ENOMEM;
    governor->log.fd = -1;
    strcpy(governor->state, "/tmp/simnode-control-XXXXXX");
    int err = mkdtemp(governor->state) ? 0 : -errno;
    if (err)
        governor->state[0] = '\0';
    if (!err)
        err = fsroot_init(&governor->fs, NULL, NULL, NULL, NULL);
    if (!err)
        err = read_config(governor, policies, error, sizeof(error));
    if (!err) {
        const struct governor_setup setup = {.config = governor->config,
                                             .enforce = true,
                                             .allow_replay = true,
                                             .fs = &governor->fs,
                                             .write = &fswrite_real,
                                             .actuators = actuators,
                                             .log = &governor->log,
                                             .decided = on_decision,
                                             .context = governor};

        err = governor_new(&setup, now_ns, &governor->governor, error, sizeof(error));
    }
    if (err) {
        fprintf(stderr, "the governor: %s\n", error);
        sim_governor_free(governor);
    } else {
        *out = governor;
    }
    return err;
}

void sim_governor_remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    (void)rmdir(path);
}

void sim_governor_free(struct sim_governor *governor)
{
    if (!governor)
        return;
    if (governor->governor)
        (void)governor_stop(governor->governor, governor->wall_ns);
    governor_free(governor->governor);
    config_free(governor->config);
    view_release(&governor->view);
    writers_release(&governor->writers);
    fsroot_release(&governor->fs);
    if (governor->state[0])
        sim_governor_remove_folder(governor->state);
    free(governor);
}

int sim_governor_take(struct sim_governor *governor, const char *text, size_t len, uint64_t now_ns,
                      uint64_t wall_ns)
{
    char error[256] = "";
    int err = view_parse(text, len, &governor->view, error, sizeof(error));

    if (err) {
        fprintf(stderr, "the exporter's document: %s\n", error);
        return err;
    }
    governor->wall_ns = wall_ns;
    governor_take(governor->governor, &governor->view, now_ns, wall_ns);
    return 0;
}

int sim_governor_take_writers(struct sim_governor *governor, const char *text, size_t len)
{
    char error[256] = "";
    int err = writers_parse(text, len, &governor->writers, error, sizeof(error));

    if (err)
        fprintf(stderr, "the exporter's document: %s\n", error);
    else
        governor_take_writers(governor->governor, &governor->writers);
    return err;
}

uint64_t sim_governor_changes(const struct sim_governor *governor)
{
    return governor->changes;
}

double sim_governor_learned(const struct sim_governor *governor, const char *container)
{
    struct governor_state state;

    governor_look(governor->governor, &state);
    for (size_t i = 0; i < state.policies.n_calibrations; i++) {
        const char *name = strrchr(state.policies.calibrations[i].container, '/');

        if (name && strcmp(name + 1, container) == 0)
            return state.policies.calibrations[i].latency_seconds;
    }
    return NAN;
}

double sim_governor_slowdown(const struct sim_governor *governor, const char *container)
{
    struct governor_state state;

    governor_look(governor->governor, &state);
    for (size_t i = 0; i < state.policies.n_slowdowns; i++)
        if (strcmp(state.policies.slowdowns[i].container, container) == 0)
            return state.policies.slowdowns[i].slowdown;
    return NAN;
}

uint64_t sim_governor_missed(const struct sim_governor *governor)
{
    struct governor_state state;

    governor_look(governor->governor, &state);
    return state.policies.counts.bound_missed;
}
