#include "exporter/governor/decide/policies/calibration.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/governor/decide/control/control_calibration.h"
#include "exporter/governor/decide/control/control_threshold.h"

enum { STARTS = CLAIMS_MAX };

/* Files are read so often; a quota that somebody changes is known by then. */
static const double cpus_seconds = 30;

/* Of a protected container, also for a while after it has ended. */
struct start {
    double seen;             /* when; seconds */
    double reference_cycles; /* counted by then */
    double cpus, cpus_read;  /* by cpuset and quota; when they were read */
    struct control_calibration state;
    enum calibration_phase told;
};

struct calibration {
    uint64_t *keys; /* STARTS, of the starts: looked through for each container */
    struct start *starts;
    size_t n_starts;
    struct policy_calibration *list; /* STARTS; of this tick, ... */
    struct start **of_list;          /* ... and whose they are */
    size_t n_list;
    const struct policy_calibration *reason;
    struct control_holds holds;
    double now, before, base_hz; /* of this tick, and the last one; seconds */
    bool quiet, was_quiet;       /* at this tick, and at the last one */
    bool holding;                /* since the last tick */
    bool dry;
    uint64_t ended[CALIBRATION_PHASES];
};

const char *const calibration_phase_names[CALIBRATION_PHASES] = {
    [CALIBRATION_WAITING] = "waiting", [CALIBRATION_HOLDING] = "holding",
    [CALIBRATION_LEARNED] = "learned", [CALIBRATION_TOO_FEW] = "too_few",
    [CALIBRATION_DRY_RUN] = "dry_run",
};

int calibration_new(struct calibration **out)
{
    struct calibration *calibration = calloc(1, sizeof *calibration);
    if (!calibration)
        return -ENOMEM;
    calibration->now = NAN;
    calibration->keys = calloc(STARTS, sizeof *calibration->keys);
    calibration->starts = calloc(STARTS, sizeof *calibration->starts);
    calibration->list = calloc(STARTS, sizeof *calibration->list);
    calibration->of_list = calloc(STARTS, sizeof(struct start *));
    if (calibration->keys && calibration->starts && calibration->list && calibration->of_list) {
        *out = calibration;
        return 0;
    }
    calibration_free(calibration);
    return -ENOMEM;
}

void calibration_free(struct calibration *calibration)
{
    if (!calibration)
        return;
    free(calibration->keys);
    free(calibration->starts);
    free(calibration->list);
    free(calibration->of_list);
    free(calibration);
}

void calibration_inherit(struct calibration *calibration, struct calibration *before)
{
    struct calibration empty = *calibration;
    *calibration = *before;
    memcpy(calibration->ended, empty.ended, sizeof empty.ended);
    memcpy(empty.ended, before->ended, sizeof empty.ended);
    *before = empty;
}

/* ---- a tick begins ---- */

/* It was held since the last tick, or, where nobody has decided for long, until it was let go. */
static void charge(struct calibration *calibration, double longest)
{
    double seconds = calibration->now - calibration->before;
    if (!calibration->holding)
        return;
    control_holds_add(&calibration->holds, calibration->before,
                      calibration->before + fmin(seconds, longest));
    if (seconds <= longest)
        return;
    for (size_t i = 0; i < calibration->n_starts; i++)
        control_calibration_interrupt(&calibration->starts[i].state);
    calibration->holding = false;
}

void calibration_begin(struct calibration *calibration, const struct policy_tick *tick, bool quiet,
                       double longest)
{
    calibration->before = calibration->now;
    calibration->now = tick->now;
    calibration->was_quiet = calibration->quiet;
    calibration->quiet = quiet;
    calibration->dry = enforcer_is_dry(tick->enforcer);
    calibration->base_hz = tick->base_hz;
    calibration->n_list = 0;
    calibration->reason = NULL;
    charge(calibration, longest);
}

/* ---- a container ---- */

/* Of those that are not there who was seen last the longest ago. NULL: all are there. */
static struct start *oldest(const struct calibration *calibration)
{
    struct start *oldest = NULL;
    for (size_t i = 0; i < calibration->n_starts; i++) {
        struct start *start = &calibration->starts[i];
        if (start->seen < calibration->before && (!oldest || start->seen < oldest->seen))
            oldest = start;
    }
    return oldest;
}

/* NULL: there is no room. */
static struct start *find(struct calibration *calibration, uint64_t key)
{
    for (size_t i = 0; i < calibration->n_starts; i++)
        if (calibration->keys[i] == key)
            return &calibration->starts[i];
    struct start *start = calibration->n_starts < STARTS
                              ? &calibration->starts[calibration->n_starts++]
                              : oldest(calibration);
    if (!start)
        return NULL;
    calibration->keys[start - calibration->starts] = key;
    *start = (struct start){.reference_cycles = NAN, .cpus = NAN};
    return start;
}

static enum calibration_phase phase_of(const struct calibration *calibration,
                                       const struct start *start)
{
    static const enum calibration_phase phases[] = {
        [CONTROL_CALIBRATION_WAITING] = CALIBRATION_WAITING,
        [CONTROL_CALIBRATION_HOLDING] = CALIBRATION_HOLDING,
        [CONTROL_CALIBRATION_LEARNED] = CALIBRATION_LEARNED,
        [CONTROL_CALIBRATION_TOO_FEW] = CALIBRATION_TOO_FEW,
    };
    enum calibration_phase phase = phases[start->state.phase];
    return phase == CALIBRATION_LEARNED && calibration->dry ? CALIBRATION_DRY_RUN : phase;
}

static bool has_ended(const struct start *start)
{
    return start->state.phase == CONTROL_CALIBRATION_LEARNED ||
           start->state.phase == CONTROL_CALIBRATION_TOO_FEW;
}

static double cpus_of(const struct policy_tick *tick, struct start *start,
                      const struct view_container *container, double cores)
{
    if (isnan(start->cpus) || tick->now - start->cpus_read >= cpus_seconds) {
        start->cpus = enforcer_cpus(tick->enforcer, container->path);
        start->cpus_read = tick->now;
    }
    return cores > 0 ? fmin(cores, start->cpus) : start->cpus; /* fmin() ignores NaN */
}

/* The window that ends with this tick. */
static void step(struct calibration *calibration, const struct policy_tick *tick,
                 struct start *start, const struct view_container *container,
                 const struct policy_calibration *shown)
{
    bool told =
        calibration->base_hz > 0 && !isnan(container->reference_cycles) && !isnan(shown->cpus);
    bool full = !told || control_cpus_are_full(shown->used_cpus, shown->cpus);
    const struct control_calibration_window window = {
        .seconds = calibration->now - calibration->before,
        .interval = tick->interval,
        .latency = container->latency_seconds,
        .full = full && !isnan(container->latency_seconds),
        .quiet = calibration->quiet && calibration->was_quiet,
    };
    bool ended = has_ended(start);
    control_calibration_step(&start->state, &window);
    if (!ended && has_ended(start))
        calibration->ended[phase_of(calibration, start)]++;
}

double calibration_hear(struct calibration *calibration, const struct policy_tick *tick,
                        const struct view_container *container, double cores)
{
    struct start *start = find(calibration, view_key(container));
    if (!start)
        return NAN;
    struct policy_calibration *shown = &calibration->list[calibration->n_list];
    calibration->of_list[calibration->n_list++] = start;
    bool known = start->seen == calibration->before;
    double grown = known ? view_grown(start->reference_cycles, container->reference_cycles) : NAN;
    *shown = (struct policy_calibration){
        .used_cpus =
            control_cpus_used(grown, calibration->base_hz, calibration->now - calibration->before),
        .cpus = has_ended(start) ? NAN : cpus_of(tick, start, container, cores),
        .latency_seconds = NAN};
    view_name(container, shown->container);
    if (!known)
        control_calibration_interrupt(&start->state);
    else
        step(calibration, tick, start, container, shown);
    start->seen = calibration->now;
    start->reference_cycles = container->reference_cycles;
    if (phase_of(calibration, start) == CALIBRATION_LEARNED)
        shown->latency_seconds = control_threshold_theta(start->state.samples, start->state.n);
    return shown->latency_seconds;
}

/* ---- all of them ---- */

/* Somebody who is there wants it; to begin, for no longer than there is time. */
static bool should_hold(const struct calibration *calibration, double interval, bool may_begin)
{
    for (size_t i = 0; i < calibration->n_list; i++) {
        const struct control_calibration *state = &calibration->of_list[i]->state;
        double needs = control_calibration_needs(state, interval);
        if (!control_calibration_wants(state))
            continue;
        if (calibration->holding ||
            (may_begin && control_holds_may_begin(&calibration->holds, calibration->now, needs)))
            return true;
    }
    return false;
}

static void show(struct calibration *calibration, size_t i)
{
    struct start *start = calibration->of_list[i];
    struct policy_calibration *shown = &calibration->list[i];
    shown->phase = phase_of(calibration, start);
    shown->changed = shown->phase != start->told;
    shown->samples = start->state.n;
    shown->held_seconds = start->state.held_seconds;
    start->told = shown->phase;
    if (shown->phase == CALIBRATION_HOLDING && !calibration->reason)
        calibration->reason = shown;
}

bool calibration_decide(struct calibration *calibration, const struct policy_tick *tick,
                        bool may_begin)
{
    bool hold = should_hold(calibration, tick->interval, may_begin) &&
                control_holds_may_go_on(&calibration->holds, calibration->now, tick->interval);
    for (size_t i = 0; i < calibration->n_list; i++) {
        struct control_calibration *state = &calibration->of_list[i]->state;
        control_calibration_hold(state, hold && control_calibration_wants(state));
        show(calibration, i);
    }
    calibration->holding = hold;
    return hold;
}

void calibration_rest(struct calibration *calibration)
{
    for (size_t i = 0; i < calibration->n_list; i++)
        calibration->list[i].changed = false;
}

/* ---- looking ---- */

const struct policy_calibration *calibration_reason(const struct calibration *calibration)
{
    return calibration->reason;
}

void calibration_report(const struct calibration *calibration, struct policy_report *out)
{
    out->calibrations = calibration->list;
    out->n_calibrations = calibration->n_list;
    for (int phase = 0; phase < CALIBRATION_PHASES; phase++)
        out->counts.calibrations[phase] += calibration->ended[phase];
}

void calibration_tell(const struct policy_calibration *list, size_t n, const struct log *log)
{
    static const char *const words[CALIBRATION_PHASES] = {
        [CALIBRATION_WAITING] = "best effort is no longer held for it",
        [CALIBRATION_HOLDING] = "best effort is held at its least to learn what is normal for it",
        [CALIBRATION_LEARNED] = "what is normal for it has been learned",
        [CALIBRATION_TOO_FEW] = "too few samples: the exporter's baseline is used",
        [CALIBRATION_DRY_RUN] = "in mode enforce it would have been learned",
    };
    for (size_t i = 0; i < n; i++)
        if (list[i].changed)
            log_info(log, "calibrate",
                     "container=%s phase=%s samples=%u held_seconds=%.1f latency=%g: %s",
                     list[i].container, calibration_phase_names[list[i].phase], list[i].samples,
                     list[i].held_seconds, list[i].latency_seconds, words[list[i].phase]);
}
