/* systemd's readiness protocol, where NOTIFY_SOCKET is set; otherwise nothing happens. */
#ifndef IE_SERVICE_NOTIFY_H
#define IE_SERVICE_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

/* 'state' is e.g. "READY=1". 0 (also without a socket), or -errno. */
int notify_systemd(const char *state);

/*
 * READY=1. Where a watchdog is set (WATCHDOG_USEC), also says how long the exporter may be silent:
 * 'silence_us' if that is longer than what it was set to; 0 switches it off. Same result.
 */
int notify_ready(uint64_t silence_us);

/* For a process that may open no socket later on: a connected socket, which the caller closes, and
 * the text to send. -ENOENT: NOTIFY_SOCKET is not set; other -errno. */
int notify_open(void);
enum { NOTIFY_READY_MAX = 64 };
void notify_ready_words(uint64_t silence_us, char *out, size_t out_size);

#endif
