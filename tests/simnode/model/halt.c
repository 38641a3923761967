/*
 * A thread without a CPU, as a scheduler has it: unlike a pause, in which the program itself has
 * nothing to do, its instructions stand still.
 *
 * Instruction k would have been dispatched in slot k + dispatch_lag (core.c); if that is after the
 * halt, it comes as much later as the halt lasts. Loads that wait for a load before them are sent
 * when it is over.
 */
#include "tests/simnode/model/sim.h"

void core_halt(struct core *core)
{
    core_retired(core);
    core->halted = core->was_halted = true;
    core->halted_cycle = core_cycle_now(core);
}

static void send_dependents(struct core *core)
{
    for (uint32_t i = core->ring_head; i != core->ring_tail; i++) {
        struct load *load = &core->ring[i & core->ring_mask];

        if (load->done_cycle != LOAD_PENDING && load->dependent)
            core_load_done(core, load);
    }
}

void core_continue(struct core *core)
{
    uint64_t now = simclock_cycle(&core->clock, core->node->now_fs);
    uint64_t index = core->have_op ? core->op_index : core->next_index;
    int64_t halted = (int64_t)(now - core->halted_cycle);
    int64_t lag = core->dispatch_lag + halted * core->width;
    int64_t least = (int64_t)now * core->width - (int64_t)index; /* it waited for something else */

    core->halted = false;
    core->continued_cycle = now;
    core->dispatch_lag = lag > least ? lag : least;
    send_dependents(core);
    core_run(core);
}

/* One that was to go on while it was halted has gone on otherwise since. */
void core_go_on(struct core *core)
{
    if (core->was_halted && core->wake_fs != core->node->now_fs)
        return;
    if (core->was_halted)
        core->wake_fs = SIM_NEVER;
    core_run(core);
}
