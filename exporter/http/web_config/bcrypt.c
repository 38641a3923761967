#include "exporter/http/web_config/bcrypt.h"

#include <crypt.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>

struct bcrypt {
    struct crypt_data data;
};

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

struct bcrypt *bcrypt_new(void)
{
    return calloc(1, sizeof(struct bcrypt));
}

void bcrypt_free(struct bcrypt *bcrypt)
{
    if (bcrypt)
        explicit_bzero(bcrypt, sizeof *bcrypt);
    free(bcrypt);
}

bool bcrypt_check(struct bcrypt *bcrypt, const char *hash, const char *password)
{
    if (!bcrypt_valid(hash) || strlen(password) >= BCRYPT_PASSWORD_SIZE)
        return false;
    const char *got = crypt_r(password, hash, &bcrypt->data);
    bool same =
        got && strlen(got) == BCRYPT_SIZE - 1 && gnutls_memcmp(got, hash, BCRYPT_SIZE - 1) == 0;
    explicit_bzero(&bcrypt->data, sizeof bcrypt->data);
    return same;
}
