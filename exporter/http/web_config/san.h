/* client_allowed_sans: which client certificates have an allowed name. */
#ifndef IE_HTTP_WEB_CONFIG_SAN_H
#define IE_HTTP_WEB_CONFIG_SAN_H

#include <gnutls/x509.h>

#include "exporter/http/web_config/config.h"

/* Whether one of the certificate's DNS names, mail addresses, IP addresses (as Go writes them) or
 * URIs is exactly one of the list. Pure. */
bool web_san_allowed(gnutls_x509_crt_t certificate, const struct web_strings *allowed);
/* The same of one name; an IP address is its 4 or 16 bytes. Pure. */
bool web_san_matches(gnutls_x509_subject_alt_name_t type, const unsigned char *bytes, size_t len,
                     const struct web_strings *allowed);

#endif
