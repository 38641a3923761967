/* Serrano 2011 on the simulated node: the page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/research/placement.h"

struct placement_window placement_window_of(const struct reproduction *r, unsigned warm_up_cycles,
                                            unsigned cycles)
{
    unsigned divisor = r->reduced ? 8 : 1;

    return (struct placement_window){.warm_up_cycles = warm_up_cycles / divisor,
                                     .cycles = cycles / divisor};
}

static int run_row(const struct reproduction *r, const struct placement_machine *machine,
                   struct placement_row *row)
{
    struct placement_window window = placement_window_of(r, 1500000, 3000000);
    int err = placement_run(machine, row->subject, placement_places[0], &window, &row->runs[0]);

    for (int i = 1; !err && i < PLACES; i++)
        err = placement_repeat(machine, row->subject, placement_places[i], &row->runs[0],
                               &row->runs[i]);
    return err;
}

static int run_set(const struct reproduction *r, struct placement_set *set)
{
    int err = placement_latencies(set->machine, &set->latencies), step = r->reduced ? 3 : 1;

    for (int at = 0; !err && set->subjects[at].name; at++) {
        if (at % step && strcmp(set->subjects[at].name, placement_missed) != 0)
            continue;

        struct placement_row *row = &set->rows[set->n++];

        row->subject = &set->subjects[at];
        err = run_row(r, set->machine, row);
    }
    fprintf(stderr, "%s\n", set->name);
    return err;
}

static void write_head(struct reproduction *r)
{
    fprintf(
        r->out,
        "# Where memory is, and what it costs: Serrano 2011, and one sample\n"
        "\n"
        "Made by `tests/simnode/reproduce placement%s`.\n"
        "\n"
        "**Nothing here is silicon.** Machines and programs are models (README.md); truth is a\n"
        "run of the same instructions with the memory there. The formulas are the exporter's\n"
        "(`collectors/formulas/placement.h`).\n"
        "\n",
        r->reduced ? " --reduced" : "");
}

static void write_tail(struct reproduction *r)
{
    fputs(
        "\n"
        "## What this shows\n"
        "\n"
        "- In order, equation 4 is exact at constant latency once its shares are those of the\n"
        "  reads; pages are not reads. With DDR3, what is left is that two controllers have fewer\n"
        "  row conflicts than one, which no linear model knows.\n"
        "- With three samples its counters cancel: it interpolates run times. An exporter has one\n"
        "  sample, and serial reads make as much of it, in order as well as the interpolation.\n"
        "- Out of order, serial reads are the best of these forms. They are too many where some\n"
        "  one read comes a window, as in radix and ocean: work that goes on beside a read is in\n"
        "  the time with a read outstanding, and does not grow with the latency. A part of that\n"
        "  error goes because no more of them can come one after another than fit into the time.\n"
        "  They are too few where a sweep has as many lines on their way as the core can have: a\n"
        "  line of it is under way for less of the look through the caches than a chase's. The\n"
        "  aim was a worst error of 10 % on programs not seen before: one misses it, a sweep of\n"
        "  open rows, in far memory; the bound from all lines finds it.\n"
        "- A part of the pages costs more than its share where reads overlap; the bounds hold.\n"
        "- Stores and prefetched lines: serial reads say too little there, mostly, and nothing of\n"
        "  a memset. Little's law on all lines finds it, and most of the rest, and makes no case\n"
        "  on this page worse by more than a point, if the number of lines that a core has on its\n"
        "  way is known. The exporter does not use it: no CPU tells that number, and one that is\n"
        "  too small makes the bound too high (column 12). One too large only makes it weaker.\n"
        "  It does not see stores past the caches, nor how a prefetcher comes too late.\n"
        "- Persistent memory also needs the bound by bandwidth, and that by all lines where there\n"
        "  are stores. What is written there takes bandwidth, too, which is in neither; and a\n"
        "  sweep shares granules, so that 256 bytes a line are too many for it.\n",
        r->out);
}

int reproduce_placement(struct reproduction *r)
{
    struct placement_set *sets = calloc(PLACEMENT_SETS, sizeof(*sets));
    int err = sets ? 0 : -ENOMEM;

    if (err)
        return err;
    sets[HELD_OUT] = (struct placement_set){
        .name = "seen when it was mended", .machine = &xeon_small, .subjects = placement_held_out};
    sets[FRESH] = (struct placement_set){
        .name = "not seen before", .machine = &xeon_small, .subjects = placement_fresh};
    sets[GENERATORS] = (struct placement_set){
        .name = "chosen on such", .machine = &xeon, .subjects = placement_generators};
    sets[PREFETCHING] = (struct placement_set){.name = "the latter, with a prefetcher",
                                               .machine = &xeon_prefetching,
                                               .subjects = placement_generators};
    sets[WRITERS] = (struct placement_set){
        .name = "writers and sweeps", .machine = &xeon, .subjects = placement_writers};
    sets[WRITERS_PREFETCHING] = (struct placement_set){.name = "the latter, with a prefetcher",
                                                       .machine = &xeon_prefetching,
                                                       .subjects = placement_writers};
    write_head(r);
    err = placement_regions(r);
    if (!err)
        err = placement_in_order_samples(r);
    for (int i = 0; !err && i < PLACEMENT_SETS; i++)
        err = run_set(r, &sets[i]);
    if (!err) {
        placement_samples(r, sets);
        placement_returns(r, sets);
        err = placement_shares(r, &sets[GENERATORS]);
    }
    if (!err) {
        placement_lines(r, sets);
        err = placement_persistent(r);
        write_tail(r);
    }
    free(sets);
    return err;
}
