/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Objects of a Java heap, read while the JVM runs (struct gn_heap; user/jvm/heapepoch.h and zheap.h
 * have the same for user space, and say where it comes from). What is read is the target's, and may
 * be anything: it leads to reads that may fail, a few of them, and to nothing else.
 *
 * Collectors move objects. Most have stopped all threads then: what was read counts if heap_epoch()
 * is the same before and after it, and not 0. Shenandoah and ZGC move them while threads run: of
 * these references are followed to where their objects are, and what was read counts if they lead
 * there after it, too (heap_leads()).
 */
#ifndef GNOMON_HEAP_BPF_H
#define GNOMON_HEAP_BPF_H

#include "filter.bpf.h"
#include "abi_jvm.h"

#define HEAP_UNKNOWN 1 /* in place of an object's address */

/*
 * Following references takes functions that the verifier looks at once. From outside these need
 * tasks as arguments, which kernels know since 6.9: before, nothing is told there of objects that
 * move while threads run. (Colours alone are too much for the verifier of 6.1, but for one look:
 * kern/vthread.bpf.h.)
 */
#if !defined(UW_REMOTE) || defined(REMOTE_BY_PID)
#define HEAP_FOLLOWS 1
#else
#define HEAP_FOLLOWS 0
#endif

/*
 * Not inlined, so that the verifier has less to tell apart; but where programs find tasks by pid,
 * whose chains of calls are as deep as they may be.
 */
#ifdef REMOTE_BY_PID
#define heap_fn static __always_inline
#else
#define heap_fn static __noinline
#endif

#ifdef UW_REMOTE
#define heap_read(task, dst, len, addr) remote_read(task, dst, len, addr)
#else
#define heap_read(task, dst, len, addr) bpf_probe_read_user(dst, len, (void *)(addr))
#endif

static __always_inline __u64 heap_word(struct task_struct *task, __u64 addr)
{
	__u64 v = 0;

	return heap_read(task, &v, sizeof(v), addr) ? 0 : v;
}

/* Tells whether objects move while threads run. */
static __always_inline bool heap_moves(const struct gn_heap *h)
{
	return h->flags & (GN_OOP_ZGC | GN_OOP_ZMARKS | GN_OOP_FORWARDED);
}

/* Tells whether heap_epoch() is ever anything but 0. */
static __always_inline bool heap_is_told(const struct gn_heap *h)
{
	return (HEAP_FOLLOWS || !heap_moves(h)) && (h->mask || (h->active && h->collections));
}

/* A collection is under way, and how many there were: in the JVMs known they lie so (JDK
 * gc/shared/collectedHeap.hpp). */
struct heap_state {
	__u8 active, pad[15];
	__u32 collections;
};

/* What changes as objects begin to move; 0: they may move now, or it is not known. */
static __always_inline __u64 heap_epoch(struct task_struct *task, const struct gn_heap *h)
{
	struct heap_state s = {};

	if (!heap_is_told(h))
		return 0;
	if (h->mask)
		return heap_word(task, h->mask);
	if (h->collections - h->active == __builtin_offsetof(struct heap_state, collections)) {
		if (heap_read(task, &s, sizeof(s), h->active))
			return 0;
	} else if (heap_read(task, &s.active, sizeof(s.active), h->active) ||
		   heap_read(task, &s.collections, sizeof(s.collections), h->collections)) {
		return 0;
	}
	return s.active ? 0 : (__u64)s.collections + 1;
}

/* ---- ZGC ---- */

#define Z_GRANULE    21
#define Z_PROBES     8	       /* more are rare: half of a table's entries at least are empty */
#define Z_REMEMBERED (3u << 4) /* both: a reference from old to old */

enum { Z_YOUNG, Z_OLD };

/* The table of what was moved from the object's page, 0 none; HEAP_UNKNOWN. */
static __always_inline __u64 z_table(struct task_struct *task, const struct gn_heap *h,
				     __u64 offset, __u32 old)
{
	__u64 granule = offset >> Z_GRANULE, table = 0;

	if (granule >= h->granules[old & 1] ||
	    heap_read(task, &table, sizeof(table), h->tables[old & 1] + granule * 8))
		return HEAP_UNKNOWN;
	return table;
}

/* Tells where the object at the offset went by its page's table. */
static __always_inline __u64 z_forward(struct task_struct *task, const struct gn_heap *h,
				       __u64 table, __u64 offset)
{
	__u64 start, entry = 0, from, entries;
	__u32 at;

	start = heap_word(task, table + h->fw_start);
	entries = heap_word(task, table + h->fw_entries);
	if (start > offset || !entries)
		return HEAP_UNKNOWN;
	from = (offset - start) >> (heap_word(task, table + h->fw_shift) & 63);
	at = gn_zgc_hash(from) & (entries - 1);
	for (int i = 0; i < Z_PROBES; i++) {
		if (heap_read(task, &entry, sizeof(entry), table + h->fw_bytes + (__u64)at * 8))
			return HEAP_UNKNOWN;
		if (!(entry & 1))
			return offset; /* not moved so far */
		if (entry >> 46 == from)
			return entry >> 1 & ((1ull << 45) - 1);
		at = (at + 1) & (entries - 1);
	}
	return HEAP_UNKNOWN;
}

static __always_inline __u64 z_moved(struct task_struct *task, const struct gn_heap *h,
				     __u64 address, __u32 old)
{
	__u64 offset = address & h->offset_mask, table = z_table(task, h, offset, old), to;

	if (!table || table == HEAP_UNKNOWN)
		return table ? table : address;
	to = z_forward(task, h, table, offset);
	return to == HEAP_UNKNOWN ? to : (address & ~h->offset_mask) | to;
}

/* The number of the one bit of four. */
static __always_inline __u32 z_remapped(__u64 v)
{
	__u32 bits = v >> 12 & 15;

	return (bits >> 1) - (bits >> 3);
}

/* Tells where the object is of a reference whose colour does not say that it is at `address`. */
static __always_inline __u64 z_lookup(struct task_struct *task, const struct gn_heap *h,
				      __u64 address, __u64 v, __u64 epoch)
{
	__u32 differs = z_remapped(v) ^ z_remapped(epoch);
	__u64 table;

	if (h->flags & GN_OOP_ZMARKS || differs == 1)
		return z_moved(task, h, address, Z_YOUNG);
	if (differs == 2 || (v & Z_REMEMBERED) == Z_REMEMBERED)
		return z_moved(task, h, address, Z_OLD);
	table = z_table(task, h, address & h->offset_mask, Z_YOUNG);
	if (table == HEAP_UNKNOWN)
		return table;
	return z_moved(task, h, address, table ? Z_YOUNG : Z_OLD);
}

static __always_inline __u64 z_object(struct task_struct *task, const struct gn_heap *h, __u64 v,
				      __u64 epoch)
{
	__u64 address = gn_zgc_address(v);

	if (!address || v & epoch & 0xf000)
		return address;
	return z_lookup(task, h, address, v, epoch);
}

/* The collector without generations; the epoch is the colours that are bad. */
static __always_inline __u64 z_marked_object(struct task_struct *task, const struct gn_heap *h,
					     __u64 v, __u64 epoch)
{
	if (!(v & epoch) || v & (h->offset_mask + 1) << 2)
		return v;
	return z_lookup(task, h, v, v, epoch);
}

/* ---- references ---- */

#define MARK_MOVED 3 /* the low bits of an object's mark once it lies somewhere else */

/* Shenandoah: its mark then says where. */
static __always_inline __u64 forwarded_object(struct task_struct *task, __u64 object)
{
	__u64 mark = heap_word(task, object);

	return !mark ? HEAP_UNKNOWN : (mark & 3) == MARK_MOVED ? mark & ~3ull : object;
}

/* What refers to an object. */
enum { REF_HANDLE, REF_FIELD /* which may be 32 bits wide */ };

/*
 * What the reference at `addr` leads to; 0 none, HEAP_UNKNOWN. The verifier looks at this once, and
 * takes what it returns for any number: inlined, each of its ways out is gone on from.
 */
#if HEAP_FOLLOWS
__noinline __weak __u64
#ifdef UW_REMOTE
object_at_remote(const struct gn_heap *h, __u64 addr, __u64 epoch, __u32 kind,
		 struct task_struct *task remote_task)
#else
object_at_here(const struct gn_heap *h, __u64 addr, __u64 epoch, __u32 kind)
#endif
{
#ifndef UW_REMOTE
	struct task_struct *task = NULL;
#endif
	__u64 v = 0;

	if (!h || !addr)
		return 0;
	if (kind == REF_FIELD && h->flags & GN_OOP_NARROW) {
		if (heap_read(task, &v, sizeof(__u32), addr))
			return HEAP_UNKNOWN;
		if (v)
			v = h->oop_base + (v << (h->oop_shift & 31));
	} else if (heap_read(task, &v, sizeof(v), addr)) {
		return HEAP_UNKNOWN;
	}
	if (!v)
		return 0;
	if (h->flags & GN_OOP_ZGC)
		return z_object(task, h, v, epoch);
	if (h->flags & GN_OOP_ZMARKS)
		return z_marked_object(task, h, v, epoch);
	return h->flags & GN_OOP_FORWARDED ? forwarded_object(task, v) : v;
}

#ifdef UW_REMOTE
#define object_at(task, h, addr, epoch, kind) object_at_remote(h, addr, epoch, kind, task)
#else
#define object_at(task, h, addr, epoch, kind) object_at_here(h, addr, epoch, kind)
#endif
#else
static __always_inline __u64 object_at(struct task_struct *task, const struct gn_heap *h,
				       __u64 addr, __u64 epoch, __u32 kind)
{
	__u32 narrow = 0;

	if (kind != REF_FIELD || !(h->flags & GN_OOP_NARROW))
		return heap_word(task, addr);
	if (heap_read(task, &narrow, sizeof(narrow), addr) || !narrow)
		return 0;
	return h->oop_base + ((__u64)narrow << (h->oop_shift & 31));
}
#endif

static __always_inline bool is_object(__u64 address)
{
	return address > HEAP_UNKNOWN;
}

/* Tells whether the reference at `addr` still leads to the object. */
static __always_inline bool heap_leads(struct task_struct *task, const struct gn_heap *h,
				       __u64 addr, __u64 object, __u64 epoch, __u32 kind)
{
	return !HEAP_FOLLOWS || !heap_moves(h) || object_at(task, h, addr, epoch, kind) == object;
}

#endif
