#include "exporter/governor/decide/control/control_calibration.h"

#include <math.h>
#include <string.h>

/* Windows in a row before a hold begins, and without which it ends. */
enum { FULL_WINDOWS = 3, IDLE_WINDOWS = 3 };
/* Of a hold, in which it is not quiet yet: best effort is turned down after the first began. */
enum { LOST_WINDOWS = 2 };

static const double full_share = 0.95;
static const double held_seconds_max = 120, holds_seconds_max = 120; /* of one, of all of them */
static const double holds_window_seconds = 600, pause_seconds = 60;
static const double rounding = 1e-6; /* seconds: less is no time */

double control_cpus_used(double reference_cycles, double base_hz, double seconds)
{
    return seconds > 0 && base_hz > 0 ? reference_cycles / (base_hz * seconds) : NAN;
}

bool control_cpus_are_full(double used, double cpus)
{
    return used >= full_share * cpus;
}

/* ---- one application ---- */

double control_calibration_needs(const struct control_calibration *state, double interval)
{
    return (CONTROL_CALIBRATION_SAMPLES - state->n + LOST_WINDOWS) * interval;
}

/* Samples that are missing do not fit into the time that is left. */
static bool is_too_late(const struct control_calibration *state, double interval)
{
    double needs = state->phase == CONTROL_CALIBRATION_HOLDING
                       ? (CONTROL_CALIBRATION_SAMPLES - state->n) * interval
                       : control_calibration_needs(state, interval);
    return state->held_seconds + needs > held_seconds_max + rounding;
}

void control_calibration_step(struct control_calibration *state,
                              const struct control_calibration_window *window)
{
    bool held = state->phase == CONTROL_CALIBRATION_HOLDING;
    if (!held && state->phase != CONTROL_CALIBRATION_WAITING)
        return;
    state->full = window->full ? state->full + 1 : 0;
    state->idle = window->full ? 0 : state->idle + 1;
    if (held)
        state->held_seconds += window->seconds;
    if (held && window->full && window->quiet)
        state->samples[state->n++] = window->latency;
    if (state->n == CONTROL_CALIBRATION_SAMPLES)
        state->phase = CONTROL_CALIBRATION_LEARNED;
    else if (is_too_late(state, window->interval))
        state->phase = CONTROL_CALIBRATION_TOO_FEW;
    else if (held && state->idle > IDLE_WINDOWS)
        control_calibration_hold(state, false);
}

bool control_calibration_wants(const struct control_calibration *state)
{
    return state->phase == CONTROL_CALIBRATION_HOLDING ||
           (state->phase == CONTROL_CALIBRATION_WAITING && state->full >= FULL_WINDOWS);
}

void control_calibration_hold(struct control_calibration *state, bool held)
{
    if (state->phase == CONTROL_CALIBRATION_WAITING && held)
        state->phase = CONTROL_CALIBRATION_HOLDING;
    else if (state->phase == CONTROL_CALIBRATION_HOLDING && !held)
        state->phase = CONTROL_CALIBRATION_WAITING;
}

void control_calibration_interrupt(struct control_calibration *state)
{
    control_calibration_hold(state, false);
    state->full = state->idle = 0;
}

/* ---- all of them ---- */

void control_holds_add(struct control_holds *holds, double from, double to)
{
    if (holds->n > 0 && from <= holds->of[holds->n - 1].to + rounding) {
        holds->of[holds->n - 1].to = to;
        return;
    }
    if (holds->n == CONTROL_HOLDS) /* the first one is long ago: they are a minute apart */
        memmove(holds->of, holds->of + 1, --holds->n * sizeof *holds->of);
    holds->of[holds->n].from = from;
    holds->of[holds->n++].to = to;
}

double control_holds_sum(const struct control_holds *holds, double now)
{
    double sum = 0;
    for (unsigned i = 0; i < holds->n; i++)
        sum += fmax(0, holds->of[i].to - fmax(holds->of[i].from, now - holds_window_seconds));
    return sum;
}

bool control_holds_may_go_on(const struct control_holds *holds, double now, double interval)
{
    return control_holds_sum(holds, now) + interval <= holds_seconds_max + rounding;
}

bool control_holds_may_begin(const struct control_holds *holds, double now, double needs)
{
    bool soon = holds->n > 0 && now - holds->of[holds->n - 1].to < pause_seconds - rounding;
    return !soon && control_holds_may_go_on(holds, now, needs);
}
