/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ends of a TCP connection. */
#ifndef GNOMON_INET_BPF_H
#define GNOMON_INET_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "abi.h"

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

/* Addresses and ports: not the namespace, which may be another one at the other end. */
#define PEER_WORDS (offsetof(struct gn_peer_key, net) / sizeof(__u32))

/* That end of a connection as a number, which is another one at the other end. */
static __always_inline __u32 inet_end(const struct gn_peer_key *key)
{
	const __u32 *words = (const __u32 *)key;
	__u64 h = 0;

	_Pragma("unroll") for (unsigned int i = 0; i < PEER_WORDS; i++)
	{
		h = (h ^ words[i]) * 0xd6e8feb86659fd93ULL;
		h ^= h >> 32;
	}
	return h;
}

/* The same of the other end of the connection that a thread waits for. */
static __always_inline __u32 inet_other_end(const struct gn_cause *c)
{
	struct gn_peer_key key = {.local_port = c->peer_port, .peer_port = c->local_port};

	if (c->family == AF_INET) {
		inet_map(key.local, *(const __u32 *)c->peer);
		inet_map(key.peer, *(const __u32 *)c->local);
	} else {
		__builtin_memcpy(key.local, c->peer, sizeof(key.local));
		__builtin_memcpy(key.peer, c->local, sizeof(key.peer));
	}
	return inet_end(&key);
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
