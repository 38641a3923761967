#include "exporter/live/words.h"

#include <math.h>
#include <string.h>

void live_name(struct textbuf *out, const struct live_container *c)
{
    const char *const parts[] = {c->namespace_, c->pod, c->name};
    const char *separator = "";
    for (int i = 0; i < 3; i++) {
        if (!parts[i][0])
            continue;
        textbuf_printf(out, "%s%s", separator, parts[i]);
        separator = "/";
    }
}

void live_duration(struct textbuf *out, double seconds)
{
    static const struct {
        double seconds;
        const char *unit;
    } units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
    size_t i = 0;
    while (i < 3 && seconds < units[i].seconds)
        i++;
    textbuf_printf(out, "%.0f %s", floor(fmax(seconds, 0) / units[i].seconds), units[i].unit);
}

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

void clip_text(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);
    if (len >= size)
        for (len = size - 1; len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80;)
            len--;
    memcpy(to, text, len);
    to[len] = '\0';
}
