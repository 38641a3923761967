/*
 * Who is who, by name and password: what is known is answered at once; what is not is checked by
 * bcrypt on a thread of its own, one after the other, while the request waits.
 *
 * Results are remembered, right and wrong ones apart: whoever tries wrong passwords pushes out
 * wrong ones only. Of what is remembered only a digest is kept, under a key that ends with the
 * process. A user that does not exist costs as much as one that does.
 *
 * A peer has at most two checks under way, and its next one comes after those of other peers. So a
 * stream of wrong passwords takes one CPU, and delays whoever comes with a new password by a few
 * checks.
 */
#ifndef IE_HTTP_WEB_CONFIG_PASSWORDS_H
#define IE_HTTP_WEB_CONFIG_PASSWORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exporter/http/web_config/config.h"

/* The header Authorization, as far as it is basic authentication (RFC 7617). Pure. */
struct web_basic {
    char *user, *password; /* of one allocation */
    size_t size;           /* of it */
};

/* 0, -EINVAL for anything else than a name and a password without NUL, or -ENOMEM. */
int web_basic_parse(const char *header, size_t len, struct web_basic *out);
/* Overwrites them. */
void web_basic_release(struct web_basic *basic);

/* Passwords hashed by bcrypt, by libcrypt. */
enum {
    BCRYPT_SIZE = 61,          /* a hash and its NUL */
    BCRYPT_PASSWORD_SIZE = 512 /* libcrypt takes less; bcrypt looks at the first 72 */
};

struct crypt_data; /* libcrypt's 32 KiB of work space, all zero at first; one thread at a time */

/* $2a$, $2b$ or $2y$, a cost from 04 to 31, 53 letters. */
bool bcrypt_valid(const char *hash);
/* For users that do not exist: a hash of nothing that anybody knows, at the cost of 'like'
 * (10 where that is no hash). */
void bcrypt_decoy(const char *like, char out[BCRYPT_SIZE]);

/* 63 ms at cost 10 on the machine it was measured on, twice that for each one more. The comparison
 * takes the same time whatever differs. */
bool bcrypt_check(struct crypt_data *work, const char *hash, const char *password);

enum {
    PASSWORDS_REMEMBERED = 100, /* of each kind; when there are more, a tenth is forgotten */
    PASSWORDS_CHECKS = 32,      /* waiting or under way */
    PASSWORDS_PER_PEER = 2,     /* of these */
    PASSWORDS_WAITING = 256     /* requests that wait for a check */
};

enum password_answer {
    PASSWORD_RIGHT,
    PASSWORD_WRONG,
    PASSWORD_WAIT, /* suspend() was called; resume() will be: ask again then */
    PASSWORD_BUSY  /* too many checks already, or the end is near */
};

struct passwords;

/* The first two are called with a lock held, so they call nothing of this header: suspend on the
 * asking thread, resume on that of the checks or of passwords_stop(). */
struct passwords_ops {
    void (*suspend)(void *request);
    void (*resume)(void *request);
    /* bcrypt_check */
    bool (*check)(struct crypt_data *work, const char *hash, const char *password);
};

int passwords_new(const struct passwords_ops *ops, struct passwords **out);
/* Resumes what waits; from then on nothing waits any more. Ends within the time of one check. */
void passwords_stop(struct passwords *passwords);
/* Stops. Accepts NULL. */
void passwords_free(struct passwords *passwords);

/* Any thread. A password of BCRYPT_PASSWORD_SIZE bytes or more is wrong. The peer is whatever tells
 * clients apart. */
enum password_answer passwords_ask(struct passwords *passwords, const struct web_config *config,
                                   const char *user, const char *password, uint64_t peer,
                                   void *request);
/* The same, but never waits: what is not known is wrong. */
enum password_answer passwords_recall(struct passwords *passwords, const struct web_config *config,
                                      const char *user, const char *password);
/* Calls of bcrypt so far. */
uint64_t passwords_checked(struct passwords *passwords);

#endif
