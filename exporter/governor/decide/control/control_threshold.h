/*
 * How much CPU best-effort work may have: Shen & Li 2020, "Runtime Estimation of Application Memory
 * Latency for Performance Analysis and Optimization", algorithm 1, section 5.1.
 *
 *     quota = 1 core
 *     each second, with the latency l of the latency-critical application:
 *         l < theta:   if quota < max: quota += 0.5
 *         otherwise:   quota = 1
 *
 * What is calmer is control_safe.h. Pure.
 *
 * Worked (theta 110, max 3): l = 100 104 103 131 129 101 102 103 104 105 99
 *         -> 1 1.5 2 2.5 1 1 1.5 2 2.5 3 3 3, the first before any l.
 */
#ifndef IE_GOVERNOR_CONTROL_THRESHOLD_H
#define IE_GOVERNOR_CONTROL_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>

/* In the paper 1 and 0.5; both > 0. */
struct control_threshold_config {
    double base_cores, step_cores;
};

enum control_window {
    CONTROL_BELOW, /* every latency that is known is below its theta */
    CONTROL_OVER,  /* a latency is not */
    CONTROL_SILENT /* nothing is known of this window */
};

/* l == theta is a violation. Silent unless both are finite and positive. */
enum control_window control_threshold_window(double latency, double theta);

enum control_action { CONTROL_KEEP, CONTROL_RAISE, CONTROL_CUT };

/* Of one best-effort application. */
struct control_threshold {
    double quota_cores;
};

/* At base, or where that is less at max_cores. */
void control_threshold_init(struct control_threshold *state,
                            const struct control_threshold_config *config, double max_cores);

/*
 * One window. max_cores: what it may have at most, which may change. 'culprit': whether it may be
 * cut, for it reads enough memory itself. The quota is in *state afterwards, never above max_cores.
 * KEEP also where a cut finds it at base already.
 */
enum control_action control_threshold_step(struct control_threshold *state,
                                           const struct control_threshold_config *config,
                                           double max_cores, enum control_window window,
                                           bool culprit);

/* Theta as the paper finds it: the mean of n latencies of seconds in which best-effort work was
 * held. 0 for n = 0. Worked: 98 102 101 99 100 -> 100. */
double control_threshold_theta(const double *latencies, size_t n);

#endif
