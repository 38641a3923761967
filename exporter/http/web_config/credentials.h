/*
 * What TLS sessions of one generation of the files use: certificate, key, authorities, ciphers,
 * versions. Built once, then only read; counted references, since a session needs its own until it
 * ends. Any thread.
 */
#ifndef IE_HTTP_WEB_CONFIG_CREDENTIALS_H
#define IE_HTTP_WEB_CONFIG_CREDENTIALS_H

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdatomic.h>

#include "exporter/http/web_config/config.h"
#include "exporter/http/web_config/file.h"

/* client_allowed_sans: whether a certificate's name, a DNS name, mail address, IP address (its 4 or
 * 16 bytes; in the list as Go writes it) or URI, is exactly one of the list. Pure. */
bool web_san_matches(gnutls_x509_subject_alt_name_t type, const unsigned char *bytes, size_t len,
                     const struct web_strings *allowed);

/* A config that several generations and requests share. */
struct web_snapshot {
    atomic_uint refs;
    struct web_config config;
};

void web_snapshot_ref(struct web_snapshot *snapshot);
void web_snapshot_unref(struct web_snapshot *snapshot); /* accepts NULL */

struct web_credentials;

/* Called when a client's certificate is refused, on the thread of the session. */
typedef void web_refused(void *context, const char *why);

/* Reads the files that the config names; takes its own reference of the snapshot. 0, or -EINVAL
 * with the words, or -ENOMEM. */
int web_credentials_new(struct web_snapshot *snapshot, web_refused *refused, void *context,
                        struct web_credentials **out, char *error, size_t error_size);
void web_credentials_ref(struct web_credentials *credentials);
void web_credentials_unref(struct web_credentials *credentials); /* accepts NULL */
/* Whether they are what would be built of this snapshot now. */
bool web_credentials_fresh(const struct web_credentials *credentials,
                           const struct web_snapshot *snapshot);

/* Before the session's handshake. The caller's reference must last as long as the session. */
int web_credentials_begin(struct web_credentials *credentials, gnutls_session_t session);
/* After the handshake: whether the session has the certificate that it needs. It always has; this
 * does not rest on the order in which GnuTLS calls us. */
bool web_credentials_admit(const struct web_credentials *credentials, gnutls_session_t session);
/* Whether every session of them shows a certificate of the client_ca. */
bool web_credentials_verify(const struct web_credentials *credentials);

#endif
