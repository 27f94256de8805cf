/* SPDX-License-Identifier: Apache-2.0 */
/* Draining the rings, and what was lost. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/log.h"
#include "capture/capture_int.h"
#include "capture/iterator.h"
#include "capture/peers.h"
#include "capture/rings.h"
#include "kern/abi_context.h"

/* What programs remember of lists that were sent is of no use any more. */
static void lists_change(struct capture *c)
{
	__atomic_fetch_add(&c->skel->data->gn_lists, 1, __ATOMIC_RELEASE);
}

void capture_unsent(struct capture *c, const struct gn_rec *rec)
{
	if (rec->type == GN_REC_STACK) {
		const struct gn_stack *s = (const void *)rec;

		bpf_map_delete_elem(bpf_map__fd(c->skel->maps.sent), &s->id);
		lists_change(c);
		c->unsent = true;
	} else if (rec->type == GN_REC_VTHREAD) {
		const struct gn_vthread_rec *v = (const void *)rec;
		const uint64_t key[2] = {v->id, rec->tgid}; /* kern/vthread.bpf.h */

		bpf_map_delete_elem(bpf_map__fd(c->skel->maps.vthread_names), key);
	} else if (rec->type == GN_REC_CAUSE) {
		const struct gn_cause_rec *r = (const void *)rec;

		bpf_map_delete_elem(bpf_map__fd(c->skel->maps.causes_sent), &r->id);
	} else if (rec->type == GN_REC_CONTEXT) {
		const struct gn_context_rec *r = (const void *)rec;

		bpf_map_delete_elem(bpf_map__fd(c->skel->maps.contexts_sent), &r->id);
	}
}

void capture_told(struct capture *c, const struct gn_rec *rec)
{
	if (c->peers && rec->type == GN_REC_CAUSE)
		peers_note(c->peers, (const void *)rec, now_ns());
}

#define PEERS_SHARE 200 /* of a CPU's time looks for them take at most 1 in so many */

void capture_peers(struct capture *c, capture_fn fn, void *ctx)
{
	uint64_t begun = now_ns();

	if (!c->peers)
		return;
	if (begun >= c->peers_ns && peers_ask(c->peers, begun)) {
		int rc = iterator_all(c->skel->progs.peer_find);

		if (rc)
			log_debug("the files of all processes cannot be looked at: %s",
				  strerror(-rc));
		c->peers_ns = begun + PEERS_SHARE * (now_ns() - begun);
		log_debug("other ends of connections: looked for in %.1f ms",
			  (double)(now_ns() - begun) / 1e6);
	}
	peers_tell(c->peers, now_ns(), fn, ctx);
}

void capture_epoch(struct capture *c)
{
	__atomic_fetch_add(&c->skel->data->gn_epoch, 1, __ATOMIC_RELAXED);
	lists_change(c);
}

void capture_relist(struct capture *c)
{
	capture_epoch(c);
	c->relist_due = true;
	c->remote_due = true;
}

int capture_fd(const struct capture *c)
{
	return rings_fd(c->rings);
}

/*
 * Grows a ring that was too small for an accounting: otherwise the accounting takes several turns,
 * and each of them looks at all threads.
 */
static void ring_widen(struct capture *c, int cpu)
{
	size_t bytes = 2 * capture_threads(c) * (sizeof(struct gn_sample) + 8);
	int rc = rings_reserve(c->rings, cpu, bytes, now_ns());

	if (rc)
		log_debug("a ring buffer could not grow: %s", strerror(-rc));
}

static void rings_adapt(struct capture *c)
{
	int crowded = atomic_exchange(&c->crowded, 0), rc;
	__u32 key = GN_CNT_LOST_BYTES;

	if (crowded)
		ring_widen(c, crowded - 1);
	if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.counters), &key, c->per_cpu))
		return;
	rc = rings_grow(c->rings, c->per_cpu, now_ns());
	if (rc < 0)
		log_debug("a ring buffer could not grow: %s", strerror(-rc));
	rc = rings_shrink(c->rings, now_ns());
	if (rc < 0)
		log_debug("a ring buffer could not shrink: %s", strerror(-rc));
}

void capture_make_room(struct capture *c)
{
	if (c->skel->rodata->gn_wall_ns && !c->skel->rodata->gn_reservoir)
		ring_widen(c, sched_getcpu());
}

/* Before the rings: what is heard of a thread finds it by its name. Returns how many. */
static int found_tell(struct capture *c, capture_fn fn, void *ctx)
{
	const struct gn_task_rec *r;
	struct buffer found;
	size_t n;

	pthread_mutex_lock(&c->lock);
	found = c->found;
	c->found = (struct buffer)BUFFER_INIT;
	pthread_mutex_unlock(&c->lock);
	r = (const void *)found.data;
	n = found.len / sizeof(*r);
	for (size_t i = 0; i < n; i++)
		fn(ctx, &r[i].h);
	buffer_free(&found);
	return (int)n;
}

int capture_drain(struct capture *c, capture_fn fn, void *ctx)
{
	int found = found_tell(c, fn, ctx), n = rings_drain(c->rings, fn, ctx);

	if (n >= 0)
		rings_adapt(c);
	capture_near_load(c);
	return n < 0 ? n : n + found;
}

uint64_t capture_switches_sum(const struct capture *c)
{
	struct gn_cpu_time *v = calloc((size_t)c->ncpu, sizeof(*v));
	uint64_t sum = 0;
	__u32 zero = 0;

	if (v && !bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.cpu_times), &zero, v))
		for (int i = 0; i < c->ncpu; i++)
			sum += v[i].switches;
	free(v);
	return sum;
}

void capture_counters(const struct capture *c, uint64_t out[GN_CNT_MAX])
{
	__u64 *v = calloc((size_t)c->ncpu, sizeof(*v));

	memset(out, 0, GN_CNT_MAX * sizeof(*out));
	for (__u32 k = 0; v && k < GN_CNT_MAX; k++) {
		if (bpf_map_lookup_elem(bpf_map__fd(c->skel->maps.counters), &k, v))
			continue;
		for (int i = 0; i < c->ncpu; i++)
			out[k] += v[i];
	}
	free(v);
	out[GN_CNT_SWITCHES] += capture_switches_sum(c);
}

/* Losses of threads for which the map had no room. */
static void losses_unplaced(struct capture *c, capture_loss_fn fn, void *ctx)
{
	uint64_t counters[GN_CNT_MAX];

	capture_counters(c, counters);
	for (unsigned int i = 0; i < GN_LOSS_MAX; i++) {
		uint64_t n = counters[GN_CNT_LOSSES + i];

		if (n > c->unplaced[i]) {
			fn(ctx, 0, i, n - c->unplaced[i]);
			c->unsent |= i == GN_LOSS_STACK;
			c->unstored |= i == GN_LOSS_STATE;
			c->unplaced[i] = n;
		}
	}
}

#define STORED_NS 10000000000ull /* between two looks for threads that have no storage */

/*
 * A thread that got none when it was born is seen nowhere: on Linux 6.1 a program is refused what
 * another one, which it has interrupted, is about to get (bpf_task_storage_get() of that kernel).
 * From a look at all threads on it is recorded like one that was there before us.
 */
static void unstored_find(struct capture *c)
{
	uint64_t now = now_ns();

	if (c->stopped || now - c->stored_ns < STORED_NS)
		return;
	c->unstored = false;
	c->stored_ns = now;
	capture_scan(c);
}

void capture_losses(struct capture *c, capture_loss_fn fn, void *ctx)
{
	int fd = bpf_map__fd(c->skel->maps.losses);
	struct gn_loss_key key, next;
	bool more = !bpf_map_get_next_key(fd, NULL, &next);
	__u64 count;

	while (more) {
		key = next;
		more = !bpf_map_get_next_key(fd, &key, &next);
		/*
		 * This takes the entry out in one step: what a program adds from then on starts a
		 * new one. Of one that has just found the old one a loss may not be counted.
		 */
		if (bpf_map_lookup_and_delete_elem(fd, &key, &count) || !count)
			continue;
		c->unsent |= key.reason == GN_LOSS_STACK;
		c->unstored |= key.reason == GN_LOSS_STATE;
		fn(ctx, (pid_t)key.tid, key.reason, count);
	}
	losses_unplaced(c, fn, ctx);
	if (c->unsent)
		capture_reread(c);
	c->unsent = false;
	if (c->unstored)
		unstored_find(c);
}

size_t capture_ring_bytes(const struct capture *c)
{
	return rings_bytes(c->rings);
}
