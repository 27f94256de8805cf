/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/rings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/log.h"
#include "capture/innermap.h"

/* the longest programs are sleepable ones, of a tick or a scan, which take milliseconds */
#define GRACE_NS 1000000000ull

#define QUIET_MAX_NS 3600000000000ull
/* rings that shrink at once: an old kernel waits 15 ms for each, in which nothing is drained */
#define SHRINK_MAX 8

struct ring {
	struct ring_buffer *rb;
	int fd;
	size_t bytes;
};

/* What is known of a CPU's ring, whichever it is. */
struct use {
	uint64_t lost;	   /* bytes, as told last */
	uint64_t taken;	   /* bytes, by this drain */
	uint64_t most;	   /* by one drain since `since_ns` */
	uint64_t since_ns; /* 0: it is not looked at yet */
	uint64_t quiet_ns;
	size_t reserved;
	bool shrunk; /* and has not grown since */
};

struct old_ring {
	struct ring ring;
	uint64_t since_ns;
	struct old_ring *next; /* the one before it */
};

struct rings {
	struct rings_config cfg;
	int epoll;
	struct ring *cpu;
	struct use *use; /* likewise, for each CPU */
	struct old_ring *retired;
	uint64_t taken; /* bytes of the ring that is drained */
	rings_fn fn;
	void *ctx;
};

size_t rings_size(size_t bytes, uint64_t lost, size_t max)
{
	uint64_t factor = 1;
	size_t size = bytes;

	if (lost / 8 > bytes)
		factor = lost / bytes + 1;
	else if (lost / 2 > bytes)
		factor = 8;
	else if (lost > bytes / 2)
		factor = 4;
	else if (lost > bytes / 100)
		factor = 2;
	while (size < max && size / bytes < factor)
		size *= 2;
	return size;
}

size_t rings_size_quiet(size_t bytes, uint64_t taken, size_t least)
{
	size_t size = least;

	if (taken > bytes / 8)
		return bytes;
	while (size < bytes && size < 4 * taken)
		size *= 2;
	return size < bytes ? size : bytes;
}

static int on_record(void *ctx, void *data, size_t size)
{
	struct rings *r = ctx;
	const struct gn_rec *rec = data;

	r->taken += size + BPF_RINGBUF_HDR_SZ;
	if (size >= sizeof(*rec) && rec->size <= size)
		r->fn(r->ctx, rec);
	return 0;
}

static void ring_close(struct ring *ring)
{
	ring_buffer__free(ring->rb);
	if (ring->fd >= 0)
		close(ring->fd);
	*ring = (struct ring){.fd = -1};
}

/* Make and map a ring and watch it with epoll. It is not in the map of maps yet. */
static int ring_open(struct rings *r, struct ring *ring, size_t bytes)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int rc = 0;

	*ring = (struct ring){.bytes = bytes};
	ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "gn_ring", 0, 0, (__u32)bytes, NULL);
	if (ring->fd < 0)
		return -errno;
	ring->rb = ring_buffer__new(ring->fd, on_record, r, NULL);
	if (!ring->rb || epoll_ctl(r->epoll, EPOLL_CTL_ADD, ring->fd, &ev))
		rc = -errno;
	if (rc)
		ring_close(ring);
	return rc;
}

/* Put one ring for each CPU into the map of maps, all at once. */
static int rings_publish(const struct rings *r)
{
	uint32_t n = (uint32_t)r->cfg.ncpu, *keys = calloc(n, sizeof(*keys));
	int *fds = calloc(n, sizeof(*fds)), rc = -ENOMEM;

	if (keys && fds) {
		for (uint32_t i = 0; i < n; i++) {
			keys[i] = i;
			fds[i] = r->cpu[i].fd;
		}
		rc = innermap_put(r->cfg.outer, keys, fds, n);
	}
	free(keys);
	free(fds);
	return rc;
}

int rings_open(struct rings **out, const struct rings_config *cfg, struct error *e)
{
	struct rings *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	r->cfg = *cfg;
	r->epoll = -1;
	r->cpu = calloc((size_t)cfg->ncpu, sizeof(*r->cpu));
	r->use = calloc((size_t)cfg->ncpu, sizeof(*r->use));
	if (!r->cpu || !r->use) {
		rings_close(r);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	if (!r->cfg.quiet_ns)
		r->cfg.quiet_ns = RINGS_QUIET_NS;
	for (int i = 0; i < cfg->ncpu; i++) {
		r->cpu[i].fd = -1;
		r->use[i].quiet_ns = r->cfg.quiet_ns;
	}
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0)
		rc = -errno;
	for (int i = 0; i < cfg->ncpu && !rc; i++)
		rc = ring_open(r, &r->cpu[i], cfg->bytes);
	if (!rc)
		rc = rings_publish(r);
	if (rc) {
		rings_close(r);
		return error_set(e, rc, EXIT_KERNEL, "cannot create a ring buffer: %s",
				 strerror(-rc));
	}
	*out = r;
	return 0;
}

static void retired_free(struct old_ring *old)
{
	ring_close(&old->ring);
	free(old);
}

void rings_close(struct rings *r)
{
	if (!r)
		return;
	while (r->retired) {
		struct old_ring *old = r->retired;

		r->retired = old->next;
		retired_free(old);
	}
	for (int i = 0; r->cpu && i < r->cfg.ncpu; i++)
		ring_close(&r->cpu[i]);
	if (r->epoll >= 0)
		close(r->epoll);
	free(r->cpu);
	free(r->use);
	free(r);
}

int rings_fd(const struct rings *r)
{
	return r->epoll;
}

int rings_drain(struct rings *r, rings_fn fn, void *ctx)
{
	int n, sum = 0;

	r->fn = fn;
	r->ctx = ctx;
	for (struct old_ring *old = r->retired; old; old = old->next) {
		n = ring_buffer__consume(old->ring.rb);
		if (n < 0)
			return n;
		sum += n;
	}
	for (int i = 0; i < r->cfg.ncpu; i++) {
		r->taken = 0;
		n = ring_buffer__consume(r->cpu[i].rb);
		if (n < 0)
			return n;
		r->use[i].taken = r->taken;
		sum += n;
	}
	return sum;
}

/*
 * Close the rings that have been out of use for long enough and were just drained. Closing a
 * descriptor takes it out of epoll only when the mappings are gone as well, which ring_close sees
 * to.
 */
static void retired_expire(struct rings *r, uint64_t now_ns)
{
	struct old_ring **at = &r->retired, *old;

	while ((old = *at)) {
		if (now_ns - old->since_ns < GRACE_NS) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		retired_free(old);
	}
}

/* A ring that is not in the map any more is drained on for a while. The older go first. */
static void ring_retire(struct rings *r, struct old_ring *old, const struct ring *ring,
			uint64_t now_ns)
{
	struct old_ring **at = &r->retired;

	old->ring = *ring;
	old->since_ns = now_ns;
	while (*at)
		at = &(*at)->next;
	*at = old;
}

/* Rings of other sizes in place of those of some CPUs. */
struct change {
	uint32_t n;
	uint32_t cpu[SHRINK_MAX];
	int fds[SHRINK_MAX];
	struct ring rings[SHRINK_MAX];
	struct old_ring *old[SHRINK_MAX];
};

static int change_add(struct rings *r, struct change *c, int cpu, size_t bytes)
{
	struct old_ring *old = calloc(1, sizeof(*old));
	int rc = old ? ring_open(r, &c->rings[c->n], bytes) : -ENOMEM;

	if (rc) {
		free(old);
		return rc;
	}
	c->cpu[c->n] = (uint32_t)cpu;
	c->fds[c->n] = c->rings[c->n].fd;
	c->old[c->n++] = old;
	return 0;
}

static void change_drop(struct change *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		ring_close(&c->rings[i]);
		free(c->old[i]);
	}
	c->n = 0;
}

static void ring_put(struct rings *r, struct change *c, uint32_t i, uint64_t now_ns)
{
	struct ring *in_use = &r->cpu[c->cpu[i]];

	log_info("the ring buffer of CPU %u %s from %zu to %zu kB", c->cpu[i],
		 c->rings[i].bytes > in_use->bytes ? "grows" : "shrinks", in_use->bytes / 1024,
		 c->rings[i].bytes / 1024);
	ring_retire(r, c->old[i], in_use, now_ns);
	*in_use = c->rings[i];
	r->use[c->cpu[i]].since_ns = 0;
}

/*
 * Waits until no program that cannot sleep has the old ones. Where it fails some of the new ones
 * may be in place: the old ones are put back, and the new ones are drained like old ones.
 */
static int change_do(struct rings *r, struct change *c, uint64_t now_ns)
{
	int rc = innermap_put(r->cfg.outer, c->cpu, c->fds, c->n);

	for (uint32_t i = 0; i < c->n; i++) {
		if (!rc || innermap_put(r->cfg.outer, &c->cpu[i], &r->cpu[c->cpu[i]].fd, 1))
			ring_put(r, c, i, now_ns);
		else
			ring_retire(r, c->old[i], &c->rings[i], now_ns);
	}
	return rc;
}

static int ring_grow(struct rings *r, int cpu, size_t bytes, uint64_t now_ns)
{
	struct use *u = &r->use[cpu];
	struct change c = {0};
	int rc = change_add(r, &c, cpu, bytes);

	if (!rc)
		rc = change_do(r, &c, now_ns);
	if (!rc && u->shrunk) {
		u->quiet_ns = u->quiet_ns < QUIET_MAX_NS / 4 ? 4 * u->quiet_ns : QUIET_MAX_NS;
		u->shrunk = false;
	}
	return rc;
}

int rings_grow(struct rings *r, const uint64_t *lost, uint64_t now_ns)
{
	int replaced = 0, rc = 0;

	retired_expire(r, now_ns);
	for (int i = 0; i < r->cfg.ncpu; i++) {
		/* (an iterator that was preempted as it counted may take some back) */
		uint64_t since = lost[i] > r->use[i].lost ? lost[i] - r->use[i].lost : 0;
		size_t size = rings_size(r->cpu[i].bytes, since, r->cfg.max);
		int one;

		r->use[i].lost = lost[i];
		if (size == r->cpu[i].bytes)
			continue;
		one = ring_grow(r, i, size, now_ns);
		if (!one)
			replaced++;
		else if (!rc)
			rc = one;
	}
	return rc ? rc : replaced;
}

/* What it was used for is known for long enough. */
static bool use_is_known(struct use *u, uint64_t now_ns)
{
	if (!u->since_ns) {
		u->since_ns = now_ns;
		u->most = 0;
	}
	if (u->taken > u->most)
		u->most = u->taken;
	return now_ns - u->since_ns >= u->quiet_ns;
}

static size_t size_wished(const struct rings *r, int cpu)
{
	size_t bytes = r->cpu[cpu].bytes, least = r->cfg.bytes;
	const struct use *u = &r->use[cpu];

	least = u->reserved > least ? u->reserved : least;
	return rings_size_quiet(bytes, u->most, least < bytes ? least : bytes);
}

/* Notes which rings are to become smaller, as many as may do so at once. */
static int change_find(struct rings *r, struct change *c, uint64_t now_ns)
{
	int rc = 0;

	for (int i = 0; i < r->cfg.ncpu; i++) {
		size_t size;

		if (!use_is_known(&r->use[i], now_ns) || c->n == SHRINK_MAX || rc)
			continue;
		size = size_wished(r, i);
		r->use[i].since_ns = 0; /* it is looked at anew */
		if (size < r->cpu[i].bytes)
			rc = change_add(r, c, i, size);
	}
	return rc;
}

int rings_shrink(struct rings *r, uint64_t now_ns)
{
	struct change c = {0};
	int rc = change_find(r, &c, now_ns);

	if (rc) {
		change_drop(&c);
		return rc;
	}
	if (!c.n)
		return 0;
	for (uint32_t i = 0; i < c.n; i++)
		r->use[c.cpu[i]].shrunk = true;
	rc = change_do(r, &c, now_ns);
	return rc ? rc : (int)c.n;
}

int rings_reserve(struct rings *r, int cpu, size_t bytes, uint64_t now_ns)
{
	size_t size = r->cfg.bytes, max = r->cfg.max < RINGS_RESERVE ? r->cfg.max : RINGS_RESERVE;

	if (cpu < 0 || cpu >= r->cfg.ncpu)
		return -EINVAL;
	while (size < bytes && size < max)
		size *= 2;
	r->use[cpu].reserved = size;
	return size > r->cpu[cpu].bytes ? ring_grow(r, cpu, size, now_ns) : 0;
}

size_t rings_bytes(const struct rings *r)
{
	size_t sum = 0;

	for (int i = 0; i < r->cfg.ncpu; i++)
		sum += r->cpu[i].bytes;
	for (const struct old_ring *old = r->retired; old; old = old->next)
		sum += old->ring.bytes;
	return sum;
}
