/* Digests that were found right, or wrong; when it is full, a random tenth goes. One thread. */
#ifndef IE_HTTP_WEB_CONFIG_REMEMBERED_H
#define IE_HTTP_WEB_CONFIG_REMEMBERED_H

#include <stdbool.h>
#include <stddef.h>

#include "exporter/http/web_config/passwords.h"

enum { DIGEST_BYTES = 32 }; /* SHA-256 */

struct digest {
    unsigned char bytes[DIGEST_BYTES];
};

struct remembered {
    struct digest at[PASSWORDS_REMEMBERED];
    size_t n;
};

bool remembered_find(const struct remembered *all, const struct digest *digest);
void remembered_add(struct remembered *all, const struct digest *digest);

#endif
