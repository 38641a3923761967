#include "exporter/source/perf/unit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/kernel_text.h"
#include "exporter/source/perf/detect.h"
#include "exporter/source/perf/explain.h"

static const char devices[] = "bus/event_source/devices";
/* A machine has one kind: Intel's, or AMD's from Linux 6.7 on. */
static const char *const imc_prefixes[] = {"uncore_imc_", "amd_umc_"};
enum { IMC_PREFIXES = sizeof imc_prefixes / sizeof *imc_prefixes, IMC_NAME = 32 };
static const char any_imc[] = "pmu:NAME/";
static const char plus[] = " + ";

enum { MASK_CPUS = 128, MAX_IMCS = 1024, UNIT_TEXT = 256 };

static bool is_l3(const char *kind)
{
    return kind && strcmp(kind, "l3") == 0;
}

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

/* ---- AMD's L3s that a PMU of their own counts: one of each core complex ---- */

enum { MOST_L3 = 4095, PATH = 96 };

/* No such PMU is none, and no error. */
static int l3_cpus(const struct fsroot *fs, int cpus[MASK_CPUS], size_t *n)
{
    *n = 0;
    int err = pmu_cpus(fs, "amd_l3", cpus, n);
    return err == -ENOENT ? 0 : err;
}

/* As resctrl names its domains. Kernels that give no id: the place in the cpumask. */
static int number_of(const struct fsroot *fs, int cpu, size_t at)
{
    char path[PATH];
    uint64_t id;
    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cache/index3/id", cpu);
    bool known = fsroot_read_u64(fs, FSROOT_SYS, path, &id) == 0 && id <= MOST_L3;
    return known ? (int)id : (int)at;
}

/* "32768K" */
static uint64_t bytes_of(const struct fsroot *fs, int cpu)
{
    char path[PATH], text[32], *end;
    snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cache/index3/size", cpu);
    if (fsroot_read(fs, FSROOT_SYS, path, text, sizeof text, NULL) != 0)
        return 0;
    unsigned long long size = strtoull(text, &end, 10);
    bool plausible = end > text && size <= UINT64_C(1) << 32;
    return plausible && strcmp(end, "K\n") == 0   ? size << 10
           : plausible && strcmp(end, "M\n") == 0 ? size << 20
                                                  : 0;
}

/* One unit of kind "l3" per CPU of the PMU's cpumask, in that order. Stores up to 'cap' of them,
 * and their full number in *n. 0 or -errno; no such PMU is none, and no error. */
static int perf_l3s(const struct fsroot *fs, struct source_unit *out, size_t cap, size_t *n)
{
    int cpus[MASK_CPUS];
    size_t found;
    int err = l3_cpus(fs, cpus, &found);
    if (err)
        return err;
    for (size_t i = 0; i < found && i < cap; i++) {
        struct source_unit *unit = &out[i];
        *unit = (struct source_unit){.kind = "l3", .imc = number_of(fs, cpus[i], i)};
        unit->socket = cpu_socket(fs, cpus[i]);
        unit->cache_bytes = bytes_of(fs, cpus[i]);
        snprintf(unit->key, sizeof unit->key, "socket%d.l3-%d", unit->socket, unit->imc);
    }
    *n = found;
    return 0;
}

/* The CPU to open the L3's events on; -1: there is no such L3. */
static int perf_l3_cpu(const struct fsroot *fs, int l3)
{
    int cpus[MASK_CPUS];
    size_t n;
    if (l3_cpus(fs, cpus, &n) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (number_of(fs, cpus[i], i) == l3)
            return cpus[i];
    return -1;
}

/* ---- memory controllers ---- */

/* uncore_imc_3 -> 3; -1 for other devices, uncore_imc_free_running_0 among them. */
static int imc_number(const char *name)
{
    for (int i = 0; i < IMC_PREFIXES; i++) {
        char *end;
        size_t prefix = strlen(imc_prefixes[i]);
        if (strncmp(name, imc_prefixes[i], prefix) != 0 || name[prefix] < '0' || name[prefix] > '9')
            continue;
        unsigned long n = strtoul(name + prefix, &end, 10);
        return *end || n >= MAX_IMCS ? -1 : (int)n;
    }
    return -1;
}

/* The PMU of a controller, by its number. */
static void imc_name(const struct fsroot *fs, int imc, char name[IMC_NAME])
{
    for (int i = IMC_PREFIXES - 1; i >= 0; i--) {
        char path[96];
        uint64_t type;
        snprintf(name, IMC_NAME, "%s%d", imc_prefixes[i], imc);
        snprintf(path, sizeof path, "%s/%s/type", devices, name);
        if (fsroot_read_u64(fs, FSROOT_SYS, path, &type) == 0)
            return;
    }
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
static void place_unit(const struct fsroot *fs, const int *cpus, size_t at,
                       struct source_unit *unit)
{
    unit->socket = cpu_socket(fs, cpus[at]);
    for (size_t i = 0; i < at; i++)
        unit->die += cpu_socket(fs, cpus[i]) == unit->socket;
    char die[16] = "";
    if (unit->die > 0)
        snprintf(die, sizeof die, ".die%d", unit->die);
    snprintf(unit->key, sizeof unit->key, "socket%d%s.imc%d", unit->socket, die, unit->imc);
}

static int find_controllers(const struct fsroot *fs, struct source_unit *out, size_t cap, size_t *n)
{
    bool present[MAX_IMCS] = {false};
    size_t found = 0;
    int err = find_imcs(fs, present);
    if (err)
        return err;
    for (int imc = 0; imc < MAX_IMCS; imc++) {
        char name[IMC_NAME];
        int cpus[MASK_CPUS];
        size_t n_cpus;
        if (!present[imc])
            continue;
        imc_name(fs, imc, name);
        if (pmu_cpus(fs, name, cpus, &n_cpus))
            continue;
        for (size_t i = 0; i < n_cpus; i++, found++) {
            if (found >= cap)
                continue;
            out[found] = (struct source_unit){.kind = "imc", .imc = imc};
            place_unit(fs, cpus, i, &out[found]);
        }
    }
    *n = found;
    return 0;
}

int perf_units(const struct fsroot *fs, struct source_unit *out, size_t cap, size_t *n)
{
    size_t controllers, l3s;
    int err = find_controllers(fs, out, cap, &controllers);
    if (err)
        return err;
    size_t used = controllers < cap ? controllers : cap;
    err = perf_l3s(fs, out + used, cap - used, &l3s);
    if (!err)
        *n = controllers + l3s;
    return err;
}

/* The user's file knows one channel: if it names any event of the group, it replaces all of the
 * table's. */
static bool file_speaks(const struct perf_context *context, enum group group)
{
    for (size_t i = 0; i < perf_n_roles(group) && context->file; i++)
        if (context->file->event[group_descs[group].roles[i]])
            return true;
    return false;
}

static const char *unit_text(const struct perf_context *context, enum role role, int channel)
{
    if (context->file && context->file->event[role])
        return channel == 0 ? context->file->event[role] : NULL;
    return context->table && channel < context->table->channels
               ? context->table->uncore_event[channel][role]
               : NULL;
}

static int encode_unit_event(const struct perf_context *context, const struct source_unit *unit,
                             const char *text, struct encoded_event *out, struct verdict *why)
{
    char filled[UNIT_TEXT];
    size_t len = sizeof any_imc - 1;
    if (strncmp(text, any_imc, len) == 0) {
        char name[IMC_NAME];
        imc_name(context->fs, unit->imc, name);
        int n = snprintf(filled, sizeof filled, "pmu:%s/%s", name, text + len);
        if (n < 0 || (size_t)n >= sizeof filled) {
            verdict_set(why, REASON_UNSUPPORTED_CPU, "event \"%.100s...\" is too long", text);
            return -EINVAL;
        }
        text = filled;
    }
    return encode_event(context->fs, text, out, why);
}

/* Event texts between " + " are a sum: the first is the role's own, the others its summands. */
static int encode_unit_role(struct perf_unit_events *events, const struct perf_context *context,
                            const struct source_unit *unit, enum group group, size_t role,
                            const char *text, struct verdict *why)
{
    size_t slot = role;
    for (const char *end; text; text = end ? end + sizeof plus - 1 : NULL) {
        char one[UNIT_TEXT];
        end = strstr(text, plus);
        size_t len = end ? (size_t)(end - text) : strlen(text);
        if (len >= sizeof one || slot >= perf_n_slots(group)) {
            verdict_set(why, REASON_UNSUPPORTED_CPU, "event \"%.100s...\": %s", text,
                        len < sizeof one ? "a group has room for two summands" : "is too long");
            return -EINVAL;
        }
        memcpy(one, text, len);
        one[len] = '\0';
        int err = encode_unit_event(context, unit, one, &events->event[slot], why);
        if (err)
            return err;
        events->mask |= UINT32_C(1) << slot;
        if (slot != role)
            events->summand_of[events->summands++] = role;
        slot = perf_n_roles(group) + events->summands;
    }
    return 0;
}

/* The CPU of the unit's die in the PMU's cpumask; for other kinds of events any that is online. */
static int unit_cpu(const struct perf_context *context, const struct perf_cpus *online,
                    const struct source_unit *unit)
{
    char name[IMC_NAME];
    int cpus[MASK_CPUS], die = 0;
    size_t n;
    if (is_l3(unit->kind)) {
        int cpu = perf_l3_cpu(context->fs, unit->imc);
        return cpu >= 0 ? cpu : online->n ? online->at[0] : 0;
    }
    imc_name(context->fs, unit->imc, name);
    if (pmu_cpus(context->fs, name, cpus, &n) == 0)
        for (size_t i = 0; i < n; i++)
            if (cpu_socket(context->fs, cpus[i]) == unit->socket && die++ == unit->die)
                return cpus[i];
    return online->n ? online->at[0] : 0;
}

int perf_unit_events_init(struct perf_unit_events *events, const struct perf_context *context,
                          const struct perf_cpus *cpus, const struct source_unit *unit,
                          enum group group, int channel, struct verdict *why)
{
    const struct group_desc *desc = &group_descs[group];
    *events = (struct perf_unit_events){.mask = 0};
    for (size_t i = 0; i < desc->n; i++) {
        const char *text = channel < 0 || (channel > 0 && file_speaks(context, group))
                               ? NULL
                               : unit_text(context, desc->roles[i], channel);
        if (!text)
            continue;
        int err = encode_unit_role(events, context, unit, group, i, text, why);
        if (err)
            return err;
    }
    if ((events->mask & desc->required) != desc->required) {
        if (channel > 0)
            verdict_set(why, REASON_NO_DEVICE, "group %s has no channel %d", desc->name, channel);
        else
            verdict_set(why, REASON_UNSUPPORTED_CPU,
                        "group %s: none of its events is verified for the %s of this CPU; "
                        "--events.file can name them",
                        desc->name, is_l3(unit->kind) ? "L3" : "memory controllers");
        return -ENODEV;
    }
    events->cpu = unit_cpu(context, cpus, unit);
    return 0;
}

void perf_unit_events_release(struct perf_unit_events *events)
{
    for (size_t i = 0; i < GROUP_MAX_ROLES; i++)
        encoded_event_release(&events->event[i]);
}

void perf_unit_events_of(const struct perf_unit_events *events,
                         const struct encoded_event *by_slot[GROUP_MAX_ROLES])
{
    for (size_t i = 0; i < GROUP_MAX_ROLES; i++)
        by_slot[i] = &events->event[i];
}

static int try_unit(struct perf_context *context, enum group group,
                    const struct perf_unit_events *encoded, struct verdict *why)
{
    const struct encoded_event *events[GROUP_MAX_ROLES];
    const struct scope scope = {.kind = SCOPE_UNIT, .key = "check", .cgroup_fd = -1};
    const struct perf_target target = {.pid = -1, .cpu = encoded->cpu};
    int fds[GROUP_MAX_ROLES];
    size_t failed = 0;

    perf_unit_events_of(encoded, events);
    int err = perf_events_open(context, group, encoded->mask, events, &target, fds, &failed);
    perf_events_close(context, group, fds);
    if (err && failed >= perf_n_roles(group))
        failed = encoded->summand_of[failed - perf_n_roles(group)];
    if (err)
        perf_explain_open(context, &scope, group, events, failed, err, why);
    return err;
}

/* The first unit of the kind that the group is counted in. */
static int find_unit(const struct perf_context *context, enum group group, struct source_unit *unit,
                     struct verdict *why)
{
    const char *sys = context->fs->path[FSROOT_SYS];
    bool l3 = is_l3(group_descs[group].unit);
    size_t n;
    int err = l3 ? perf_l3s(context->fs, unit, 1, &n) : find_controllers(context->fs, unit, 1, &n);
    if (!err && n == 0)
        err = -ENODEV;
    if (err && l3)
        verdict_set(why, REASON_NO_DEVICE,
                    "no counters of an L3 (amd_l3 in %s/%s): AMD's CPUs have them, on bare metal, "
                    "by the kernel module amd_uncore; virtual machines hide them",
                    sys, devices);
    else if (err)
        verdict_set(why, REASON_NO_DEVICE,
                    "no memory-controller counters (%s<n> or %s<n> in %s/%s): virtual machines "
                    "hide them; on bare metal, the kernel modules intel_uncore and, from Linux 6.7 "
                    "on, amd_uncore provide them",
                    imc_prefixes[0], imc_prefixes[1], sys, devices);
    return err;
}

int perf_unit_check(struct perf_context *context, const struct perf_cpus *cpus, enum group group,
                    struct verdict *why)
{
    struct perf_unit_events encoded;
    struct source_unit unit;

    int err = find_unit(context, group, &unit, why);
    if (err)
        return err;
    if (group == GROUP_PMM_RPQ && context->no_pmem && !file_speaks(context, group)) {
        verdict_set(why, REASON_NO_DEVICE,
                    "no persistent memory modules (nmem<n> in %s/bus/nd/devices), so no queue of "
                    "theirs; where they are only hidden, --events.file can name the events",
                    context->fs->path[FSROOT_SYS]);
        return -ENODEV;
    }
    err = perf_unit_events_init(&encoded, context, cpus, &unit, group, 0, why);
    if (!err)
        err = try_unit(context, group, &encoded, why);
    perf_unit_events_release(&encoded);
    return err;
}
