/*
 * Hashes for tables in memory, never stored. hash_u64() and hash_bytes() are fast and well spread,
 * and not safe against an adversary; siphash() has a key.
 */
#ifndef IE_BASE_HASH_H
#define IE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): 2^64 divided by the golden
 * ratio. The high bits are the mixed ones: a table takes its index from those. */
static inline uint64_t hash_u64(uint64_t value)
{
    return value * UINT64_C(0x9e3779b97f4a7c15);
}

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a over n bytes, continued from 'hash': HASH_START for the first. hash_bytes of "a" continued
 * over "b" is that of "ab"; what must tell the two apart hashes the terminating NUL with them. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Of a text, and a number beside it; mixed, as hash_table.h wants it. */
static inline uint64_t hash_text(const char *text, uint32_t more)
{
    uint64_t hash = hash_bytes(hash_bytes(HASH_START, text, strlen(text)), &more, sizeof more);
    return hash ^ hash >> 32;
}

/*
 * A keyed hash for tables whose keys a tenant chooses: without the key nobody can make texts that
 * fall into one bucket.
 *
 * SipHash-2-4 of J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT
 * 2012).
 */

struct siphash_key {
    uint64_t k0, k1;
};

/* A new key from the kernel's random numbers. Never waits; before the kernel has any, shortly after
 * boot, the key is made of clocks and addresses, which are hard to guess from elsewhere. */
void siphash_key_init(struct siphash_key *key);

uint64_t siphash(const struct siphash_key *key, const void *bytes, size_t n);

#endif
