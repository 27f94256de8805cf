/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose the other end of a TCP connection of this machine is. The kernel has nothing that leads
 * from one end to the other, so the files of all processes are looked at, for as many connections
 * at a time as user space wants to know of.
 */
#include "descriptor.bpf.h"
#include "inet.bpf.h"
#include "pidns.bpf.h"

/* User space puts in what it wants to know, with zeros for an answer. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GN_PEERS);
	__type(key, struct gn_peer_key);
	__type(value, struct gn_peer);
} peers_wanted SEC(".maps");

SEC("iter/task_file")
int peer_find(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	char sock[SOCK_BYTES] __attribute__((aligned(8)));
	struct gn_peer_key key = {};
	struct gn_peer *p;
	struct sock *sk;

	if (!task || !file || !file_is_socket(file))
		return 0;
	sk = socket_of(file);
	if (!sk || sock_read(sock, sk) || !inet_ends(&key, sock, sk))
		return 0;
	key.net = inet_namespace(sock);
	p = bpf_map_lookup_elem(&peers_wanted, &key);
	if (!p || p->pid)
		return 0;
	BPF_CORE_READ_STR_INTO(&p->comm, task, group_leader, comm);
	p->pid = task_tgid(task);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
