/* systemd's readiness protocol, where NOTIFY_SOCKET is set; otherwise nothing happens. */
#ifndef IE_EXPORTER_NOTIFY_H
#define IE_EXPORTER_NOTIFY_H

/* 'state' is e.g. "READY=1". 0 (also without a socket), or -errno. */
int notify_systemd(const char *state);

#endif
