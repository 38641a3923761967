#include "exporter/base/odds.h"

#include <math.h>

static const double most = 99;

void odds_say(struct textbuf *out, double p)
{
    if (!(p >= 0) || p > 1)
        return;
    if (p >= 0.5)
        textbuf_printf(out, "%.0f to 1", fmin(most, p / fmax(1e-9, 1 - p)));
    else
        textbuf_printf(out, "1 to %.0f", fmin(most, (1 - p) / fmax(1e-9, p)));
}

bool odds_say_rate(struct textbuf *out, double per_hour)
{
    double hour = round(per_hour), day = round(24 * per_hour);
    if (!isfinite(per_hour) || day < 1)
        return false;
    if (hour >= 1)
        textbuf_printf(out, hour > 1 ? "%.0f times an hour" : "once an hour", hour);
    else
        textbuf_printf(out, day > 1 ? "%.0f times a day" : "once a day", day);
    return true;
}
