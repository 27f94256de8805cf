/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/peers.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>
#include <uthash.h>

#define KEPT	 1024		/* causes; beyond which all are forgotten */
#define AGAIN_NS 30000000000ull /* who had no process then may have one by now */

enum peer_state { PEER_WANTED, PEER_ASKED, PEER_KNOWN, PEER_UNKNOWN };

struct peer {
	uint64_t id;
	struct gn_cause_rec rec;
	struct gn_peer_key key;
	enum peer_state state;
	uint64_t asked_ns;
	bool told; /* since it came from the kernel side */
	UT_hash_handle hh;
};

struct peers {
	int map;
	struct peer *by_id;
};

struct peers *peers_new(int map)
{
	struct peers *p = calloc(1, sizeof(*p));

	if (p)
		p->map = map;
	return p;
}

static void all_forget(struct peers *p)
{
	struct peer *x, *tmp;

	HASH_ITER(hh, p->by_id, x, tmp) {
		HASH_DEL(p->by_id, x);
		bpf_map_delete_elem(p->map, &x->key);
		free(x);
	}
}

void peers_free(struct peers *p)
{
	if (!p)
		return;
	all_forget(p);
	free(p);
}

static void address_map(const uint8_t from[16], bool v4, uint32_t to[4])
{
	if (!v4) {
		memcpy(to, from, 16);
		return;
	}
	to[0] = to[1] = 0;
	to[2] = htonl(0xffff);
	memcpy(&to[3], from, 4);
}

bool peers_key(const struct gn_cause *c, struct gn_peer_key *out)
{
	bool v4 = c->family == AF_INET;

	if (c->kind != GN_CAUSE_INET || c->protocol != IPPROTO_TCP || !c->ino || !c->peer_port)
		return false;
	memset(out, 0, sizeof(*out));
	address_map(c->local, v4, out->peer);
	address_map(c->peer, v4, out->local);
	out->local_port = c->peer_port;
	out->peer_port = c->local_port;
	out->net = (uint32_t)c->ino;
	return true;
}

void peers_note(struct peers *p, const struct gn_cause_rec *rec, uint64_t now_ns)
{
	struct gn_peer_key key;
	struct peer *x;

	if (!peers_key(&rec->of, &key))
		return;
	HASH_FIND(hh, p->by_id, &rec->id, sizeof(rec->id), x);
	if (x) {
		x->told = false;
		if (x->state >= PEER_KNOWN && now_ns - x->asked_ns > AGAIN_NS)
			x->state = PEER_WANTED;
		return;
	}
	if (HASH_COUNT(p->by_id) >= KEPT)
		all_forget(p);
	x = calloc(1, sizeof(*x));
	if (!x)
		return;
	x->id = rec->id;
	x->rec = *rec;
	x->key = key;
	HASH_ADD(hh, p->by_id, id, sizeof(x->id), x);
}

bool peers_ask(struct peers *p, uint64_t now_ns)
{
	const struct gn_peer none = {0};
	struct peer *x, *tmp;
	size_t n = 0;

	HASH_ITER(hh, p->by_id, x, tmp) {
		if (x->state != PEER_WANTED || n == GN_PEERS ||
		    bpf_map_update_elem(p->map, &x->key, &none, BPF_ANY))
			continue;
		x->state = PEER_ASKED;
		x->asked_ns = now_ns;
		n++;
	}
	return n;
}

/* What the map has of it, which goes into its record. */
static void answer_take(struct peers *p, struct peer *x)
{
	struct gn_peer found = {0};

	bpf_map_lookup_elem(p->map, &x->key, &found);
	bpf_map_delete_elem(p->map, &x->key);
	x->state = found.pid ? PEER_KNOWN : PEER_UNKNOWN;
	x->rec.of.dev = found.pid;
	memcpy(x->rec.fs, found.comm, sizeof(x->rec.fs));
}

void peers_tell(struct peers *p, uint64_t now_ns, void (*fn)(void *ctx, const struct gn_rec *rec),
		void *ctx)
{
	struct peer *x, *tmp;

	HASH_ITER(hh, p->by_id, x, tmp) {
		if (x->state == PEER_ASKED)
			answer_take(p, x);
		if (x->state != PEER_KNOWN || x->told)
			continue;
		x->told = true;
		x->rec.h.time = now_ns;
		fn(ctx, &x->rec.h);
	}
}
