/* Whom a container waits for, against the truth of every subset of its co-runners. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "tests/research/attribution.h"

enum { MIXES = 7 * ATTR_FAMILIES, REDUCED_MIXES = 3 };

/* What must hold whatever the numbers are. */
static void check(struct attr_page *page)
{
    struct reproduction *r = page->r;

    for (unsigned i = 0; i < page->n; i++) {
        const struct attr_result *result = &page->results[i];
        unsigned subsets = 1U << (result->mix.n - 1);

        for (unsigned s = 0; s < subsets; s++) {
            double shares[ATTR_OTHERS], sum = 0;
            double excess =
                attr_v(result, ATTR_LATENCY, s, -1) - attr_v(result, ATTR_LATENCY, 0, -1);

            attr_shapley(result, ATTR_LATENCY, s, -1, shares);
            for (int m = 0; m < ATTR_OTHERS; m++)
                sum += shares[m];
            expect_that(r, fabs(sum - excess) < 1e-9 * attr_v(result, ATTR_LATENCY, 0, -1),
                        "mix %u, subset %u: shares sum to %g, not %g", i + 1, s, sum, excess);
        }
    }

    /* The first mix is a prefetched stream, random reads, and hardly anything. */
    double truth[ATTR_OTHERS], demand[ATTR_OTHERS], counted[ATTR_OTHERS];

    attr_shapley(&page->results[0], ATTR_LATENCY, 7, -1, truth);
    (void)attr_estimate(&page->results[0], ATTR_LATENCY, ATTR_BY_DEMAND, demand);
    (void)attr_estimate(&page->results[0], ATTR_LATENCY, ATTR_BY_COUNTED, counted);
    expect_that(r, attr_first(truth, 3) == 0 && attr_first(counted, 3) == 0,
                "the prefetched stream is first, by the truth and by all traffic");
    expect_that(r, demand[0] < demand[1] && demand[0] < demand[2],
                "the prefetched stream is last by demand reads");
}

static void check_reduced(struct attr_page *page)
{
    for (unsigned i = 0; i < page->n; i++) {
        double truth[ATTR_OTHERS], counted[ATTR_OTHERS];
        const struct attr_result *result = &page->results[i];
        int n = result->mix.n - 1;

        attr_shapley(result, ATTR_LATENCY, (1U << n) - 1, -1, truth);
        expect_that(page->r,
                    attr_estimate(result, ATTR_LATENCY, ATTR_BY_COUNTED, counted) &&
                        attr_first(truth, n) == attr_first(counted, n),
                    "mix %u: the first is right", i + 1);
    }
    for (unsigned i = 0; i < page->n_phases; i++)
        expect_that(page->r, page->phases[i].parts[ATTR_COUNTERS].significant,
                    "mix %u: the slope is significant", i + 1);
}

static void tables(struct attr_page *page)
{
    static const enum attr_estimator estimators[] = {
        ATTR_BY_DEMAND, ATTR_BY_MISSES, ATTR_BY_TWICE, ATTR_BY_COUNTED,    ATTR_BY_UNCAPPED,
        ATTR_BY_THRICE, ATTR_BY_LINES,  ATTR_BY_NODE,  ATTR_BY_INSERTIONS, ATTR_BY_LEAVE_ONE_OUT};
    FILE *out = page->r->out;

    fprintf(out, "\n## Targets\n");
    attr_table_targets(page);
    fprintf(out, "\n## The first container right, and percent of the excess on the wrong ones, "
                 "mean over mixes\n\n");
    attr_table_families(page, ATTR_LATENCY, estimators,
                        (int)(sizeof(estimators) / sizeof(estimators[0])));
    attr_table_bias(page);
    fprintf(out,
            "\n## Co-runners that come and go: what is put on all, and the worst error of one, "
            "percent of the excess\n");
    attr_table_phases(page, false);
    if (!page->r->reduced) {
        fprintf(out, "\nThe writers again, with ticks %d times as long:\n", ATTR_STRETCH);
        attr_table_phases(page, true);
    }
    attr_table_cache(page);
    attr_table_mixes(page);
}

int reproduce_attribution(struct reproduction *r)
{
    struct attr_page page = {.r = r, .n = r->reduced ? REDUCED_MIXES : MIXES};
    int err = 0;

    if (r->workloads)
        page.n = r->workloads;
    page.results = calloc(page.n, sizeof(*page.results));
    page.phases = calloc(page.n, sizeof(*page.phases));
    page.slow = calloc(page.n, sizeof(*page.slow));
    if (!page.results || !page.phases || !page.slow)
        err = -ENOMEM;
    page.n_phases = r->reduced ? 1 : page.n;
    for (unsigned i = 0; !err && i < page.n; i++) {
        err = attr_run(r, i, &page.results[i]);
        if (!err && i < page.n_phases)
            err = attr_run_phases(r, i, &page.results[i], 1, &page.phases[i]);
        if (!err && !r->reduced && page.results[i].mix.family == ATTR_WRITERS)
            err = attr_run_phases(r, i, &page.results[i], ATTR_STRETCH, &page.slow[i]);
    }
    if (!err) {
        tables(&page);
        check(&page);
        if (r->reduced)
            check_reduced(&page);
    }
    free(page.results);
    free(page.phases);
    free(page.slow);
    return err;
}
