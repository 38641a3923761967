/* A6: what a slowdown is worth knowing for, without touching anybody (sections 7.4 and 7.5). */
#include "tests/research/control.h"

#include <math.h>
#include <stdlib.h>

#include "exporter/governor/decide/control/control_billing.h"
#include "tests/simnode/formulas/theory.h"

enum { CORES = 4, MEGA_CYCLES = 40, REDUCED_MEGA_CYCLES = 10, PAIRS = 6, FIRST_PAIR = 1 };

static struct slow_variant variant_of(const struct reproduction *r)
{
    return (struct slow_variant){.cores = CORES,
                                 .channels = 1,
                                 .llc_mib = 2,
                                 .mega_cycles = r->reduced ? REDUCED_MEGA_CYCLES : MEGA_CYCLES};
}

/* Applications of one node; fewer than the machine has cores: the rest is idle. */
struct node {
    size_t apps[SLOW_MAX_CORES];
    unsigned n;
    double slowdown[SLOW_MAX_CORES];
    double billed[SLOW_MAX_CORES]; /* over the time alone */
    double misses[SLOW_MAX_CORES]; /* per 1000 cycles, alone: what its reads tell of it */
};

static int run_node(struct reproduction *r, struct control_alone *alone, struct node *node)
{
    const struct slow_variant variant = variant_of(r);
    struct control_plan plan = {.scheme = SCHEME_NONE, .variant = variant, .apps = node->apps};
    struct control_outcome outcome = {0};
    double cycles = variant.mega_cycles * 1e6;

    plan.variant.cores = node->n;
    plan.variant.idle_cores = CORES - node->n;

    int err = control_run(r->folder, &plan, &outcome);

    for (unsigned i = 0; !err && i < node->n; i++) {
        size_t app = node->apps[i];

        err = control_alone_get(alone, r->folder, &variant, app);
        if (err)
            break;

        const struct control_row *last = &outcome.rows[(outcome.quanta - 1) * node->n + i];
        double shadow = (double)last->shadow_cycles;
        double taken = slow_alone_cycles(&alone->of[app], last->instructions);

        node->slowdown[i] = control_slowdown(&outcome, i, 0, &alone->of[app]);
        node->billed[i] =
            control_billable_seconds(cycles, cycles, fmax(0, cycles - shadow)) / taken;
        node->misses[i] = slow_alone_misses(&alone->of[app], last->instructions) / cycles * 1000;
    }
    control_outcome_release(&outcome);
    return err;
}

/* --- billing --- */

static void draw_node(const struct reproduction *r, unsigned index, unsigned n, struct node *out)
{
    const struct slow_variant variant = variant_of(r);

    slow_draw(r->seed, index, &variant, out->apps);
    out->n = n;
}

int control_table_billing(struct reproduction *r)
{
    unsigned workloads = r->reduced ? 1 : 3;
    struct control_alone alone = {0};
    double error = 0, n = 0;
    int err = 0;

    fputs("\n"
          "## Billing (section 7.4)\n"
          "\n"
          "| application | beside | by CPU time | by estimate |\n"
          "|---|---|---|---|\n",
          r->out);
    for (unsigned w = 0; !err && w < workloads; w++) {
        struct node node = {0};

        draw_node(r, w + 1, CORES, &node);
        err = run_node(r, &alone, &node);
        for (unsigned i = 0; !err && i < CORES; i++) {
            fprintf(r->out, "| %s |", slow_apps[node.apps[i]].name);
            for (unsigned k = 0; k < CORES; k++)
                if (k != i)
                    fprintf(r->out, " %s", slow_apps[node.apps[k]].name);
            fprintf(r->out, " | %.2f | %.2f |\n", node.slowdown[i], node.billed[i]);
            error += fabs(node.billed[i] - 1);
            n++;
        }
    }
    control_alone_release(&alone);
    if (err)
        return err;
    fprintf(r->out, "\nThe mean error by estimate is %.1f %%.\n", error / n * 100);
    expect_that(r, error / n < 0.1, "bills by estimate are right within 10 %%: %.3f", error / n);
    return 0;
}

/* --- placement --- */

/* Best effort is what reads much: it may wait, and it may be moved. */
static bool is_protected(size_t app)
{
    return slow_apps[app].intensity != INTENSITY_HIGH;
}

/* Of the protected ones. */
static double greatest_of(const struct node *node)
{
    double greatest = 1;

    for (unsigned i = 0; i < node->n; i++)
        if (is_protected(node->apps[i]))
            greatest = fmax(greatest, node->slowdown[i]);
    return greatest;
}

/* So for ten minutes. */
static bool may_take_more(const struct node *node)
{
    struct control_admission_config config;
    struct control_admission state = {0};

    control_admission_defaults(&config);
    for (int minute = 0; minute < 10; minute++)
        control_admission_step(&state, &config, greatest_of(node));
    return !state.hold;
}

/* The best-effort application that misses most; there is one. */
static unsigned candidate_of(const struct node *node)
{
    unsigned candidate = node->n;

    for (unsigned i = 0; i < node->n; i++)
        if (!is_protected(node->apps[i]) &&
            (candidate == node->n || node->misses[i] > node->misses[candidate]))
            candidate = i;
    return candidate;
}

static void move(struct node *from, unsigned which, struct node *to)
{
    to->apps[to->n++] = from->apps[which];
    from->apps[which] = from->apps[--from->n];
}

struct tally {
    unsigned held, fell;
    double before, after; /* sums over those that were held */
};

static int run_pair(struct reproduction *r, struct control_alone *alone, struct node *one,
                    struct node *other)
{
    int err = run_node(r, alone, one);

    return err ? err : run_node(r, alone, other);
}

static int add_pair(struct reproduction *r, struct control_alone *alone, unsigned pair,
                    struct tally *tally)
{
    struct node one = {0}, other = {0};

    draw_node(r, pair * (CORES + 1) + 2, CORES, &one);   /* two of high intensity */
    draw_node(r, pair * (CORES + 1), CORES / 2, &other); /* none */
    int err = run_pair(r, alone, &one, &other);
    if (err)
        return err;

    bool moves = !may_take_more(&one) && may_take_more(&other);
    unsigned candidate = candidate_of(&one);

    fprintf(r->out, "| %.2f, %s | %.2f, %s |", greatest_of(&one),
            may_take_more(&one) ? "ok" : "hold", greatest_of(&other),
            may_take_more(&other) ? "ok" : "hold");
    if (!moves) {
        fputs(" nobody | - | - | - |\n", r->out);
        return 0;
    }
    fprintf(r->out, " %s |", slow_apps[one.apps[candidate]].name);
    double before = fmax(greatest_of(&one), greatest_of(&other));
    move(&one, candidate, &other);
    err = run_pair(r, alone, &one, &other);
    double after = fmax(greatest_of(&one), greatest_of(&other));
    fprintf(r->out, " %.2f | %.2f | %+.2f |\n", greatest_of(&one), greatest_of(&other),
            after - before);
    tally->held++;
    tally->fell += after < before;
    tally->before += before;
    tally->after += after;
    return err;
}

int control_table_placement(struct reproduction *r)
{
    unsigned pairs = r->reduced ? 1 : PAIRS;
    struct control_alone alone = {0};
    struct tally tally = {0};
    int err = 0;

    fputs(
        "\n"
        "## Whom to move (section 7.5)\n"
        "\n"
        "| first | second | who moves | first, after | second, after | greatest of both, change |\n"
        "|---|---|---|---|---|---|\n",
        r->out);
    for (unsigned pair = 0; !err && pair < pairs; pair++)
        err = add_pair(r, &alone, pair + FIRST_PAIR, &tally);
    control_alone_release(&alone);
    if (err)
        return err;
    if (tally.held > 0)
        fprintf(
            r->out,
            "\nThe greatest slowdown of both nodes fell in %u of %u moves, from %.2f to %.2f in "
            "the mean.\n",
            tally.fell, tally.held, tally.before / tally.held, tally.after / tally.held);
    expect_that(r, tally.held > 0, "a node is held");
    expect_that(r, tally.after < tally.before, "moving the candidate helps: %.2f, %.2f",
                tally.before, tally.after);
    return 0;
}
