/*
 * One whole exporter: sources, containers, collectors, store, pages, server, loop.
 *
 * Holds no state outside its struct: two of them fit in one process.
 */
#ifndef IE_DAEMON_EXPORTER_H
#define IE_DAEMON_EXPORTER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "exporter/base/log.h"
#include "exporter/base/textbuf.h"
#include "exporter/daemon/plan.h"
#include "exporter/doctor/doctor.h"
#include "exporter/front/front.h"

struct exporter;

/*
 * Builds everything and publishes for the first time; with the flag --once no socket is opened.
 * 'plan' and 'log' are borrowed for its life. 'signals' (may be NULL) are those that it answers
 * while it runs: SIGHUP reloads, any other ends it; the caller has blocked them in all threads.
 * 'front' (may be NULL) is borrowed too, and serves in a process of its own; without one this
 * process serves.
 * -EINVAL for what the user got wrong (a file, a value), otherwise -errno; the message is in error.
 */
int exporter_new(const struct plan *plan, const struct log *log, const sigset_t *signals,
                 struct front *front, struct exporter **out, char *error, size_t error_size);
/* Accepts NULL. 0, or -ETIMEDOUT when a thread does not end, for a stranger's process keeps it
 * waiting: all files are written and the server has ended; the rest stays as it is, with what was
 * borrowed, and the process is to be left. */
int exporter_free(struct exporter *exporter);

/* Runs until exporter_stop or a signal. 0, or -errno with the message in error. */
int exporter_run(struct exporter *exporter, char *error, size_t error_size);
/* Any thread. */
void exporter_stop(struct exporter *exporter);

/* --once: two ticks live, all ticks of a recording; then text 0.0.4 on 'file'. */
int exporter_once(struct exporter *exporter, FILE *file, char *error, size_t error_size);

/* A tick of a recording; 'document' is what /api/v1/containers would say after it. 0, or -errno,
 * which ends the replay. */
typedef int exporter_told(void *context, const struct machine *machine, const struct tick *tick,
                          const struct textbuf *document);
/* All ticks of a recording, one after the other, after exporter_new() with the flag --once. 0, or
 * -errno, with the message in error where it is not the callback's. */
int exporter_replay(struct exporter *exporter, exporter_told *told, void *context, char *error,
                    size_t error_size);

/* --doctor, after exporter_new() with the flag: two ticks, then what doctor_print() says of them.
 * 'host' is as doctor_host_read() found it before privileges were dropped. Its status, or -errno
 * with the message in error. */
int exporter_doctor(struct exporter *exporter, const struct doctor_host *host, FILE *file,
                    char *error, size_t error_size);

/* Whether it goes on using a BPF program. */
bool exporter_uses_bpf(const struct exporter *exporter);

/* The port of the i-th listener; 0 when there is none. */
uint16_t exporter_port(const struct exporter *exporter, size_t i);

#endif
