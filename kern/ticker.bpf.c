/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A timer that looks at each tick, in place of the tick thread, whether that is needed: a thread
 * that was put into the tick's queue has mostly been back by then. To wake the tick thread for that
 * costs 20 times as much, and puts a thread off its CPU, which is pending then. Where nothing is
 * pending for a while it is not started again, and whoever needs a tick rings.
 */
#include "clock.bpf.h"
#include "lock.bpf.h"
#include "pending.bpf.h"

/* Without __ksym, which remote.bpf.c has: libbpf's linker (1.1) fails where two files have it. */
extern struct task_struct *bpf_task_from_pid(s32 pid) __weak;
extern void bpf_task_release(struct task_struct *p) __weak;

#define TICKER_LOOKS 64 /* threads that are looked at */
#define TICKER_QUIET 32 /* ticks at which nothing was pending */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gn_ticker);
} tickers SEC(".maps");

/* Not 0: that tick, plus 1, is to be visited now. */
__u64 gn_tick_found = 0;

/* ns for which pending threads are left to others of their process (kern/visit.bpf.c); 0: not at
 * all. */
__u64 gn_near_ns = 0;

/*
 * Of the look that goes on, there being one at a time: threads popped, and whether one is to be
 * read; lock waiters that wait no more, and whether one does. (On the stack the verifier would
 * follow them through each turn of the loops.)
 */
__u32 gn_look_popped = 0, gn_look_off = 0, gn_look_over = 0, gn_look_waits = 0;

/*
 * Is it off the CPU, and, if `seq` is not 0, in that interval still? (Not static, as the next ones:
 * see ticks_send().)
 */
__noinline int thread_is_off(__u32 tid, __u32 seq)
{
	struct task_struct *task = bpf_task_from_pid(tid);
	struct gn_thread *t;
	int off = 0;

	if (!task)
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (t && (!seq || t->seq == seq))
		off = clock_is_off(task, t);
	bpf_task_release(task);
	return off;
}

static long pending_look(__u32 i, const __u64 *tick)
{
	struct pending p = {};
	int due;

	if (pending_pop(tick_parity(*tick), &p))
		return 1;
	gn_look_popped++;
	due = pending_judge(p.storage, *tick);
	if (due == PENDING_LATER) {
		pending_push(!tick_parity(*tick), &p);
		return 0;
	}
	if (due == PENDING_OVER || !thread_is_off(p.tid, 0))
		return 0;
	pending_push(tick_parity(*tick), &p);
	gn_look_off = 1;
	return 1;
}

static long lock_look(__u32 i, const __u64 *first)
{
	struct lock_waiter *w = lock_waiter_at(*first + i);

	if (!w)
		return 1;
	if (thread_is_off(w->tid, w->seq)) {
		gn_look_waits = 1;
		return 1;
	}
	gn_look_over++;
	return 0;
}

/* 1: somebody waits for a lock. Those that do no more are passed by. */
__noinline int locks_are_waited_for(void)
{
	__u64 first = gn_lock_seen, n = gn_lock_waiters - first;

	if (!n)
		return 0;
	if (n > TICKER_LOOKS)
		return 1;
	gn_look_over = gn_look_waits = 0;
	bpf_loop(n, lock_look, &first, 0);
	if (gn_look_waits)
		return 1;
	__sync_val_compare_and_swap(&gn_lock_seen, first, first + gn_look_over);
	return 0;
}

static __always_inline bool queue_is_empty(__u32 odd)
{
	struct pending p;

	return odd ? bpf_map_peek_elem(&pending_odd, &p) : bpf_map_peek_elem(&pending_even, &p);
}

static __always_inline bool nothing_is_pending(void)
{
	return queue_is_empty(0) && queue_is_empty(1) && gn_lock_waiters == gn_lock_seen;
}

/* Whoever comes to need a tick either finds that it is to ring, or is found here. */
static __always_inline bool ticker_rests(struct gn_ticker *t)
{
	if (t->quiet < TICKER_QUIET || __sync_val_compare_and_swap(&gn_tick_dozes, GN_DOZE_TICKER,
								   GN_DOZE_ALL) != GN_DOZE_TICKER)
		return false;
	return nothing_is_pending() || __sync_val_compare_and_swap(&gn_tick_dozes, GN_DOZE_ALL,
								   GN_DOZE_TICKER) != GN_DOZE_ALL;
}

/* A timer that cannot be set must not be waited for. */
static __always_inline int ticker_wait(struct gn_ticker *t, __u64 ns)
{
	long rc = bpf_timer_start(&t->timer, ns, 0);

	if (rc)
		bell_ring();
	return rc;
}

static __always_inline __u64 tick_due(__u64 tick)
{
	return gn_start_ns + gn_tick_time(tick, gn_wall_ns) + GN_VISIT_DELAY;
}

static __always_inline int ticker_set(struct gn_ticker *t, __u64 tick)
{
	__u64 now = bpf_ktime_get_ns(), due;

	t->again = 0;
	t->tick = gn_rates ? level_next(tick, gn_visit_level) : tick;
	due = tick_due(t->tick);
	return ticker_wait(t, due > now ? due - now : 1);
}

/* Of ticks whose time has passed meanwhile the last two are looked at: one for each queue. */
static __always_inline void ticker_go_on(struct gn_ticker *t, __u64 now)
{
	__u64 coming = gn_ticks_until(now - GN_VISIT_DELAY - gn_start_ns, gn_wall_ns);
	__u64 next = t->tick + 1, two = 2ULL << (gn_rates ? gn_visit_level & 15 : 0);

	ticker_set(t, next + two < coming ? coming - two : next);
}

static __always_inline void ticker_found(struct gn_ticker *t)
{
	t->quiet = 0;
	gn_tick_found = t->tick + 1;
	bell_ring();
}

enum { REMAINS_NONE, REMAINS_OVER, REMAINS_OFF };

/* REMAINS_OFF: a thread is to be read; REMAINS_OVER: those that were to be are not any more. */
__noinline int pending_remains(__u64 tick)
{
	gn_look_popped = gn_look_off = 0;
	bpf_loop(TICKER_LOOKS, pending_look, &tick, 0);
	if (gn_look_off || gn_look_popped == TICKER_LOOKS)
		return REMAINS_OFF;
	return gn_look_popped ? REMAINS_OVER : REMAINS_NONE;
}

/* Those that are pending are left to others of their process for a while. */
static __always_inline bool ticker_leaves(struct gn_ticker *t, __u64 now)
{
	__u64 until = tick_due(t->tick) + gn_near_ns;

	if (!gn_near_ns || t->again || queue_is_empty(tick_parity(t->tick)) || now >= until)
		return false;
	t->again = 1;
	ticker_wait(t, until - now);
	return true;
}

/* Whose the locks are is to be read at once, though. */
static __always_inline void ticker_look(struct gn_ticker *t, __u64 now)
{
	int remains;

	if (now < tick_due(t->tick)) /* it has been set anew since this was due */
		return;
	if (locks_are_waited_for()) {
		ticker_found(t);
		return;
	}
	if (ticker_leaves(t, now))
		return;
	remains = pending_remains(t->tick);
	if (remains == REMAINS_OFF) {
		ticker_found(t);
		return;
	}
	t->quiet = remains == REMAINS_OVER ? 0 : t->quiet + 1;
	if (!ticker_rests(t))
		ticker_go_on(t, now);
}

static int ticker_at(void *map, __u32 *key, struct gn_ticker *t)
{
	__u64 now = bpf_ktime_get_ns();

	if (gn_tick_dozes == GN_DOZE_TICKER)
		ticker_look(t, now);
	t->ns += bpf_ktime_get_ns() - now;
	t->runs++;
	return 0;
}

/* Once gn_tick_dozes is GN_DOZE_TICKER. 0, or -errno. */
SEC("syscall")
int ticker_start(struct gn_ticker_start *ctx)
{
	__u32 zero = 0;
	struct gn_ticker *t = bpf_map_lookup_elem(&tickers, &zero);
	long rc;

	if (!t)
		return -2;
	if (!t->begun) {
		rc = bpf_timer_init(&t->timer, &tickers, 1 /* CLOCK_MONOTONIC */);
		if (!rc)
			rc = bpf_timer_set_callback(&t->timer, ticker_at);
		if (rc)
			return rc;
		t->begun = 1;
	}
	t->quiet = 0;
	return ticker_set(t, ctx->tick);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
