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

#include <stdint.h>

#include "exporter/http/web_config/config.h"

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
struct bcrypt;

/* The first two are called with a lock held, so they call nothing of this header: suspend on the
 * asking thread, resume on that of the checks or of passwords_stop(). */
struct passwords_ops {
    void (*suspend)(void *request);
    void (*resume)(void *request);
    bool (*check)(struct bcrypt *bcrypt, const char *hash, const char *password); /* bcrypt_check */
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
