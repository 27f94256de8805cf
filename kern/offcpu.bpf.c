/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wall samples: what threads without a CPU wait for. An off-CPU interval lasts from a switch-out
 * to the next switch-in; if it crosses n > 0 wall ticks, one record with n is sent after it. A
 * thread that stays off the CPU costs nothing meanwhile; wall_account (an iterator, run by the
 * collector rarely and at the end) reports the ticks of intervals that are still open.
 *
 * sched_switch is a hot path and most intervals cross no tick, so a stack is taken only of threads
 * that leave the CPU shortly before one (look-ahead); the others are read just after it: from
 * outside, if they are still off (remote.bpf.c), or else as they come back.
 *
 * Each tick is reported once. An interval that first waits and then queues for a CPU is two
 * records, split at the wake-up. Of threads that switch very often, kern/owed.bpf.h says which
 * ticks count.
 *
 * Only switch-outs are looked at. A switch-in needs nothing else: when it was is known at the next
 * switch-out.
 */
#include "asked.bpf.h"
#include "cause.bpf.h"
#include "clock.bpf.h"
#include "context.bpf.h"
#include "owed.bpf.h"
#include "pending.bpf.h"
#include "stack.bpf.h"
#include "switch.bpf.h"
#include "turn.bpf.h"
#include "vthread.bpf.h"
#include "weight.bpf.h"

/* ---- time ---- */

__u64 gn_clock_offset = 0, gn_clock_measured = 0;

__u32 gn_tick_dozes = 0;

#define BACK_NS	 2000000    /* ns: a visit of thousands of threads is over by then */
#define STEP_MIN 1000000    /* ns: no noise; the first time, or a clock was set */
#define LONG_NS	 1000000000 /* ns: off the CPU, in which clocks drift by more than is measured */

#define LOOKS_MOST 16 /* of a CPU after a tick, at threads that are not to be read by it */

/* Of those that have just passed: do others read who rests after it (kern/visit.bpf.c)? */
static __always_inline bool tick_is_visited(__u64 tick)
{
	return gn_can_visit && (!gn_rates || level_next(tick, gn_visit_level) == tick);
}

/* The first tick that has found him here: c->index, unless he came later. */
static __always_inline __u64 turn_begin(const struct task_struct *prev, const struct gn_cpu_time *c,
					__u64 offset)
{
	__u64 came = prev->sched_info.last_arrival;

	if (!prev->pid) /* whose arrival is not kept */
		return c->next ? c->index : ~0ULL;
	if (c->next && came <= c->next)
		return c->index;
	came += offset;
	return came > gn_start_ns ? gn_ticks_until(came - gn_start_ns, gn_wall_ns) : 0;
}

/* At the first switch after a tick: what the CPU's time is, and who has had the CPU until now. */
static __noinline void cpu_time_refresh(struct gn_cpu_time *c, const struct task_struct *prev,
					struct rq *rq)
{
	__u64 clock = rq->clock, offset = clock_measure(clock, bpf_ktime_get_ns(), STEP_MIN);
	__u64 index = gn_ticks_until(clock + offset - gn_start_ns, gn_wall_ns);

	if (gn_causes)
		turn_note(bpf_get_current_task(), bpf_get_smp_processor_id(),
			  turn_begin(prev, c, offset), index);
	c->offset = offset;
	__sync_lock_test_and_set(&c->index, index); /* after it was noted */
	c->next = gn_start_ns + gn_tick_time(index, gn_wall_ns) - offset;
	c->slack = GN_VISIT_DELAY;
	c->back = clock + BACK_NS;
	c->looks = tick_is_visited(c->index - 1) ? LOOKS_MOST : 0;
}

static __always_inline struct gn_cpu_time *cpu_time(const struct task_struct *prev, struct rq *rq)
{
	struct gn_cpu_time *c = switch_cpu();

	if (UNLIKELY(c && rq->clock >= c->next))
		cpu_time_refresh(c, prev, rq);
	return c;
}

/*
 * When it got the CPU that it leaves now. In the time of its switch-out: offsets are measured just
 * after ticks, and one that has moved by 100 ns meanwhile would make those intervals longer that
 * cross a tick, and only those. Over a long time clocks do drift.
 */
static __always_inline __u64 arrival(const struct task_struct *task, const struct gn_thread *t,
				     __u64 offset)
{
	__u64 in = task->sched_info.last_arrival + t->offset;

	if (UNLIKELY(!t->offset || in - t->out_ns > LONG_NS))
		return task->sched_info.last_arrival + offset;
	return in;
}

/* ---- records ---- */

/* Who reports: the thread's own switch, or an accounting. */
enum by { BY_SWITCH, BY_ACCOUNT };

static __always_inline void part_report(struct task_struct *task, struct gn_thread *t, enum by by,
					__u64 until, __u32 state, __u64 begin, __u64 end)
{
	__u64 ticks = wall_send(thread_id(task, t), t, until, state, begin, end);

	if (!t->often)
		return;
	if (by == BY_SWITCH)
		owed_paid(t, state, ticks);
	else
		owed_accounted(t, state, ticks);
}

/*
 * Before ticks up to `until` are reported: in whose queue it was, if in any, and who has had that
 * one's CPU. Preempted, it queued where it had been; else where it is now. (By itself, since the
 * BPF stack of what reports has no room for it.)
 */
static __noinline int queue_follow(const struct task_struct *task, struct gn_thread *t, __u64 until,
				   __u64 queued)
{
	if (!gn_causes || !gn_run_queue)
		return 0;
	if (t->state != GN_ST_QUEUED && queued)
		t->queue = (__u64)task_plain(task)->se.cfs_rq;
	if (t->queue && (t->often || t->state == GN_ST_QUEUED || queued))
		turn_follow(t->queue, t->next_tick, until);
	return 0;
}

/*
 * The interval until `end`, of which the last `queued` ns passed in a run queue: waiting until it
 * was woken, then queued for a CPU.
 */
static __always_inline void wall_report(struct task_struct *task, struct gn_thread *t, enum by by,
					__u64 end, __u64 queued)
{
	__u64 out = t->out_ns, until = gn_ticks_until(end - gn_start_ns, gn_wall_ns);
	__u64 wake = queued < end - out ? end - queued : out;

	if (t->state != GN_ST_QUEUED && queued) {
		part_report(task, t, by, gn_ticks_until(wake - gn_start_ns, gn_wall_ns), t->state,
			    out, wake);
		part_report(task, t, by, until, GN_ST_QUEUED, wake, end);
		return;
	}
	part_report(task, t, by, until, t->state, out, end);
}

/* What a single one of its ticks stands for. */
static __always_inline __u64 one_tick(const struct gn_thread *t)
{
	return is_coarse(t) ? 1ULL << (t->level & 15) : 1;
}

/* The interval until `end`, which crosses a tick, of a thread that switches often. */
static __noinline void often_report(struct task_struct *task, struct gn_thread *t, __u64 end,
				    __u64 queued)
{
	__u64 from = t->next_tick, until = gn_ticks_until(end - gn_start_ns, gn_wall_ns), n;
	__u32 state = owed_state(t);

	if (until <= from)
		return;
	n = own_ticks(t, from, until);
	if (n != one_tick(t)) {
		if (n)
			wall_report(task, t, BY_SWITCH, end, queued);
		return;
	}
	owed_stack(t, state);
	if (owed_is_due(t, state))
		part_report(task, t, BY_SWITCH, until, state, t->out_ns, end);
	else
		__sync_val_compare_and_swap(&t->next_tick, from, until);
}

/* A tick found it running after the interval until `end`, which crosses none. */
static __noinline void running_report(struct task_struct *task, struct gn_thread *t, __u64 end)
{
	__u32 state = owed_state(t);

	owed_stack(t, state);
	if (owed_is_overdue(t, state))
		part_report(task, t, BY_SWITCH, own_tick(t) + 1, state, t->out_ns, end);
}

/* ---- look-ahead ---- */

/*
 * How close before a tick a switch-out is worth a stack, learned per thread. One that switches
 * seldom keeps two whole intervals (any gap to the next tick), so its stack is always taken in its
 * own context, where that is cheapest; one that comes and goes thousands of times between two ticks
 * ends up with almost none taken.
 *
 * Far too long a look-ahead shows in many wasted stacks before one tick, and is halved time and
 * again; one that is a little too long shrinks by an eighth. Were that a half, the misses that
 * double it again would be as frequent: 2 of 100 samples of a busy pool of threads were without a
 * stack.
 */
#define WASTED_MAX 4 /* stacks taken in vain before a tick, beyond which look-ahead is too long */

static __always_inline void look_ahead_wasted(struct gn_thread *t)
{
	if (t->wasted_tick != (__u32)t->next_tick) {
		t->wasted_tick = t->next_tick;
		t->wasted = 0;
	}
	if (++t->wasted % WASTED_MAX)
		return;
	t->look_ahead -= t->look_ahead / (t->wasted == WASTED_MAX ? 8 : 2);
	if (t->look_ahead < OFTEN_NS)
		owed_begin(t);
	if (t->look_ahead < GN_LOOK_AHEAD_MIN)
		t->look_ahead = GN_LOOK_AHEAD_MIN;
}

static __always_inline void look_ahead_missed(struct gn_thread *t)
{
	if (t->look_ahead < own_interval(t))
		t->look_ahead *= 2;
	else
		owed_end(t);
}

/*
 * To have the collector read a stack costs what three taken at switch-outs do. So the look-ahead
 * grows by half where it has read more than half as many as would then have been taken in vain.
 */
#define FAR_COST 2 /* more than a stack of its own */
#define FAR_MAX	 8

static __always_inline void look_ahead_read(struct gn_thread *t)
{
	t->far += FAR_COST;
	if (t->far < FAR_MAX)
		return;
	t->far = 0;
	if (t->look_ahead < own_interval(t))
		t->look_ahead += t->look_ahead / 2;
}

static __always_inline void look_ahead_spared(struct gn_thread *t)
{
	if (t->tick_ns - t->out_ns <= t->look_ahead + t->look_ahead / 2)
		t->far--;
}

/*
 * Who was preempted has the CPU again sooner than who waits: with one look-ahead for both 9 of 10
 * stacks of a busy server's queued threads were taken in vain, of its waiting ones 1 of 4. So there
 * is a limit to theirs, which shrinks by a sixteenth with each that was in vain, grows by an eighth
 * with each that the tick would have had and that others have read instead, which costs half as
 * much again, and is eight times as long with each that they have not.
 */
#define QUEUED_AHEAD_MAX (1u << 28) /* ns: no limit */

static __always_inline bool queued_ahead_limits(const struct gn_thread *t)
{
	return t->state == GN_ST_QUEUED && t->queued_ahead < t->look_ahead;
}

static __always_inline __u64 look_ahead_of(const struct gn_thread *t)
{
	return queued_ahead_limits(t) ? t->queued_ahead : t->look_ahead;
}

/* Would its stack have been taken, but for the limit? */
static __always_inline bool queued_ahead_spares(const struct gn_thread *t)
{
	return queued_ahead_limits(t) && t->tick_ns - t->out_ns <= t->look_ahead;
}

static __always_inline void queued_ahead_shrink(struct gn_thread *t)
{
	__u64 ahead = look_ahead_of(t);

	ahead -= ahead / 16;
	if (ahead < GN_LOOK_AHEAD_MIN)
		ahead = GN_LOOK_AHEAD_MIN;
	t->queued_ahead = ahead < QUEUED_AHEAD_MAX ? ahead : QUEUED_AHEAD_MAX;
}

static __always_inline void queued_ahead_grow(struct gn_thread *t, bool read)
{
	if (t->queued_ahead < QUEUED_AHEAD_MAX)
		t->queued_ahead += read ? t->queued_ahead / 8 : 7 * t->queued_ahead;
}

/* The interval crossed no tick. What the limit has spared counts for the look-ahead all the same.
 */
static __always_inline void tick_not_met(struct gn_thread *t)
{
	if (UNLIKELY(t->far && !t->stack))
		look_ahead_spared(t);
	if (UNLIKELY(t->stack && t->state == GN_ST_QUEUED))
		queued_ahead_shrink(t);
	if (UNLIKELY(t->stack || (!gn_reservoir && queued_ahead_spares(t))))
		look_ahead_wasted(t);
}

/* It did, and its own switch has taken no stack. */
static __always_inline void stack_not_taken(struct gn_thread *t)
{
	bool read = wall_stack(t) || thread_is_bare(t);

	if (queued_ahead_spares(t))
		queued_ahead_grow(t, read);
	else if (!read)
		look_ahead_missed(t);
	else if (t->far_seq == t->seq)
		look_ahead_read(t);
}

/* ---- switches ---- */

/*
 * The interval before the time on the CPU that ends now. It is dealt with this late because here
 * the thread's storage is at hand anyway, and the kernel has kept what is needed: when it got the
 * CPU (last_arrival) and how long it has waited in run queues in all (run_delay).
 */
static __always_inline void interval_end(struct task_struct *task, struct gn_thread *t,
					 const struct gn_cpu_time *c)
{
	__u64 in = arrival(task, t, c->offset), queued = task->sched_info.run_delay - t->run_delay;

	if (UNLIKELY(!rate_has_wall(t)))
		return;
	if (UNLIKELY(t->often))
		owed_add(t, in - t->out_ns, queued);
	if (LIKELY(in < t->tick_ns)) {
		if (UNLIKELY(t->often && own_tick(t) < c->index)) {
			queue_follow(task, t, c->index, queued);
			running_report(task, t, in);
		}
		tick_not_met(t);
		return;
	}
	if (!t->stack)
		stack_not_taken(t);
	queue_follow(task, t, c->index, queued);
	if (t->often)
		often_report(task, t, in, queued);
	else
		wall_report(task, t, BY_SWITCH, in, queued);
}

/*
 * Taking a stack delays whoever runs next on this CPU. Just before a tick that would favour long
 * intervals, those that the delay moves into it; so the tick waits for as long, and finds each
 * where it would have been. The collector's visit, which interrupts somebody, comes after that. A
 * CPU that has nothing to run is not delayed by it.
 */
static __always_inline void tick_put_off(struct gn_cpu_time *c, struct gn_thread *t, __u64 clock,
					 __u64 ns)
{
	if (c->next - clock > GN_VISIT_DELAY || ns > c->slack)
		return;
	if (!is_coarse(t) || t->tick_ns == c->next + c->offset)
		t->tick_ns += ns;
	c->slack -= ns;
	c->next += ns;
}

/* What it waits for may be asked for later: kern/owed.bpf.h. */
static __always_inline void stack_keep(struct gn_thread *t)
{
	if (t->state == GN_ST_QUEUED)
		return;
	t->wait_stack = t->stack;
	t->wait_vthread = t->vthread;
	t->wait_cause = t->cause;
	t->wait_context = t->context;
}

/*
 * It comes back across a tick, and nobody has visited it since. It has not run yet, so its stack is
 * the one it left the CPU with; and where the thread that leaves the CPU now is of its process, the
 * memory is there to be read.
 */
static __noinline int back_is_due(struct task_struct *task, __u64 now)
{
	struct gn_thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	__u64 id;
	__u32 tgid;

	if (!t || t->phase != GN_PH_OFF || now < t->tick_ns || wall_stack(t) || thread_is_bare(t))
		return 0;
	id = thread_id(task, t);
	tgid = id >> 32;
	if (!thread_wanted((__u32)id) || !tick_wants_stack(task, t, t->next_tick) ||
	    !bpf_map_lookup_elem(&uw_procs, &tgid))
		return 0;
	return WALK_BACK;
}

/* It is queued now. If its group has used up its time that is to be seen at the next tick. */
static __always_inline void queue_enter(const struct task_struct *task, struct gn_thread *t)
{
	const struct cfs_rq *queue = task_plain(task)->se.cfs_rq;

	t->queue = (__u64)queue;
	if (bpf_core_field_exists(queue->throttle_count) && UNLIKELY(queue->throttle_count > 0))
		tick_needed();
}

/* WALK_OUT if a stack is to be taken. */
static __always_inline int interval_begin(struct task_struct *task, struct gn_thread *t,
					  const struct gn_cpu_time *c, __u64 clock)
{
	t->seq++;
	t->out_ns = clock + c->offset;
	t->offset = c->offset;
	t->run_delay = task->sched_info.run_delay;
	t->cpu_ns = task->se.sum_exec_runtime;
	if (UNLIKELY(t->state == GN_ST_QUEUED && gn_causes && gn_run_queue))
		queue_enter(task, t);
	if (UNLIKELY(t->next_tick < c->index)) /* never back: no tick counts twice */
		t->next_tick = c->index;
	t->stack = 0;
	if (!is_coarse(t) || (rate_has_wall(t) && own_tick(t) == c->index))
		t->tick_ns = c->next + c->offset;
	else
		tick_set(t);
	if (UNLIKELY(!rate_has_wall(t)))
		return 0;
	if (UNLIKELY(!t->look_ahead)) {
		t->look_ahead = 2 * own_interval(t);
		t->queued_ahead = QUEUED_AHEAD_MAX;
	}
	if (!tick_wants_stack(task, t, t->next_tick))
		return 0;
	if (UNLIKELY(t->tick_ns - t->out_ns <= look_ahead_of(t)))
		return WALK_OUT;
	pending_add(t, task);
	return 0;
}

/* Scans have ended, and what they left owing is not known to the end. */
static __always_inline void scan_leave(struct task_struct *task, struct gn_thread *t)
{
	scan_report(task, t);
	owed_end(t);
	owed_forgive(t);
}

static __always_inline void walk_begin(struct gn_cpu_time *c, __u64 clock, int walk, bool idle)
{
	c->clock = clock;
	c->walk = walk | (idle ? WALK_IDLE : 0);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(wall_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct rq *rq = run_queue(prev);
	struct gn_cpu_time *c;
	struct gn_thread *t;
	__u64 clock;
	int walk = 0;

	if (!rq)
		return 0;
	c = gn_causes ? cpu_time(prev, rq) : NULL;
	END_IF(!prev->pid || rate_skips(prev));
	/* Only threads of targets have storage: this look-up is the filter. */
	t = bpf_task_storage_get(&threads, prev, 0, 0);
	if (!t || !thread_wanted((__u32)thread_id(prev, t)))
		return 0;
	if (!gn_causes)
		c = cpu_time(prev, rq);
	if (!c)
		return 0;
	clock = rq->clock;
	c->switches++;
	if (UNLIKELY(t->asked))
		asked_end(prev, t);
	if (UNLIKELY(!rate_has_wall(t))) /* others of its switches were not seen */
		t->phase = GN_PH_UNKNOWN;
	rate_refresh(t, thread_id(prev, t) >> 32);
	rate_switch(t, thread_id(prev, t) >> 32);
	if (UNLIKELY(clock < c->back && task_plain(prev)->mm == task_plain(next)->mm))
		walk = back_is_due(next, clock + c->offset);
	if (LIKELY(t->phase == GN_PH_OFF))
		interval_end(prev, t, c);
	else if (UNLIKELY(t->phase == GN_PH_SCAN))
		scan_leave(prev, t);
	if (UNLIKELY(prev_state & TASK_DEAD)) {
		t->phase = GN_PH_ENDED; /* its life is over, not waiting */
	} else {
		t->state = state_of(preempt, prev_state);
		walk |= interval_begin(prev, t, c, clock);
		t->phase = GN_PH_OFF;
	}
	if (UNLIKELY(clock < c->back && c->looks && task_plain(prev)->mm)) {
		walk_begin(c, clock, walk, !next->pid);
		bpf_tail_call(ctx, &switch_walker, GN_SWITCH_VISIT);
	}
	if (LIKELY(!walk))
		return 0;
	walk_begin(c, clock, walk, !next->pid);
	bpf_tail_call(ctx, &switch_walker, GN_SWITCH_WALK);
	return 0;
}

/* It has been taken. What is to be done then goes by `c`: the walk has left no room on the stack.
 */
static __always_inline void walk_end(struct gn_cpu_time *c, struct gn_thread *t)
{
	stack_keep(t);
	if (c->walk & WALK_BACK) {
		c->walk &= ~WALK_BACK;
		count_add(GN_CNT_BACK, 1);
		return;
	}
	if (!(c->walk & WALK_IDLE))
		tick_put_off(c, t, c->clock, (__u32)bpf_ktime_get_ns() - c->began);
	c->walk = 0;
}

/* One of the two stacks, and then the other in another run: so the verifier follows one walk. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switch_walk, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct gn_cpu_time *c = switch_cpu();
	enum gn_stack_way way = GN_WAY_SWITCH;
	struct task_struct *task = prev;
	struct gn_thread *t;
	__u64 id;

	if (!c)
		return 0;
	if (c->walk & WALK_BACK) {
		way = GN_WAY_BACK;
		task = next;
	}
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t)
		return 0;
	c->began = bpf_ktime_get_ns();
	id = thread_id(task, t);
	t->context = context_of(id, task, SLOT_SWITCH);
	if (context_wanted(t, t->seq, t->context)) {
		count_add(GN_CNT_CAPTURES, 1);
		t->stack =
			stack_take(ctx, SLOT_SWITCH, way, true, task, t, id, c->clock + c->offset);
		t->vthread = vthread_of(id, task, SLOT_SWITCH);
		t->cause = cause_of(id, task, t->state);
		if (!(c->walk & WALK_BACK) && t->state != GN_ST_QUEUED)
			asked_note(task, t);
		if (is_moving(t)) /* by itself, since it has a stack */
			pending_put(tick_parity(own_tick(t)), task->pid);
	}
	walk_end(c, t);
	if (c->walk & WALK_OUT)
		bpf_tail_call(ctx, &switch_walker, GN_SWITCH_WALK);
	return 0;
}

/* ---- intervals still open ---- */

/* How long a thread off the CPU has been in run queues since it left it. */
static __always_inline __u64 queued_so_far(struct task_struct *task, const struct gn_thread *t,
					   const struct gn_cpu_time *c, __u64 now)
{
	__u64 queued = task->sched_info.run_delay - t->run_delay;
	__u64 since = clock_queued_since(task);

	/* no offset yet: none of ours has left that CPU so far */
	if (since && c->next && now - c->offset > since)
		queued += now - c->offset - since;
	return queued;
}

/* Who is asleep since its switch-out has used no CPU time since: else a switch was not seen. */
static __always_inline void sleeper_verify(struct task_struct *task, const struct gn_thread *t)
{
	__u32 seq = t->seq;
	bool ran = task->se.sum_exec_runtime != t->cpu_ns;

	if (task->on_cpu || t->seq != seq)
		return;
	count_add(GN_CNT_VERIFIED, 1);
	if (ran)
		count_add(GN_CNT_RAN, 1);
}

/*
 * It sleeps through ticks for which it was chosen too late to have its stack: the collector was
 * held up, or has just begun. The tick thread reads it, once, and the next accounting has it.
 */
static __always_inline bool account_waits(struct task_struct *task, struct gn_thread *t, __u64 now)
{
	__u64 until;

	if (!gn_patient || !gn_reservoir || wall_stack(t) || thread_is_bare(t) ||
	    t->queued_tick == own_tick(t) + 1)
		return false;
	until = gn_ticks_until(now - gn_start_ns, gn_wall_ns);
	if (!ticks_are_chosen(thread_id(task, t), t->next_tick, until))
		return false;
	pending_add(t, task);
	gn_awaited++;
	return true;
}

static __always_inline void account_off(struct task_struct *task, struct gn_thread *t)
{
	struct gn_cpu_time *c;
	__u64 now, queued;
	__u32 zero = 0;

	c = bpf_map_lookup_percpu_elem(&cpu_times, &zero, task->thread_info.cpu);
	if (!c)
		return;
	now = bpf_ktime_get_ns(); /* first: until then it was off the CPU if it is found so now */
	if (task->on_cpu) {
		if (!c->next)
			return;
		/* its next switch-out, which finds nothing left to report, learns from it */
		queued = task->sched_info.run_delay - t->run_delay;
		queue_follow(task, t, c->index, queued);
		wall_report(task, t, BY_ACCOUNT, arrival(task, t, c->offset), queued);
		return;
	}
	if (rate_has_wall(t))
		sleeper_verify(task, t);
	if (account_waits(task, t, now))
		return;
	queued = queued_so_far(task, t, c, now);
	queue_follow(task, t, gn_ticks_until(now - gn_start_ns, gn_wall_ns), queued);
	wall_report(task, t, BY_ACCOUNT, now, queued);
	if (wall_stack(t) || thread_is_bare(t) || !tick_wants_stack(task, t, t->next_tick))
		return;
	if (gn_reservoir) /* chosen only now, in mid-sleep: the tick thread reads it */
		pending_add(t, task);
	else
		gn_stackless++;
}

/*
 * With switches seen again, a thread that scans found asleep goes on as one that went to sleep. But
 * not one that has run since the last scan saw it, and before switches were seen: where it is now
 * nobody knows, and task_scan is to find it as one that was there before us.
 */
static __always_inline void account_scan(struct task_struct *task, struct gn_thread *t)
{
	bool moved = task->on_cpu || task->se.sum_exec_runtime != t->cpu_ns;

	if (!gn_can_switch || gn_scanning) {
		scan_report(task, t);
		return;
	}
	scan_leave(task, t);
	t->run_delay = task->sched_info.run_delay;
	tick_set(t);
	__sync_val_compare_and_swap(&t->phase, GN_PH_SCAN, moved ? GN_PH_UNKNOWN : GN_PH_OFF);
}

/*
 * Report the ticks of intervals that are open, or whose end no switch has shown yet, and CPU time
 * that no clock has met. A byte for each thread that was looked at: whoever reads a few of them at
 * a time has a few threads looked at.
 */
SEC("iter/task")
int wall_account(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gn_thread *t;
	char one = 1;

	if (!task || !proc_find(task_tgid(task)))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || !thread_wanted((__u32)thread_id(task, t)))
		return 0;
	if (t->round == gn_round)
		return 0;
	rate_refresh(t, thread_id(task, t) >> 32);
	if (!gn_last_run && ring_is_nearly_full()) {
		gn_unaccounted++;
		return 0;
	}
	t->round = gn_round;
	bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	weight_settle(task, t, false);
	if (!gn_wall_ns)
		return 0;
	if (t->phase == GN_PH_SCAN)
		account_scan(task, t);
	else if (gn_can_switch && t->phase == GN_PH_OFF && !gn_scanning)
		account_off(task, t);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
