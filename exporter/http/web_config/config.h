/*
 * What a file for --web.config.file says: the format of Prometheus' exporter-toolkit
 * (https://github.com/prometheus/exporter-toolkit, docs/web-configuration.md, as of July 2026).
 *
 * Stricter than the toolkit where it would leave a door open or shut in silence: client
 * certificates that are to be verified need a client_ca (the toolkit takes the system's
 * authorities), client_allowed_sans need a client_auth_type that asks for certificates, a rate
 * limit needs a burst, an interval needs a unit, the versions must leave one, and there is one
 * document, without merge keys. http2 is read and not served.
 */
#ifndef IE_HTTP_WEB_CONFIG_CONFIG_H
#define IE_HTTP_WEB_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEB_FILE_MAX_BYTES = 1 << 20, WEB_LIST_MAX = 4096 };

/* In the order of strictness, as crypto/tls.ClientAuthType has them. */
enum web_client_auth {
    WEB_CLIENT_NONE,
    WEB_CLIENT_REQUESTED,
    WEB_CLIENT_REQUIRED,          /* any certificate */
    WEB_CLIENT_VERIFIED_IF_GIVEN, /* none, or one of the client_ca's */
    WEB_CLIENT_VERIFIED,
};

enum web_tls_version { WEB_TLS10, WEB_TLS11, WEB_TLS12, WEB_TLS13 };

/* crypto/tls.CipherSuites() without the ECDSA twins' difference. */
enum { WEB_SUITES = 13, WEB_CURVES = 4 };

struct web_strings {
    char **at;
    size_t n;
};

/* Strings are NULL where the file says nothing, or "". */
struct web_tls {
    char *cert, *key, *client_ca;                /* PEM */
    char *cert_file, *key_file, *client_ca_file; /* each is taken before the one above */
    char *client_auth_type;
    enum web_client_auth client_auth;
    bool system_ca;  /* certificates are verified, and the file names no authority: by the system's,
                        whose file is client_ca_file then, or none */
    bool sans_given; /* even if there are none: then nobody has an allowed one */
    struct web_strings sans;
    enum web_tls_version min_version, max_version;
    bool prefer_server;
    size_t n_suites, n_curves;                            /* 0: all that are secure */
    unsigned char suites[WEB_SUITES], curves[WEB_CURVES]; /* indexes in the tables below */
};

struct web_user {
    char *name, *hash;
};

enum web_header {
    WEB_STRICT_TRANSPORT_SECURITY,
    WEB_X_CONTENT_TYPE_OPTIONS,
    WEB_X_FRAME_OPTIONS,
    WEB_X_XSS_PROTECTION,
    WEB_CONTENT_SECURITY_POLICY,
    WEB_HEADERS
};

struct web_config {
    struct web_tls tls;
    char *headers[WEB_HEADERS]; /* NULL: not sent */
    struct web_user *users;
    size_t n_users;
    uint64_t limit_interval_ns; /* 0: no limit */
    uint64_t limit_burst;
    bool http2;
};

/* 0, or -EINVAL with one line in error that names the line of the file, or -ENOMEM; *out untouched
 * then. Pure. */
int web_config_parse(const char *text, size_t len, struct web_config *out, char *error,
                     size_t error_size);
/* Overwrites what is secret. */
void web_config_release(struct web_config *config);

/* Whether the file asks for TLS, complete or not. */
bool web_tls_wanted(const struct web_tls *tls);
/* What the toolkit looks at before each handshake, files aside: 0 or -EINVAL with the words. */
int web_tls_check(const struct web_tls *tls, char *error, size_t error_size);
/* What the toolkit looks at only when it starts: each hash is one of bcrypt. */
int web_users_check(const struct web_config *config, char *error, size_t error_size);

const char *web_header_name(enum web_header header);

/*
 * The names that web-config has from Go's crypto/tls, and what they are called in GnuTLS' priority
 * strings. Pure.
 *
 * GnuTLS takes key exchanges, ciphers and MACs apart. A certificate's key settles the key exchange,
 * and the suites of one key exchange differ in their ciphers, each with one MAC: so a list of
 * ciphers is exactly a list of suites.
 */

enum web_key { WEB_KEY_RSA, WEB_KEY_ECDSA, WEB_KEY_ANY /* of TLS 1.3 */ };

struct web_suite {
    const char *name;   /* Go's */
    const char *cipher; /* GnuTLS' */
    enum web_key key;
    enum web_tls_version from; /* of TLS 1.3, or up to 1.2 */
};

struct web_name {
    const char *name, *gnutls;
};

extern const struct web_suite web_suites[WEB_SUITES];
extern const struct web_name web_curves[WEB_CURVES];
extern const struct web_name web_versions[]; /* by enum web_tls_version */
enum { WEB_VERSIONS = WEB_TLS13 + 1 };

enum { WEB_PRIORITY_SIZE = 1024 };

/*
 * The priority string for a server whose key is of that kind. Two are needed where suites are
 * listed: the list is about TLS up to 1.2 and leaves TLS 1.3 as it is.
 *   up_to: the newest version; lower versions follow from the config
 * False when nothing is left that could be agreed on (*out is "" then).
 */
bool web_priority(const struct web_tls *tls, enum web_key key, enum web_tls_version up_to,
                  char out[WEB_PRIORITY_SIZE]);

#endif
