/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads off the CPU that have a stack of their wait: only of these somebody wants to know who
 * wakes them. A bit each, by the kernel's number of the thread, so that most wake-ups (hundreds of
 * thousands a second on a busy server) need not look at the thread's storage, which another CPU had
 * last. A bit that is set in vain costs that look and nothing else.
 */
#ifndef GNOMON_ASKED_BPF_H
#define GNOMON_ASKED_BPF_H

#include "maps.bpf.h"

#define ASKED_THREADS (1 << 22) /* PID_MAX_LIMIT, include/linux/threads.h */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ASKED_THREADS / 64);
	__type(key, __u32);
	__type(value, __u64);
} asked SEC(".maps") __weak;

static __always_inline __u64 *asked_word(const struct task_struct *task)
{
	__u32 at = ((__u32)task->pid & (ASKED_THREADS - 1)) / 64;

	return bpf_map_lookup_elem(&asked, &at);
}

static __always_inline __u64 asked_bit(const struct task_struct *task)
{
	return 1ULL << (task->pid & 63);
}

/* A stack has been taken of its wait. */
static __always_inline void asked_note(const struct task_struct *task, struct gn_thread *t)
{
	__u64 *word;

	if (!gn_causes)
		return;
	word = asked_word(task);
	if (!word)
		return;
	t->asked = 1;
	__sync_fetch_and_or(word, asked_bit(task));
}

/* Its wait is over. */
static __always_inline void asked_end(const struct task_struct *task, struct gn_thread *t)
{
	__u64 *word;

	if (!t->asked)
		return;
	t->asked = 0;
	word = asked_word(task);
	if (word)
		__sync_fetch_and_and(word, ~asked_bit(task));
}

static __always_inline bool is_asked_for(const struct task_struct *task)
{
	const __u64 *word = asked_word(task);

	return word && *word & asked_bit(task);
}

#endif
