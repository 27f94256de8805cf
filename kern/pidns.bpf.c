/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which PID namespace the collector lives in. */
#include "pidns.bpf.h"

__u32 gn_pidns_level = 0;
__u32 gn_pidns_inum = 0;

/* Run once by the collector itself, before any process is added. */
SEC("syscall")
int pidns_learn(void *ctx)
{
	const struct task_struct *self = bpf_get_current_task_btf();
	const struct pid *pid = BPF_CORE_READ(self, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	const struct upid *at = (const void *)pid + bpf_core_field_offset(struct pid, numbers) +
				level * bpf_core_type_size(struct upid);

	gn_pidns_inum = BPF_CORE_READ(at, ns, ns.inum);
	gn_pidns_level = level;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
