#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/front/front.h"
#include "exporter/governor/pair.h"
#include "exporter/governor/replay/replay.h"
#include "exporter/governor/run.h"
#include "exporter/service/confine.h"
#include "exporter/service/privileges.h"

enum { EXIT_OK = 0, EXIT_RUNTIME = 1, EXIT_USAGE = 2, EXIT_LEFT = 3 };

static int complain(const char *error, int status)
{
    fprintf(stderr, "interference_governor: %s\n", error);
    return status;
}

/* What was taken is given back also when nobody can say any more what may be taken. */
static int restore(const struct flags *flags, const struct fsroot *fs, const struct log *log)
{
    const struct governor_setup setup = {.fs = fs, .write = &fswrite_real, .log = log};
    struct restore_counts counts = {0};
    char error[512] = "";
    int err = governor_restore(flags->state_directory, &setup, &counts, error, sizeof error);
    if (err == -ENOENT) { /* nobody has changed anything since the boot, if it is the right one */
        log_info(log, "restore", "there is no journal in %s", flags->state_directory);
        return EXIT_OK;
    }
    if (err)
        return complain(error, EXIT_RUNTIME);
    return counts.failed ? EXIT_LEFT : EXIT_OK;
}

/* It cannot start. What the last one left is put back; what cannot be makes systemd try again. */
static int refuse(const struct flags *flags, const struct fsroot *fs, const struct log *log,
                  int err, const char *error)
{
    complain(error, 0);
    if (!flags->check && restore(flags, fs, log) == EXIT_LEFT)
        return EXIT_LEFT;
    return err == -EINVAL ? EXIT_USAGE : EXIT_RUNTIME;
}

static void block_signals(sigset_t *signals)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    sigemptyset(signals);
    sigaddset(signals, SIGUSR2); /* of the decider alone */
    sigprocmask(SIG_BLOCK, signals, NULL);
    sigemptyset(signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(signals, numbers[i]);
    sigprocmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* who inherits it ignored hears of no child how it ended */
}

/* User 0 writes quotas without any; threads of others are moved with one, and back. NULL: there is
 * only something to put back. */
static void drop_privileges(const struct config *config, bool writes, const struct log *log)
{
    static const int nice = CAP_SYS_NICE;
    bool moves = writes && (!config || config->enabled[POLICY_NVMM_CORES]);
    confine_bounding_set();
    int err = privileges_drop(&nice, moves ? 1 : 0);
    if (err)
        log_warn(log, "main", "cannot drop privileges: %s", strerror(-err));
    err = privileges_enclose(true);
    if (err)
        log_warn(log, "main", "the memory is not kept from others: %s", strerror(-err));
}

static int check(const struct flags *flags, struct config *config, const struct fsroot *fs,
                 const struct log *log)
{
    char error[512] = "";
    int err = run_check(flags, config, fs, log, stdout, error, sizeof error);
    config_free(config);
    return err ? complain(error, EXIT_RUNTIME) : EXIT_OK;
}

static int end_with(int err, const char *error)
{
    int status = err == -EAGAIN ? EXIT_LEFT : err ? EXIT_RUNTIME : EXIT_OK;
    return err && error[0] ? complain(error, status) : status;
}

static int write_and_wait(const struct pair *pair, const struct flags *flags, struct config *config,
                          const struct fsroot *fs, const struct log *log, const sigset_t *signals)
{
    char error[512] = "";
    int err = pair_write(pair, flags, config, fs, log, signals, error, sizeof error);
    config_free(config);
    return end_with(err, error);
}

/* The configuration, the journal and what they lead to. 'pair' is there where it is to serve. */
static int govern(const struct flags *flags, const struct log *log, const sigset_t *signals,
                  const struct pair *pair)
{
    const struct config_given given = flags_given(flags);
    struct config *config = NULL;
    struct fsroot fs;
    char error[512] = "";
    int refused = 0;
    if (!flags->restore)
        refused = config_load(flags->config_file, &given, &config, error, sizeof error);
    if (fsroot_init(&fs, flags->procfs, flags->sysfs, flags->cgroupfs, NULL))
        return complain("out of memory", EXIT_RUNTIME);
    drop_privileges(config, true, log);
    int status = flags->restore ? restore(flags, &fs, log)
                 : refused      ? refuse(flags, &fs, log, refused, error)
                 : flags->check ? check(flags, config, &fs, log)
                                : write_and_wait(pair, flags, config, &fs, log, signals);
    fsroot_release(&fs);
    return status;
}

/* In a process that has nothing to write with. */
static int decide(const struct flags *flags, const struct log *log, sigset_t *signals,
                  const struct pair *pair, struct front *front)
{
    const struct config_given given = flags_given(flags);
    struct config *config = NULL;
    struct pair_begin begin;
    struct fsroot fs;
    char error[512] = "";
    drop_privileges(NULL, false, log);
    sigdelset(signals, SIGUSR1);
    sigaddset(signals, SIGUSR2);
    if (!pair_wait(pair, &begin)) /* the writer says why */
        return EXIT_RUNTIME;
    int err = config_load(flags->config_file, &given, &config, error, sizeof error);
    if (err)
        return complain(error, EXIT_RUNTIME);
    if (fsroot_init(&fs, flags->procfs, flags->sysfs, flags->cgroupfs, NULL))
        return complain("out of memory", EXIT_RUNTIME);
    err = run_governor(flags, config, &fs, log, signals, front, pair, &begin, error, sizeof error);
    fsroot_release(&fs);
    return end_with(err, error);
}

/* The decider's process, and its keeper's and servers'. */
static int decide_and_serve(const struct flags *flags, const struct log *log, sigset_t *signals,
                            const struct pair *pair)
{
    struct front *front = NULL;
    int status = EXIT_RUNTIME;
    int forked = front_fork(flags->web_config_file, log, &front, &status);
    if (forked < 0)
        status = complain("cannot start the HTTP server's process", EXIT_RUNTIME);
    else if (forked == 0)
        status = decide(flags, log, signals, pair, front);
    front_free(front);
    return status;
}

/* Nobody is governed: there is no journal, no other process, and nothing to put back. */
static int report(const struct flags *flags, const struct log *log)
{
    const struct config_given given = flags_given(flags);
    struct config *config = NULL;
    struct log quiet = *log; /* what collectors begin with is of no use here */
    char error[512] = "";
    int err = config_load(flags->config_file, &given, &config, error, sizeof error);
    if (quiet.level == LOG_LEVEL_INFO)
        quiet.level = LOG_LEVEL_WARN;
    if (!err)
        err = replay_report(flags, config, &quiet, stdout, error, sizeof error);
    config_free(config);
    if (!err)
        return EXIT_OK;
    return complain(error[0] ? error : strerror(-err), err == -EINVAL ? EXIT_USAGE : EXIT_RUNTIME);
}

static int serve(const struct flags *flags, const struct log *log)
{
    struct pair pair;
    sigset_t signals;
    block_signals(&signals);
    int forked = pair_fork(&pair); /* before there is anything that a server could be after */
    if (forked < 0)
        return complain("cannot start the process that decides", EXIT_RUNTIME);
    if (forked > 0)
        return decide_and_serve(flags, log, &signals, &pair);
    int status = govern(flags, log, &signals, &pair);
    pair_end(&pair);
    return status;
}

int main(int argc, char **argv)
{
    struct flags flags;
    struct log_limits limits;
    char error[512] = "";
    if (flags_parse(&flags, argc, argv, error, sizeof error))
        return complain(error, EXIT_USAGE);
    if (flags.help) {
        flags_print_help(stdout);
        return EXIT_OK;
    }
    if (flags.version) {
        puts("interference_governor " IE_VERSION);
        return EXIT_OK;
    }
    if (log_limits_init(&limits))
        return complain("out of memory", EXIT_RUNTIME);
    const struct log log = {.fd = STDERR_FILENO,
                            .level = flags.log_level,
                            .format = flags.log_format,
                            .limits = &limits};
    bool serves = !flags.restore && !flags.check;
    int status = flags.replay_file ? report(&flags, &log)
                 : serves          ? serve(&flags, &log)
                                   : govern(&flags, &log, NULL, NULL);
    log_limits_release(&limits);
    return status;
}
