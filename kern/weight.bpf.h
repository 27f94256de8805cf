/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a CPU sample of a mature thread (kern/oncpu.bpf.c) is worth, so that its samples add up to
 * its CPU time over the interval. Clocks miss some: an own clock does not run while the kernel
 * switches threads, and counts too little by 1 us a time; one that is due while interrupts are off
 * fires in whoever runs next. And of two own clocks (a thread may be born with one while user space
 * opens it another) every second firing is too much.
 */
#ifndef GNOMON_WEIGHT_BPF_H
#define GNOMON_WEIGHT_BPF_H

#include "clock.bpf.h"
#include "filter.bpf.h"

/*
 * How far the sum may be off. An own clock gives no variance, so half a sample is right; a CPU's
 * clock is a draw by lot, and weighing each sample by the time since the last would double the
 * variance of all shares. Accountings are seldom: half of that there biases no thread by 2%.
 */
#define BAND_OWN(interval)     ((interval) / 2)
#define BAND_CPU(interval)     (4 * (interval))
#define BAND_ACCOUNT(interval) (2 * (interval))

/* Of a firing of its clock; `interval`, not 0: what its samples stand for. */
static __always_inline __u32 weight_of_firing(struct gn_thread *t, __u64 interval, bool by_cpu)
{
	__u64 now = clock_cpu_time(bpf_get_current_task_btf());
	__u64 band = by_cpu ? BAND_CPU(interval) : BAND_OWN(interval);
	__u32 n = 1;
	__s64 due;

	if (!interval)
		return 0;
	if (!t->sampled_ns) /* the first may come late, too */
		t->sampled_ns = t->mature;
	due = now - t->sampled_ns;
	if (due > (__s64)(interval + band))
		n = (due - band + interval - 1) / interval;
	else if (due + (__s64)band < (__s64)interval)
		n = 0;
	if (n > GN_WEIGHT_MAX)
		n = GN_WEIGHT_MAX;
	__sync_fetch_and_add(&t->sampled_ns, n * interval);
	return n;
}

/*
 * What is left beyond the band at its end, the recording's, or an accounting. A clock of the CPU's
 * meets a thread that takes turns with another in one of twenty of the times it should, or fewer,
 * and one that runs for some 15 us at a time in a third of them where a timer's interrupt comes
 * late: tens of milliseconds of CPU time are not sampled yet then. They are told as the last that
 * was, and as of its time: what its frames meant then is what they mean.
 */
static __always_inline void weight_settle(const struct task_struct *task, struct gn_thread *t,
					  bool ends)
{
	__u64 id = thread_id(task, t), sampled = t->sampled_ns, from = sampled;
	__u64 interval = thread_cpu_ns(id);
	__u64 band = ends ? BAND_CPU(interval) : BAND_ACCOUNT(interval);
	struct gn_sample s = {
		.h.type = GN_REC_SAMPLE,
		.h.tgid = id >> 32,
		.h.tid = (__u32)id,
		.h.time = t->cpu_stack_ns,
		.stack = t->cpu_stack,
		.clock = GN_CLOCK_CPU,
		.state = GN_ST_RUNNING,
		.span = interval,
		.vthread = t->cpu_vthread,
		.context = t->cpu_context,
	};
	__s64 due;

	if (gn_rates && t->clock_gen != gn_clock_gen)
		return;				   /* there were no CPU samples meanwhile */
	if (!from && t->clock_gen == gn_clock_gen) /* its clock has not met it since */
		from = t->mature;
	if (!gn_cpu_clocks_only || !interval || !from || !s.stack)
		return;
	due = (task->on_cpu ? clock_cpu_time(task) : task->se.sum_exec_runtime) - from;
	if (due <= (__s64)(interval + band))
		return;
	s.n = (due - band) / interval;
	if (s.n > GN_WEIGHT_MAX)
		s.n = GN_WEIGHT_MAX;
	if (__sync_val_compare_and_swap(&t->sampled_ns, sampled, from + s.n * interval) != sampled)
		return;
	if (record_send(&s.h, sizeof(s)))
		loss_add((__u32)id, GN_LOSS_RING, s.n);
	else
		count_add(GN_CNT_CPU, s.n);
}

#endif
