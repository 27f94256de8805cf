/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of one image, by address: 16 bytes a symbol plus its name. Fill with
 * symtab_add(), then symtab_finish(), then look up. Demangled names are made at the first look-up
 * and kept. Not thread safe, look-ups included.
 */
#ifndef GNOMON_SYM_SYMTAB_H
#define GNOMON_SYM_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMTAB_MAX	 (4U << 20)   /* symbols */
#define SYMTAB_NAMES_MAX (256U << 20) /* bytes of names */

enum symtab_bind { /* in the order in which names of one address are preferred */
		   SYMTAB_GLOBAL,
		   SYMTAB_WEAK,
		   SYMTAB_LOCAL,
};

struct symtab;

struct symtab_hit {
	/* short demangled form if there is one, NULL: it has none (image_find()); until the next
	   call */
	const char *name;
	uint64_t start, size;
	bool cpp; /* it was demangled (C++ or Rust) */
};

/* Addresses from base up to base + 4 GiB can be held. */
struct symtab *symtab_new(uint64_t base);
void symtab_free(struct symtab *t);

/*
 * Add a function. `size` is what the symbol says; where it says nothing (`sized` false), the most
 * it can be: up to the next function that is known otherwise, or the end of its segment. Control
 * characters in the name become '?', a symbol version ("@@GLIBC_2.34") is cut off, "@plt" stays.
 * Returns 0, -ERANGE (address out of reach), -E2BIG (full) or -ENOMEM; the table stays usable.
 */
int symtab_add(struct symtab *t, uint64_t vaddr, uint64_t size, bool sized, enum symtab_bind bind,
	       const char *name, size_t len);

/*
 * Sort and compact. Of several names for one address the one with a size wins, then the fewest
 * leading underscores, then the binding, then the shorter. Symbols without a size reach up to the
 * next symbol, and are dropped inside of one that has a size.
 */
int symtab_finish(struct symtab *t);

/* The innermost function that covers vaddr. O(log n), or false. */
bool symtab_find(struct symtab *t, uint64_t vaddr, struct symtab_hit *hit);

/* Every address of [start, end) lies in a function. */
bool symtab_covers(const struct symtab *t, uint64_t start, uint64_t end);

size_t symtab_count(const struct symtab *t);
size_t symtab_bytes(const struct symtab *t); /* memory held, demangled names included */

/* Built from the same symbols, in the same order. */
bool symtab_equal(const struct symtab *a, const struct symtab *b);

#endif
