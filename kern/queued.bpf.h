/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples of threads that were queued for a CPU, with their causes: who had it at each of the ticks
 * (kern/holder.bpf.h). A sample of several ticks is sent in parts of one cause each.
 */
#ifndef GNOMON_QUEUED_BPF_H
#define GNOMON_QUEUED_BPF_H

#include "bell.bpf.h"
#include "holder.bpf.h"
#include "rate.bpf.h"

#define QUEUED_TICKS 64 /* ticks of a part that are looked at one by one */
#define QUEUED_BACK  8	/* ticks before, where the thread itself had the CPU at this one */

/* Not 0: of some tick it was not known whether a group had used up its time then. */
extern __u32 gn_unsure;

/* Some ticks of a thread's interval. */
struct wall_part {
	struct gn_sample s;
	__u64 queue; /* struct cfs_rq in which it was; 0: it was not queued, or causes are off */
	__u32 often; /* its ticks go by what is owed: it need not have been queued at this one */
	__u32 cpu;   /* whose queue that is */
	__u64 sure;  /* group_watch() */
};

/* Read anew each time: what is kept across calls takes stack, and ticks_send() is deep in a chain.
 */
static __always_inline __u32 sample_level(const struct gn_sample *s)
{
	return *(volatile const __u8 *)&s->level & 15;
}

/*
 * `s` is of the interval; [from, until) are ticks of it, of which those of its level count. Not
 * static, as the next: such a function is verified by itself, once, and not again with each of the
 * states that its callers may be in.
 */
__weak __noinline int ticks_send(struct gn_sample *s, __u64 from, __u64 until)
{
	if (!s)
		return 0;
	if (gn_rates && s->level) {
		until = gn_level_before(until, sample_level(s));
		s->h.time = gn_level_before(from, sample_level(s)); /* the first group, for now */
		if (until <= s->h.time)
			return 0;
		s->n = (until - s->h.time) << sample_level(s);
		from = gn_level_tick(s->h.time, sample_level(s));
	} else {
		s->n = until - from;
	}
	s->h.time = gn_start_ns + gn_tick_time(from, gn_wall_ns);
	if (s->pad) { /* not wanted */
		loss_add(s->h.tid, GN_LOSS_BARE, s->n);
		return 0;
	}
	if (record_send(&s->h, sizeof(*s))) {
		loss_add(s->h.tid, GN_LOSS_WALL, s->n);
		return 0;
	}
	if (!s->stack)
		loss_add(s->h.tid, GN_LOSS_MISSED, s->n);
	count_add(GN_CNT_WALL, 1);
	count_add(GN_CNT_TICKS, s->n);
	return 0;
}

static __always_inline void queued_fill(struct gn_cause_rec *r, const struct wall_part *p,
					const struct gn_cause *c, __u64 id)
{
	__u64 who = c->kind == GN_CAUSE_THREAD ? 0 : c->ino;
	const struct holder_name *n = who ? bpf_map_lookup_elem(&holder_names, &who) : NULL;

	record_begin(&r->h, GN_REC_CAUSE, (__u64)p->s.h.tgid << 32 | p->s.h.tid);
	r->h.cpu = bpf_get_smp_processor_id();
	r->h.size = sizeof(*r);
	r->id = id;
	r->of = *c;
	__builtin_memset(r->fs, 0, sizeof(r->fs));
	r->len = r->whole = 0;
	if (!n)
		return;
	r->of.dev = n->pid;
	__builtin_memcpy(r->fs, n->comm, sizeof(r->fs));
	r->len = n->len;
	r->whole = n->whole;
	bpf_probe_read_kernel(r->path, sizeof(n->path), n->path);
}

/* Straight into the ring: a thread's switch may interrupt an accounting that sends one. */
static __always_inline void queued_tell(const struct wall_part *p, const struct gn_cause *c,
					__u64 id)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct gn_cause_rec *r;
	void *ring;

	if (cause_is_sent(id))
		return;
	ring = bpf_map_lookup_elem(&rings, &cpu);
	if (!ring)
		return;
	r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);
	if (!r) {
		count_add(GN_CNT_LOST_BYTES, sizeof(*r) + GN_RING_HEADER);
		return;
	}
	queued_fill(r, p, c, id);
	bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
	cause_sent(id);
}

static __always_inline struct holder *holder_at(__u32 cpu, __u64 tick)
{
	__u32 key = holder_key(cpu, tick);
	struct holder *h = bpf_map_lookup_elem(&holders, &key);

	return h && h->tick == (__u32)tick + 1 ? h : NULL;
}

/* The one that had the CPU at the last tick at which it was not the thread itself. */
static __always_inline struct holder *holder_before(const struct wall_part *p, __u64 tick)
{
	__u64 group =
		tick >> (gn_visit_level & 15); /* of which this is the tick that was visited */
	struct holder *h = NULL;

	/* unrolled: clang would run into the loop's head, which Linux 6.1 refuses */
#pragma unroll
	for (int i = 1; i <= QUEUED_BACK; i++) {
		h = holder_at(p->cpu, gn_level_tick(group - i, gn_visit_level & 15));
		if (h && h->tid != p->s.h.tid && h->kind && h->kind != GN_CAUSE_AT_ONCE)
			break;
	}
	return h;
}

static __always_inline void holder_cause(const struct wall_part *p, const struct holder *h,
					 struct gn_cause *c)
{
	c->kind = GN_CAUSE_UNSEEN;
	if (!h || !h->kind)
		return;
	if (h->taken) {
		c->kind = h->taken;
	} else if (h->tid == p->s.h.tid) {
		c->kind = GN_CAUSE_AT_ONCE;
	} else if (h->kind == GN_CAUSE_PROCESS && h->tgid == p->s.h.tgid) {
		c->kind = GN_CAUSE_THREAD;
		c->ino = h->tid;
	} else {
		c->kind = h->kind;
		c->ino = h->who;
	}
}

/* The group to which the queue belongs, or one above it, had no time left at the tick. */
static __always_inline bool queue_limited(const struct wall_part *p, __u64 tick, struct gn_cause *c)
{
	__u64 queue = p->queue;
	struct limited *l = bpf_map_lookup_elem(&limits, &queue);
	struct limited_ticks *at;

	if (!l)
		return false;
	at = limited_ticks(l, tick);
	if (at->base != tick / 32 + 1 || !(at->bits >> (tick & 31) & 1))
		return false;
	c->kind = GN_CAUSE_LIMIT;
	c->ino = l->who;
	return true;
}

/* The id of why it was queued at that tick. */
__weak __noinline __u64 queued_cause(struct wall_part *p, __u64 tick)
{
	struct gn_cause c = {.op = GN_OP_RUN};
	struct holder *h;
	__u64 id;

	if (!p)
		return 0;
	if (tick < p->sure && !groups_were_looked_at(tick)) {
		c.kind = GN_CAUSE_UNSEEN;
		gn_unsure = 1;
		tick_needed();
	} else if (!queue_limited(p, tick, &c)) {
		h = holder_at(p->cpu, tick);
		if (h && p->often && h->tid == p->s.h.tid)
			h = holder_before(p, tick);
		holder_cause(p, h, &c);
	}
	id = cause_id(&c, p->s.h.tgid);
	queued_tell(p, &c, id);
	return id;
}

/* The ith tick from there on that its level has. */
static __always_inline __u64 part_tick(const struct wall_part *p, __u64 from, int i)
{
	if (!gn_rates || !p->s.level)
		return from + i;
	return gn_level_tick(gn_level_before(from, p->s.level & 15) + i, p->s.level & 15);
}

/* Of these ticks those of one cause at a time. */
__weak __noinline int queued_send(struct wall_part *p, __u64 from, __u64 until)
{
	__u64 begin = from, cause = 0;

	if (!p)
		return 0;
	for (int i = 0; i < QUEUED_TICKS; i++) {
		__u64 tick = part_tick(p, from, i), id;

		if (tick >= until)
			break;
		id = queued_cause(p, tick);
		if (id != cause && tick != begin) {
			p->s.cause = cause;
			ticks_send(&p->s, begin, tick);
			begin = tick;
		}
		cause = id;
	}
	p->s.cause = cause;
	ticks_send(&p->s, begin, until);
	return 0;
}

/* In whose queue the part was. */
static __always_inline void queued_begin(struct wall_part *p, __u64 queue)
{
	struct cfs_rq *at = (void *)queue;

	p->queue = queue;
	p->cpu = BPF_CORE_READ(at, rq, cpu);
	p->sure = group_watch((__u64)BPF_CORE_READ(at, tg));
	if (p->sure && bpf_core_field_exists(at->throttle_count) &&
	    BPF_CORE_READ(at, throttle_count) > 0)
		p->sure = GROUP_UNSURE;
}

#endif
