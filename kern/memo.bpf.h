/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who has which memos (kern/memo.h). There are fewer than threads may be: one that is sampled again
 * within a short time gets some that have not been used for long. Include it after
 * kern/unwind_walk.h.
 */
#ifndef GNOMON_MEMO_BPF_H
#define GNOMON_MEMO_BPF_H

#include "maps.bpf.h"

#define MEMOS	     384	/* 13 MB; the one behind them is always empty */
#define MEMO_STACKS  2		/* who works waits in turns, for work and at it */
#define MEMO_IDLE_NS 1000000000 /* not used for so long it may become another thread's */

struct memo {
	__u64 owner;   /* 0 none; below */
	__u64 used_ns; /* when it was last */
	__u64 turn;    /* the stack that was walked last */
	struct uw_memo of[MEMO_STACKS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MEMOS + 1);
	__type(key, __u32);
	__type(value, struct memo);
} memos SEC(".maps") __weak;

_Static_assert(sizeof(struct uw_trail) <= 32768, "no value of a map per CPU");

/* What a walk needs beside its memo. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, GN_SENT); /* as enum stack_slot: one program may interrupt another */
	__type(key, __u32);
	__type(value, struct uw_trail);
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
static __always_inline void memo_forget(struct memo *m)
{
	for (__u32 i = 0; i < MEMO_STACKS; i++)
		m->of[i].n = 0;
}

/* One that has become free. */
static __always_inline struct memo *memo_find(__u32 *mine, __u64 owner, __u64 now)
{
	__u32 at = __sync_fetch_and_add(&gn_memo_next, 1) % MEMOS;
	struct memo *m = bpf_map_lookup_elem(&memos, &at);
	__u64 old;

	if (!m)
		return NULL;
	old = *(volatile __u64 *)&m->owner;
	if (old & MEMO_BUSY || (old && now - m->used_ns < MEMO_IDLE_NS))
		return NULL;
	if (__sync_val_compare_and_swap(&m->owner, old, owner | MEMO_BUSY) != old)
		return NULL;
	memo_forget(m);
	*mine = at + 1;
	return m;
}

/*
 * The thread's memo, `mine` of its storage, for nobody else until memo_give(). Where it has none,
 * or somebody else has it now, one that is empty and comes to nothing.
 */
static __noinline struct memo *memo_take(struct uw_trail *trail, __u32 *mine, __u64 owner,
					 __u64 now)
{
	struct memo *m = NULL;
	__u32 at;

	if (!trail || !mine)
		return NULL;
	at = *mine - 1;
	if (at < MEMOS)
		m = bpf_map_lookup_elem(&memos, &at);
	if (m && __sync_val_compare_and_swap(&m->owner, owner, owner | MEMO_BUSY) != owner)
		m = NULL;
	if (!m && *mine == MEMO_WANTED)
		m = memo_find(mine, owner, now);
	trail->keep = !!m;
	if (!m) {
		if (at < MEMOS || !*mine)
			*mine = MEMO_WANTED;
		at = MEMOS;
		return bpf_map_lookup_elem(&memos, &at);
	}
	m->used_ns = now;
	return m;
}

/* The one of its stacks that the walk begins at, or else the one that may become another. */
static __always_inline struct uw_memo *memo_of(struct memo *m, const struct uw_state *s)
{
	__u64 found = s->flags & GN_FF_RETADDR ? m->turn ^ 1 : 0;

	for (__u32 i = 0; i < MEMO_STACKS; i++) {
		if (uw_memo_begins(&m->of[i], s)) {
			found = i;
			break;
		}
	}
	uw_barrier(found);
	m->turn = found;
	return &m->of[found & (MEMO_STACKS - 1)];
}

/* With gn_check_code: what the walk, which counts, has found. */
static __always_inline void memo_checked(const struct uw_trail *t)
{
	if (!gn_check_code)
		return;
	count_add(GN_CNT_MEMO_CHECKED, t->checked);
	count_add(GN_CNT_MEMO_WRONG, t->wrong);
}

static __always_inline void memo_give(struct memo *m)
{
	__sync_lock_test_and_set(&m->owner, m->owner & ~MEMO_BUSY); /* after all else */
}

#endif
