/* Six hours of best effort under the governor: nodes that are a function each, and whose clock is a
 * number (tests/unit/support/governor_hours.h). */
#include "tests/research/control.h"
#include "tests/unit/support/governor_hours_nodes.h"

static void put(struct reproduction *r, const struct hours_node *node, const char *quota,
                const struct hours_result *o)
{
    fprintf(r->out, "| %s | %.2f | %s | %.2f | %.2f | %.2f | %.1f | %u | %u |\n", node->name,
            node->could, quota, o->cores[0], 100 * o->over[0], 100 * o->truly_over[0],
            o->latency[0], o->cuts, o->futile);
}

static void put_node(struct reproduction *r, const struct hours_node *node)
{
    struct hours_model held = node->model, paper = node->model;
    held.held = held.base > 0 ? held.base : 1;
    paper.keys = ",\"mode\":\"paper\"";
    struct hours_result at_base = hours_run(&held), safe = hours_run(&node->model);
    struct hours_result by_paper = hours_run(&paper);

    put(r, node, "always the base", &at_base);
    put(r, node, "algorithm 1, theta x 1.25", &by_paper);
    put(r, node, "the governor's defaults", &safe);
    expect_that(r, safe.cores[0] >= node->asked && safe.over[0] <= at_base.over[0] + node->over,
                "%s: %.2f cores, %.2f %% of windows over theta", node->name, safe.cores[0],
                100 * safe.over[0]);
}

int control_table_hours(struct reproduction *r)
{
    fputs("\n"
          "## Six hours of it\n"
          "\n"
          "| node | could | quota | cores, mean | windows over, % | without the noise, % | "
          "latency, ns | cuts | futile |\n"
          "|---|---|---|---|---|---|---|---|---|\n",
          r->out);
    for (size_t i = 0; i < hours_nodes_n; i++)
        put_node(r, &hours_nodes[i]);
    return 0;
}
