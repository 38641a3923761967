/*
 * What a container runtime's health check asks: whether a server on this machine or elsewhere is
 * well. The only client here; a program of its own run, with no threads.
 */
#ifndef IE_HTTP_HEALTHCHECK_H
#define IE_HTTP_HEALTHCHECK_H

#include <stdbool.h>

/*
 * Asks the server at "ADDR:PORT" (http_parse_listen; no address: this machine) or "unix:PATH" for
 * /-/healthy, and waits for a few seconds at most. 'connects': whether it accepts a connection is
 * enough, for a server that speaks TLS or asks for a password. 0, -EPROTO for an answer other than
 * 200, or another -errno.
 */
int healthcheck(const char *listen, bool connects);

#endif
