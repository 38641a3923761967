#include "exporter/base/hash.h"

#include <endian.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

void siphash_key_init(struct siphash_key *key)
{
    if (getrandom(key, sizeof *key, GRND_NONBLOCK) == (ssize_t)sizeof *key)
        return;
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    key->k0 = hash_u64((uintptr_t)key ^ (uint64_t)now.tv_nsec);
    key->k1 = hash_u64((uintptr_t)&now ^ (uint64_t)now.tv_sec << 32);
}

static inline uint64_t turn(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

/* One round: section 2.2, figure 2.1. */
static inline void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = turn(v[1], 13) ^ v[0];
    v[3] = turn(v[3], 16) ^ v[2];
    v[0] = turn(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = turn(v[1], 17) ^ v[2];
    v[3] = turn(v[3], 21) ^ v[0];
    v[2] = turn(v[2], 32);
}

static inline void take(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v);
    mix(v);
    v[0] ^= word;
}

uint64_t siphash(const struct siphash_key *key, const void *bytes, size_t n)
{
    /* "somepseudorandomlygeneratedbytes" */
    uint64_t v[4] = {key->k0 ^ UINT64_C(0x736f6d6570736575), key->k1 ^ UINT64_C(0x646f72616e646f6d),
                     key->k0 ^ UINT64_C(0x6c7967656e657261),
                     key->k1 ^ UINT64_C(0x7465646279746573)};
    const unsigned char *at = bytes;
    uint64_t word;
    for (size_t left = n; left >= sizeof word; left -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        take(v, le64toh(word));
    }
    word = (uint64_t)n << 56; /* the length's last byte, and the bytes that are left */
    for (size_t i = 0; i < n % sizeof word; i++)
        word |= (uint64_t)at[i] << 8 * i;
    take(v, word);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
