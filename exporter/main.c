#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exporter/blackbox/blackbox.h"
#include "exporter/daemon/exporter.h"
#include "exporter/daemon/introduce.h"
#include "exporter/front/front.h"
#include "exporter/http/http.h"
#include "exporter/inspect/inspector.h"
#include "exporter/options/options.h"
#include "exporter/service/confine.h"
#include "exporter/service/descriptors.h"

enum { EXIT_OK = 0, EXIT_RUNTIME = 1, EXIT_USAGE = 2 };

static int complain(const char *error, int err)
{
    fprintf(stderr, "interference_exporter: %s\n", error);
    return err == -EINVAL ? EXIT_USAGE : EXIT_RUNTIME;
}

static void say_confined(const struct log *log, unsigned confined)
{
    log_info(log, "main", "the process that reads: %s, %s",
             confined & CONFINED_FILES ? "changes no files but its own" : "files as its user",
             confined & CONFINED_CALLS ? "no programs, no network"
                                       : "all system calls (no seccomp)");
}

static int run(const struct plan *plan, const struct log *log, const sigset_t *signals,
               struct front *front, const struct doctor_host *host)
{
    char error[512] = "";
    struct exporter *exporter = NULL;
    unsigned confined = plan_confine(plan);
    int err = exporter_new(plan, log, signals, front, &exporter, error, sizeof error);
    if (!err && front)
        say_confined(log,
                     confined | confine_actions(front_keeper(front), exporter_uses_bpf(exporter)));
    if (!err && plan->options->doctor)
        err = exporter_doctor(exporter, host, stdout, error, sizeof error);
    else if (!err && plan->options->once)
        err = exporter_once(exporter, stdout, error, sizeof error);
    else if (!err)
        err = exporter_run(exporter, error, sizeof error);
    int status = err < 0 ? complain(error, err) : err; /* above 0: the doctor's */
    if (exporter_free(exporter) != 0) {
        log_warn(log, "main", "a thread is stuck in another process's memory: left behind");
        fflush(stdout);
        _exit(status); /* without destructors, whose objects that thread may use */
    }
    return status;
}

static int read_and_serve(const struct options *options, const struct log *log,
                          const sigset_t *signals, struct front *front)
{
    char error[512];
    struct plan plan;
    int err = plan_init(&plan, options, NULL, error, sizeof error);
    if (err)
        return complain(error, err);
    struct doctor_host host = {0};
    if (options->doctor)
        doctor_host_read(&plan.fs, &host);
    err = plan_become_user(&plan, error, sizeof error);
    if (err) {
        plan_release(&plan);
        return complain(error, err);
    }
    if (plan_samples(&plan)) {
        int status;
        err = inspector_fork(&plan.fs, NULL, log, &plan.inspector, &status);
        if (err > 0)
            _exit(status); /* what the exporter has is none of its business */
        if (err < 0)
            log_error(log, "main", "cannot start the process that looks into others: %s",
                      strerror(-err));
    }
    if (options->blackbox_directory) {
        const struct blackbox_config blackbox = {.directory = options->blackbox_directory,
                                                 .max_files = options->blackbox_max_files,
                                                 .max_bytes = options->blackbox_max_bytes,
                                                 .log = log};
        int status;
        err = blackbox_fork(&blackbox, &plan.blackbox, &status, error, sizeof error);
        if (err > 0)
            _exit(status);
        if (err < 0) {
            inspector_free(plan.inspector);
            plan_release(&plan);
            return complain(error, err);
        }
    }
    err = plan_drop_privileges(&plan);
    if (err)
        log_warn(log, "main", "cannot drop privileges: %s", strerror(-err));
    err = plan_enclose(&plan);
    if (err)
        log_warn(log, "main", "the memory is not kept from others: %s", strerror(-err));
    int status = run(&plan, log, signals, front, &host);
    blackbox_free(plan.blackbox);
    inspector_free(plan.inspector);
    plan_release(&plan);
    return status;
}

static int check_health(const struct options *options)
{
    char error[128];
    int err = healthcheck(options->listen[0], options->web_config_file != NULL);
    if (!err)
        return EXIT_OK;
    snprintf(error, sizeof error, "%s: %s", options->listen[0],
             err == -EPROTO ? "not healthy" : strerror(-err));
    fprintf(stderr, "interference_exporter: %s\n", error);
    return EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
    struct options options;
    char error[512];
    int err = options_parse(&options, argc, argv, error, sizeof error);
    if (err)
        return complain(error, err);
    if (options.help) {
        options_print_help(stdout);
        return EXIT_OK;
    }
    if (options.version) {
        printf("interference_exporter %s (revision %s, %s)\n", version_release(),
               version_revision(), version_compiler());
        return EXIT_OK;
    }

    if (options.healthcheck)
        return check_health(&options);

    /* Before any thread exists, so that all of them inherit it. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    if (options.blackbox_directory)
        sigaddset(&signals, SIGUSR2);
    if (!options.once)
        sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a recording that meets its limit is a write error */

    struct log_limits limits;
    const struct log log = {.fd = STDERR_FILENO,
                            .level = options.log_level,
                            .format = options.log_format,
                            .limits = &limits};
    err = log_limits_init(&limits);
    if (err)
        return complain("cannot start: out of memory", err);
    if (!options.once)
        introduce_program(&log, argc, argv);
    descriptors_raise_limit();
    struct front *front = NULL;
    int status = EXIT_OK;
    if (!options.once) {
        err = front_fork(options.web_config_file, &log, &front, &status);
        if (err < 0)
            return complain("cannot start the HTTP server's process", err);
        if (err > 0)
            return status;
    }
    status = read_and_serve(&options, &log, options.once ? NULL : &signals, front);
    front_free(front);
    return status;
}
