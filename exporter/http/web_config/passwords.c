#include "exporter/http/web_config/passwords.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
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

static const char letters[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

enum { COST = 4, SALT = 7 }; /* where they begin in $2y$10$... */

bool bcrypt_valid(const char *hash)
{
    if (strlen(hash) != BCRYPT_SIZE - 1 || hash[0] != '$' || hash[1] != '2' || hash[2] == '\0' ||
        !strchr("aby", hash[2]) || hash[3] != '$' || hash[6] != '$')
        return false;
    if (hash[COST] < '0' || hash[COST] > '3' || hash[COST + 1] < '0' || hash[COST + 1] > '9')
        return false;
    int cost = (hash[COST] - '0') * 10 + hash[COST + 1] - '0';
    return cost >= 4 && cost <= 31 && strspn(hash + SALT, letters) == BCRYPT_SIZE - 1 - SALT;
}

/* The salt and hash that the toolkit compares the passwords of unknown users with. */
void bcrypt_decoy(const char *like, char out[BCRYPT_SIZE])
{
    static const char decoy[BCRYPT_SIZE] =
        "$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi";
    memcpy(out, decoy, sizeof decoy);
    if (bcrypt_valid(like))
        memcpy(out + COST, like + COST, 2);
}

bool bcrypt_check(struct crypt_data *work, const char *hash, const char *password)
{
    if (!bcrypt_valid(hash) || strlen(password) >= BCRYPT_PASSWORD_SIZE)
        return false;
    const char *got = crypt_r(password, hash, work);
    bool same =
        got && strlen(got) == BCRYPT_SIZE - 1 && gnutls_memcmp(got, hash, BCRYPT_SIZE - 1) == 0;
    explicit_bzero(work, sizeof *work);
    return same;
}

/* ---- digests that were found right, or wrong; when it is full, a random tenth goes ---- */

enum { DIGEST_BYTES = 32 }; /* SHA-256 */

struct digest {
    unsigned char bytes[DIGEST_BYTES];
};

struct remembered {
    struct digest at[PASSWORDS_REMEMBERED];
    size_t n;
};

static bool remembered_find(const struct remembered *all, const struct digest *digest)
{
    for (size_t i = 0; i < all->n; i++)
        if (memcmp(&all->at[i], digest, sizeof *digest) == 0)
            return true;
    return false;
}

static void forget_a_tenth(struct remembered *all)
{
    for (size_t i = 0; i < PASSWORDS_REMEMBERED / 10; i++) {
        uint32_t random = 0; /* without randomness the oldest */
        gnutls_rnd(GNUTLS_RND_NONCE, &random, sizeof random);
        all->at[random % all->n] = all->at[all->n - 1];
        all->n--;
    }
}

static void remembered_add(struct remembered *all, const struct digest *digest)
{
    if (remembered_find(all, digest))
        return;
    if (all->n == PASSWORDS_REMEMBERED)
        forget_a_tenth(all);
    all->at[all->n++] = *digest;
}

struct check {
    struct digest digest;
    uint64_t peer;
    bool known; /* the user exists */
    char hash[BCRYPT_SIZE];
    char password[BCRYPT_PASSWORD_SIZE];
};

struct waiting {
    void *request;
    struct digest digest;
};

struct passwords {
    struct passwords_ops ops;
    struct crypt_data work; /* of its thread */
    unsigned char key[DIGEST_BYTES];
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* what follows is under it */
    pthread_cond_t wanted;
    bool stopping;
    struct remembered right, wrong;
    struct check checks[PASSWORDS_CHECKS]; /* by arrival */
    size_t n_checks;
    uint64_t last_peer;
    struct waiting waiting[PASSWORDS_WAITING];
    size_t n_waiting;
    uint64_t checked;
};

/* ---- one check ---- */

/* The length in front of each part: no two different triples give the same bytes. */
static bool add_part(gnutls_hmac_hd_t hmac, const char *text)
{
    size_t len = strlen(text);
    return gnutls_hmac(hmac, &len, sizeof len) == 0 && gnutls_hmac(hmac, text, len) == 0;
}

static int digest_of(const struct passwords *p, const char *user, const char *hash,
                     const char *password, struct digest *out)
{
    gnutls_hmac_hd_t hmac;
    if (gnutls_hmac_init(&hmac, GNUTLS_MAC_SHA256, p->key, sizeof p->key) < 0)
        return -ENOMEM;
    bool done = add_part(hmac, user) && add_part(hmac, hash) && add_part(hmac, password);
    gnutls_hmac_deinit(hmac, out->bytes);
    return done ? 0 : -EIO;
}

/* Looks at every user, whoever it is. */
static const struct web_user *find_user(const struct web_config *config, const char *name)
{
    const struct web_user *found = NULL;
    size_t len = strlen(name);
    for (size_t i = 0; i < config->n_users; i++) {
        const struct web_user *user = &config->users[i];
        if (strlen(user->name) == len && gnutls_memcmp(user->name, name, len) == 0)
            found = user;
    }
    return found;
}

/* An unknown name is checked at the cost of some user's hash, each time of the same one: costs that
 * differ between users tell nobody who exists. */
static int prepare(const struct passwords *p, const struct web_config *config, const char *name,
                   const char *password, struct check *check)
{
    const struct web_user *user = find_user(config, name);
    check->known = user && bcrypt_valid(user->hash);
    if (check->known) {
        memcpy(check->hash, user->hash, BCRYPT_SIZE);
    } else {
        struct digest spread;
        uint32_t at;
        if (digest_of(p, name, "", "", &spread))
            return -ENOMEM;
        memcpy(&at, spread.bytes, sizeof at);
        bcrypt_decoy(config->n_users ? config->users[at % config->n_users].hash : "", check->hash);
    }
    size_t len = strlen(password);
    if (len >= sizeof check->password)
        return -E2BIG;
    memcpy(check->password, password, len + 1);
    return digest_of(p, name, check->hash, password, &check->digest);
}

/* ---- under the lock ---- */

static bool recall(const struct passwords *p, const struct check *check,
                   enum password_answer *answer)
{
    if (remembered_find(&p->right, &check->digest))
        *answer = PASSWORD_RIGHT;
    else if (remembered_find(&p->wrong, &check->digest))
        *answer = PASSWORD_WRONG;
    else
        return false;
    return true;
}

/* Several requests with the same password wait for one check. */
static bool under_way(const struct passwords *p, const struct check *check)
{
    for (size_t i = 0; i < p->n_checks; i++)
        if (memcmp(&p->checks[i].digest, &check->digest, sizeof check->digest) == 0)
            return true;
    return false;
}

static bool has_room(const struct passwords *p, uint64_t peer)
{
    size_t own = 0;
    for (size_t i = 0; i < p->n_checks; i++)
        own += p->checks[i].peer == peer;
    return p->n_checks < PASSWORDS_CHECKS && own < PASSWORDS_PER_PEER;
}

static enum password_answer enqueue(struct passwords *p, const struct check *check, void *request)
{
    if (p->stopping || p->n_waiting == PASSWORDS_WAITING)
        return PASSWORD_BUSY;
    if (!under_way(p, check)) {
        if (!has_room(p, check->peer))
            return PASSWORD_BUSY;
        p->checks[p->n_checks++] = *check;
        pthread_cond_signal(&p->wanted);
    }
    p->ops.suspend(request);
    p->waiting[p->n_waiting++] = (struct waiting){request, check->digest};
    return PASSWORD_WAIT;
}

/* NULL: all. */
static void resume(struct passwords *p, const struct digest *digest)
{
    size_t left = 0;
    for (size_t i = 0; i < p->n_waiting; i++) {
        if (!digest || memcmp(&p->waiting[i].digest, digest, sizeof *digest) == 0)
            p->ops.resume(p->waiting[i].request);
        else
            p->waiting[left++] = p->waiting[i];
    }
    p->n_waiting = left;
}

/* The oldest of another peer than the last one, if there is one. */
static size_t next_check(const struct passwords *p)
{
    for (size_t i = 0; i < p->n_checks; i++)
        if (p->checks[i].peer != p->last_peer)
            return i;
    return 0;
}

static void finish(struct passwords *p, const struct digest *digest, bool right)
{
    size_t i = 0;
    p->checked++;
    remembered_add(right ? &p->right : &p->wrong, digest);
    while (memcmp(&p->checks[i].digest, digest, sizeof *digest) != 0)
        i++; /* the one that ran: nobody else removes any */
    memmove(&p->checks[i], &p->checks[i + 1], (p->n_checks - i - 1) * sizeof p->checks[0]);
    explicit_bzero(&p->checks[--p->n_checks], sizeof p->checks[0]);
    resume(p, digest);
}

static void *check_all(void *context)
{
    struct passwords *p = context;
    struct check check;
    pthread_mutex_lock(&p->lock);
    while (!p->stopping) {
        if (p->n_checks == 0) {
            pthread_cond_wait(&p->wanted, &p->lock);
            continue;
        }
        check = p->checks[next_check(p)];
        p->last_peer = check.peer;
        pthread_mutex_unlock(&p->lock);
        bool right = p->ops.check(&p->work, check.hash, check.password) && check.known;
        pthread_mutex_lock(&p->lock);
        finish(p, &check.digest, right);
        explicit_bzero(&check, sizeof check);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- from outside ---- */

static enum password_answer answer(struct passwords *p, const struct web_config *config,
                                   const char *user, const char *password, uint64_t peer,
                                   void *request, bool wait)
{
    struct check check = {.peer = peer};
    enum password_answer found = PASSWORD_WRONG;
    int err = prepare(p, config, user, password, &check);
    if (err) {
        found = err == -E2BIG ? PASSWORD_WRONG : PASSWORD_BUSY;
    } else {
        pthread_mutex_lock(&p->lock);
        if (!recall(p, &check, &found) && wait)
            found = enqueue(p, &check, request);
        pthread_mutex_unlock(&p->lock);
    }
    explicit_bzero(&check, sizeof check);
    return found;
}

enum password_answer passwords_ask(struct passwords *p, const struct web_config *config,
                                   const char *user, const char *password, uint64_t peer,
                                   void *request)
{
    return answer(p, config, user, password, peer, request, true);
}

enum password_answer passwords_recall(struct passwords *p, const struct web_config *config,
                                      const char *user, const char *password)
{
    return answer(p, config, user, password, 0, NULL, false);
}

uint64_t passwords_checked(struct passwords *p)
{
    pthread_mutex_lock(&p->lock);
    uint64_t checked = p->checked;
    pthread_mutex_unlock(&p->lock);
    return checked;
}

/* Signals are for the thread that waits for them. */
static int start(struct passwords *p)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&p->thread, NULL, check_all, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    p->started = err == 0;
    return -err;
}

int passwords_new(const struct passwords_ops *ops, struct passwords **out)
{
    struct passwords *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->ops = *ops;
    int err = -pthread_mutex_init(&p->lock, NULL);
    if (!err)
        err = -pthread_cond_init(&p->wanted, NULL);
    if (err) {
        free(p);
        return err;
    }
    if (gnutls_rnd(GNUTLS_RND_KEY, p->key, sizeof p->key) < 0)
        err = -EIO;
    else
        err = start(p);
    if (err)
        passwords_free(p);
    else
        *out = p;
    return err;
}

void passwords_stop(struct passwords *p)
{
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_signal(&p->wanted);
    resume(p, NULL);
    pthread_mutex_unlock(&p->lock);
    if (p->started)
        pthread_join(p->thread, NULL);
    p->started = false;
}

void passwords_free(struct passwords *p)
{
    if (!p)
        return;
    passwords_stop(p);
    pthread_cond_destroy(&p->wanted);
    pthread_mutex_destroy(&p->lock);
    explicit_bzero(p, sizeof *p);
    free(p);
}
