#include "exporter/http/web_config/san.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

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

bool web_san_allowed(gnutls_x509_crt_t certificate, const struct web_strings *allowed)
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
