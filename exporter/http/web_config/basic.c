#include "exporter/http/web_config/basic.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char scheme[] = "Basic ";
enum { SCHEME_LEN = sizeof scheme - 1, MOST = 16384 };

/* "name:password"; the name has no colon. */
static int split(const gnutls_datum_t *decoded, struct web_basic *out)
{
    const unsigned char *colon = memchr(decoded->data, ':', decoded->size);
    if (!colon || memchr(decoded->data, '\0', decoded->size))
        return -EINVAL;
    char *text = malloc((size_t)decoded->size + 1);
    if (!text)
        return -ENOMEM;
    memcpy(text, decoded->data, decoded->size);
    text[decoded->size] = '\0';
    size_t name = (size_t)(colon - decoded->data);
    text[name] = '\0';
    *out = (struct web_basic){text, text + name + 1, (size_t)decoded->size + 1};
    return 0;
}

int web_basic_parse(const char *header, size_t len, struct web_basic *out)
{
    gnutls_datum_t decoded;
    if (len <= SCHEME_LEN || len > MOST || strncasecmp(header, scheme, SCHEME_LEN) != 0)
        return -EINVAL;
    const gnutls_datum_t encoded = {(unsigned char *)(uintptr_t)(header + SCHEME_LEN),
                                    (unsigned)(len - SCHEME_LEN)};
    if (gnutls_base64_decode2(&encoded, &decoded) < 0)
        return -EINVAL;
    int err = split(&decoded, out);
    gnutls_memset(decoded.data, 0, decoded.size);
    gnutls_free(decoded.data);
    return err;
}

void web_basic_release(struct web_basic *basic)
{
    if (basic->user)
        explicit_bzero(basic->user, basic->size);
    free(basic->user);
    *basic = (struct web_basic){0};
}
