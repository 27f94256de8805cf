/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* J.-P. Aumasson, D. J. Bernstein: "SipHash: a fast short-input PRF", 2012; the output of 128 bits
 * is of its reference implementation. */

int digest_key_make(struct digest_key *key)
{
	ssize_t n = getrandom(key, sizeof(*key), 0);

	if (n < 0)
		return -errno;
	return n == sizeof(*key) ? 0 : -EIO;
}

static uint64_t rotate(uint64_t x, unsigned int by)
{
	return x << by | x >> (64 - by);
}

static void rounds(uint64_t v[4], int n)
{
	while (n--) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

static void word_add(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	rounds(v, 2);
	v[0] ^= word;
}

static uint64_t half(uint64_t v[4])
{
	rounds(v, 4);
	return htole64(v[0] ^ v[1] ^ v[2] ^ v[3]);
}

struct digest digest_of(const struct digest_key *key, const void *bytes, size_t len)
{
	uint64_t v[4] = {
		key->k[0] ^ 0x736f6d6570736575,
		key->k[1] ^ 0x646f72616e646f6d ^ 0xee,
		key->k[0] ^ 0x6c7967656e657261,
		key->k[1] ^ 0x7465646279746573,
	};
	const uint8_t *p = bytes;
	struct digest out;
	uint64_t word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		word_add(v, le64toh(word));
	}
	word = 0;
	if (i < len)
		memcpy(&word, p + i, len - i);
	word_add(v, le64toh(word) | (uint64_t)len << 56);
	v[2] ^= 0xee;
	out.v[0] = half(v);
	v[1] ^= 0xdd;
	out.v[1] = half(v);
	return out;
}
