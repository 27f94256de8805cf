/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles call frame information (.eh_frame: Linux Standard Base core, section 10.6;
 * .debug_frame: DWARF 5, section 6.4) into rows: from which address on which rule of kern/unwind.h
 * applies. A pure function over bytes nobody vouches for: time and memory are linear in their
 * number.
 *
 * A frame description entry that cannot be used (unknown augmentation, pointer encoding or
 * instruction, bad bytes) is left out and counted; its addresses have no rule. Bytes that are not a
 * sequence of entries end the reading there, with what was read before kept (`damaged`).
 */
#ifndef GNOMON_SYM_EHFRAME_H
#define GNOMON_SYM_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/unwinder.h"

#define EHFRAME_MAX_BYTES (64U << 20)
#define EHFRAME_MAX_CIES                                                                           \
	(64U << 10) /* linkers merge equal ones; a .debug_frame has one per source */
#define EHFRAME_MAX_FDES (1U << 20) /* LLVM's library has 150,000 */

struct ehframe_section {
	const uint8_t *data;
	size_t len;
	uint64_t vaddr;	  /* of data[0], as linked */
	bool debug_frame; /* .debug_frame rather than .eh_frame */
};

/*
 * Rows for addresses base .. base + 4 GiB. Alignment padding between two functions (under 16 bytes)
 * goes with the function before it, other gaps get UW_RULE_NONE. Where entries overlap the one that
 * starts later wins. 0, -E2BIG (too many bytes, entries or rows) or -ENOMEM; on success the table
 * must be freed.
 */
int ehframe_compile(const struct ehframe_section *sec, uint64_t base, struct unwind_table *out);
void ehframe_free(struct unwind_table *t);

/*
 * Where `t` has no rule, those of `other` (of the same base) are taken over: a file whose own code
 * has only .debug_frame gets an .eh_frame of the C library's startup code. 0, -E2BIG or -ENOMEM;
 * then `t` is as it was.
 */
int ehframe_fill(struct unwind_table *t, const struct unwind_table *other);

/* The code that one entry describes: [start, end), as offsets from base. */
struct ehframe_function {
	uint32_t start, end;
};

/*
 * The functions of a section, for files that do not name theirs: *v is malloc'ed, sorted and
 * disjoint (where entries overlap the one that starts later wins), NULL if there are none.
 * Compilers write an entry for each function, and one more for a part that they moved away. 0,
 * -E2BIG or -ENOMEM.
 */
int ehframe_functions(const struct ehframe_section *sec, uint64_t base, struct ehframe_function **v,
		      size_t *n);

/* The rule for an offset from base; never NULL. */
const struct uw_rule *ehframe_rule(const struct unwind_table *t, uint32_t off);

#endif
