/*
 * The names that web-config has from Go's crypto/tls, and what they are called in GnuTLS' priority
 * strings. Pure.
 *
 * GnuTLS takes key exchanges, ciphers and MACs apart. A certificate's key settles the key exchange,
 * and the suites of one key exchange differ in their ciphers, each with one MAC: so a list of
 * ciphers is exactly a list of suites.
 */
#ifndef IE_HTTP_WEB_CONFIG_NAMES_H
#define IE_HTTP_WEB_CONFIG_NAMES_H

#include "exporter/http/web_config/config.h"

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
