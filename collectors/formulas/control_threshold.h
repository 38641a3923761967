/*
 * How much CPU best-effort work may have: Shen & Li 2020, "Runtime Estimation of Application Memory
 * Latency for Performance Analysis and Optimization", algorithm 1, section 5.1.
 *
 *     quota = 1 core
 *     each second, with the latency l of the latency-critical application:
 *         l < theta:   if quota < max: quota += 0.5
 *         otherwise:   quota = 1
 *
 * That is CONTROL_PAPER. CONTROL_SAFE (ours) waits for a violation to be confirmed, raises after
 * calm windows only, holds after a cut, and gives up where cutting does not help.
 *
 * Pure: time is an argument, in seconds of any clock that does not go back.
 *
 * Worked (paper; theta 110, max 3): l = 100 104 103 131 129 101 102 103 104 105 99
 *         -> 1 1.5 2 2.5 1 1 1.5 2 2.5 3 3 3, the first before any l.
 * Worked (safe; theta 110, max 3, one window a second from t = 0): l = 100 x 5, 131, 100, 131, then
 *         100 -> raised at t = 2, 3, 4 to 2.5, cut at 7, held until 27, 3.0 at 30.
 */
#ifndef IE_FORMULAS_CONTROL_THRESHOLD_H
#define IE_FORMULAS_CONTROL_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum control_mode { CONTROL_SAFE, CONTROL_PAPER };

struct control_threshold_config {
    enum control_mode mode;
    double base_cores, step_cores; /* 1 and 0.5; both > 0 */
    /* What follows is for CONTROL_SAFE. */
    unsigned confirm, confirm_of; /* a violation is: so many of the last so many; <= 32 */
    unsigned calm;                /* windows below theta before a raise */
    double hold_seconds;          /* without a raise after a cut; doubled by ... */
    double hold_max_seconds;      /* ... up to this ... */
    double relapse_seconds;       /* ... each cut that came so soon after a raise */
    double forgive_seconds;       /* without a cut: the hold is as at first again */
    double futile_seconds;        /* so long at base, with ... */
    double futile_ratio;          /* ... such a share of windows over theta: given up ... */
    double back_off_seconds;      /* ... for so long */
};

/* The defaults: as in the paper, and safe. */
void control_threshold_defaults(struct control_threshold_config *config);

enum control_window {
    CONTROL_BELOW, /* every latency that is known is below its theta */
    CONTROL_OVER,  /* a latency is not */
    CONTROL_SILENT /* nothing is known of this window */
};

/* l == theta is a violation. Silent unless both are finite and positive. */
enum control_window control_threshold_window(double latency, double theta);

enum control_action {
    CONTROL_KEEP,
    CONTROL_RAISE,
    CONTROL_CUT,
    CONTROL_GIVE_UP /* cutting does not help: everything back, and nothing for back_off_seconds */
};

/* Of one best-effort application. */
struct control_threshold {
    double quota_cores;
    uint32_t history;    /* of windows that are not silent, the last in bit 0; 1: over theta */
    unsigned calm;       /* windows below, without one between */
    double hold_seconds; /* that the next cut will have, unless it is doubled */
    double held_until, raised_at, cut_at, gave_up_until;
    double base_since; /* when it came to base; what follows counts since then */
    unsigned base_windows, base_over;
};

/* At base, or where that is less at max_cores. */
void control_threshold_init(struct control_threshold *state,
                            const struct control_threshold_config *config, double max_cores,
                            double now);

/*
 * One window. max_cores: what it may have at most, which may change. 'culprit': whether it may be
 * cut, for it reads enough memory itself. The quota is in *state afterwards, never above max_cores.
 * KEEP also where a cut finds it at base already.
 */
enum control_action control_threshold_step(struct control_threshold *state,
                                           const struct control_threshold_config *config,
                                           double max_cores, double now, enum control_window window,
                                           bool culprit);

/* A window in which it is kept at base for another reason than a violation: nothing of it counts
 * for what follows, which begins anew from there. */
void control_threshold_hold(struct control_threshold *state,
                            const struct control_threshold_config *config, double max_cores,
                            double now);

/* Theta as the paper finds it: the mean of n latencies of seconds in which best-effort work was
 * held. 0 for n = 0. Worked: 98 102 101 99 100 -> 100. */
double control_threshold_theta(const double *latencies, size_t n);

#endif
