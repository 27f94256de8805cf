/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which request a thread works for, as its process publishes it: a record that a thread-local
 * variable points to (abi_context.h, user/context/README.md). Read along with a stack, so that both
 * are of one moment, behind the walk and outside of it; its id is a hash of all its bytes, its
 * content is sent once.
 *
 * The record is written by its thread alone, and that stands still: it is the current one, or off
 * the CPU, and what was read of one that got the CPU meanwhile is thrown away with its stack.
 */
#ifndef GNOMON_CONTEXT_BPF_H
#define GNOMON_CONTEXT_BPF_H

#include "filter.bpf.h"
#include "abi_context.h"

#define CONTEXTS_SENT 16384

/* Of how many processes the places are known; 0: nothing is looked up. */
extern __u32 gn_contexts;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GN_MAX_PROCS);
	__type(key, __u32); /* tgid */
	__type(value, struct gn_ctx_places);
} context_places SEC(".maps") __weak;

/* Of which contexts the content was sent, and in which epoch. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CONTEXTS_SENT);
	__type(key, __u64);
	__type(value, __u32);
} contexts_sent SEC(".maps") __weak;

#ifdef UW_REMOTE
#define CONTEXT_SLOTS			   1
#define context_scratch			   context_remote_scratch
#define context_read(task, dst, len, addr) remote_read(task, dst, len, addr)
#else
#define CONTEXT_SLOTS			   2 /* as enum stack_slot: one program may interrupt another */
#define context_read(task, dst, len, addr) bpf_probe_read_user(dst, len, (void *)(addr))
#endif

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CONTEXT_SLOTS);
	__type(key, __u32);
	__type(value, struct gn_context_rec);
} context_scratch SEC(".maps") __weak;

static __always_inline __u64 thread_pointer(const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread.fsbase;
#else
	return task->thread.uw.tp_value;
#endif
}

/* ---- where ---- */

/* A word of the dtv; false: it cannot be read, or is below `least`. */
static __always_inline bool dtv_word(struct task_struct *task, __u64 addr, __u64 least, __u64 *word)
{
	return !context_read(task, word, sizeof(*word), addr) && *word >= least;
}

/* Tells where the variable of the thread with that thread pointer lies; 0: it has none. */
static __always_inline __u64 place_slot(const struct ctx_place *p, struct task_struct *task,
					__u64 tp)
{
	__u64 dtv = 0, word = 0;

	if (p->kind == CTX_PLACE_STATIC)
		return tp + p->offset;
	if (!dtv_word(task, tp + p->dtv_at, 1, &dtv) ||
	    !dtv_word(task, dtv + p->capacity_at, p->module, &word) ||
	    (p->generation && !dtv_word(task, dtv, p->generation, &word)) ||
	    !dtv_word(task, dtv + (p->module << (p->dtv_shift & 7)), 1, &word) || word == ~0ULL)
		return 0;
	return word + p->offset;
}

/* ---- what ---- */

static __always_inline bool otep_read(struct ctx_record *r, struct task_struct *task, __u64 addr)
{
	__u64 n;

	if (context_read(task, &r->head, sizeof(r->head), addr) || r->head.valid != 1)
		return false;
	n = r->head.attrs_size;
	barrier_var(n);
	if (n > CTX_ATTRS_MAX)
		n = CTX_ATTRS_MAX;
	barrier_var(n);
	if (n > CTX_ATTRS_MAX)
		return false;
	/* attributes that cannot be read leave the ids what they are */
	r->attrs_len = n && !context_read(task, r->attrs, n, addr + sizeof(r->head)) ? n : 0;
	return true;
}

static __always_inline bool elastic_read(struct ctx_record *r, struct task_struct *task, __u64 addr)
{
	_Static_assert(__builtin_offsetof(struct ctx_elastic, transaction_id) ==
			       __builtin_offsetof(struct ctx_elastic, trace_id) + 24,
		       "both ids and the transaction's are one read");
	struct ctx_elastic e;

	if (context_read(task, &e, sizeof(e), addr) || e.valid != 1 || e.has_trace != 1)
		return false;
	__builtin_memcpy(r->head.trace_id, e.trace_id, sizeof(e.trace_id));
	__builtin_memcpy(r->head.span_id, e.span_id, sizeof(e.span_id));
	__builtin_memcpy(r->attrs, e.transaction_id, sizeof(e.transaction_id));
	r->head.valid = 1;
	r->head.trace_flags = e.trace_flags;
	r->head.attrs_size = r->attrs_len = sizeof(e.transaction_id);
	return true;
}

static __noinline int place_read(const struct ctx_place *p, struct task_struct *task, __u64 tp,
				 struct gn_context_rec *r)
{
	__u64 record = 0, slot;

	if (!p || !r)
		return 0;
	slot = place_slot(p, task, tp);
	if (!slot || context_read(task, &record, sizeof(record), slot) || !record)
		return 0;
	r->of.format = p->format;
	if (p->format == CTX_FORMAT_ELASTIC)
		return elastic_read(&r->of, task, record);
	return otep_read(&r->of, task, record);
}

/* ---- its id, and its content ---- */

#define CONTEXT_WORDS ((sizeof(struct ctx_record) + 4) / 8)

/* Over the words that it has; of the last one only what belongs to it. */
static __always_inline __u64 context_id(const struct gn_context_rec *r, __u32 tgid)
{
	const __u64 *w = (const __u64 *)&r->of;
	__u32 len = sizeof(r->of) - CTX_ATTRS_MAX + r->of.attrs_len;
	__u64 h = tgid, last = ~0ULL;

	for (__u32 i = 0; i < CONTEXT_WORDS && 8 * i < len; i++) {
		if (8 * i + 8 > len)
			last = (1ULL << (8 * (len & 7))) - 1;
		h = (h ^ (w[i] & last)) * 0xd6e8feb86659fd93ULL;
		h ^= h >> 32;
	}
	return h ? h : 1;
}

static __always_inline void context_send(struct gn_context_rec *r, __u64 who)
{
	__u32 *seen = bpf_map_lookup_elem(&contexts_sent, &r->id), epoch = gn_epoch;
	__u64 n = r->of.attrs_len;

	if (seen && *seen == epoch)
		return;
	barrier_var(n);
	if (n > CTX_ATTRS_MAX)
		return;
	record_begin(&r->h, GN_REC_CONTEXT, who);
	/* one that does not fit the ring is sent with the next sample */
	if (!record_send(&r->h, gn_context_size(n)))
		bpf_map_update_elem(&contexts_sent, &r->id, &epoch, BPF_ANY);
}

static __always_inline __u64 context_find(__u64 who, struct task_struct *task, __u64 tp, __u32 slot)
{
	__u32 tgid = who >> 32;
	struct gn_ctx_places *places = bpf_map_lookup_elem(&context_places, &tgid);
	struct gn_context_rec *r = bpf_map_lookup_elem(&context_scratch, &slot);

	if (!places || !r || !tp)
		return 0;
	for (__u32 i = 0; i < CTX_PLACE_MAX && i < places->n; i++) {
		if (!place_read(&places->at[i], task, tp, r))
			continue;
		r->id = context_id(r, tgid);
		context_send(r, who);
		return r->id;
	}
	return 0;
}

#ifdef UW_REMOTE
static __noinline __u64 context_take(__u64 who, struct task_struct *task)
{
	return task ? context_find(who, task, thread_pointer(task), 0) : 0;
}

#define context_of(who, task, slot) (gn_contexts ? context_take(who, task) : 0)
#else
/*
 * Of the current thread, or of one with its memory, by its thread pointer. Not static, so that it
 * is verified by itself, once.
 */
__weak __noinline __u64 context_take(__u64 who, __u64 tp, __u32 slot)
{
	return context_find(who, NULL, tp, slot);
}

#define context_of(who, task, slot)                                                                \
	(gn_contexts ? context_take(who, thread_pointer(task), slot) : 0)
#endif

#endif
