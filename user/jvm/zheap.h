/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where objects are that ZGC moves while threads run, as its load barrier finds them. A reference
 * has a colour: that of the current phase says that its object is where it says. One of an earlier
 * phase may be of an object that was moved since; then the page it was on has a table of where its
 * objects went. JDK gc/z/zBarrier.inline.hpp, zForwarding.inline.hpp, zGeneration.hpp, zHeap.hpp;
 * of the older collector gc/z up to 20 and gc/x in 21. For the modules of jvm/ only.
 */
#ifndef GNOMON_JVM_ZHEAP_H
#define GNOMON_JVM_ZHEAP_H

#include <stdbool.h>
#include <stdint.h>

struct gn_heap;
struct vm;

struct zheap {
	bool older;	   /* without generations (up to 21): colours are bits of the address */
	bool now;	   /* memory is read as it is now, past the cache */
	uint64_t masks[3]; /* addresses of: which bits are an offset; good, bad (or for stores) */
	uint64_t offset_mask, good, bad;
	/* of the young generation and the old one; the older collector has one */
	uint64_t tables[2], sizes[2];
	uint32_t start, shift, entries; /* in a ZForwarding */
	uint32_t bytes;			/* of one: its entries follow */
};

/* `newer`: with generations. 0; -ENOTSUP: it does not tell where these tables are. */
int zheap_find(struct vm *vm, bool newer, struct zheap *z);

/* The same for the kernel side. */
void zheap_tell(struct vm *vm, const struct zheap *z, struct gn_heap *out);

/* Reads which colours are good now. False: not to be read. */
bool zheap_begin(struct vm *vm, struct zheap *z);

/* Tells whether they still hold: no phase has begun since. */
bool zheap_same(struct vm *vm, const struct zheap *z);

/*
 * Tells where the object of a reference is; 0 none, or it cannot be told. It is there at an instant
 * if that is said before and after it, of the reference as it is then.
 */
uint64_t zheap_object(struct vm *vm, const struct zheap *z, uint64_t reference);

#endif
