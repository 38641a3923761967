/* The header Authorization, as far as it is basic authentication (RFC 7617). Pure. */
#ifndef IE_HTTP_WEB_CONFIG_BASIC_H
#define IE_HTTP_WEB_CONFIG_BASIC_H

#include <stddef.h>

struct web_basic {
    char *user, *password; /* of one allocation */
    size_t size;           /* of it */
};

/* 0, -EINVAL for anything else than a name and a password without NUL, or -ENOMEM. */
int web_basic_parse(const char *header, size_t len, struct web_basic *out);
/* Overwrites them. */
void web_basic_release(struct web_basic *basic);

#endif
