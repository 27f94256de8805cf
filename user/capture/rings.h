/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring buffers between the BPF programs and the collector: one per CPU, behind a map of maps,
 * small at first. A ring that lost records is replaced by a larger one, and one of which little was
 * used for long by a smaller one; the kernel waits until no program that cannot sleep holds the old
 * one (maybe_wait_bpf_programs in kernel/bpf/syscall.c), and for the few that can it is drained for
 * a while longer. So no record is lost by the change.
 */
#ifndef GNOMON_CAPTURE_RINGS_H
#define GNOMON_CAPTURE_RINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kern/abi.h"

struct rings;

typedef void (*rings_fn)(void *ctx, const struct gn_rec *rec);

struct rings_config {
	int outer;    /* the map of maps; belongs to the caller */
	int ncpu;     /* possible CPUs, its entries */
	size_t bytes; /* of each ring at first; a power of two of pages */
	size_t max;   /* of each ring at most; likewise */
	uint64_t
		quiet_ns; /* a ring is looked at for so long before it shrinks; 0: RINGS_QUIET_NS */
};

int rings_open(struct rings **out, const struct rings_config *cfg, struct error *e);
void rings_close(struct rings *r); /* NULL is fine */

int rings_fd(const struct rings *r); /* readable when a ring wants draining */

/* Hand every record that waits to fn, in the order of each CPU. Returns their number or -errno. */
int rings_drain(struct rings *r, rings_fn fn, void *ctx);

/*
 * After a drain: lost[cpu] is the number of bytes that have not fitted so far, ever growing. Rings
 * that lost some since the last call are replaced. Returns how many were, or -errno (of the first
 * failure: the ring stays as it is).
 */
int rings_grow(struct rings *r, const uint64_t *lost, uint64_t now_ns);

/*
 * After a drain, too: rings of which no drain has taken more than an eighth for quiet_ns become
 * smaller, so that four times what was taken fits, but not smaller than they were at first or than
 * is reserved. One that has to grow again afterwards is looked at four times as long before it
 * shrinks once more, up to an hour. Returns how many were replaced, or -errno: they stay.
 */
#define RINGS_QUIET_NS 60000000000ull
int rings_shrink(struct rings *r, uint64_t now_ns);

/*
 * So many bytes at once are to come on one CPU now and then: make its ring as large, as far as
 * RINGS_RESERVE allows, and let it stay so large until less is asked for. 0 or -errno.
 */
#define RINGS_RESERVE (4u << 20)
int rings_reserve(struct rings *r, int cpu, size_t bytes, uint64_t now_ns);

size_t rings_bytes(const struct rings *r); /* of all rings there are, replaced ones included */

/*
 * The size that a ring of `bytes` should have after a drain before which `lost` bytes did not fit:
 * twice above 1% of its capacity, four times above 50%, eight times above 200%, by the ratio above
 * 800%, at most max; a power of two, never less than before.
 */
size_t rings_size(size_t bytes, uint64_t lost, size_t max);

/*
 * The size that a ring of `bytes` should have of which a drain took `taken` bytes at most: a power
 * of two, at least `least` (which is one), never more than before.
 */
size_t rings_size_quiet(size_t bytes, uint64_t taken, size_t least);

#endif
