#include "exporter/live/words.h"

#include <math.h>

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
