#include "exporter/http/web_config/remembered.h"

#include <gnutls/crypto.h>
#include <stdint.h>
#include <string.h>

bool remembered_find(const struct remembered *all, const struct digest *digest)
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

void remembered_add(struct remembered *all, const struct digest *digest)
{
    if (remembered_find(all, digest))
        return;
    if (all->n == PASSWORDS_REMEMBERED)
        forget_a_tenth(all);
    all->at[all->n++] = *digest;
}
