/*
 * A keyed hash for tables whose keys a tenant chooses: without the key nobody can make texts that
 * fall on one place.
 *
 * SipHash-2-4 of J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (INDOCRYPT
 * 2012).
 */
#ifndef IE_BASE_SIPHASH_H
#define IE_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
    uint64_t k0, k1;
};

/* A new key from the kernel's random numbers. Never waits; before the kernel has any, shortly after
 * boot, the key is made of clocks and addresses, which are hard to guess from elsewhere. */
void siphash_key_init(struct siphash_key *key);

uint64_t siphash(const struct siphash_key *key, const void *bytes, size_t n);

#endif
