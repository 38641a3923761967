/*
 * Theta by throttling: Shen & Li 2020, section 5.1: the mean of T latencies of the latency-critical
 * application, one a second, while best-effort work has as little CPU as it can be given, and only
 * of seconds in which all CPUs of the application are fully used:
 *
 *     reference cycles / (base frequency x seconds) >= 0.95 x CPUs
 *
 * The paper does not say T; 30. When best effort is held for it, and for how long, is ours: after
 * three such seconds in a row, no longer than three without one, 120 s in all for an application,
 * and of the whole node 120 s in any ten minutes, in holds that are a minute apart. It ends as soon
 * as what is left of its 120 s is not enough for the samples that are missing.
 *
 * Pure: time is an argument, in seconds of any clock that does not go back. A window is what the
 * paper's second is, however long it is.
 *
 * Worked: 9 CPUs of 2.1 GHz, in one second 1.8e10 cycles -> 8.571 CPUs, fully used (from 8.55 on);
 *         1.79e10 -> 8.524, not.
 * Worked: windows of 1 s, all of them full; held after the third one, quiet from the second window
 *         of the hold on: the 30 samples are there after 31 s of it. One window in four: too few,
 *         since after 120 s some would be missing. Without any: too few after 91 s. Windows of 4 s:
 *         nobody is held, for 32 of them are 128 s.
 * Worked: held from 0 to 31 and from 91 to 151: of the ten minutes before 200, 91 s; before 620,
 *         71; before 751, 0.
 */
#ifndef IE_GOVERNOR_CONTROL_CALIBRATION_H
#define IE_GOVERNOR_CONTROL_CALIBRATION_H

#include <stdbool.h>

enum { CONTROL_CALIBRATION_SAMPLES = 30, CONTROL_HOLDS = 12 };

/* NaN where one of them is not known, or no time has passed. */
double control_cpus_used(double reference_cycles, double base_hz, double seconds);
/* False for NaN. */
bool control_cpus_are_full(double used, double cpus);

/* ---- one application ---- */

enum control_calibration_phase {
    CONTROL_CALIBRATION_WAITING, /* nobody is held for it */
    CONTROL_CALIBRATION_HOLDING,
    CONTROL_CALIBRATION_LEARNED,
    CONTROL_CALIBRATION_TOO_FEW /* samples, in the time that it has */
};

/* All zero at first. */
struct control_calibration {
    enum control_calibration_phase phase;
    double samples[CONTROL_CALIBRATION_SAMPLES];
    unsigned n;
    unsigned full, idle; /* windows in a row: fully used, or not */
    double held_seconds; /* while HOLDING */
};

struct control_calibration_window {
    double seconds;  /* how long it was */
    double interval; /* how long the next one will be */
    double latency;  /* read if it is full */
    bool full;       /* it waited for memory on all of its CPUs */
    bool quiet;      /* from the beginning to the end all of best effort had its least */
};

/* A window, of the phase that it had meanwhile. WAITING after HOLDING: it idles. */
void control_calibration_step(struct control_calibration *state,
                              const struct control_calibration_window *window);
/* Whether best effort should be held for it now. */
bool control_calibration_wants(const struct control_calibration *state);
/* How long a hold that begins now lasts if every window is full. */
double control_calibration_needs(const struct control_calibration *state, double interval);
/* From now on best effort is held for it, or is no longer: of WAITING and HOLDING. */
void control_calibration_hold(struct control_calibration *state, bool held);
/* Nobody has looked at it for a while: nobody was held for it, and windows in a row begin anew. */
void control_calibration_interrupt(struct control_calibration *state);

/* ---- all of them ---- */

/* When best effort was held, in order. All zero at first. */
struct control_holds {
    struct {
        double from, to;
    } of[CONTROL_HOLDS];
    unsigned n;
};

/* It was held then; what follows on the last one continues it. */
void control_holds_add(struct control_holds *holds, double from, double to);
/* Seconds within the ten minutes before 'now'. */
double control_holds_sum(const struct control_holds *holds, double now);
/* Whether a hold may begin now, if it needs so long. */
bool control_holds_may_begin(const struct control_holds *holds, double now, double needs);
/* Whether one may go on until the next window ends. */
bool control_holds_may_go_on(const struct control_holds *holds, double now, double interval);

#endif
