/* Where demand reads say little: stores, prefetched lines, and a bound that sees them. */
#include <math.h>

#include "tests/research/placement.h"

/* Lines that a core of these machines has on their way at a time: the super queue. */
#define IN_FLIGHT 16.0

/*
 * Little's law: so many lines, each under way as long as it takes, at most 'in_flight' at a time,
 * take at least
 *
 *     T(target) >= lines (l + latency(target) - latency(now)) / in_flight
 *
 * l is what a line takes now: as long as a chase's, unless they could not all have come then.
 * Nothing else can be known of lines that no load waited for.
 */
static double bound_by_lines(const struct placement_run *now, const struct placement_latencies *l,
                             double target, double in_flight)
{
    double most = in_flight * now->cycles / now->llc_misses;
    double own = now->reads > 0 ? l->cache + now->occupancy / now->reads : l->of[0];
    double line = fmin(fmin(own, l->of[0]), most);

    return now->llc_misses > 0 ? (line + target - l->of[0]) / most : 0;
}

static double with_lines(const struct placement_run *now, const struct placement_latencies *l,
                         double target, double in_flight)
{
    return fmax(placement_ratio(now, l, target, NULL), bound_by_lines(now, l, target, in_flight));
}

/* --- what serial reads do not see --- */

static void write_blind_row(struct reproduction *r, const struct placement_set *set,
                            const struct placement_row *row)
{
    const struct placement_run *now = &row->runs[0];

    fprintf(r->out, "| %s | %.0f |", row->subject->name,
            now->llc_misses > 0 ? 100 * now->reads / now->llc_misses : 0);
    for (int i = 1; i < PLACES; i++)
        fprintf(r->out, " %.2f | %.2f | %.2f |", row->runs[i].cycles / now->cycles,
                placement_ratio(now, &set->latencies, set->latencies.of[i], NULL),
                with_lines(now, &set->latencies, set->latencies.of[i], IN_FLIGHT));
    fputs("\n", r->out);
}

static void write_blind_set(struct reproduction *r, const struct placement_set *set,
                            const char *title)
{
    fprintf(r->out,
            "\n"
            "%s\n"
            "\n"
            "| program | reads, %% of lines | remote: true | serial reads | with all lines | far: "
            "true | serial reads | with all lines |\n"
            "|---|---|---|---|---|---|---|---|\n",
            title);
    for (size_t i = 0; i < set->n; i++)
        write_blind_row(r, set, &set->rows[i]);
}

/* The blind spot is asserted, so that nobody hides it. */
static void check_memset(struct reproduction *r, const struct placement_set *set)
{
    const struct placement_run *now = &set->rows[0].runs[0];
    double far = set->latencies.of[2], truth = set->rows[0].runs[2].cycles / now->cycles;
    double serial = placement_ratio(now, &set->latencies, far, NULL);
    double lines = with_lines(now, &set->latencies, far, IN_FLIGHT);

    expect_that(r, serial < 1.05 && truth > 2.5, "serial reads miss a memset: %.2f of %.2f", serial,
                truth);
    expect_that(r, fabs(lines / truth - 1) < 0.1, "all lines find it: %.2f of %.2f", lines, truth);
}

/* --- on everything --- */

struct comparison {
    struct placement_errors serial, lines;
    unsigned better, worse; /* by more than a point */
};

static void compare(const struct placement_set *set, double in_flight, struct comparison *out)
{
    for (size_t at = 0; at < set->n; at++) {
        const struct placement_run *now = &set->rows[at].runs[0];

        for (int i = 1; i < PLACES; i++) {
            double truth = set->rows[at].runs[i].cycles / now->cycles;
            double target = set->latencies.of[i];
            double serial = placement_ratio(now, &set->latencies, target, NULL);
            double lines = with_lines(now, &set->latencies, target, in_flight);
            double gain = fabs(serial / truth - 1) - fabs(lines / truth - 1);

            placement_add_error(&out->serial, serial, truth);
            placement_add_error(&out->lines, lines, truth);
            out->better += gain > 0.01;
            out->worse += gain < -0.01;
        }
    }
}

static void write_comparison(struct reproduction *r, const struct placement_set *sets)
{
    static const double in_flight[] = {12, 24, 32};

    fprintf(r->out, "\n"
                    "| programs | serial reads | with all lines, 16 at a time | better | worse | "
                    "12 | 24 | 32 |\n"
                    "|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < PLACEMENT_SETS; i++) {
        struct comparison c = {0};

        compare(&sets[i], IN_FLIGHT, &c);
        fprintf(r->out, "| %s | %.2f / %+.1f %% | %.2f / %+.1f %% | %u | %u |", sets[i].name,
                placement_mean_error(&c.serial), c.serial.worst_signed,
                placement_mean_error(&c.lines), c.lines.worst_signed, c.better, c.worse);
        for (size_t k = 0; k < COUNT(in_flight); k++) {
            struct comparison other = {0};

            compare(&sets[i], in_flight[k], &other);
            fprintf(r->out, " %.2f / %+.1f %% |", placement_mean_error(&other.lines),
                    other.lines.worst_signed);
        }
        fputs("\n", r->out);
        expect_that(r, c.lines.sum <= c.serial.sum * 1.001, "%s: all lines are no worse: %.2f %.2f",
                    sets[i].name, placement_mean_error(&c.lines), placement_mean_error(&c.serial));
    }
}

void placement_lines(struct reproduction *r, const struct placement_set *sets)
{
    fprintf(r->out, "\n"
                    "## Blind spots, and a bound from all lines\n"
                    "\n");
    write_blind_set(r, &sets[WRITERS], "Without a prefetcher:");
    write_blind_set(r, &sets[WRITERS_PREFETCHING], "With one (degree 2):");
    check_memset(r, &sets[WRITERS]);
    write_comparison(r, sets);
}
