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
    }
    free(sets);
    return err;
}
