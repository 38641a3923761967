/*
 * --doctor: what this machine can tell and what not, why, and the one thing to do that would change
 * it.
 *
 * The collectors have said what works (their verdicts). What the machine allows is read beside
 * that, before privileges are given back, so that a remedy fits: who has CAP_SYS_ADMIN need not
 * lower a sysctl. Pure but for doctor_host_read().
 */
#ifndef IE_DOCTOR_DOCTOR_H
#define IE_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "exporter/base/fsroot.h"
#include "exporter/base/reason.h"
#include "exporter/source/machine.h"

enum doctor_known { DOCTOR_UNKNOWN = -1, DOCTOR_ABSENT, DOCTOR_PRESENT };

/* What the kernel and this process's privileges allow. */
struct doctor_host {
    char kernel[64];             /* its release */
    int paranoid;                /* kernel.perf_event_paranoid; DOCTOR_HOST_UNKNOWN */
    enum doctor_known watchdog;  /* the NMI watchdog is on */
    enum doctor_known psi;       /* pressure is kept (/proc/pressure) */
    enum doctor_known btf;       /* the kernel describes its types, which BPF takes */
    enum doctor_known cgroup_v2; /* and nothing else */
    enum doctor_known hybrid;    /* v2 beside v1, where systemd mounts it */
    enum doctor_known guest;     /* a hypervisor is under this kernel */
    enum doctor_known uncore;    /* some PMU outside the cores is shown */
    enum doctor_known hidden;    /* processes of others are, without CAP_SYS_PTRACE (hidepid) */
    bool sys_admin, perfmon, bpf, ptrace;
    char lockdown[24]; /* "none", "integrity", "confidentiality"; "" where it is not known */
    char apparmor[64]; /* the profile that confines this process; "" for none */
};

enum { DOCTOR_HOST_UNKNOWN = 99 };

/* Files that cannot be read leave their facts unknown. */
void doctor_host_read(const struct fsroot *fs, struct doctor_host *out);

struct doctor_collector {
    const char *name, *summary;
    bool automatic; /* on where its hardware is */
    bool available;
    struct verdict verdict;
};

/* What two ticks have shown; all is borrowed. */
struct doctor_seen {
    const struct machine *machine;
    const char *source, *source_why; /* as in /api/v1/status; source_why may be NULL */
    size_t containers;
    const struct doctor_collector *collectors;
    size_t n_collectors;
};

enum doctor_can { DOCTOR_YES, DOCTOR_NO, DOCTOR_REMEDY, DOCTOR_OFF };

/* One line: REMEDY is a no that 'remedy' would change; OFF what a flag would switch on. */
struct doctor_line {
    const char *name; /* a collector's, or "containers", "pressure", "processes", "bpf", "absent" */
    const char *what; /* what it tells, in words */
    enum doctor_can can;
    char why[400];
    char remedy[160]; /* a command where one does it, otherwise what to ask for; "" for none */
};

enum { DOCTOR_COLLECTORS = 16, DOCTOR_LINES = DOCTOR_COLLECTORS + 5 };

struct doctor_report {
    struct doctor_line lines[DOCTOR_LINES];
    size_t n;
};

/* Of the collectors those that can do nothing here and are on only where they can are one line. At
 * most DOCTOR_COLLECTORS are looked at. */
void doctor_examine(const struct doctor_host *host, const struct doctor_seen *seen,
                    struct doctor_report *out);

/* As a table of one line each, or as a JSON document. doctor_status(), or -ENOMEM or -EIO. */
int doctor_print(const struct doctor_host *host, const struct doctor_seen *seen, bool json,
                 FILE *file);

/* For provisioning: 0, or 3 while a remedy is known for something that does not work. */
int doctor_status(const struct doctor_report *report);

#endif
