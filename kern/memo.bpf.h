/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has which memo (kern/memo.h). There are fewer than threads may be: one that is sampled again
 * within a short time gets one that has not been used for long. Include it after
 * kern/unwind_walk.h.
 */
#ifndef GNOMON_MEMO_BPF_H
#define GNOMON_MEMO_BPF_H

#include "maps.bpf.h"
#include "stack_id.bpf.h"

#define MEMOS	     512	/* a power of two: 4 MB */
#define MEMO_IDLE_NS 1000000000 /* not used for so long it may become another thread's */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MEMOS);
	__type(key, __u32);
	__type(value, struct uw_memo);
} memos SEC(".maps") __weak;

/* What a walk needs beside its memo, or has in place of it. */
struct memo_scratch {
	struct uw_trail trail;
	struct uw_memo none;
};
_Static_assert(sizeof(struct memo_scratch) <= 32768, "no value of a map per CPU");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GN_SENT); /* as enum stack_slot: one program may interrupt another */
	__type(key, __u32);
	__type(value, struct memo_scratch);
} trails SEC(".maps") __weak;

/* The place that is looked at next for one that nobody uses. */
extern __u32 gn_memo_next;

/*
 * A memo's owner is tgid << 32 | tid; while it is in use MEMO_BUSY, too, so that nobody takes it
 * meanwhile. (Numbers of threads have 22 bits.)
 */
#define MEMO_BUSY (1ULL << 31)

#define MEMO_WANTED ~0U /* gn_thread.memo: it was sampled once */

/* It becomes another's. */
static __always_inline void memo_forget(struct uw_memo *o)
{
	for (__u32 i = 0; i < UW_SAMES; i++)
		o->same[i].n = o->same[i].hash = 0;
}

/* One that has become free. */
static __always_inline struct uw_memo *memo_find(__u32 *mine, __u64 owner, __u64 now)
{
	__u32 at = __sync_fetch_and_add(&gn_memo_next, 1) & (MEMOS - 1);
	struct uw_memo *o = bpf_map_lookup_elem(&memos, &at);
	__u64 old;

	if (!o)
		return NULL;
	old = *(volatile __u64 *)&o->owner;
	if (old & MEMO_BUSY || (old && now - o->used_ns < MEMO_IDLE_NS))
		return NULL;
	if (__sync_val_compare_and_swap(&o->owner, old, owner | MEMO_BUSY) != old)
		return NULL;
	o->n = 0;
	memo_forget(o);
	*mine = at + 1;
	return o;
}

/*
 * The thread's memo, `mine` of its storage, for nobody else until memo_give(). Where it has none,
 * or somebody else has it now, one that is empty and comes to nothing.
 */
static __noinline struct uw_memo *memo_take(struct memo_scratch *c, __u32 *mine, __u64 owner,
					    __u64 now)
{
	struct uw_memo *o = NULL;
	__u32 at;

	if (!c || !mine)
		return NULL;
	at = *mine - 1;
	if (at < MEMOS)
		o = bpf_map_lookup_elem(&memos, &at);
	if (o && __sync_val_compare_and_swap(&o->owner, owner, owner | MEMO_BUSY) != owner)
		o = NULL;
	if (!o && *mine == MEMO_WANTED)
		o = memo_find(mine, owner, now);
	c->trail.keep = !!o;
	if (!o) {
		if (at < MEMOS || !*mine)
			*mine = MEMO_WANTED;
		o = &c->none;
		o->n = 0;
		memo_forget(o);
	}
	o->used_ns = now;
	return o;
}

/* With gn_check_code: what the walk, which counts, has found. */
static __always_inline void memo_checked(const struct uw_trail *t)
{
	if (!gn_check_code)
		return;
	count_add(GN_CNT_MEMO_CHECKED, t->checked);
	count_add(GN_CNT_MEMO_WRONG, t->wrong);
}

/* Has this epoch's reader the stack's frames, behind what is before them now? */
static __always_inline bool same_is_sent(const struct stack_scratch *s, struct uw_same *same)
{
	__u64 id;
	__u32 *seen;

	if (same->epoch == s->epoch && same->before == s->uw.hash)
		return true;
	id = stack_id_of(s->uw.hash, same->hash, 1);
	seen = bpf_map_lookup_elem(&sent, &id);
	if (!seen || *seen != s->epoch)
		return false;
	same->epoch = s->epoch;
	same->before = s->uw.hash;
	return true;
}

/* A bit for each of the memo's stacks, before the walk. In a function of its own to save BPF stack.
 */
static __noinline __u32 same_sent(struct stack_scratch *s, struct uw_memo *o)
{
	__u32 bits = 0;

	if (!s || !o)
		return 0;
	for (__u32 i = 0; i < UW_SAMES; i++)
		if (o->same[i].n && same_is_sent(s, &o->same[i]))
			bits |= 1 << i;
	return bits;
}

static __always_inline void memo_give(struct uw_memo *o)
{
	__sync_lock_test_and_set(&o->owner, o->owner & ~MEMO_BUSY); /* after all else */
}

#endif
