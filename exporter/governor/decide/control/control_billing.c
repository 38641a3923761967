#include "exporter/governor/decide/control/control_billing.h"

#include <math.h>

/* ---- admission ---- */

void control_admission_defaults(struct control_admission_config *config)
{
    *config = (struct control_admission_config){
        .hold_slowdown = 2.0,
        .ok_slowdown = 1.5,
        .hold_minutes = 3,
        .hold_of = 5,
        .ok_minutes = 10,
    };
}

static unsigned last(unsigned n)
{
    return n >= 32 ? ~0u : (1u << n) - 1;
}

bool control_admission_step(struct control_admission *state,
                            const struct control_admission_config *config, double slowdown)
{
    state->history = state->history << 1 | (slowdown > config->hold_slowdown);
    state->calm = slowdown < config->ok_slowdown ? state->calm + 1 : 0;
    unsigned above = (unsigned)__builtin_popcount(state->history & last(config->hold_of));
    if (!state->hold && above >= config->hold_minutes)
        state->hold = true;
    else if (state->hold && state->calm >= config->ok_minutes)
        state->hold = false;
    return state->hold;
}

/* ---- epochs ---- */

static const double least_reads = 1000, most_change = 0.2;

bool control_epoch_slowdown(const struct control_epoch *epoch, double *slowdown)
{
    if (!(epoch->alone_reads >= least_reads) || !(epoch->shared_reads >= least_reads) ||
        !(epoch->alone_cycles > 0) || !(epoch->shared_cycles > 0) ||
        !(fabs(epoch->alone_cpus - epoch->shared_cpus) <= most_change * epoch->shared_cpus))
        return false;
    double alone = epoch->alone_reads / epoch->alone_cycles;
    *slowdown = fmax(1, alone / (epoch->shared_reads / epoch->shared_cycles));
    return true;
}

bool control_epoch_refills(const struct control_epoch *epoch)
{
    double shared = epoch->shared_misses / epoch->shared_reads;
    double warm = epoch->warm_misses / epoch->warm_reads;
    double fall = warm - epoch->alone_misses / epoch->alone_reads;
    return fall > (shared - warm) / 2 && fall > warm / 20;
}
