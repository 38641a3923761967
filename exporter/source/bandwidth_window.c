#include "exporter/source/bandwidth_window.h"

/* The source's totals go on also where a value is not known, so that the earlier ones hold. In a
 * recording a row that has no line stands still. */
void bandwidth_row_make(const struct group_window *window, size_t i, struct bandwidth_row *out)
{
    const struct reading_row *now = reading_row(window->after, i);
    const struct reading_row *before =
        i < window->before->n ? reading_row(window->before, i) : NULL;
    uint64_t since_ns = before ? before->enabled_ns : 0;
    *out = (struct bandwidth_row){.cpu = now->cpu, .known = now->present};
    if (now->enabled_ns > since_ns)
        out->seconds = (double)(now->enabled_ns - since_ns) * 1e-9;
    for (int v = 0; v < MON_VALUES; v++) {
        uint64_t since = before && v != MON_OCCUPANCY_BYTES ? before->count[v] : 0;
        if (now->count[v] < since) /* a recording whose totals begin anew */
            out->known &= ~(1u << v);
        else
            out->value[v] = now->count[v] - since;
    }
}
