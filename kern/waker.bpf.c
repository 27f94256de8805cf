/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who wakes a thread whose system call does not tell what it waits for: one that waits for a native
 * lock, a condition variable, a futex. Its waker then is the cause of its wait, with the stack from
 * which it did that. Asked for waits only that have crossed a tick and whose stack is known: of all
 * others the stack is not told, either.
 *
 * The kernel calls sched_waking where the waker is, with interrupts off, before the thread may run.
 * An interrupt (a timer that has run out, a device) is nobody to blame: such a wait has no cause.
 * Nor has one as long as it lasts.
 *
 * Where the call does tell it, and it is a pipe, a Unix socket or a TCP connection, who wakes the
 * thread may be at the other end: then it is told who serves the wait there. What is sent within a
 * machine arrives in a soft interrupt of who sends it, which wakes the reader: that is an
 * interrupt, but if the thread that it came to sends by the other end of just that connection, it
 * is its own.
 */
#include "asked.bpf.h"
#include "cause_id.bpf.h"
#include "descriptor.bpf.h"
#include "inet.bpf.h"
#include "stack.bpf.h"
#include "wall.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cause_room);
} waker_scratch SEC(".maps");

/* With a waker of its own process wall_waking goes on there: see switch_walker (kern/offcpu.bpf.c).
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} waking_walker SEC(".maps");

/* ---- whether it is a thread that wakes it ---- */

#if defined(__TARGET_ARCH_x86)
#define STACK_BYTES 16384 /* THREAD_SIZE; where it is larger, interrupts are taken for granted */

/*
 * The preempt count, which tells it, lies in a variable that each few releases have elsewhere. But
 * the tracepoint's arguments lie on the stack on which the kernel runs (bpf_trace_run1(),
 * kernel/trace/bpf_trace.c): that of the thread, unless an interrupt came while it was in the
 * kernel (arch/x86/include/asm/irq_stack.h). One that came to it in user space has left -1 where a
 * system call has its number; so have page faults, which then blame nobody, too.
 */
static __always_inline bool is_interrupt(void *ctx, struct task_struct *task, __u64 *place)
{
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);

	return kstack_number(ctx, place) - (__u64)task->stack >= STACK_BYTES ||
	       (task->mm && (long)r->orig_ax < 0);
}
#else
/* include/linux/preempt.h: hard ones, NMI, soft ones that are being served */
#define INTERRUPTS 0x00ff0100

static __always_inline bool is_interrupt(void *ctx, struct task_struct *task, __u64 *place)
{
	return task->thread_info.preempt_count & INTERRUPTS;
}
#endif

/* ---- the cause ---- */

static __always_inline void waker_fill(struct gn_cause *c, __u64 whose, struct task_struct *by,
				       __u64 id, __u64 stack)
{
	__builtin_memset(c, 0, sizeof(*c));
	c->kind = GN_CAUSE_WAKER;
	if (id >> 32 == whose >> 32) {
		c->family = GN_WAKER_THREAD;
		c->ino = (__u32)id;
		c->count = stack;
		return;
	}
	c->family = by->mm ? GN_WAKER_PROCESS : GN_WAKER_KERNEL;
	c->dev = id >> 32;
}

/* Whether this epoch's reader has it, which its id alone tells. */
static __always_inline bool is_known(struct gn_cause_rec *r, __u64 whose)
{
	r->id = cause_id(&r->of, whose >> 32);
	return cause_is_sent(r->id);
}

static __always_inline void content_send(struct gn_cause_rec *r, __u64 whose)
{
	record_begin(&r->h, GN_REC_CAUSE, whose);
	r->whole = 0;
	if (!record_send(&r->h, sizeof(*r)))
		cause_sent(r->id);
}

/* The id of the cause of thread `whose`'s wait that `by`, whose tgid << 32 | tid is `id`, is. */
static __noinline __u64 waker_tell(struct gn_cause_rec *r, __u64 whose, struct task_struct *by,
				   __u64 id, __u64 stack)
{
	if (!r || !by)
		return 0;
	waker_fill(&r->of, whose, by, id, stack);
	if (is_known(r, whose))
		return r->id;
	r->len = 0;
	r->fs[0] = 0;
	if (r->of.family != GN_WAKER_THREAD)
		BPF_CORE_READ_STR_INTO(&r->fs, by, group_leader, comm);
	content_send(r, whose);
	return r->id;
}

static __always_inline struct gn_cause_rec *scratch_find(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&waker_scratch, &zero);
}

static __always_inline void waker_note(struct gn_thread *t, __u64 whose, struct task_struct *by,
				       __u64 id, __u64 stack)
{
	t->woken = waker_tell(scratch_find(), whose, by, id, stack);
	t->woken_seq = t->seq;
}

/* ---- who serves a wait ---- */

/* Does it send or receive? The call is as it was when an interrupt came to it. */
static __always_inline bool is_transferring(struct task_struct *by)
{
	struct cause_call call = {};
	enum gn_cause_op op;
	int several;

	if (!by->mm)
		return false;
	call_read(&call, by);
	op = gn_call_op(call.nr, &several);
	return op == GN_OP_READ || op == GN_OP_WRITE;
}

/* Does it that by this end of a connection? (inet_end()) */
static __noinline int is_at_end(struct task_struct *by, __u32 end, struct gn_cause_rec *r)
{
	struct gn_peer_key key = {};
	struct cause_call call = {};
	struct file *file;
	struct sock *sk;

	if (!by || !r || !is_transferring(by))
		return 0;
	call_read(&call, by);
	file = file_of(by, call.arg[0]);
	if (!file || !file_is_socket(file))
		return 0;
	sk = socket_of(file);
	return sk && !sock_read(cause_sock(r), sk) && inet_ends(&key, cause_sock(r), sk) &&
	       inet_end(&key) == end;
}

/* `here`: it wakes the thread itself, and not an interrupt that came to it. */
static __always_inline bool is_served(struct gn_cause_rec *r, __u64 cause, struct task_struct *by,
				      bool here)
{
	if (gn_cause_id_is_lock(cause))
		return false;
	if (cause & CAUSE_ID_PEER)
		return is_at_end(by, cause >> 32, r);
	return cause & CAUSE_ID_WOKEN && here && is_transferring(by); /* not by a signal */
}

/* The same of the cause that thread `whose` waits for `cause`, which `by` serves. */
static __noinline __u64 served_tell(struct gn_cause_rec *r, __u64 whose, __u64 cause,
				    struct task_struct *by)
{
	__u64 id;
	long n;

	if (!r || !by)
		return 0;
	id = task_id(by);
	if (!id) /* there is no such thread where we are */
		return cause;
	__builtin_memset(&r->of, 0, sizeof(r->of));
	r->of.kind = GN_CAUSE_SERVED;
	r->of.ino = cause;
	r->of.dev = id >> 32;
	r->of.count = (__u32)id;
	if (is_known(r, whose))
		return r->id;
	BPF_CORE_READ_STR_INTO(&r->fs, by, comm);
	n = BPF_CORE_READ_STR_INTO(&r->path, by, group_leader, comm);
	r->len = n > 0 ? n - 1 : 0;
	content_send(r, whose);
	return r->id;
}

static __always_inline void served_note(struct gn_thread *t, __u64 whose, __u64 cause,
					struct task_struct *by)
{
	t->woken = served_tell(scratch_find(), whose, cause, by);
	t->woken_seq = t->seq;
}

/* ---- programs ---- */

/* What most fail by comes first, and lies together. */
static __always_inline bool is_asked(const struct task_struct *task, const struct gn_thread *t)
{
	if (t->phase != GN_PH_OFF || bpf_ktime_get_ns() < t->tick_ns || task->on_cpu ||
	    t->state == GN_ST_QUEUED || t->state == GN_ST_STOPPED || thread_is_bare(t))
		return false;
	return wall_stack(t);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(wall_waking, struct task_struct *task)
{
	struct task_struct *by = bpf_get_current_task_btf();
	struct gn_cause_rec *r = scratch_find();
	struct gn_thread *t;
	__u64 whose, id, cause;
	bool here;

	END_IF(gn_scanning || !is_asked_for(task) || rate_skips_wakers(task));
	if (!r)
		return 0;
	/* next, since the thread's storage was last another CPU's: naps end by interrupts */
	here = !is_interrupt(ctx, by, &r->id);
	END_IF(!here && !is_transferring(by));
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!t || !is_asked(task, t))
		return 0;
	whose = thread_id(task, t);
	cause = wall_cause(t);
	if (cause) {
		if (is_served(r, cause, by, here))
			served_note(t, whose, cause, by);
		return 0;
	}
	if (!here)
		return 0;
	id = task_id(by);
	if (id >> 32 == whose >> 32)
		bpf_tail_call(ctx, &waking_walker, 0);
	waker_note(t, whose, by, id, 0);
	return 0;
}

/* A thread of the same process wakes it. */
SEC("tp_btf/sched_waking")
int BPF_PROG(waking_walk, struct task_struct *task)
{
	struct task_struct *by = bpf_get_current_task_btf();
	struct gn_thread *t = bpf_task_storage_get(&threads, task, 0, 0);
	struct gn_thread *w = bpf_task_storage_get(&threads, by, 0, 0);
	__u64 id, stack;

	if (!t || !w)
		return 0;
	id = thread_id(by, w);
	/* no CPU sample is taken meanwhile: that would be an interrupt */
	stack = stack_take(ctx, SLOT_CLOCK, GN_WAY_WAKE, true, by, w, id, bpf_ktime_get_ns());
	waker_note(t, thread_id(task, t), by, id, stack);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
