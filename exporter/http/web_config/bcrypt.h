/* Passwords hashed by bcrypt, by libcrypt. */
#ifndef IE_HTTP_WEB_CONFIG_BCRYPT_H
#define IE_HTTP_WEB_CONFIG_BCRYPT_H

#include <stdbool.h>

enum {
    BCRYPT_SIZE = 61,          /* a hash and its NUL */
    BCRYPT_PASSWORD_SIZE = 512 /* libcrypt takes less; bcrypt looks at the first 72 */
};

struct bcrypt; /* 32 KiB of work space; one thread at a time */

/* $2a$, $2b$ or $2y$, a cost from 04 to 31, 53 letters. */
bool bcrypt_valid(const char *hash);
/* For users that do not exist: a hash of nothing that anybody knows, at the cost of 'like'
 * (10 where that is no hash). */
void bcrypt_decoy(const char *like, char out[BCRYPT_SIZE]);

struct bcrypt *bcrypt_new(void); /* NULL without memory */
void bcrypt_free(struct bcrypt *bcrypt);
/* 63 ms at cost 10 on the machine it was measured on, twice that for each one more. The comparison
 * takes the same time whatever differs. */
bool bcrypt_check(struct bcrypt *bcrypt, const char *hash, const char *password);

#endif
