/*
 * How well a change of latency fits a cause: likelihood ratios against "nothing happened", over one
 * window of at most a minute of readings of log latency.
 *
 * The model is y = intercept + b q + noise of variance sigma^2 per reading. The intercept is taken
 * out exactly. With q the regressor less its mean, ss = sum q^2, b = sum q y / ss and
 * V0 = sigma^2 / ss, and a prior of the coefficient of mean 0 and sd 0.25:
 *
 *     V = 1 / (1/V0 + 1/0.25^2),  m = V b / V0
 *     two-sided  ln LR = (ln(V / 0.25^2) + m^2 / V) / 2
 *     one-sided  ln LR = that + ln(2 Phi(m / sqrt V))      the coefficient is above 0
 *
 * Worked: 10 readings at 0 and 10 at 0.1, sigma 0.02, a step between them: ss 5, b 0.1,
 * V0 8e-5, V 7.98978e-5, m 0.0998722; two-sided 59.0890, one-sided 59.7822.
 *
 * A step may be sudden, or warm up: in its k-th reading it has come to 1 - a^(k+1), with a = 0.78
 * or 0.92, so by 63 % within four readings or within twelve. One of two is sudden, one of four
 * each of the others: so are those that nobody makes.
 *
 * Pure.
 */
#ifndef IE_COLLECTORS_ATTRIBUTION_LEDGER_ONSET_H
#define IE_COLLECTORS_ATTRIBUTION_LEDGER_ONSET_H

#include <stdint.h>

enum { ONSET_WINDOW = 64 }; /* readings at most */

/* Readings of log latency, oldest first, with what is summed once. */
struct onset_window {
    unsigned n;
    double sigma; /* of a reading */
    double y[ONSET_WINDOW];
    double mean;
    double below[ONSET_WINDOW + 1]; /* sum of y - mean of the readings before */
    double step[ONSET_WINDOW];      /* ln LR of a step at u; see onset_window_steps */
};

struct onset_fit {
    double coefficient; /* m */
    double se;          /* sqrt V */
    double two_sided, one_sided;
};

/* After y, n and sigma are set. */
void onset_window_begin(struct onset_window *window);
/* Fills step[u] for from <= u < to, 1 and n at the outside: the latency changed between readings
 * u - 1 and u, or from there on, to either side. */
void onset_window_steps(struct onset_window *window, unsigned from, unsigned to);

/* A step at u, 1 <= u < n: of sudden and warming ones the likeliest. */
struct onset_fit onset_fit_step(const struct onset_window *window, unsigned u);
/* Latency follows q, one value a reading. With a constant q nothing is known: both are 0. */
struct onset_fit onset_fit_shape(const struct onset_window *window, const double *q);

#endif
