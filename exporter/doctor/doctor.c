/* From verdicts and facts to ten lines. */
#include "exporter/doctor/doctor.h"

#include <stdarg.h>
#include <string.h>

static void say(struct doctor_line *line, enum doctor_can can, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(struct doctor_line *line, enum doctor_can can, const char *format, ...)
{
    va_list args;
    line->can = can;
    va_start(args, format);
    vsnprintf(line->why, sizeof line->why, format, args);
    va_end(args);
}

static void advise(struct doctor_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void advise(struct doctor_line *line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(line->remedy, sizeof line->remedy, format, args);
    va_end(args);
    if (line->can == DOCTOR_NO)
        line->can = DOCTOR_REMEDY;
}

static struct doctor_line *add(struct doctor_report *report, const char *name, const char *what)
{
    struct doctor_line *line = &report->lines[report->n++];
    *line = (struct doctor_line){.name = name, .what = what};
    return line;
}

/* What opens a perf event: SYS_ADMIN always, PERFMON unless a distribution's setting is above 2. */
static void advise_permission(struct doctor_line *line, const struct doctor_host *host)
{
    bool beyond = host->paranoid != DOCTOR_HOST_UNKNOWN && host->paranoid > 2;
    if (host->sys_admin || (host->perfmon && !beyond)) {
        if (host->apparmor[0])
            advise(line, "allow perf_event_open in the AppArmor profile %s", host->apparmor);
        else
            advise(line, "allow perf_event_open in the container's seccomp profile");
    } else if (host->perfmon) {
        advise(line, "sysctl kernel.perf_event_paranoid=2");
    } else {
        advise(line, "grant CAP_PERFMON: run it as root, or by its unit or chart%s",
               beyond ? ", and sysctl kernel.perf_event_paranoid=2" : "");
    }
}

/* In few words, where the verdict's are for somebody who looks for the one event that failed. */
static const char *words(const struct doctor_collector *c, const struct doctor_host *host)
{
    bool guest = host->guest == DOCTOR_PRESENT;
    switch (c->verdict.reason) {
    case REASON_DISABLED:
        return "by default";
    case REASON_NO_PMU:
        return guest ? "the hypervisor hides the hardware counters; other instance types show them"
                     : "no hardware counters are shown";
    case REASON_NO_DEVICE:
        return guest ? "not in this virtual machine" : c->verdict.words;
    default:
        return c->verdict.words;
    }
}

static void examine_collector(struct doctor_report *report, const struct doctor_host *host,
                              const struct doctor_collector *c)
{
    struct doctor_line *line = add(report, c->name, c->summary);
    if (c->available && c->verdict.reason == REASON_OK) {
        say(line, DOCTOR_YES, "%s", c->verdict.words);
        return;
    }
    say(line, DOCTOR_NO, "%s: %s", reason_name(c->verdict.reason), words(c, host));
    switch (c->verdict.reason) {
    case REASON_DISABLED:
        line->can = DOCTOR_OFF;
        advise(line, "--collector.%s", c->name);
        break;
    case REASON_NO_PERMISSION:
        advise_permission(line, host);
        break;
    case REASON_NMI_WATCHDOG:
        advise(line, "sysctl kernel.nmi_watchdog=0");
        break;
    case REASON_FD_LIMIT:
        advise(line, "raise LimitNOFILE= of the unit (ulimit -n)");
        break;
    default: /* nothing that is done on this machine changes it */
        break;
    }
}

static bool has_no_device(const struct doctor_collector *c)
{
    return c->automatic && !c->available && c->verdict.reason == REASON_NO_DEVICE;
}

/* One line for all; a module may bring the counters of controllers to bare metal. */
static void examine_absent(struct doctor_report *report, const struct doctor_host *host,
                           const struct doctor_seen *seen)
{
    char names[160] = "";
    size_t len = 0;
    for (size_t i = 0; i < seen->n_collectors && i < DOCTOR_COLLECTORS; i++)
        if (has_no_device(&seen->collectors[i]) && len < sizeof names)
            len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", len ? ", " : "",
                                    seen->collectors[i].name);
    if (!len)
        return;
    struct doctor_line *line = add(report, "absent", "hardware that is not on every machine");
    say(line, DOCTOR_NO, "none for %s", names);
    if (host->guest == DOCTOR_PRESENT || host->uncore != DOCTOR_ABSENT)
        return;
    if (strstr(seen->machine->cpu_model, "AMD"))
        advise(line, "modprobe amd_uncore");
    else if (strstr(seen->machine->cpu_model, "Intel"))
        advise(line, "modprobe intel_uncore");
}

static void examine_containers(struct doctor_report *report, const struct doctor_host *host,
                               const struct doctor_seen *seen)
{
    struct doctor_line *line = add(report, "containers", "what is counted");
    const char *hierarchy = host->cgroup_v2 == DOCTOR_PRESENT  ? "cgroup v2"
                            : host->hybrid == DOCTOR_PRESENT   ? "cgroup v1 and v2"
                            : host->cgroup_v2 == DOCTOR_ABSENT ? "cgroup v1"
                                                               : "cgroups";
    say(line, seen->containers ? DOCTOR_YES : DOCTOR_NO, "%zu found, %s%s", seen->containers,
        hierarchy, seen->containers ? "" : "; --containers.all-cgroups takes services for some");
}

static void examine_pressure(struct doctor_report *report, const struct doctor_host *host)
{
    struct doctor_line *line =
        add(report, "pressure", "who waits for a CPU, for free memory, for disks");
    if (host->psi != DOCTOR_ABSENT) {
        say(line, DOCTOR_YES, "%s",
            host->psi == DOCTOR_PRESENT ? "" : "perhaps: /proc/pressure cannot be read");
        return;
    }
    say(line, DOCTOR_NO, "the kernel keeps no pressure (PSI)");
    advise(line, "add psi=1 to the kernel's command line, and restart");
}

/* What is counted is a cgroup's, and needs no process. Samples need their own capability, by which
 * they see all of them. */
static void examine_processes(struct doctor_report *report, const struct doctor_host *host)
{
    if (host->hidden != DOCTOR_PRESENT || host->ptrace)
        return;
    /* Where the kernel keeps it of cgroups, nobody asks each task. */
    bool pressure = host->psi == DOCTOR_PRESENT && host->cgroup_v2 == DOCTOR_PRESENT;
    struct doctor_line *line = add(report, "processes", "what single processes do");
    say(line, DOCTOR_NO, "others' are hidden (hidepid of /proc), which takes no number away%s",
        pressure ? "" : " but how long tasks wait for a CPU where cgroups have no pressure");
    if (!pressure)
        advise(line, "grant CAP_SYS_PTRACE, or mount /proc without hidepid");
}

static void examine_bpf(struct doctor_report *report, const struct doctor_host *host,
                        const struct doctor_seen *seen)
{
    struct doctor_line *line = add(report, "bpf", "counting for few descriptors");
    if (strcmp(seen->source, "bpf") == 0) {
        say(line, DOCTOR_YES, "it counts now");
    } else if (strcmp(host->lockdown, "confidentiality") == 0) {
        say(line, DOCTOR_NO, "the kernel is locked down (confidentiality)");
    } else if (host->btf == DOCTOR_ABSENT) {
        say(line, DOCTOR_NO, "the kernel does not describe its types");
        advise(line, "a kernel with CONFIG_DEBUG_INFO_BTF");
    } else if (!host->bpf && !host->sys_admin) {
        say(line, DOCTOR_NO, "not permitted");
        advise(line, "grant CAP_BPF and CAP_PERFMON (chart: counters.bpf=true)");
    } else {
        say(line, DOCTOR_YES, "possible; %s counts%s%s", seen->source, seen->source_why ? ": " : "",
            seen->source_why ? seen->source_why : "");
    }
}

void doctor_examine(const struct doctor_host *host, const struct doctor_seen *seen,
                    struct doctor_report *out)
{
    out->n = 0;
    examine_containers(out, host, seen);
    for (size_t i = 0; i < seen->n_collectors && i < DOCTOR_COLLECTORS; i++)
        if (!has_no_device(&seen->collectors[i]))
            examine_collector(out, host, &seen->collectors[i]);
    examine_absent(out, host, seen);
    examine_pressure(out, host);
    examine_processes(out, host);
    examine_bpf(out, host, seen);
}

int doctor_status(const struct doctor_report *report)
{
    for (size_t i = 0; i < report->n; i++)
        if (report->lines[i].can == DOCTOR_REMEDY)
            return 3;
    return 0;
}
