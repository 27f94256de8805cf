/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which virtual thread a carrier runs: JavaThread::_vthread refers to its object, or to the
 * carrier's own (JDK runtime/javaThread.hpp). That is read along with the stack, so that both are
 * of one moment; its name is read and sent once.
 *
 * Collectors move objects. What was read counts if none had begun to move meanwhile, and with ZGC,
 * which moves them while threads run, if the reference's colour says that its object is there. If
 * not, the thread is the one that it was at last, as long as nothing speaks against that, or it is
 * not known, and the sample is the carrier's.
 */
#ifndef GNOMON_VTHREAD_BPF_H
#define GNOMON_VTHREAD_BPF_H

#include "filter.bpf.h"
#include "abi_jvm.h"

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

/* Of the current thread's memory; of `task`'s in programs that look from outside. */
static __always_inline long vthread_read(void *to, __u32 size, __u64 from, struct task_struct *task)
{
#ifdef UW_REMOTE
	return remote_read(task, to, size, from);
#else
	return bpf_probe_read_user(to, size, (void *)from);
#endif
}

static __always_inline __u64 oop_decode(const struct gn_vthreads *v, __u64 oop)
{
	return v->flags & GN_OOP_ZGC ? gn_zgc_address(oop) : oop;
}

#define EPOCH_ONLY 1 /* there is no other */

/* What changes when objects begin to move, 0: they do now, or it cannot be read. */
static __always_inline __u64 vthread_epoch(const struct gn_vthreads *v, struct task_struct *task)
{
	__u64 mask = 0;
	__u32 n = 0;
	__u8 active = 0;

	if (v->mask)
		return vthread_read(&mask, sizeof(mask), v->mask, task) ? 0 : mask;
	if (!v->active)
		return EPOCH_ONLY;
	if (vthread_read(&active, sizeof(active), v->active, task) || active ||
	    vthread_read(&n, sizeof(n), v->collections, task))
		return 0;
	return 1ull << 32 | n;
}

/* Whether the object is where the reference says. */
static __always_inline bool oop_is_there(const struct gn_vthreads *v, __u64 oop, __u64 epoch)
{
	if (!v->mask)
		return true;
	if (v->flags & GN_OOP_ZGC)
		return (oop & epoch & 0xf000) != 0;
	return !(oop & epoch) || oop & v->remapped;
}

#define OOP_MOVED 1

/* The object that a field at `from` refers to, 0 none; OOP_MOVED: it cannot be told. */
static __always_inline __u64 oop_load(const struct gn_vthreads *v, __u64 from, __u64 epoch,
				      struct task_struct *task)
{
	__u64 oop = 0, to;
	__u32 narrow = 0;

	if (v->flags & GN_OOP_NARROW) {
		if (vthread_read(&narrow, sizeof(narrow), from, task))
			return OOP_MOVED;
		return narrow ? v->oop_base + ((__u64)narrow << (v->oop_shift & 31)) : 0;
	}
	if (vthread_read(&oop, sizeof(oop), from, task))
		return OOP_MOVED;
	to = oop_decode(v, oop);
	return !to || oop_is_there(v, oop, epoch) ? to : OOP_MOVED;
}

/* Not inlined: once per virtual thread. 0: its name cannot be told now. */
static __noinline int vthread_name(struct gn_vthread_rec *r, const struct gn_vthreads *v,
				   __u64 thread, __u64 epoch, struct task_struct *task)
{
	__u64 str, array;
	__u8 coder = 0;
	__s32 len = 0;
	__u32 n;

	if (!r || !v || !task)
		return 0;
	r->len = r->wide = 0;
	str = oop_load(v, thread + v->name, epoch, task);
	if (!str || str == OOP_MOVED || vthread_read(&coder, 1, str + v->coder, task))
		return !str;
	array = oop_load(v, str + v->value, epoch, task);
	if (array == OOP_MOVED || vthread_read(&len, sizeof(len), array + v->length, task) ||
	    len < 0)
		return 0;
	n = len < GN_VTHREAD_NAME ? len : GN_VTHREAD_NAME;
	if (n && vthread_read(r->name, n, array + v->bytes, task))
		return 0;
	r->len = len;
	r->wide = coder != 0;
	return vthread_epoch(v, task) == epoch;
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
	r->h.type = GN_REC_VTHREAD;
	r->h.tgid = who >> 32;
	r->h.tid = (__u32)who;
	r->h.time = bpf_ktime_get_ns();
	r->id = id;
	if (!record_send(&r->h, sizeof(*r)))
		bpf_map_update_elem(&vthread_names, &key, &epoch, BPF_ANY);
}

/* The id of the virtual thread at the address, 0: there is none. */
static __always_inline __u64 vthread_id(const struct gn_vthreads *v, __u64 thread,
					struct task_struct *task)
{
	__u64 klass = 0, id = 0;

	if (!thread || vthread_read(&klass, sizeof(klass), thread + v->klass_at, task))
		return 0;
	if (v->klass_bytes == 4)
		klass = (__u32)klass;
	if (klass >> (v->klass_shift & 63) != v->klass ||
	    vthread_read(&id, sizeof(id), thread + v->id, task))
		return 0;
	return id;
}

/* The thread itself keeps it: what looks from outside may do so at the same time. */
static __always_inline void carrier_keep(struct gn_carrier *c, __u64 reference, __u64 id)
{
#ifndef UW_REMOTE
	*(volatile __u64 *)&c->id = 0;
	*(volatile __u64 *)&c->reference = reference;
	*(volatile __u64 *)&c->id = id;
#endif
}

/* Of a reference whose object may be somewhere else, and the id that was read where it was. */
static __always_inline __u64 carrier_kept(const struct gn_vthreads *v, struct gn_carrier *c,
					  __u64 reference, __u64 id)
{
	bool same = *(volatile __u64 *)&c->reference == reference;
	__u64 kept = *(volatile __u64 *)&c->id;

	if (*(volatile __u64 *)&c->reference != reference)
		same = false;
	return (same && v->mask) || kept == id ? kept : 0;
}

/* The id of the virtual thread that `who` (tgid << 32 | tid), which is `task`, runs; 0 none. */
static __noinline __u64 vthread_mounted(__u64 who, struct task_struct *task, __u32 slot)
{
	__u32 tid = (__u32)who, tgid = who >> 32;
	struct gn_carrier *c = bpf_map_lookup_elem(&carriers, &tid);
	__u64 reference = 0, thread, epoch, id;
	struct gn_vthreads *v;

	if (!c || !task)
		return 0;
	v = bpf_map_lookup_elem(&vthreads, &tgid);
	if (!v)
		return 0;
	epoch = vthread_epoch(v, task);
	if (vthread_read(&reference, sizeof(reference), c->slot, task))
		return 0;
	thread = oop_decode(v, reference);
	id = vthread_id(v, thread, task);
	if (!epoch || !oop_is_there(v, reference, epoch) || vthread_epoch(v, task) != epoch)
		return carrier_kept(v, c, reference, id);
	carrier_keep(c, reference, id);
	if (id)
		vthread_send(id, who, v, thread, epoch, task, slot);
	return id;
}

static __always_inline bool vthread_is_carrier(__u32 tid)
{
	return gn_carriers && bpf_map_lookup_elem(&carriers, &tid);
}

static __always_inline __u64 vthread_of(__u64 who, struct task_struct *task, __u32 slot)
{
	return gn_carriers ? vthread_mounted(who, task, slot) : 0;
}

#endif
