/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPU samples.
 *
 * Two kinds of clock. A thread's own clock counts its CPU time and fires every interval T: dense,
 * no variance. But it first fires after a whole interval, so a thread that lives for less than one
 * gives nothing, and every thread gives half a sample too little on average. So there is a clock
 * per CPU as well, which samples whoever runs and is unbiased for any thread, however short.
 *
 * A thread is *young* for its first X ns of CPU time, X drawn from [8T, 9T) (GN_YOUNG), and
 * *mature* then. The CPU's clock counts in young threads, the own clock in mature ones: at each
 * instant just one of them. Since X is drawn evenly over a whole interval, what the own clock gives
 * from X on to a CPU time c >= 9T is (c - X)/T on average, wherever its phase lies. (It lies
 * anywhere: between threads with inherited clocks the kernel exchanges the clocks at a switch
 * rather than stop one and start the other, kernel/events/core.c,
 * perf_event_context_sched_out().) A thread that ends within [8T, 9T) gets too little where the
 * phase is that of its birth: 1/6 of a sample on average, so the 8.
 *
 * Young threads' samples may add up to more than the kernel's account of their CPU time: by 2%
 * where others' wake-ups take their CPU thousands of times a second. A wake-up that preempts has
 * the switch keep the run queue's clock (RQCF_REQ_SKIP, kernel/sched/sched.h), so what the thread
 * still does in the kernel until then is charged to the next one, and sampled where it is. Mature
 * ones are weighed by the kernel's account (kern/weight.bpf.h). Time that a virtual machine's host
 * steals is in no sample of either: kern/punctual.h.
 */
#include "context.bpf.h"
#include "stack.bpf.h"
#include "vthread.bpf.h"
#include "weight.bpf.h"
#include "hotspot_maps.bpf.h"
#include "punctual.h"

const volatile __u32 gn_thread_filter = 0;
const volatile __u32 gn_check_code = 0;
const volatile __u32 gn_causes = 0;
const volatile __u32 gn_only_context = 0;
const volatile __u32 gn_depth = GN_MAX_FRAMES;
const volatile __u32 gn_reservoir = 0;
const volatile __u32 gn_draw_shift = 0;
const volatile __u32 gn_run_queue = 0;
const volatile __u32 gn_sched_info = 0;
const volatile __u32 gn_stolen = 0;
const volatile __u32 gn_can_switch = 0;
const volatile __u32 gn_rates = 0;
const volatile __u64 gn_cpu_ns = 0;
const volatile __u64 gn_wall_ns = 0;
const volatile __u64 gn_start_ns = 0;
__u32 gn_epoch = 1;
__u32 gn_lists = 1;
__u32 gn_marking = 0;
__u32 gn_round = 0;
__u32 gn_unaccounted = 0;
__u32 gn_last_run = 0;
__u32 gn_stackless = 0;
__u32 gn_patient = 0;
__u32 gn_awaited = 0;

__u64 gn_stop_ns = ~0ULL, gn_stop_tick = ~0ULL;
__u32 gn_clock_gen = 1;
__u32 gn_rate_gen = 1;
__u32 gn_targets_gen = 1;
__u32 gn_visit_level = 0;
__u64 gn_skips[GN_SKIP_WORDS] = {};
__u64 gn_waker_skips[GN_SKIP_WORDS] = {};
__u32 gn_resumed = 0;
__u32 gn_memo_next = 0;
__u64 gn_table_changes = 0;
__u32 gn_carriers = 0;
__u32 gn_contexts = 0;

/* Per-CPU clocks alone: own clocks are closed, and nobody is young who is met from then on. */
__u32 gn_cpu_clocks_only = 0;

/* Not inlined: what it builds takes BPF stack that the walk before it needs. */
static __noinline void cpu_sample_send(struct gn_thread *t, __u64 id, __u64 now, __u32 n,
				       __u8 clock)
{
	__u64 interval = thread_cpu_ns(id);
	struct gn_sample s = {
		.h.type = GN_REC_SAMPLE,
		.h.tgid = id >> 32,
		.h.tid = (__u32)id,
		.h.time = now,
		.stack = t->cpu_stack,
		.n = n,
		.clock = clock,
		.state = GN_ST_RUNNING,
		.span = interval,
		.vthread = t->cpu_vthread,
		.context = t->cpu_context,
	};

	if (record_send(&s.h, sizeof(s)))
		loss_add((__u32)id, GN_LOSS_RING, n);
	else
		count_add(GN_CNT_CPU, n);
}

static __always_inline int cpu_sample(struct bpf_perf_event_data *ctx, __u64 id,
				      struct gn_thread *t, __u8 clock, __u32 n)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 now = bpf_ktime_get_ns();

	if (now >= gn_stop_ns) /* what it is worth was reckoned all the same */
		return 0;
	t->cpu_stack = stack_take(ctx, SLOT_CLOCK, GN_WAY_CLOCK, !UW_IN_USER(&ctx->regs), task, t,
				  id, now);
	t->cpu_vthread = vthread_of(id, task, SLOT_CLOCK);
	t->cpu_context = context_of(id, task, SLOT_CLOCK);
	t->cpu_stack_ns = now;
	cpu_sample_send(t, id, now, n, clock);
	return 0;
}

static __always_inline struct gn_thread *thread_current(__u64 id)
{
	struct gn_thread *t = target_storage(bpf_get_current_task_btf(), id);

	return t && thread_wanted((__u32)id) ? t : NULL;
}

/* Of the current thread. The kernel's count may lag by a tick: for both clocks alike. */
static __always_inline bool thread_is_mature(const struct gn_thread *t)
{
	return bpf_get_current_task_btf()->se.sum_exec_runtime >= t->mature;
}

/*
 * Which kind of clock fires is told by its period: GN_CPU_CLOCK_KEEP. Where processes have rates of
 * their own there are no others than the CPUs'.
 */
static __always_inline bool is_cpu_clock(const struct bpf_perf_event_data *ctx)
{
	return gn_rates || ctx->sample_period != gn_cpu_ns;
}

/* A thread's own clock; and a CPU's, whose sample is to be taken. */
SEC("perf_event")
int thread_clock(struct bpf_perf_event_data *ctx)
{
	__u64 id = current_id();
	struct gn_thread *t = thread_current(id);
	bool by_cpu = is_cpu_clock(ctx);
	__u32 n = 1;

	if (!t)
		return 0;
	if (!by_cpu && (gn_cpu_clocks_only || !thread_is_mature(t))) {
		count_add(GN_CNT_YOUNG, 1);
		return 0;
	}
	if (!by_cpu || thread_is_mature(t))
		n = weight_of_firing(t, thread_cpu_ns(id), by_cpu);
	return n ? cpu_sample(ctx, id, t, by_cpu ? GN_CLOCK_CPU : GN_CLOCK_THREAD, n) : 0;
}

/*
 * thread_clock, put here by user space. Programs that walk stacks take long to verify: the CPUs'
 * clocks go on in that of the threads.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} clock_sampler SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gn_punctual);
} cpu_punctual SEC(".maps");

/* Samples of mature threads are weighed by their CPU time, which has no stolen time. */
static __always_inline bool firing_is_stolen(const struct bpf_perf_event_data *ctx)
{
	const struct rq *rq = run_queue(bpf_get_current_task_btf());
	__u32 zero = 0;
	struct gn_punctual *p = bpf_map_lookup_elem(&cpu_punctual, &zero);

	if (!p || !rq || !ctx->sample_period || !gn_stolen)
		return false;
	return gn_firing_stolen(p, bpf_ktime_get_ns(), ctx->sample_period, rq->prev_steal_time_rq);
}

/*
 * Whether a sample is taken at this firing. Where processes have rates of their own the clock is
 * the finest one's, and its period so much shorter than its interval as GN_CPU_CLOCK_KEEP says.
 */
static __always_inline bool firing_is_kept(const struct bpf_perf_event_data *ctx, __u64 id)
{
	__u64 chance = bpf_get_prandom_u32(), interval;

	if (!gn_rates)
		return chance < (GN_CPU_CLOCK_KEEP << 32) / 1000;
	interval = thread_cpu_ns(id); /* of 40 bits at most */
	return interval && (chance >> 8) * interval < ctx->sample_period << 24;
}

SEC("perf_event")
int cpu_clock(struct bpf_perf_event_data *ctx)
{
	__u64 id = current_id();
	struct gn_thread *t = thread_current(id);
	bool mature;

	if (!t)
		return 0;
	mature = thread_is_mature(t);
	if (mature && !gn_cpu_clocks_only)
		return 0;
	if (firing_is_stolen(ctx) && !mature)
		return 0;
	if (!firing_is_kept(ctx, id))
		return 0;
	bpf_tail_call(ctx, &clock_sampler, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
