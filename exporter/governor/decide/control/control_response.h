/*
 * How a latency follows what somebody else may have: a straight line through windows, of which
 * older ones count less. x is 0 where he is held at his least and 1 where he has everything, y the
 * natural logarithm of the latency; the slope is the relative gain of holding him.
 *
 * Worked (forget 0; y = ln 130 for x = 0 ten times, ln 220 for x = 1 five times): slope ln(220/130)
 *         = 0.526, deviation 0. With y = 0, 0.1 for x = 0 and y = 0.2, 0.3 for x = 1: slope 0.2,
 *         residual variance 0.01 / 2, Sxx 1, deviation sqrt(0.005) = 0.0707.
 */
#ifndef IE_GOVERNOR_CONTROL_RESPONSE_H
#define IE_GOVERNOR_CONTROL_RESPONSE_H

/* All zero at first. */
struct control_response {
    double n; /* windows, by weight */
    double mean_x, mean_y, sxx, sxy, syy;
};

/* forget: the share of all weights that this window takes away; 0: none. */
void control_response_add(struct control_response *response, double x, double y, double forget);
/* NaN: x was always the same. */
double control_response_slope(const struct control_response *response);
/* One standard deviation of the slope, of residuals that know nothing of each other; NaN for fewer
 * than three windows. */
double control_response_deviation(const struct control_response *response);

#endif
