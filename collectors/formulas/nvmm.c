#include "collectors/formulas/nvmm.h"

#include <errno.h>
#include <stdbool.h>

static bool consistent(const struct nvmm_window *w)
{
    return w->nvmm <= w->known && w->unsizable <= w->nvmm && w->sized <= w->nvmm - w->unsizable &&
           (w->sized > 0 || w->bytes == 0);
}

int nvmm_estimate(struct nvmm_carry *carry, const struct nvmm_window *window,
                  struct nvmm_usage *out)
{
    uint64_t events;

    if (!consistent(window) || __builtin_add_overflow(carry->events, window->events, &events))
        return -EINVAL;
    if (window->known == 0) {
        if (window->unknown == 0)
            carry->events = events;
        return -ENODATA;
    }
    carry->events = 0;
    *out = (struct nvmm_usage){0};
    /* Multiplied first: what comes out whole is whole then. */
    double known = (double)window->known;
    out->accesses = (double)events * (double)window->nvmm / known;
    carry->unsized_accesses += (double)events * (double)(window->nvmm - window->unsizable) / known;
    if (window->sized > 0) {
        out->bytes = carry->unsized_accesses * (double)window->bytes / (double)window->sized;
        carry->unsized_accesses = 0;
    }
    return 0;
}
