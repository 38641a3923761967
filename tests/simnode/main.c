/* simnode [--alone-cache FOLDER] SCENARIO.json OUT.jsonl: simulates a node, writes its recording.
 */
#include <stdio.h>
#include <string.h>

#include "tests/simnode/recording/record.h"

static int usage(void)
{
    fprintf(stderr, "usage: simnode [--alone-cache FOLDER] SCENARIO.json OUT.jsonl\n"
                    "OUT.jsonl may be - for standard output\n");
    return 2;
}

static int run(const struct scenario *scenario, const char *folder, const char *path)
{
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *out = to_stdout ? stdout : fopen(path, "w");
    struct alone_runs *runs = NULL;
    int err;

    if (!out) {
        perror(path);
        return 1;
    }
    err = alone_runs_new(folder, &runs);
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

int main(int argc, char **argv)
{
    const char *folder = NULL;
    struct scenario *scenario;
    char error[1024];
    int at = 1, status;

    if (argc > 2 && strcmp(argv[1], "--alone-cache") == 0) {
        folder = argv[2];
        at = 3;
    }
    if (argc - at != 2 || (argv[at][0] == '-' && argv[at][1] != '\0'))
        return usage();
    if (scenario_read(argv[at], &scenario, error, sizeof(error))) {
        fprintf(stderr, "simnode: %s\n", error);
        return 2;
    }
    status = run(scenario, folder, argv[at + 1]);
    scenario_free(scenario);
    return status;
}
