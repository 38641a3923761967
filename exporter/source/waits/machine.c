#include "exporter/source/waits/machine.h"

#include <fcntl.h>
#include <unistd.h>

#include "exporter/source/cgroup_file.h"

void waits_machine_init(struct waits_machine *machine, const struct fsroot *fs)
{
    static const char *const paths[MACHINE_FILES] = {
        [MACHINE_STAT] = "stat",
        [MACHINE_MEMORY] = "pressure/memory",
        [MACHINE_VMSTAT] = "vmstat",
    };
    long ticks = sysconf(_SC_CLK_TCK);
    *machine = (struct waits_machine){.ticks = ticks > 0 ? (unsigned)ticks : 100};
    for (int i = 0; i < MACHINE_FILES; i++) {
        int fd = fsroot_open(fs, FSROOT_PROC, paths[i], O_RDONLY);
        machine->fd[i] = fd < 0 ? -1 : fd;
    }
}

void waits_machine_release(struct waits_machine *machine)
{
    for (int i = 0; i < MACHINE_FILES; i++)
        if (machine->fd[i] >= 0)
            close(machine->fd[i]);
}

/* By whomever: what a cgroup's own limit makes it look at is not in it. */
static bool take_reclaimed(const char *text, size_t len, uint64_t *out)
{
    uint64_t daemon, direct;
    if (flat_parse(text, len, "pgscan_kswapd", &daemon) != 0 ||
        flat_parse(text, len, "pgscan_direct", &direct) != 0)
        return false;
    *out = daemon + direct;
    return true;
}

void waits_machine_read(struct waits_machine *machine, char *text, size_t size)
{
    struct pressure_totals pressure;
    size_t len;
    if (machine->read)
        return;
    machine->read = true;
    machine->has_steal = cgroup_file_read(machine->fd[MACHINE_STAT], text, size, &len) == 0 &&
                         steal_parse(text, len, machine->ticks, &machine->steal) == 0;
    machine->has_memory = cgroup_file_read(machine->fd[MACHINE_MEMORY], text, size, &len) == 0 &&
                          pressure_totals_parse(text, len, &pressure) == 0;
    if (machine->has_memory)
        machine->memory_some_ns = pressure.some_ns;
    machine->has_reclaimed = cgroup_file_read(machine->fd[MACHINE_VMSTAT], text, size, &len) == 0 &&
                             take_reclaimed(text, len, &machine->reclaimed);
}

bool waits_machine_steal(const struct waits_machine *machine, uint64_t set, uint64_t *ns)
{
    uint64_t sum = 0;
    unsigned cpus = 0;
    for (int i = 0; i < CPU_PLACES; i++) {
        if (!(set >> i & 1))
            continue;
        sum += machine->steal.ns[i];
        cpus += machine->steal.cpus[i];
    }
    if (!machine->has_steal || cpus == 0)
        return false;
    *ns = sum / cpus;
    return true;
}
