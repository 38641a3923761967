#include "exporter/http/web_config/credentials.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exporter/http/web_config/config.h"

/* ---- names of certificates ---- */

enum { SAN_MAX_BYTES = 4096 };

static bool listed(const struct web_strings *allowed, const char *bytes, size_t len)
{
    for (size_t i = 0; i < allowed->n; i++)
        if (strlen(allowed->at[i]) == len && memcmp(allowed->at[i], bytes, len) == 0)
            return true;
    return false;
}

static bool address_listed(const struct web_strings *allowed, const unsigned char *bytes,
                           size_t len)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr six;
    if (len == sizeof six) {
        memcpy(&six, bytes, len);
        if (IN6_IS_ADDR_V4MAPPED(&six)) {
            bytes += 12;
            len = 4;
        }
    }
    if (len != 4 && len != sizeof six)
        return false;
    inet_ntop(len == 4 ? AF_INET : AF_INET6, bytes, text, sizeof text);
    return listed(allowed, text, strlen(text));
}

bool web_san_matches(gnutls_x509_subject_alt_name_t type, const unsigned char *bytes, size_t len,
                     const struct web_strings *allowed)
{
    switch (type) {
    case GNUTLS_SAN_DNSNAME:
    case GNUTLS_SAN_RFC822NAME:
    case GNUTLS_SAN_URI:
        return listed(allowed, (const char *)bytes, len);
    case GNUTLS_SAN_IPADDRESS:
        return address_listed(allowed, bytes, len);
    default:
        return false;
    }
}

static bool san_allowed(gnutls_x509_crt_t certificate, const struct web_strings *allowed)
{
    unsigned char bytes[SAN_MAX_BYTES];
    for (unsigned i = 0;; i++) {
        size_t len = sizeof bytes;
        int type = gnutls_x509_crt_get_subject_alt_name(certificate, i, bytes, &len, NULL);
        if (type == GNUTLS_E_SHORT_MEMORY_BUFFER)
            continue; /* no name of a list is that long */
        if (type < 0)
            return false;
        if (web_san_matches((gnutls_x509_subject_alt_name_t)type, bytes, len, allowed))
            return true;
    }
}

enum part { PART_CERT, PART_KEY, PART_CA, PARTS };

struct web_credentials {
    atomic_uint refs;
    struct web_snapshot *snapshot;
    web_refused *refused;
    void *context;
    gnutls_certificate_credentials_t certificate;
    gnutls_priority_t priority;
    gnutls_priority_t older; /* for TLS up to 1.2, where suites are listed; else NULL */
    struct web_stamp stamps[PARTS];
};

void web_snapshot_ref(struct web_snapshot *snapshot)
{
    atomic_fetch_add(&snapshot->refs, 1);
}

void web_snapshot_unref(struct web_snapshot *snapshot)
{
    if (!snapshot || atomic_fetch_sub(&snapshot->refs, 1) > 1)
        return;
    web_config_release(&snapshot->config);
    free(snapshot);
}

/* ---- the files ---- */

static const char *file_of(const struct web_tls *tls, enum part part)
{
    const char *const files[PARTS] = {tls->cert_file, tls->key_file, tls->client_ca_file};
    return files[part];
}

static const char *text_of(const struct web_tls *tls, enum part part)
{
    const char *const texts[PARTS] = {tls->cert, tls->key, tls->client_ca};
    return texts[part];
}

/* PEM of a file, or the config's own; nothing where it has neither. */
static int load(struct web_credentials *c, enum part part, struct web_text *out, char *error,
                size_t error_size)
{
    static const char *const names[PARTS] = {"cert_file", "key_file", "client_ca_file"};
    const struct web_tls *tls = &c->snapshot->config.tls;
    const char *file = file_of(tls, part), *text = text_of(tls, part);
    *out = (struct web_text){0};
    if (file) {
        int err = web_file_read(file, out, &c->stamps[part]);
        if (err)
            snprintf(error, error_size, "%s %s: %s", names[part], file, strerror(-err));
        return err ? -EINVAL : 0;
    }
    if (!text)
        return 0;
    out->bytes = strdup(text);
    if (!out->bytes)
        return -ENOMEM;
    out->len = strlen(text);
    return 0;
}

static gnutls_datum_t datum(const struct web_text *text)
{
    return (gnutls_datum_t){(unsigned char *)text->bytes, (unsigned)text->len};
}

static int take_certificate(struct web_credentials *c, char *error, size_t error_size)
{
    struct web_text cert, key = {0};
    int err = load(c, PART_CERT, &cert, error, error_size);
    if (!err)
        err = load(c, PART_KEY, &key, error, error_size);
    if (!err) {
        const gnutls_datum_t certs = datum(&cert), keys = datum(&key);
        int problem = gnutls_certificate_set_x509_key_mem2(c->certificate, &certs, &keys,
                                                           GNUTLS_X509_FMT_PEM, NULL, 0);
        if (problem < 0) {
            snprintf(error, error_size, "tls_server_config: certificate and key: %s",
                     gnutls_strerror(problem));
            err = -EINVAL;
        }
    }
    web_text_release(&cert);
    web_text_release(&key);
    return err;
}

static int take_authorities(struct web_credentials *c, char *error, size_t error_size)
{
    struct web_text ca;
    int err = load(c, PART_CA, &ca, error, error_size);
    if (!err && ca.bytes) {
        const gnutls_datum_t certs = datum(&ca);
        int n = gnutls_certificate_set_x509_trust_mem(c->certificate, &certs, GNUTLS_X509_FMT_PEM);
        if (n <= 0) {
            snprintf(error, error_size, "tls_server_config: client_ca: %s",
                     n < 0 ? gnutls_strerror(n) : "it holds no certificate");
            err = -EINVAL;
        }
    }
    web_text_release(&ca);
    return err;
}

/* ---- ciphers and versions ---- */

static int key_of(struct web_credentials *c, enum web_key *out)
{
    gnutls_x509_privkey_t key;
    int problem = gnutls_certificate_get_x509_key(c->certificate, 0, &key);
    if (problem < 0)
        return -EINVAL;
    int algorithm = gnutls_x509_privkey_get_pk_algorithm(key);
    gnutls_x509_privkey_deinit(key);
    *out =
        algorithm == GNUTLS_PK_RSA || algorithm == GNUTLS_PK_RSA_PSS ? WEB_KEY_RSA : WEB_KEY_ECDSA;
    return 0;
}

static int make_priority(const char *text, gnutls_priority_t *out, char *error, size_t error_size)
{
    int problem = gnutls_priority_init(out, text, NULL);
    if (!problem)
        return 0;
    *out = NULL;
    snprintf(error, error_size, "tls_server_config: these versions, suites and curves: %s",
             gnutls_strerror(problem));
    return -EINVAL;
}

static int take_priorities(struct web_credentials *c, char *error, size_t error_size)
{
    const struct web_tls *tls = &c->snapshot->config.tls;
    char text[WEB_PRIORITY_SIZE];
    enum web_key key;
    if (key_of(c, &key) || !web_priority(tls, key, WEB_TLS13, text)) {
        snprintf(error, error_size,
                 "tls_server_config: no cipher suite is left for this key and these versions");
        return -EINVAL;
    }
    int err = make_priority(text, &c->priority, error, error_size);
    if (!err && tls->n_suites && web_priority(tls, key, WEB_TLS12, text))
        err = make_priority(text, &c->older, error, error_size);
    return err;
}

/* ---- one generation ---- */

static int build(struct web_credentials *c, char *error, size_t error_size)
{
    if (gnutls_certificate_allocate_credentials(&c->certificate) < 0) {
        c->certificate = NULL;
        return -ENOMEM;
    }
    int err = web_tls_check(&c->snapshot->config.tls, error, error_size);
    if (!err)
        err = take_certificate(c, error, error_size);
    if (!err)
        err = take_authorities(c, error, error_size);
    if (!err)
        err = take_priorities(c, error, error_size);
    return err;
}

int web_credentials_new(struct web_snapshot *snapshot, web_refused *refused, void *context,
                        struct web_credentials **out, char *error, size_t error_size)
{
    struct web_credentials *c = calloc(1, sizeof *c);
    snprintf(error, error_size, "out of memory");
    if (!c)
        return -ENOMEM;
    atomic_init(&c->refs, 1);
    web_snapshot_ref(snapshot);
    c->snapshot = snapshot;
    c->refused = refused;
    c->context = context;
    int err = build(c, error, error_size);
    if (err)
        web_credentials_unref(c);
    else
        *out = c;
    return err;
}

void web_credentials_ref(struct web_credentials *c)
{
    atomic_fetch_add(&c->refs, 1);
}

void web_credentials_unref(struct web_credentials *c)
{
    if (!c || atomic_fetch_sub(&c->refs, 1) > 1)
        return;
    if (c->priority)
        gnutls_priority_deinit(c->priority);
    if (c->older)
        gnutls_priority_deinit(c->older);
    if (c->certificate)
        gnutls_certificate_free_credentials(c->certificate);
    web_snapshot_unref(c->snapshot);
    free(c);
}

bool web_credentials_fresh(const struct web_credentials *c, const struct web_snapshot *snapshot)
{
    if (c->snapshot != snapshot)
        return false;
    for (enum part part = 0; part < PARTS; part++) {
        const char *file = file_of(&snapshot->config.tls, part);
        if (file && !web_file_unchanged(file, &c->stamps[part]))
            return false;
    }
    return true;
}

/* ---- sessions ---- */

/* A session's own pointer is the HTTP server's, so the credentials travel as that of the session
 * database, which nothing uses. */
static struct web_credentials *credentials_of(gnutls_session_t session)
{
    return gnutls_db_get_ptr(session);
}

/* Who is refused is told so; the HTTP server would just close. */
static int refuse(gnutls_session_t session, gnutls_alert_description_t alert, const char *why)
{
    struct web_credentials *c = credentials_of(session);
    c->refused(c->context, why);
    gnutls_alert_send(session, GNUTLS_AL_FATAL, alert); /* a client that is gone need not know */
    return GNUTLS_E_CERTIFICATE_ERROR;
}

static int verify_chain(gnutls_session_t session)
{
    gnutls_typed_vdata_st purpose = {
        .type = GNUTLS_DT_KEY_PURPOSE_OID,
        .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT,
    };
    gnutls_datum_t words = {0};
    unsigned status;
    int problem = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
    if (problem < 0)
        return refuse(session, GNUTLS_A_BAD_CERTIFICATE, gnutls_strerror(problem));
    if (status == 0)
        return 0;
    problem = gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &words, 0);
    int err = refuse(session, GNUTLS_A_BAD_CERTIFICATE,
                     problem < 0 ? "not verified" : (const char *)words.data);
    gnutls_free(words.data);
    return err;
}

static int verify_name(gnutls_session_t session, const gnutls_datum_t *leaf)
{
    const struct web_credentials *c = credentials_of(session);
    gnutls_x509_crt_t certificate;
    bool allowed = false;
    if (gnutls_x509_crt_init(&certificate) < 0)
        return GNUTLS_E_MEMORY_ERROR;
    if (gnutls_x509_crt_import(certificate, leaf, GNUTLS_X509_FMT_DER) == 0)
        allowed = san_allowed(certificate, &c->snapshot->config.tls.sans);
    gnutls_x509_crt_deinit(certificate);
    return allowed ? 0
                   : refuse(session, GNUTLS_A_ACCESS_DENIED,
                            "none of its names is in client_allowed_sans");
}

static gnutls_alert_description_t alert_for_none(gnutls_session_t session)
{
    return gnutls_protocol_get_version(session) > GNUTLS_TLS1_2 ? GNUTLS_A_CERTIFICATE_REQUIRED
                                                                : GNUTLS_A_HANDSHAKE_FAILURE;
}

/* Without a certificate, a list of allowed names lets nobody in. */
static bool needs_certificate(const struct web_tls *tls)
{
    return tls->sans_given || tls->client_auth == WEB_CLIENT_REQUIRED ||
           tls->client_auth == WEB_CLIENT_VERIFIED;
}

static int verify_client(gnutls_session_t session)
{
    const struct web_tls *tls = &credentials_of(session)->snapshot->config.tls;
    unsigned n = 0;
    const gnutls_datum_t *certificates = gnutls_certificate_get_peers(session, &n);
    if (!certificates || n == 0)
        return needs_certificate(tls) ? refuse(session, alert_for_none(session), "none was given")
                                      : 0;
    if (tls->client_auth >= WEB_CLIENT_VERIFIED_IF_GIVEN) {
        int err = verify_chain(session);
        if (err)
            return err;
    }
    return tls->sans_given ? verify_name(session, &certificates[0]) : 0;
}

bool web_credentials_admit(const struct web_credentials *c, gnutls_session_t session)
{
    unsigned n = 0;
    return !needs_certificate(&c->snapshot->config.tls) ||
           (gnutls_certificate_get_peers(session, &n) && n > 0);
}

bool web_credentials_verify(const struct web_credentials *c)
{
    const struct web_tls *tls = &c->snapshot->config.tls;
    return tls->client_auth == WEB_CLIENT_VERIFIED && !tls->system_ca;
}

/* A list of suites is about TLS up to 1.2. Called when the version is agreed on, and before the
 * suite is. */
static int narrow(gnutls_session_t session)
{
    struct web_credentials *c = credentials_of(session);
    if (gnutls_protocol_get_version(session) > GNUTLS_TLS1_2)
        return 0;
    return gnutls_priority_set(session, c->older);
}

int web_credentials_begin(struct web_credentials *c, gnutls_session_t session)
{
    bool asks = c->snapshot->config.tls.client_auth != WEB_CLIENT_NONE;
    gnutls_db_set_ptr(session, c);
    if (gnutls_priority_set(session, c->priority) < 0)
        return -EINVAL;
    if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, c->certificate) < 0)
        return -ENOMEM;
    /* Asked for only, since GnuTLS ends a session without the certificate that it requires before
     * the client hears why. verify_client() is called in any case. */
    gnutls_certificate_server_set_request(session, asks ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_IGNORE);
    if (asks)
        gnutls_session_set_verify_function(session, verify_client);
    if (c->older)
        gnutls_handshake_set_post_client_hello_function(session, narrow);
    return 0;
}
