/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the locks were that a target's threads waited for. What a wait waited for is written a
 * while after it, since who had the lock at its ticks is told by another CPU's ring.
 */
#include "naming/target_int.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "jvm/monitors.h"
#include "naming/causes.h"
#include "naming/owners.h"
#include "naming/tables.h"
#include "naming/vmline.h"

#define HELD_NS	 500000000ull /* for so long a wait is kept for owners that may come */
#define HELD_MAX 65536
#define ASK_NS	 250000000ull /* between two looks at all threads for an owner */

/* CPU time for reading all threads' lock stacks: none of them has an unmounted virtual thread's. */
static const struct bucket_size search_cpu_ns = {.at_once = 500000000, .second = 50000000};

struct held {
	struct cause_wait w;
	uint64_t came_ns;
};

struct locks {
	struct owners *owners;
	bool told;	 /* the kernel side knows how this JVM's threads wait */
	uint64_t ask_ns; /* all threads were looked at */
	struct bucket search_cpu_ns;
	struct vmline *vm; /* what the VM thread did */
	struct held *v;	   /* in the order in which they came */
	size_t from, n, cap;
};

struct locks *target_locks_new(void)
{
	struct locks *l = calloc(1, sizeof(*l));

	if (l)
		l->owners = owners_new();
	if (l)
		l->vm = vmline_new();
	if (l && (!l->owners || !l->vm)) {
		target_locks_free(l);
		return NULL;
	}
	return l;
}

void target_locks_free(struct locks *l)
{
	if (!l)
		return;
	owners_free(l->owners);
	vmline_free(l->vm);
	free(l->v);
	free(l);
}

/* ---- the JVM ---- */

void target_locks_follow(struct target *t)
{
	struct vm *vm = resolver_vm(t->names);
	int rc;

	if (t->locks->told || !t->env->cfg.causes || !t->env->cfg.wall_ns || !vm || !t->env->tables)
		return;
	rc = tables_locks(t->env->tables, t->tgid, vm);
	t->locks->told = rc != -ENOENT;
	if (!rc) /* who sleeps was read without it */
		t->env->cfg.on_tables(t->env->cfg.ctx);
}

void target_locks_exec(struct target *t, uint64_t time)
{
	owners_exec(t->locks->owners, time);
	t->locks->told = false;
}

void target_locks_meet(struct target *t, pid_t tid, const struct resolved_thread *java)
{
	struct owners_thread o = {
		.tid = tid,
		.thread = java->thread,
		.id = (uint64_t)java->java_id,
		.met_ns = now_ns(),
	};
	struct vm *vm = resolver_vm(t->names);

	if (!java->thread)
		return;
	if (vm && !vm_thread_stack(vm, java->thread, &o.low, &o.high))
		o.low = o.high = 0;
	owners_meet(t->locks->owners, &o);
}

void target_locks_part(struct target *t, pid_t tid)
{
	owners_part(t->locks->owners, tid);
}

/* ---- owners ---- */

struct search {
	struct vm *vm;
	uint64_t object;
};

static bool has_locked(void *ctx, const struct owners_thread *t)
{
	const struct search *s = ctx;

	return vm_thread_holds(s->vm, t->thread, s->object);
}

/*
 * Who has the monitor's object in its lock stack. As long as somebody waits for it that stays the
 * same thread until that one leaves it, and then the monitor tells its owner itself: so what is
 * found now, with the monitor telling nobody before and after, has been so since then.
 */
static pid_t holder_find(struct target *t, uint64_t monitor)
{
	struct search s = {.vm = resolver_vm(t->names)};
	const struct owners_thread *o;

	if (!s.vm || target_is_blind(t))
		return 0;
	s.object = vm_monitor_held(s.vm, monitor);
	o = s.object ? owners_search(t->locks->owners, has_locked, &s) : NULL;
	return o && vm_monitor_held(s.vm, monitor) == s.object ? o->tid : 0;
}

/* The same, within what CPU time there is for it. */
static pid_t holder_seek(struct target *t, uint64_t monitor)
{
	uint64_t now = now_ns(), begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	pid_t tid;

	if (!bucket_has(&t->locks->search_cpu_ns, &search_cpu_ns, now))
		return 0;
	tid = holder_find(t, monitor);
	bucket_take(&t->locks->search_cpu_ns, &search_cpu_ns, now,
		    clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
	return tid;
}

static pid_t owner_find(struct target *t, const struct owners_run *run)
{
	const struct owners_thread *o;

	if (run->kind == GN_OWNER_HELD)
		return holder_seek(t, run->owner);
	o = owners_who(t->locks->owners, run->kind, run->owner);
	return o ? o->tid : 0;
}

/* Threads are looked at when they are sampled first; one that never waits may have been none yet.
 */
static bool threads_look(struct target *t)
{
	uint64_t now = now_ns();

	if (target_is_blind(t) || now - t->locks->ask_ns < ASK_NS)
		return false;
	t->locks->ask_ns = now;
	target_threads_ask(t);
	return true;
}

void target_owner(struct target *t, const struct gn_owner_rec *rec)
{
	struct owners_run *run = owners_note(t->locks->owners, rec);

	if (!run || run->tid || run->kind == GN_OWNER_NOBODY || run->kind == GN_OWNER_UNKNOWN)
		return;
	run->tid = owner_find(t, run);
	if (!run->tid && threads_look(t))
		run->tid = owner_find(t, run);
}

pid_t target_locks_owner(const struct target *t, uint64_t cause, uint64_t tick)
{
	const struct owners_run *run;
	uint64_t until;

	run = owners_at(t->locks->owners, cause, tick, &until);
	return run ? run->tid : 0;
}

/* ---- waits ---- */

/* Some of its ticks. */
static struct cause_wait part_of(const struct target *t, const struct cause_wait *whole,
				 uint64_t tick, uint64_t ticks)
{
	struct cause_wait w = *whole;

	w.tick = tick;
	w.samples = (uint32_t)ticks;
	w.first_ns = target_tick_time(t, tick);
	w.last_ns = target_tick_time(t, tick + ticks - 1);
	w.span_ns = whole->samples ? whole->span_ns / whole->samples * ticks : 0;
	return w;
}

static void part_write(struct target *t, const struct cause_wait *whole, uint64_t tick,
		       uint64_t ticks, const struct owners_run *run)
{
	struct cause_wait w = part_of(t, whole, tick, ticks);

	w.whose = CAUSE_OWNER_UNKNOWN;
	if (run && run->kind == GN_OWNER_NOBODY)
		w.whose = CAUSE_OWNER_NOBODY;
	if (run && run->tid)
		w.owner = target_thread_of(t, run->tid, w.first_ns);
	if (w.owner)
		w.whose = CAUSE_OWNER_THREAD;
	causes_note(t->causes, &w, t->out);
}

static bool is_same_owner(const struct owners_run *a, const struct owners_run *b)
{
	return a == b || (a && b && a->owner == b->owner && a->kind == b->kind);
}

/* Groups [from, until) of a wait, laid as readers lay its sample: each tick follows the last one.
 */
static void groups_write(struct target *t, const struct cause_wait *w, uint64_t from,
			 uint64_t until, const struct owners_run *run)
{
	uint64_t begin = w->tick >> w->level;

	part_write(t, w, w->tick + ((from - begin) << w->level), (until - from) << w->level, run);
}

/* Of some ticks only (kern/abi.h): whose it was at one is whose it was for all that it stands for.
 */
static void coarse_settle(struct target *t, const struct cause_wait *w)
{
	uint64_t group = w->tick >> w->level, end = group + (w->samples >> w->level), until;
	const struct owners_run *run = NULL, *next;
	uint64_t first = group;

	for (; group < end; group++) {
		next = owners_at(t->locks->owners, w->cause, gn_level_tick(group, w->level),
				 &until);
		if (group > first && !is_same_owner(run, next)) {
			groups_write(t, w, first, group, run);
			first = group;
		}
		run = next;
	}
	if (first < end)
		groups_write(t, w, first, end, run);
}

/* ---- waits for the VM thread ---- */

void target_vm_note(struct target *t, pid_t tid, uint64_t tick, uint32_t n, uint8_t op)
{
	vmline_note(t->locks->vm, tid, tick, n, op);
}

void target_vm_near(struct target *t, pid_t tid, uint64_t tick, uint8_t op)
{
	vmline_near(t->locks->vm, tid, tick, op);
}

void target_vm_ran(struct target *t, pid_t tid, uint64_t time_ns)
{
	vmline_ran(t->locks->vm, tid, time_ns);
}

struct vm_state {
	uint8_t op;
	pid_t tid; /* for whom: the VM thread, or the last one that it waited for itself */
};

#define LOOK_TICKS 64 /* before and behind one, for who ran */

/*
 * Who runs has a CPU sample each CPU interval, or two where others have the CPU for half of the
 * time. So one that had not stopped at the tick had one so long before or behind it; and if it came
 * while the VM thread waited, in this very wait, its thread had not stopped then. Of others that
 * ran before or after that it is not known.
 */
static pid_t late_at(const struct target *t, const struct vmline_wait *w, uint64_t tick)
{
	const struct target_config *cfg = &t->env->cfg;
	uint64_t time = target_tick_time(t, tick), from, to;
	uint64_t n = 2 * cfg->cpu_ns / cfg->wall_ns + 3;
	struct vmline_wait span;

	if (!vmline_span(t->locks->vm, w, tick, n < LOOK_TICKS ? n : LOOK_TICKS, &span) ||
	    span.first == span.last)
		return 0;
	span.last--; /* of the last one it may have waited just before it: kern/owed.bpf.h */
	from = target_tick_time(t, span.first);
	to = target_tick_time(t, span.last);
	if (from + 2 * cfg->cpu_ns < time)
		from = time - 2 * cfg->cpu_ns;
	if (to > time + cfg->cpu_ns)
		to = time + cfg->cpu_ns;
	return vmline_last(t->locks->vm, from, to);
}

static struct vm_state vm_state_at(const struct target *t, const struct vmline_wait *w,
				   uint64_t tick)
{
	struct vm_state s = {0};

	s.op = vmline_at(t->locks->vm, w, tick, &s.tid);
	if (s.op == VMOP_STOPPING && t->env->cfg.cpu_ns)
		s.tid = late_at(t, w, tick);
	else if (!s.op || s.op == VMOP_STOPPING)
		s.tid = 0;
	return s;
}

/* Groups [from, until) of it, of one state. */
static void vm_part_write(struct target *t, const struct cause_wait *whole, uint64_t from,
			  uint64_t until, struct vm_state s)
{
	uint64_t begin = whole->tick >> whole->level;
	struct cause_wait w = part_of(t, whole, whole->tick + ((from - begin) << whole->level),
				      (until - from) << whole->level);

	w.cause = causes_jvm(t->causes, (uint8_t)(whole->cause >> 1), s.op, w.last_ns);
	w.owner = s.tid ? target_thread_of(t, s.tid, w.first_ns) : 0;
	if (w.owner == w.thread) /* it was late itself, and has stopped */
		w.owner = 0;
	w.whose = w.owner ? CAUSE_OWNER_THREAD : CAUSE_OWNER_NONE;
	causes_note(t->causes, &w, t->out);
}

static void vm_settle(struct target *t, const struct cause_wait *w)
{
	uint64_t group = w->tick >> w->level, end = group + (w->samples >> w->level);
	const struct vmline_wait ticks = {group << w->level, (end << w->level) - 1};
	struct vm_state now, last = {0};
	uint64_t first = group;

	for (; group < end; group++) {
		now = vm_state_at(t, &ticks, gn_level_tick(group, w->level));
		if (group > first && (now.op != last.op || now.tid != last.tid)) {
			vm_part_write(t, w, first, group, last);
			first = group;
		}
		last = now;
	}
	if (first < end)
		vm_part_write(t, w, first, end, last);
}

/* A part for each owner. */
static void wait_settle(struct target *t, const struct cause_wait *w)
{
	uint64_t tick = w->tick, end = tick + w->samples, until;

	if (causes_are_vm(w->cause)) {
		vm_settle(t, w);
		return;
	}
	if (!causes_fits(t->causes, w->cause, w->state))
		return;
	if (!causes_has_owner(t->causes, w->cause)) {
		causes_note(t->causes, w, t->out);
		return;
	}
	if (w->level) {
		coarse_settle(t, w);
		return;
	}
	while (tick < end) {
		const struct owners_run *run = owners_at(t->locks->owners, w->cause, tick, &until);

		if (run)
			until = run->last + 1;
		if (until > end)
			until = end;
		part_write(t, w, tick, until - tick, run);
		tick = until;
	}
}

static void held_take(struct target *t)
{
	wait_settle(t, &t->locks->v[t->locks->from++].w);
}

void target_locks_settle(struct target *t, uint64_t now, bool all)
{
	struct locks *l = t->locks;
	const struct target_config *cfg = &t->env->cfg;
	uint64_t tick;

	while (l->from < l->n && (all || l->v[l->from].came_ns + HELD_NS < now))
		held_take(t);
	if (l->from == l->n)
		l->from = l->n = 0;
	tick = cfg->wall_ns ? gn_ticks_until(now - cfg->start_ns, cfg->wall_ns) : 0;
	if (l->owners && tick > OWNERS_KEEP_TICKS)
		owners_expire(l->owners, tick - OWNERS_KEEP_TICKS);
}

void target_locks_hold(struct target *t, const struct cause_wait *w)
{
	struct locks *l = t->locks;

	if (l->n == l->cap && l->from) {
		for (size_t i = l->from; i < l->n; i++)
			l->v[i - l->from] = l->v[i];
		l->n -= l->from;
		l->from = 0;
	}
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 256;
		struct held *v = cap <= HELD_MAX ? realloc(l->v, cap * sizeof(*v)) : NULL;

		if (!v) {
			wait_settle(t, w);
			return;
		}
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = (struct held){*w, now_ns()};
}
