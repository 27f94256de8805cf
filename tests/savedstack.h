/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a saved stack (tests/data/stacks/README.md says what is in it). Nothing in it is
 * believed: a fuzzer changes them.
 */
#ifndef TESTS_SAVEDSTACK_H
#define TESTS_SAVEDSTACK_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAVED_MAX_MEM 1024

struct saved_section {
	char tag[4];
	uint32_t len; /* bytes that follow */
	uint64_t addr;
};

struct saved_mem {
	uint64_t addr;
	uint32_t len;
	const uint8_t *bytes;
};

struct saved {
	const uint8_t *bytes;
	size_t len;
	uint64_t machine; /* ELF e_machine */
	struct saved_mem mem[SAVED_MAX_MEM];
	uint32_t nmem;
};

/* The section at *at, which then is behind it; its bytes begin at *bytes. False at the end. */
static inline bool saved_next(const struct saved *v, size_t *at, struct saved_section *h,
			      const uint8_t **bytes)
{
	if (*at > v->len || v->len - *at < sizeof(*h))
		return false;
	memcpy(h, v->bytes + *at, sizeof(*h));
	if (v->len - *at - sizeof(*h) < h->len)
		return false;
	*bytes = v->bytes + *at + sizeof(*h);
	*at += sizeof(*h) + h->len;
	return true;
}

/* The n-th section with this tag: its bytes, NULL when there is none. */
static inline const uint8_t *saved_find(const struct saved *v, const char *tag, uint32_t n,
					struct saved_section *h)
{
	const uint8_t *bytes;
	size_t at = 0;

	while (saved_next(v, &at, h, &bytes))
		if (!memcmp(h->tag, tag, 4) && !n--)
			return bytes;
	return NULL;
}

/* 0, or -EBADMSG when it is no saved stack. `bytes` must outlive v. */
static inline int saved_open(struct saved *v, const uint8_t *bytes, size_t len)
{
	struct saved_section h;
	const uint8_t *b;
	size_t at = 0;

	memset(v, 0, sizeof(*v));
	v->bytes = bytes;
	v->len = len;
	if (!saved_next(v, &at, &h, &b) || memcmp(h.tag, "GNST", 4))
		return -EBADMSG;
	v->machine = h.addr;
	while (v->nmem < SAVED_MAX_MEM && saved_next(v, &at, &h, &b))
		if (!memcmp(h.tag, "MEM ", 4))
			v->mem[v->nmem++] = (struct saved_mem){h.addr, h.len, b};
	return 0;
}

/* uw_env's read(): all of it has to be in one piece. ctx is a struct saved. */
static inline int saved_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	const struct saved *v = ctx;

	for (uint32_t i = 0; i < v->nmem; i++) {
		uint64_t off = addr - v->mem[i].addr;

		if (off <= v->mem[i].len && v->mem[i].len - off >= len) {
			memcpy(dst, v->mem[i].bytes + off, len);
			return 0;
		}
	}
	return -EFAULT;
}

#endif
