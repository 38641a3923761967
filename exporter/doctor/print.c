/* The ten lines, for people and for programs. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/base/textbuf.h"
#include "exporter/doctor/doctor.h"

static const char *const words_of[] = {
    [DOCTOR_YES] = "yes", [DOCTOR_NO] = "no", [DOCTOR_REMEDY] = "no", [DOCTOR_OFF] = "off"};

static void print_lines(const struct doctor_host *host, const struct doctor_seen *seen,
                        const struct doctor_report *report, struct textbuf *out)
{
    textbuf_plain(out, seen->machine->cpu_model[0] ? seen->machine->cpu_model : "unknown CPU");
    textbuf_printf(out, ", %d CPUs, Linux %s%s\n", seen->machine->cpus, host->kernel,
                   host->guest == DOCTOR_PRESENT ? ", in a virtual machine" : "");
    for (size_t i = 0; i < report->n; i++) {
        const struct doctor_line *line = &report->lines[i];
        textbuf_printf(out, "%-3s  %-13s  %s", words_of[line->can], line->name, line->what);
        textbuf_str(out, line->why[0] ? ": " : "");
        textbuf_plain(out, line->why);
        if (line->remedy[0]) {
            textbuf_str(out, "  -> ");
            textbuf_plain(out, line->remedy);
        }
        textbuf_char(out, '\n');
    }
}

static json_t *fact(enum doctor_known known)
{
    return known == DOCTOR_UNKNOWN ? json_null() : json_boolean(known == DOCTOR_PRESENT);
}

static json_t *text_or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *host_json(const struct doctor_host *host)
{
    json_t *paranoid =
        host->paranoid == DOCTOR_HOST_UNKNOWN ? json_null() : json_integer(host->paranoid);
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:b, s:b, s:b, s:b}}",
                     "kernel", host->kernel, "perf_event_paranoid", paranoid, "nmi_watchdog",
                     fact(host->watchdog), "psi", fact(host->psi), "btf", fact(host->btf),
                     "cgroup_v2", fact(host->cgroup_v2), "virtual_machine", fact(host->guest),
                     "processes_hidden", fact(host->hidden), "lockdown",
                     text_or_null(host->lockdown), "apparmor", text_or_null(host->apparmor),
                     "capabilities", "sys_admin", host->sys_admin, "perfmon", host->perfmon, "bpf",
                     host->bpf, "sys_ptrace", host->ptrace);
}

static int print_json(const struct doctor_host *host, const struct doctor_seen *seen,
                      const struct doctor_report *report, struct textbuf *out)
{
    json_t *list = json_object();
    for (size_t i = 0; i < report->n; i++) {
        const struct doctor_line *line = &report->lines[i];
        json_object_set_new(list, line->name,
                            json_pack("{s:b, s:b, s:s, s:s, s:o}", "works", line->can == DOCTOR_YES,
                                      "off", line->can == DOCTOR_OFF, "tells", line->what, "why",
                                      line->why, "remedy", text_or_null(line->remedy)));
    }
    json_t *root = json_pack("{s:o, s:o, s:s, s:i, s:o}", "cpu_model",
                             text_or_null(seen->machine->cpu_model), "host", host_json(host),
                             "source", seen->source, "status", doctor_status(report), "can", list);
    char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
    json_decref(root);
    if (!text)
        return -ENOMEM;
    textbuf_str(out, text);
    textbuf_char(out, '\n');
    free(text);
    return 0;
}

int doctor_print(const struct doctor_host *host, const struct doctor_seen *seen, bool json,
                 FILE *file)
{
    struct doctor_report report;
    struct textbuf text = TEXTBUF_INIT;
    doctor_examine(host, seen, &report);
    int err = 0;
    if (json)
        err = print_json(host, seen, &report, &text);
    else
        print_lines(host, seen, &report, &text);
    if (!err)
        err = textbuf_finish(&text);
    if (!err && (fwrite(text.data, 1, text.len, file) != text.len || fflush(file) != 0))
        err = -EIO;
    textbuf_release(&text);
    return err ? err : doctor_status(&report);
}
