/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which virtual thread a carrier runs: JavaThread::_vthread refers to its object, or to the
 * carrier's own (JDK runtime/javaThread.hpp). That is read along with the stack, so that both are
 * of one moment; its name is read and sent once.
 *
 * Where a collection moves the object meanwhile, the thread is the one that it was at last, if that
 * is what was read, or it is not known, and the sample is the carrier's.
 */
#ifndef GNOMON_VTHREAD_BPF_H
#define GNOMON_VTHREAD_BPF_H

#include "heap.bpf.h"

#define GN_MAX_CARRIERS 4096
#define VTHREAD_NAMES	16384

/* How many there are; 0: nothing is looked up. */
extern __u32 gn_carriers;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GN_MAX_CARRIERS);
	__type(key, __u32); /* tid */
	__type(value, struct gn_carrier);
} carriers SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GN_MAX_PROCS);
	__type(key, __u32); /* tgid */
	__type(value, struct gn_vthreads);
} vthreads SEC(".maps") __weak;

struct vthread_key {
	__u64 id;
	__u64 tgid;
};

/* Whose names were sent, and in which epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, VTHREAD_NAMES);
	__type(key, struct vthread_key);
	__type(value, __u32);
} vthread_names SEC(".maps") __weak;

#ifdef UW_REMOTE
#define VTHREAD_SLOTS	1
#define vthread_scratch vthread_remote_scratch
#else
#define VTHREAD_SLOTS 2 /* as enum stack_slot: one program may interrupt another */
#endif

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VTHREAD_SLOTS);
	__type(key, __u32);
	__type(value, struct gn_vthread_rec);
} vthread_scratch SEC(".maps") __weak;

/* Once per virtual thread. 0: its name cannot be told now. */
heap_fn int vthread_name(struct gn_vthread_rec *r, const struct gn_vthreads *v, __u64 thread,
			 __u64 epoch, struct task_struct *task)
{
	__u64 str, array;
	__u8 coder = 0;
	__s32 len = 0;
	__u32 n;

	if (!r || !v)
		return 0;
	r->len = r->wide = 0;
	str = object_at(task, &v->heap, thread + v->name, epoch, REF_FIELD);
	if (!is_object(str) || heap_read(task, &coder, 1, str + v->coder))
		return !str;
	array = object_at(task, &v->heap, str + v->value, epoch, REF_FIELD);
	if (!is_object(array) || heap_read(task, &len, sizeof(len), array + v->length) || len < 0)
		return 0;
	n = len;
	barrier_var(n); /* Linux 6.1 sees the bound of what is compared alone */
	if (n > GN_VTHREAD_NAME)
		n = GN_VTHREAD_NAME;
	if (n && heap_read(task, r->name, n, array + v->bytes))
		return 0;
	r->len = len;
	r->wide = coder != 0;
	return heap_leads(task, &v->heap, str + v->value, array, epoch, REF_FIELD) &&
	       heap_leads(task, &v->heap, thread + v->name, str, epoch, REF_FIELD) &&
	       heap_epoch(task, &v->heap) == epoch;
}

static __always_inline void vthread_send(__u64 id, __u64 who, const struct gn_vthreads *v,
					 __u64 thread, __u64 at, struct task_struct *task,
					 __u32 slot)
{
	struct vthread_key key = {.id = id, .tgid = who >> 32};
	__u32 *seen = bpf_map_lookup_elem(&vthread_names, &key), epoch = gn_epoch;
	struct gn_vthread_rec *r;

	if (seen && *seen == epoch)
		return;
	r = bpf_map_lookup_elem(&vthread_scratch, &slot);
	/* what cannot be told, or does not fit the ring, is sent with a later sample */
	if (!r || !vthread_name(r, v, thread, at, task))
		return;
	record_begin(&r->h, GN_REC_VTHREAD, who);
	r->id = id;
	if (!record_send(&r->h, sizeof(*r)))
		bpf_map_update_elem(&vthread_names, &key, &epoch, BPF_ANY);
}

#if HEAP_FOLLOWS
#define mounted_epoch(task, h)		   heap_epoch(task, h)
#define mounted_object(task, h, at, epoch) object_at(task, h, at, epoch, REF_HANDLE)
#else
static __always_inline __u64 mounted_epoch(struct task_struct *task, const struct gn_heap *h)
{
	return h->mask ? heap_word(task, h->mask) : heap_epoch(task, h);
}

/* With ZGC it is known where it is if its colour says so. */
static __always_inline __u64 mounted_object(struct task_struct *task, const struct gn_heap *h,
					    __u64 at, __u64 epoch)
{
	__u64 v = heap_word(task, at), bits = h->flags & GN_OOP_ZGC ? 0xf000 : ~0ull;

	if (h->mask && !(v & epoch & bits) == !(h->flags & GN_OOP_ZMARKS))
		return HEAP_UNKNOWN;
	return h->flags & GN_OOP_ZGC ? gn_zgc_address(v) : v;
}
#endif

/* The id of the virtual thread at the address, 0: there is none. */
static __always_inline __u64 vthread_id(const struct gn_vthreads *v, __u64 thread,
					struct task_struct *task)
{
	__u64 klass = 0, id = 0;

	if (!is_object(thread) || heap_read(task, &klass, sizeof(klass), thread + v->klass_at))
		return 0;
	if (v->klass_bytes == 4)
		klass = (__u32)klass;
	if (klass >> (v->klass_shift & 63) != v->klass ||
	    heap_read(task, &id, sizeof(id), thread + v->id))
		return 0;
	return id;
}

/*
 * The id of the virtual thread that `who` (tgid << 32 | tid), which is `task`, runs; 0 none. Of the
 * current thread no task is needed, and then the verifier looks at it once.
 */
#ifdef UW_REMOTE
static __noinline __u64 vthread_mounted(__u64 who, __u32 slot, struct task_struct *task)
#else
__noinline __weak __u64 vthread_mounted(__u64 who, __u32 slot)
#endif
{
#ifndef UW_REMOTE
	struct task_struct *task = NULL;
#endif
	__u32 tid = (__u32)who, tgid = who >> 32;
	struct gn_carrier *c = bpf_map_lookup_elem(&carriers, &tid);
	__u64 thread, epoch, id;
	struct gn_vthreads *v;

	if (!c)
		return 0;
	v = bpf_map_lookup_elem(&vthreads, &tgid);
	if (!v)
		return 0;
	epoch = mounted_epoch(task, &v->heap);
	thread = mounted_object(task, &v->heap, c->slot, epoch);
	id = vthread_id(v, thread, task);
	if (!epoch || !heap_leads(task, &v->heap, c->slot, thread, epoch, REF_HANDLE) ||
	    mounted_epoch(task, &v->heap) != epoch || (!HEAP_FOLLOWS && thread == HEAP_UNKNOWN))
		return id == c->id ? id : 0;
	c->id = id;
	if (id && (HEAP_FOLLOWS || !heap_moves(&v->heap)))
		vthread_send(id, who, v, thread, epoch, task, slot);
	return id;
}

static __always_inline bool vthread_is_carrier(__u32 tid)
{
	return gn_carriers && bpf_map_lookup_elem(&carriers, &tid);
}

static __always_inline __u64 vthread_of(__u64 who, struct task_struct *task, __u32 slot)
{
#ifdef UW_REMOTE
	return gn_carriers ? vthread_mounted(who, slot, task) : 0;
#else
	return gn_carriers ? vthread_mounted(who, slot) : 0;
#endif
}

#endif
