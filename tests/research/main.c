/* reproduce: tables of the papers' experiments, from the simulated node. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/research/control_loop.h"
#include "tests/simnode/control/sim_governor.h"

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
    {"amd", reproduce_amd, "the same on AMD, from misses of the L1 in flight"},
    {"arm", reproduce_arm, "the same on Arm, from loads in flight"},
    {"slowdown", reproduce_slowdown, "Subramanian 2015: slowdown estimates"},
    {"bursts", reproduce_bursts, "of it, applications with bursts alone"},
    {"serial", reproduce_serial, "of it, model passive by placement's serial reads"},
    {"shadow", reproduce_shadow, "which of its terms are wrong, and shadow clocks instead"},
    {"attribution", reproduce_attribution, "beyond them: whom a container waits for"},
    {"control", reproduce_control, "policies of the papers that act on what is measured"},
    {"schemes", control_table_schemes, "of it, ways and epochs in the simulator"},
    {"qos", control_table_qos, "of it, a bound for one application in the simulator"},
    {"loops", control_table_loops, "of it, the governor's ways, bandwidth and epochs"},
    {"cores", control_table_nvmm, "of it, writers to persistent memory on cores of their own"},
    {"placement", reproduce_placement, "Serrano 2011: what memory elsewhere costs"},
    {"delay", reproduce_delay, "Akiyama 2017: NOPs that imitate a shortage of bandwidth"},
    {"nvmm", reproduce_nvmm, "Schmidt 2022: use of persistent memory from samples"},
};

static int usage(void)
{
    fprintf(stderr, "usage: reproduce NAME [--reduced] [--folder=DIR] [--jobs=N] [--workloads=N] "
                    "[--variant-workloads=N] [--seed=N]\n"
                    "  --folder: keeps finished runs there, to resume; not of all\n");
    for (size_t i = 0; i < sizeof(reproductions) / sizeof(reproductions[0]); i++)
        fprintf(stderr, "  %-10s %s\n", reproductions[i].name, reproductions[i].summary);
    return 2;
}

static bool take_number(const char *argument, const char *name, unsigned *out)
{
    size_t len = strlen(name);
    char *end;

    if (strncmp(argument, name, len) != 0)
        return false;

    unsigned long value = strtoul(argument + len, &end, 10);

    if (end == argument + len || *end || value == 0 || value > 1000000)
        return false;
    *out = (unsigned)value;
    return true;
}

static bool take_option(const char *argument, struct reproduction *out)
{
    static const char folder[] = "--folder=";

    if (strcmp(argument, "--reduced") == 0)
        return out->reduced = true;
    if (strncmp(argument, folder, sizeof(folder) - 1) == 0) {
        out->folder = argument + sizeof(folder) - 1;
        return *out->folder != '\0';
    }
    return take_number(argument, "--seed=", &out->seed) ||
           take_number(argument, "--jobs=", &out->jobs) ||
           take_number(argument, "--workloads=", &out->workloads) ||
           take_number(argument, "--variant-workloads=", &out->variant_workloads);
}

/* With a folder of its own unless one was given. */
static int run(size_t which, struct reproduction *reproduction)
{
    char temporary[] = "/tmp/reproduce-XXXXXX";
    bool own = !reproduction->folder;

    if (own)
        reproduction->folder = mkdtemp(temporary);
    else if (mkdir(reproduction->folder, 0777) != 0 && errno != EEXIST)
        reproduction->folder = NULL;
    if (!reproduction->folder) {
        fprintf(stderr, "reproduce: no folder for runs: %s\n", strerror(errno));
        return 1;
    }

    int err = reproductions[which].run(reproduction);

    if (err)
        fprintf(stderr, "reproduce: %s\n", strerror(-err));
    if (own)
        sim_governor_remove_folder(temporary);
    return err || reproduction->failures;
}

int main(int argc, char **argv)
{
    struct reproduction reproduction = {.out = stdout};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    reproduction.seed = 2015;
    reproduction.jobs = cpus > 0 ? (unsigned)cpus : 1;
    for (int i = 2; i < argc; i++)
        if (!take_option(argv[i], &reproduction))
            return usage();
    for (size_t i = 0; argc > 1 && i < sizeof(reproductions) / sizeof(reproductions[0]); i++)
        if (strcmp(argv[1], reproductions[i].name) == 0)
            return run(i, &reproduction);
    return usage();
}
