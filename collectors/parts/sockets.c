#include "collectors/parts/sockets.h"

#include <string.h>

bool sockets_are_apart(const struct machine *machine)
{
    return machine->sockets > 1 && machine->sockets <= MACHINE_SOCKETS &&
           machine->numa_nodes >= machine->sockets;
}

double row_scale(const struct reading_row *then, const struct reading_row *now)
{
    uint64_t enabled = now->enabled_ns - (then ? then->enabled_ns : 0);
    uint64_t running = now->running_ns - (then ? then->running_ns : 0);
    if (enabled == 0 || running == 0 || running < enabled / WINDOW_MAX_SCALE)
        return 0;
    return (double)enabled / (double)running;
}

const struct reading_row *row_before(const struct group_window *window, size_t k)
{
    const struct reading_row *then = k < window->before->n ? reading_row(window->before, k) : NULL;
    return then && then->present ? then : NULL;
}

static bool divide(const struct group_window *window, enum role role, const struct machine *machine,
                   int (*number_of)(const struct machine *, int cpu), double *out, int n)
{
    int i = group_index(window->group, role);
    bool known = i >= 0;
    memset(out, 0, (size_t)n * sizeof *out);
    for (size_t k = 0; known && k < window->after->n; k++) {
        const struct reading_row *now = reading_row(window->after, k);
        const struct reading_row *then = row_before(window, k);
        if (!(now->present >> i & 1))
            continue;
        double count = (double)(now->count[i] - (then ? then->count[i] : 0)) * row_scale(then, now);
        int number = number_of(machine, now->cpu);
        if (number >= 0 && number < n)
            out[number] += count;
        else if (count > 0)
            known = false;
    }
    return known;
}

bool window_by_socket(const struct group_window *window, enum role role,
                      const struct machine *machine, double out[MACHINE_SOCKETS])
{
    return divide(window, role, machine, machine_socket_of, out, MACHINE_SOCKETS);
}

bool window_by_numa_node(const struct group_window *window, enum role role,
                         const struct machine *machine, double *out, int n)
{
    return divide(window, role, machine, machine_numa_node_of, out, n);
}
