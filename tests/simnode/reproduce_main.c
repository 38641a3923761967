/* reproduce: tables of the papers' experiments, from the simulated node. */
#include <stdarg.h>
#include <string.h>

#include "tests/simnode/reproduce.h"

void expect_that(struct reproduction *reproduction, bool holds, const char *format, ...)
{
    va_list args;

    if (holds)
        return;
    reproduction->failures++;
    fputs("does not hold: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static const struct {
    const char *name;
    int (*run)(struct reproduction *reproduction);
    const char *summary;
} reproductions[] = {
    {"latency", reproduce_latency, "Shen & Li 2020: memory latency from core counters"},
};

static int usage(void)
{
    fprintf(stderr, "usage: reproduce NAME [--reduced]\n");
    for (size_t i = 0; i < sizeof(reproductions) / sizeof(reproductions[0]); i++)
        fprintf(stderr, "  %-10s %s\n", reproductions[i].name, reproductions[i].summary);
    return 2;
}

int main(int argc, char **argv)
{
    struct reproduction reproduction = {.out = stdout};

    if (argc == 3 && strcmp(argv[2], "--reduced") == 0)
        reproduction.reduced = true;
    else if (argc != 2)
        return usage();
    for (size_t i = 0; i < sizeof(reproductions) / sizeof(reproductions[0]); i++) {
        if (strcmp(argv[1], reproductions[i].name) != 0)
            continue;

        int err = reproductions[i].run(&reproduction);

        if (err)
            fprintf(stderr, "reproduce: %s\n", strerror(-err));
        return err || reproduction.failures;
    }
    return usage();
}
