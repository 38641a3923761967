/*
 * The whole exporter, but that what lies in a directory stands for persistent memory:
 *
 *     exporter_pmem [flags of the exporter]       the directory is in PMEM_DIRECTORY
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exporter/daemon/exporter.h"
#include "exporter/inspect/inspector.h"
#include "exporter/service/descriptors.h"
#include "tests/integration/programs/with_exporter/directory_rule.h"

int main(int argc, char **argv)
{
    struct directory_rule rule = {.rule.mapping = in_directory, .path = getenv("PMEM_DIRECTORY")};
    struct exporter *exporter = NULL;
    struct options options;
    char error[512] = "no PMEM_DIRECTORY";
    sigset_t signals;
    if (!rule.path || options_parse(&options, argc, argv, error, sizeof error) != 0) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    const struct log log = {
        .fd = STDERR_FILENO, .level = options.log_level, .format = options.log_format};
    descriptors_raise_limit();
    struct plan plan;
    int err = plan_init(&plan, &options, &rule.rule, error, sizeof error);
    if (err) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    int status = 0;
    if (plan_samples(&plan) &&
        inspector_fork(&plan.fs, &rule.rule, &log, &plan.inspector, &status) != 0)
        return status; /* the inspector's processes, and without one nothing works here */
    plan_drop_privileges(&plan);
    plan_confine(&plan);
    err = exporter_new(&plan, &log, &signals, NULL, &exporter, error, sizeof error);
    if (!err)
        err = exporter_run(exporter, error, sizeof error);
    exporter_free(exporter);
    inspector_free(plan.inspector);
    plan_release(&plan);
    if (err)
        fprintf(stderr, "%s\n", error);
    return err ? 1 : 0;
}
