/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/rings.h"

#include <errno.h>
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

struct ring {
	struct ring_buffer *rb;
	int fd;
	size_t bytes;
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
	uint64_t *lost; /* per CPU, as told last */
	struct old_ring *retired;
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

static int on_record(void *ctx, void *data, size_t size)
{
	struct rings *r = ctx;
	const struct gn_rec *rec = data;

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

static int ring_publish(const struct rings *r, int cpu, const struct ring *ring)
{
	return innermap_put(r->cfg.outer, &(uint32_t){(uint32_t)cpu}, &ring->fd, 1);
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
	r->lost = calloc((size_t)cfg->ncpu, sizeof(*r->lost));
	if (!r->cpu || !r->lost) {
		rings_close(r);
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	}
	for (int i = 0; i < cfg->ncpu; i++)
		r->cpu[i].fd = -1;
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
	free(r->lost);
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
		n = ring_buffer__consume(r->cpu[i].rb);
		if (n < 0)
			return n;
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

static int ring_replace(struct rings *r, int cpu, size_t bytes, uint64_t now_ns)
{
	struct old_ring *old = calloc(1, sizeof(*old)), **at = &r->retired;
	struct ring ring;
	int rc;

	if (!old)
		return -ENOMEM;
	rc = ring_open(r, &ring, bytes);
	if (!rc) {
		rc = ring_publish(r, cpu, &ring);
		if (rc)
			ring_close(&ring);
	}
	if (rc) {
		free(old);
		return rc;
	}
	log_info("the ring buffer of CPU %d grows from %zu to %zu kB", cpu,
		 r->cpu[cpu].bytes / 1024, bytes / 1024);
	old->ring = r->cpu[cpu];
	old->since_ns = now_ns;
	while (*at)
		at = &(*at)->next; /* older rings are drained before newer ones */
	*at = old;
	r->cpu[cpu] = ring;
	return 0;
}

int rings_grow(struct rings *r, const uint64_t *lost, uint64_t now_ns)
{
	int replaced = 0, rc = 0;

	retired_expire(r, now_ns);
	for (int i = 0; i < r->cfg.ncpu; i++) {
		uint64_t since = lost[i] - r->lost[i];
		size_t size = rings_size(r->cpu[i].bytes, since, r->cfg.max);
		int one;

		r->lost[i] = lost[i];
		if (size == r->cpu[i].bytes)
			continue;
		one = ring_replace(r, i, size, now_ns);
		if (!one)
			replaced++;
		else if (!rc)
			rc = one;
	}
	return rc ? rc : replaced;
}

int rings_reserve(struct rings *r, int cpu, size_t bytes, uint64_t now_ns)
{
	size_t size = r->cfg.bytes, max = r->cfg.max < RINGS_RESERVE ? r->cfg.max : RINGS_RESERVE;

	if (cpu < 0 || cpu >= r->cfg.ncpu)
		return -EINVAL;
	while (size < bytes && size < max)
		size *= 2;
	return size > r->cpu[cpu].bytes ? ring_replace(r, cpu, size, now_ns) : 0;
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
