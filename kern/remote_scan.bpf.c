/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What kern/remote.bpf.c does, by a look at all tasks: for kernels that cannot find them by pid in
 * such programs.
 */
#include "remote.bpf.h"

/* Of threads that left the CPU before this tick alone; others are not in its way. */
__u64 gn_remote_tick = ~0ULL;

/*
 * A list of frames that does not fit its ring would be missing for as long as its thread sleeps, so
 * none is read for a full one.
 */
SEC("iter.s/task")
int remote_scan(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct gn_thread *t;

	if (!task || !gn_wall_ns || !task_wanted(task))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, 0);
	if (!is_resting(task, t) || t->next_tick > gn_remote_tick)
		return 0;
	if (ring_is_nearly_full()) {
		gn_unread++;
		return 0;
	}
	remote_take(task, t);
	if (is_unsettled(t))
		gn_unread++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
