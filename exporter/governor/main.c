#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/governor/run.h"
#include "exporter/service/privileges.h"

enum { EXIT_OK = 0, EXIT_RUNTIME = 1, EXIT_USAGE = 2, EXIT_LEFT = 3 };

static int complain(const char *error, int status)
{
    fprintf(stderr, "interference_governor: %s\n", error);
    return status;
}

static int restore(const struct config *config, const struct fsroot *fs, const struct log *log)
{
    const struct governor_setup setup = {
        .config = config, .fs = fs, .write = &fswrite_real, .log = log};
    struct restore_counts counts = {0};
    char error[512] = "";
    int err = governor_restore(config->state_directory, &setup, &counts, error, sizeof error);
    if (err == -ENOENT)
        return EXIT_OK; /* nobody has changed anything since the boot */
    if (err)
        return complain(error, EXIT_RUNTIME);
    return counts.failed ? EXIT_LEFT : EXIT_OK;
}

static void block_signals(sigset_t *signals)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};
    sigemptyset(signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(signals, numbers[i]);
    sigprocmask(SIG_BLOCK, signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* User 0 writes quotas without any; threads of others are moved with one, and back. */
static int drop_privileges(const struct flags *flags, const struct config *config)
{
    static const int nice = CAP_SYS_NICE;
    bool moves = flags->restore || config->nvmm.enabled;
    return privileges_drop(&nice, moves ? 1 : 0);
}

static int run(const struct flags *flags, struct config *config, const struct fsroot *fs,
               const struct log *log)
{
    char error[512] = "";
    sigset_t signals;
    if (flags->restore || flags->check) {
        int status = EXIT_OK;
        if (flags->restore)
            status = restore(config, fs, log);
        else if (run_check(flags, config, fs, log, stdout, error, sizeof error))
            status = complain(error, EXIT_RUNTIME);
        config_free(config);
        return status;
    }
    block_signals(&signals);
    int err = run_governor(flags, config, fs, log, &signals, error, sizeof error);
    if (err == -EAGAIN)
        return complain(error, EXIT_LEFT);
    return err ? complain(error, EXIT_RUNTIME) : EXIT_OK;
}

int main(int argc, char **argv)
{
    struct flags flags;
    struct config *config;
    struct fsroot fs;
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
    int err = config_load(flags.config_file, &config, error, sizeof error);
    if (err)
        return complain(error, err == -EINVAL ? EXIT_USAGE : EXIT_RUNTIME);
    if (log_limits_init(&limits) ||
        fsroot_init(&fs, flags.procfs, flags.sysfs, flags.cgroupfs, NULL))
        return complain("out of memory", EXIT_RUNTIME);
    const struct log log = {.fd = STDERR_FILENO,
                            .level = flags.log_level,
                            .format = flags.log_format,
                            .limits = &limits};
    err = drop_privileges(&flags, config);
    if (err)
        log_warn(&log, "main", "cannot drop privileges: %s", strerror(-err));
    err = privileges_enclose(true);
    if (err)
        log_warn(&log, "main", "the memory is not kept from others: %s", strerror(-err));
    int status = run(&flags, config, &fs, &log);
    fsroot_release(&fs);
    log_limits_release(&limits);
    return status;
}
