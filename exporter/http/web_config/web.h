/*
 * --web.config.file in use: the file as it is now, TLS sessions, passwords, the rate limit. Knows
 * no HTTP server, and nothing of the exporter: it needs the files that the config names, and no
 * other right.
 *
 * The file and those that it names are looked at for each connection and each request, and read
 * again when they changed. Whether there is TLS and what the rate limit is stays as it was at the
 * start. Any thread.
 */
#ifndef IE_HTTP_WEB_CONFIG_WEB_H
#define IE_HTTP_WEB_CONFIG_WEB_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdbool.h>
#include <stdint.h>

#include "exporter/base/log.h"
#include "exporter/http/web_config/credentials.h"
#include "exporter/http/web_config/passwords.h"

/* A token bucket: 'burst' tokens at most, one more in each interval. Pure; one thread at a time. */

struct web_limit {
    uint64_t interval_ns; /* 0: no limit */
    uint64_t burst;       /* at least 1 */
    uint64_t full_ns;     /* when the bucket will be full again */
};

/* Takes a token, if there is one. */
bool web_limit_take(struct web_limit *limit, uint64_t now_ns);

struct web;

/* Refuses a file that is wrong or cannot be read: -EINVAL with one line in error. */
int web_new(const char *path, const struct passwords_ops *ops, const struct log *log,
            struct web **out, char *error, size_t error_size);
/* After all sessions and requests. Accepts NULL. */
void web_free(struct web *web);

bool web_has_tls(const struct web *web);
/* The rate limit: whether another request is let in. */
bool web_admits(struct web *web);
/* The config of now; NULL while the file is wrong, which was logged. To be unref'd. */
struct web_snapshot *web_snapshot_get(struct web *web);
struct passwords *web_passwords(struct web *web);

/* Before a session's handshake: the credentials of now. NULL: there are none, and the session must
 * not get through; web_no_certificate() sees to that. To be unref'd after the session's end. */
struct web_credentials *web_session_begin(struct web *web, gnutls_session_t session);
/* For credentials of the server's own, which are in the place of ours: always fails. */
int web_no_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                       gnutls_pcert_st **certificates, unsigned *n, gnutls_ocsp_data_st **ocsp,
                       unsigned *n_ocsp, gnutls_privkey_t *key, unsigned *flags);

#endif
