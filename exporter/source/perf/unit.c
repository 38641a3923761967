#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/cpulist.h"
#include "exporter/source/perf/internal.h"

static const char devices[] = "bus/event_source/devices";
static const char imc_prefix[] = "uncore_imc_";
static const char any_imc[] = "pmu:NAME/";

enum { MASK_CPUS = 64, MAX_IMCS = 1024 };

/* The CPUs that a PMU is opened on: one per die, which on most machines is one per socket. */
static int pmu_cpus(const struct fsroot *fs, const char *pmu, int *cpus, size_t *n)
{
    char path[160], text[1024];
    size_t len;
    snprintf(path, sizeof path, "%s/%s/cpumask", devices, pmu);
    int err = fsroot_read(fs, FSROOT_SYS, path, text, sizeof text, &len);
    if (!err)
        err = cpulist_parse(text, len, cpus, MASK_CPUS, n);
    if (!err && *n > MASK_CPUS)
        *n = MASK_CPUS;
    return err;
}

static int cpu_socket(const struct fsroot *fs, int cpu)
{
    char path[96];
    uint64_t socket;
    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return fsroot_read_u64(fs, FSROOT_SYS, path, &socket) == 0 && socket < 1024 ? (int)socket : 0;
}

/* uncore_imc_3 -> 3; -1 for other devices, uncore_imc_free_running_0 among them. */
static int imc_number(const char *name)
{
    char *end;
    size_t prefix = sizeof imc_prefix - 1;
    if (strncmp(name, imc_prefix, prefix) != 0 || name[prefix] < '0' || name[prefix] > '9')
        return -1;
    unsigned long n = strtoul(name + prefix, &end, 10);
    return *end || n >= MAX_IMCS ? -1 : (int)n;
}

static int find_imcs(const struct fsroot *fs, bool *present)
{
    char path[4096];
    int err = fsroot_path(fs, FSROOT_SYS, devices, path, sizeof path);
    if (err)
        return err;
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : -errno;
    for (struct dirent *entry; (entry = readdir(dir));) {
        int n = imc_number(entry->d_name);
        if (n >= 0)
            present[n] = true;
    }
    closedir(dir);
    return 0;
}

/* Sets the unit's socket and die: the cpumask's at-th CPU stands for them. */
static void place_unit(const struct fsroot *fs, const int *cpus, size_t at, struct unit *unit)
{
    unit->socket = cpu_socket(fs, cpus[at]);
    for (size_t i = 0; i < at; i++)
        unit->die += cpu_socket(fs, cpus[i]) == unit->socket;
    char die[16] = "";
    if (unit->die > 0)
        snprintf(die, sizeof die, ".die%d", unit->die);
    snprintf(unit->key, sizeof unit->key, "socket%d%s.imc%d", unit->socket, die, unit->imc);
}

int perf_units(const struct fsroot *fs, struct unit *out, size_t cap, size_t *n)
{
    bool present[MAX_IMCS] = {false};
    size_t found = 0;
    int err = find_imcs(fs, present);
    if (err)
        return err;
    for (int imc = 0; imc < MAX_IMCS; imc++) {
        char name[32];
        int cpus[MASK_CPUS];
        size_t n_cpus;
        snprintf(name, sizeof name, "%s%d", imc_prefix, imc);
        if (!present[imc] || pmu_cpus(fs, name, cpus, &n_cpus))
            continue;
        for (size_t i = 0; i < n_cpus; i++, found++) {
            if (found >= cap)
                continue;
            out[found] = (struct unit){.kind = "imc", .imc = imc};
            place_unit(fs, cpus, i, &out[found]);
        }
    }
    *n = found;
    return 0;
}

/* The user's file knows one channel: what it says replaces all of the table's. */
static bool file_speaks(const struct perf_source *source, enum group group)
{
    for (size_t i = 0; i < perf_n_roles(group) && source->config.file; i++)
        if (source->config.file->event[group_descs[group].roles[i]])
            return true;
    return false;
}

static const char *unit_text(const struct perf_source *source, enum role role, int channel)
{
    const struct perf_config *config = &source->config;
    if (config->file && config->file->event[role])
        return channel == 0 ? config->file->event[role] : NULL;
    return config->table && channel < config->table->channels
               ? config->table->uncore_event[channel][role]
               : NULL;
}

static int encode_unit_event(const struct perf_source *source, const struct unit *unit,
                             const char *text, struct encoded_event *out, struct verdict *why)
{
    char filled[256];
    size_t len = sizeof any_imc - 1;
    if (strncmp(text, any_imc, len) == 0) {
        int n = snprintf(filled, sizeof filled, "pmu:%s%d/%s", imc_prefix, unit->imc, text + len);
        if (n < 0 || (size_t)n >= sizeof filled) {
            verdict_set(why, REASON_UNSUPPORTED_CPU, "event \"%.100s...\" is too long", text);
            return -EINVAL;
        }
        text = filled;
    }
    return encode_event(source->config.fs, text, out, why);
}

/* The CPU of the unit's die in the PMU's cpumask; any online one for other kinds of events. */
static int unit_cpu(const struct perf_source *source, const struct unit *unit)
{
    char name[32];
    int cpus[MASK_CPUS], die = 0;
    size_t n;
    snprintf(name, sizeof name, "%s%d", imc_prefix, unit->imc);
    if (pmu_cpus(source->config.fs, name, cpus, &n) == 0)
        for (size_t i = 0; i < n; i++)
            if (cpu_socket(source->config.fs, cpus[i]) == unit->socket && die++ == unit->die)
                return cpus[i];
    return source->cpus.n ? source->cpus.at[0] : 0;
}

int perf_unit_events(struct perf_source *source, const struct unit *unit, enum group group,
                     int channel, struct encoded_event *events, uint32_t *mask, int *cpu,
                     struct verdict *why)
{
    const struct group_desc *desc = &group_descs[group];
    uint32_t found = 0, required = desc->required;
    int clockticks = group_index(group, ROLE_IMC_CLOCKTICKS);

    for (size_t i = 0; i < desc->n; i++) {
        const char *text = channel < 0 || (channel > 0 && file_speaks(source, group))
                               ? NULL
                               : unit_text(source, desc->roles[i], channel);
        if (!text)
            continue;
        int err = encode_unit_event(source, unit, text, &events[i], why);
        if (err)
            return err;
        found |= UINT32_C(1) << i;
    }
    /* What is counted once per channel stands in pseudo-channel 0 only: the others may lack it,
     * but a clock alone is no channel. */
    if (channel > 0)
        required = 0;
    if ((found & required) != required ||
        !(found & ~(clockticks < 0 ? 0 : UINT32_C(1) << clockticks))) {
        if (channel > 0)
            verdict_set(why, REASON_NO_DEVICE, "group %s has no channel %d", desc->name, channel);
        else
            verdict_set(why, REASON_UNSUPPORTED_CPU,
                        "group %s: no verified memory-controller events for this CPU; "
                        "--events.file can name them",
                        desc->name);
        return -ENODEV;
    }
    *mask = found;
    *cpu = unit_cpu(source, unit);
    return 0;
}

void perf_unit_events_release(struct encoded_event *events)
{
    for (size_t i = 0; i < GROUP_MAX_ROLES; i++)
        encoded_event_release(&events[i]);
}

int perf_unit_check(struct perf_source *source, enum group group, struct verdict *why)
{
    struct encoded_event encoded[GROUP_MAX_ROLES] = {{.path = NULL}};
    const struct encoded_event *events[GROUP_MAX_ROLES];
    struct scope scope = {.kind = SCOPE_UNIT, .key = "check", .cgroup_fd = -1};
    struct perf_target target = {.pid = -1};
    struct unit unit;
    int fds[GROUP_MAX_ROLES];
    uint32_t mask;
    size_t n, failed = 0;

    int err = perf_units(source->config.fs, &unit, 1, &n);
    if (!err && n == 0)
        err = -ENODEV;
    if (err) {
        verdict_set(why, REASON_NO_DEVICE,
                    "no memory-controller counters (%s<n> in %s/%s): virtual machines hide them, "
                    "and on bare metal they come with the module intel_uncore",
                    imc_prefix, source->config.fs->path[FSROOT_SYS], devices);
        return err;
    }
    err = perf_unit_events(source, &unit, group, 0, encoded, &mask, &target.cpu, why);
    if (!err) {
        for (size_t i = 0; i < GROUP_MAX_ROLES; i++)
            events[i] = &encoded[i];
        err = perf_events_open(source, group, mask, events, &target, fds, &failed);
        perf_events_close(source, group, fds);
        if (err)
            perf_explain_open(source, &scope, group, events, failed, err, why);
        else
            source->groups[group].roles = mask;
    }
    perf_unit_events_release(encoded);
    return err;
}
