/* One workload under the governor: what ships, from the node's counters to its knobs. */
#include "tests/research/control_loop.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "exporter/base/textbuf.h"
#include "tests/simnode/control/closed_loop.h"

enum { EPOCH_CYCLES = 10000 };

/* As in the exporter's label. */
static const char *const models[] = {[LOOP_SHADOW] = "shadow", [LOOP_PASSIVE] = "passive"};

static unsigned tick_cycles_of(const struct loop_plan *plan)
{
    return plan->tick_cycles ? plan->tick_cycles : SLOW_ROW_CYCLES;
}

static unsigned from_of(const struct loop_plan *plan)
{
    return plan->from_tick ? plan->from_tick : plan->ticks / 2;
}

static struct slow_variant variant_of(const struct loop_plan *plan)
{
    uint64_t cycles = (uint64_t)plan->ticks * tick_cycles_of(plan);

    return (struct slow_variant){.cores = plan->cores,
                                 .channels = 1,
                                 .llc_mib = 2,
                                 .mega_cycles = (unsigned)(cycles / SLOW_ROW_CYCLES)};
}

static int make_loop(const struct loop_plan *plan, struct scenario **out)
{
    struct slow_variant variant = variant_of(plan);
    struct textbuf text = TEXTBUF_INIT;

    variant.epoch_cycles = EPOCH_CYCLES; /* shadow clocks are shown beside epochs only */
    int err = slow_shared_text(&variant, plan->apps, &text);
    if (!err)
        err = make_scenario(text.data, out);
    textbuf_release(&text);
    if (err)
        return err;
    (*out)->tick_cycles = tick_cycles_of(plan);
    (*out)->stretch = llround((*out)->machine.core_hz / (double)(*out)->tick_cycles);
    for (unsigned i = 1; i < plan->cores; i++)
        (*out)->containers[i].start_tick = plan->alone_ticks + 1;
    return 0;
}

static uint64_t instructions_of(struct closed_loop *loop, unsigned core)
{
    struct simnode_truth truth;

    simnode_truth(closed_loop_node(loop), core, &truth);
    return truth.instructions;
}

/* A tick of those that are looked at, and which part of them it is. */
static void look(struct closed_loop *loop, const struct loop_plan *plan, double part,
                 struct loop_outcome *out)
{
    for (unsigned i = 0; i < plan->cores; i++) {
        out->ways[i] += part * closed_loop_value(loop, KNOB_WAYS, i);
        out->percent[i] += part * closed_loop_value(loop, KNOB_MBA, i);
        for (int model = 0; model < LOOP_MODELS; model++) {
            double told = closed_loop_slowdown(loop, i, models[model]);

            out->told[i][model].sum += isnan(told) ? 0 : told;
            out->told[i][model].n += !isnan(told);
        }
    }
}

double loop_told(const struct loop_outcome *outcome, unsigned app, enum loop_model model)
{
    const struct loop_told *told = &outcome->told[app][model];

    return told->n ? told->sum / told->n : NAN;
}

static int run_ticks(struct closed_loop *loop, const struct loop_plan *plan,
                     struct loop_outcome *out)
{
    unsigned n = plan->ticks, from = from_of(plan);
    int err = 0;

    for (unsigned tick = 0; !err && tick < n; tick++) {
        for (unsigned i = 0; tick == from && i < plan->cores; i++)
            out->from[i] = instructions_of(loop, i);
        err = closed_loop_tick(loop);
        if (!err && tick >= from)
            look(loop, plan, 1.0 / (n - from), out);
    }
    for (unsigned i = 0; i < plan->cores; i++) {
        out->to[i] = instructions_of(loop, i);
        out->measured[i] = closed_loop_measured(loop, i);
    }
    out->cycles = (double)(n - from) * tick_cycles_of(plan);
    out->changes = closed_loop_changes(loop);
    out->missed = closed_loop_missed(loop);
    return err;
}

static int slowdowns(struct control_alone *alone, const char *folder, const struct loop_plan *plan,
                     struct loop_outcome *out)
{
    const struct slow_variant variant = variant_of(plan);
    int err = 0;

    for (unsigned i = 0; !err && i < plan->cores; i++) {
        const struct slow_alone *of = &alone->of[plan->apps[i]];

        err = control_alone_get(alone, folder, &variant, plan->apps[i]);
        if (!err)
            out->slowdown[i] = out->cycles / (slow_alone_cycles(of, out->to[i]) -
                                              slow_alone_cycles(of, out->from[i]));
    }
    return err;
}

int loop_run(struct control_alone *alone, const char *folder, const struct loop_plan *plan,
             struct loop_outcome *out)
{
    struct scenario *scenario = NULL;
    struct closed_loop *loop = NULL;
    int err = make_loop(plan, &scenario);

    *out = (struct loop_outcome){.cycles = 0};
    if (!err)
        err = closed_loop_new(scenario, plan->policy, &loop);
    for (unsigned i = 0; !err && !plan->epochs && i < plan->cores; i++)
        err = simnode_set_epoch_weight(closed_loop_node(loop), i, 0);
    if (!err)
        err = run_ticks(loop, plan, out);
    closed_loop_free(loop);
    scenario_free(scenario);
    return err || !alone ? err : slowdowns(alone, folder, plan, out);
}

int loop_scheme(struct control_alone *alone, const char *folder, const struct loop_plan *plan,
                enum control_scheme scheme, double bound, struct loop_outcome *out)
{
    const struct control_plan in_simulator = {
        .scheme = scheme, .variant = variant_of(plan), .apps = plan->apps, .bound = bound};
    struct control_outcome outcome = {0};
    int err = control_run(folder, &in_simulator, &outcome);
    unsigned from = from_of(plan) * (tick_cycles_of(plan) / 1000) /
                    (CONTROL_QUANTUM_ROWS * (SLOW_ROW_CYCLES / 1000));

    *out = (struct loop_outcome){.cycles = 0};
    for (unsigned i = 0; !err && i < plan->cores; i++) {
        err = control_alone_get(alone, folder, &in_simulator.variant, plan->apps[i]);
        if (!err)
            out->slowdown[i] = control_slowdown(&outcome, i, from, &alone->of[plan->apps[i]]);
        for (unsigned q = from; !err && q < outcome.quanta; q++)
            out->ways[i] +=
                (double)outcome.rows[q * plan->cores + i].ways / (outcome.quanta - from);
    }
    control_outcome_release(&outcome);
    return err;
}
