/*
 * simnode [--alone-cache FOLDER] SCENARIO.json OUT.jsonl: simulates a node, writes its recording.
 * simnode --live SCENARIO.json FIFO TREE: the same as fast as time passes, for programs that act on
 * it by the control files that it makes in TREE; each tick's quotas go to standard output.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/simnode/recording/record.h"
#include "tests/simnode/recording/tree.h"

static int usage(void)
{
    fprintf(stderr, "usage: simnode [--alone-cache FOLDER] SCENARIO.json OUT.jsonl\n"
                    "       simnode --live SCENARIO.json FIFO TREE\n"
                    "OUT.jsonl may be - for standard output\n");
    return 2;
}

static int run(const struct scenario *scenario, const char *folder, const char *path)
{
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *out = to_stdout ? stdout : fopen(path, "w");
    struct alone_runs *runs = NULL;

    if (!out) {
        perror(path);
        return 1;
    }
    int err = alone_runs_new(folder, &runs);
    if (!err)
        err = record_run(scenario, runs, out);
    alone_runs_free(runs);
    if ((to_stdout ? fflush(out) : fclose(out)) != 0 && !err) {
        perror(path);
        return 1;
    }
    if (err)
        fprintf(stderr, "simnode: %s: %s\n", path, strerror(-err));
    return err != 0;
}

/* --- live --- */

struct live_run {
    const struct scenario *scenario;
    struct tree *tree;
    struct timespec next; /* when the next tick begins */
};

static void wait_for_tick(struct live_run *run)
{
    double seconds = (double)run->scenario->tick_cycles / run->scenario->machine.core_hz *
                     (double)run->scenario->stretch;
    long ns = run->next.tv_nsec + (long)(seconds * 1e9);

    run->next.tv_sec += ns / 1000000000;
    run->next.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &run->next, NULL) == EINTR)
        ;
}

/* What was done about the ticks before it holds for this one. */
static int begin_tick(void *context, struct simnode *node, int64_t tick)
{
    struct live_run *run = context;

    wait_for_tick(run);
    int err = tree_apply(run->tree, node);
    printf("%lld", (long long)tick);
    for (size_t i = 0; i < run->scenario->n_containers; i++)
        printf(" %s %g", run->scenario->containers[i].key, tree_cores(run->tree, i));
    putchar('\n');
    fflush(stdout);
    return err;
}

static int run_live(const struct scenario *scenario, const char *fifo, const char *folder)
{
    struct live_run run = {.scenario = scenario};
    const struct record_follower follower = {.begin = begin_tick, .context = &run};
    FILE *out = NULL;
    int err = tree_new(scenario, folder, &run.tree);

    if (err) {
        fprintf(stderr, "simnode: %s: %s\n", folder, strerror(-err));
        return 1;
    }
    signal(SIGPIPE, SIG_IGN); /* a reader that ends is an error of writing */
    out = fopen(fifo, "w");   /* waits for the reader */
    err = out ? 0 : -errno;
    clock_gettime(CLOCK_MONOTONIC, &run.next);
    if (!err)
        err = record_follow(scenario, &follower, out);
    if (out && fclose(out) != 0 && !err)
        err = -errno;
    if (err)
        fprintf(stderr, "simnode: %s: %s\n", fifo, strerror(-err));
    tree_free(run.tree);
    return err != 0;
}

int main(int argc, char **argv)
{
    const char *folder = NULL;
    struct scenario *scenario;
    char error[1024];
    bool live = argc == 5 && strcmp(argv[1], "--live") == 0;
    int at = 1, status;

    if (live) {
        at = 2;
    } else if (argc > 2 && strcmp(argv[1], "--alone-cache") == 0) {
        folder = argv[2];
        at = 3;
    }
    if (!live && (argc - at != 2 || (argv[at][0] == '-' && argv[at][1] != '\0')))
        return usage();
    if (scenario_read(argv[at], &scenario, error, sizeof(error))) {
        fprintf(stderr, "simnode: %s\n", error);
        return 2;
    }
    status =
        live ? run_live(scenario, argv[at + 1], argv[at + 2]) : run(scenario, folder, argv[at + 1]);
    scenario_free(scenario);
    return status;
}
