/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A 128-bit digest of bytes under a secret key (SipHash-2-4): who does not know the key cannot make
 * two contents that have the same one, however he chooses them.
 */
#ifndef GNOMON_BASE_DIGEST_H
#define GNOMON_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct digest_key {
	uint64_t k[2];
};

struct digest {
	uint64_t v[2];
};

/* A key that nobody else has. 0 or -errno. */
int digest_key_make(struct digest_key *key);

struct digest digest_of(const struct digest_key *key, const void *bytes, size_t len);

#endif
