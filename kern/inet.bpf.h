/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ends of a TCP connection. */
#ifndef GNOMON_INET_BPF_H
#define GNOMON_INET_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"

#define IFMT   0170000 /* include/uapi/linux/stat.h */
#define IFSOCK 0140000

#define IPPROTO_TCP 6
#define AF_INET	    2
#define AF_INET6    10

static __always_inline __u32 inet_namespace(struct sock *sk)
{
	struct net *net = NULL;

	if (bpf_core_field_exists(sk->__sk_common.skc_net.net)) /* CONFIG_NET_NS */
		net = BPF_CORE_READ(sk, __sk_common.skc_net.net);
	return net ? BPF_CORE_READ(net, ns.inum) : 1;
}

/* An address of IPv4 as one of IPv6, in four words. */
static __always_inline void inet_map(__u32 to[4], __u32 v4)
{
	to[0] = to[1] = 0;
	to[2] = __builtin_bswap32(0xffff);
	to[3] = v4;
}

/* False: it is no socket of TCP. */
static __always_inline bool inet_ends(struct gn_peer_key *key, struct sock *sk)
{
	struct sock_common *k = &sk->__sk_common;
	__u16 family = BPF_CORE_READ(k, skc_family);

	if ((family != AF_INET && family != AF_INET6) ||
	    BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return false;
	if (family == AF_INET) {
		inet_map(key->local, BPF_CORE_READ(k, skc_rcv_saddr));
		inet_map(key->peer, BPF_CORE_READ(k, skc_daddr));
	} else if (bpf_core_field_exists(k->skc_v6_daddr)) {
		BPF_CORE_READ_INTO(&key->local, k, skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO(&key->peer, k, skc_v6_daddr);
	}
	key->local_port = BPF_CORE_READ(k, skc_num);
	key->peer_port = __builtin_bswap16(BPF_CORE_READ(k, skc_dport));
	key->net = inet_namespace(sk);
	return true;
}

#endif
