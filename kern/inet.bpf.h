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

/* What a socket's ends are called, taken out of the kernel's memory at once. */
#define SOCK_BYTES 192 /* struct sock_common has 136 */
#define sock_field(sock, type, name)                                                               \
	(*(const type *)((sock) + bpf_core_field_offset(struct sock_common, name)))

/* Where causes are made: room for that behind the record. */
struct cause_room {
	struct gn_cause_rec rec;
	char sock[SOCK_BYTES];
};

static __always_inline char *cause_sock(struct gn_cause_rec *r)
{
	return ((struct cause_room *)r)->sock;
}

static __always_inline int sock_read(char sock[SOCK_BYTES], struct sock *sk)
{
	__u32 n = bpf_core_type_size(struct sock_common);

	return bpf_probe_read_kernel(sock, n < SOCK_BYTES ? n : SOCK_BYTES, &sk->__sk_common);
}

static __always_inline __u32 inet_namespace(const char *sock)
{
	struct net *net = NULL;

	if (bpf_core_field_exists(struct sock_common, skc_net.net)) /* CONFIG_NET_NS */
		net = (struct net *)sock_field(sock, __u64, skc_net.net);
	return net ? BPF_CORE_READ(net, ns.inum) : 1;
}

/* An address of IPv4 as one of IPv6, in four words. */
static __always_inline void inet_map(__u32 to[4], __u32 v4)
{
	to[0] = to[1] = 0;
	to[2] = __builtin_bswap32(0xffff);
	to[3] = v4;
}

static __always_inline void inet_copy(__u32 to[4], const __u32 from[4])
{
	for (int i = 0; i < 4; i++)
		to[i] = from[i];
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

/* All but the namespace. False: it is no socket of TCP. */
static __always_inline bool inet_ends(struct gn_peer_key *key, const char *sock, struct sock *sk)
{
	__u16 family = sock_field(sock, __u16, skc_family);

	if ((family != AF_INET && family != AF_INET6) ||
	    BPF_CORE_READ(sk, sk_protocol) != IPPROTO_TCP)
		return false;
	if (family == AF_INET) {
		inet_map(key->local, sock_field(sock, __u32, skc_rcv_saddr));
		inet_map(key->peer, sock_field(sock, __u32, skc_daddr));
	} else if (bpf_core_field_exists(struct sock_common, skc_v6_daddr)) {
		inet_copy(key->local, &sock_field(sock, __u32, skc_v6_rcv_saddr));
		inet_copy(key->peer, &sock_field(sock, __u32, skc_v6_daddr));
	}
	key->local_port = sock_field(sock, __u16, skc_num);
	key->peer_port = __builtin_bswap16(sock_field(sock, __u16, skc_dport));
	return true;
}

#endif
