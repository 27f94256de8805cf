/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/ring.h"

#include "agent/sys.h"

#define LOCK_SPINS   200   /* then give the CPU away */
#define LOCK_YIELDS  20000 /* then give up: the record is dropped and counted */
#define RESERVE_STEP 4096

static struct {
	struct gna_header *head;
	uint8_t *data; /* mapped twice in a row: a record never has to be split */
	uint64_t size;
	int fd;
	int locked;
} ring = {.fd = -1};

static bool ring_lock(void)
{
	int i;

	for (i = 0; i < LOCK_SPINS + LOCK_YIELDS; i++) {
		if (!__atomic_exchange_n(&ring.locked, 1, __ATOMIC_ACQUIRE))
			return true;
		if (i >= LOCK_SPINS)
			sys_yield();
	}
	return false;
}

static void ring_unlock(void)
{
	__atomic_store_n(&ring.locked, 0, __ATOMIC_RELEASE);
}

static int ring_map(int fd, uint64_t size)
{
	size_t len = GNA_DATA + 2 * size;
	uint8_t *p = sys_map_reserve(len);

	if (!p)
		return -1;
	if (sys_map_file(p, GNA_DATA + size, fd, 0) ||
	    sys_map_file(p + GNA_DATA + size, size, fd, GNA_DATA)) {
		sys_unmap(p, len);
		return -1;
	}
	ring.head = (struct gna_header *)p;
	ring.data = p + GNA_DATA;
	ring.size = size;
	ring.fd = fd;
	return 0;
}

static uint64_t size_round(uint64_t size)
{
	uint64_t s = GNA_RING_MIN;

	while (s < size && s < GNA_RING_MAX)
		s *= 2;
	return s;
}

int ring_init(uint64_t size)
{
	int fd;

	if (ring.head)
		return 0;
	size = size_round(size);
	fd = sys_memfd(GNA_MEMFD);
	if (fd < 0)
		return fd;
	if (sys_truncate(fd, GNA_DATA + size) || ring_map(fd, size)) {
		sys_close(fd);
		return -1;
	}
	ring.head->version = GNA_VERSION;
	ring.head->data_offset = GNA_DATA;
	ring.head->ring_size = size;
	ring.head->pid = sys_getpid();
	__atomic_store_n(&ring.head->magic, GNA_MAGIC, __ATOMIC_RELEASE);
	return 0;
}

static struct gna_slot *slot_find(uint64_t nonce)
{
	int i;

	for (i = 0; i < GNA_SLOTS; i++)
		if (ring.head->slot[i].nonce == nonce)
			return &ring.head->slot[i];
	return NULL;
}

/*
 * The reader's own slot, else the one whose lease is the oldest: free, or of one that died (the
 * living renew theirs every second). Even a living reader that loses its slot goes on reading.
 */
static struct gna_slot *slot_take(uint64_t nonce)
{
	struct gna_slot *best = slot_find(nonce), *s;
	int i;

	if (best)
		return best;
	best = &ring.head->slot[0];
	for (i = 1; i < GNA_SLOTS; i++) {
		s = &ring.head->slot[i];
		if (__atomic_load_n(&s->lease, __ATOMIC_ACQUIRE) <
		    __atomic_load_n(&best->lease, __ATOMIC_ACQUIRE))
			best = s;
	}
	return best;
}

static void slot_fill(uint64_t nonce)
{
	struct gna_slot *s = slot_take(nonce);

	__atomic_store_n(&s->nonce, 0, __ATOMIC_RELEASE);
	s->rpos = ring.head->wpos;
	s->lease = sys_now() + GNA_LEASE_NS;
	__atomic_store_n(&s->nonce, nonce, __ATOMIC_RELEASE);
}

bool ring_join(uint64_t nonce, const char *path, size_t path_len)
{
	if (!ring_lock())
		return false;
	if (path_len && path_len < GNA_PATH_MAX && !ring.head->path[0])
		memcpy(ring.head->path, path, path_len);
	slot_fill(nonce);
	ring_unlock();
	return true;
}

void ring_leave(uint64_t nonce)
{
	struct gna_slot *s = slot_find(nonce);

	if (s) {
		s->lease = 0;
		__atomic_store_n(&s->nonce, 0, __ATOMIC_RELEASE);
	}
}

bool ring_wanted(void)
{
	uint64_t now = sys_now();
	int i;

	for (i = 0; i < GNA_SLOTS; i++)
		if (ring.head->slot[i].nonce &&
		    __atomic_load_n(&ring.head->slot[i].lease, __ATOMIC_ACQUIRE) >= now)
			return true;
	return false;
}

void ring_state(enum gna_state s)
{
	__atomic_store_n(&ring.head->state, s, __ATOMIC_RELEASE);
}

uint32_t ring_generation_next(void)
{
	return __atomic_add_fetch(&ring.head->generation, 1, __ATOMIC_ACQ_REL);
}

void ring_release(void)
{
	if (!ring_lock())
		return;
	if (!ring_wanted())
		sys_punch(ring.fd, GNA_DATA, ring.size);
	ring_unlock();
}

/* rpos comes from outside: only compared, never used as an address. */
static bool reader_behind(void)
{
	uint64_t now = sys_now();
	uint64_t wpos = __atomic_load_n(&ring.head->wpos, __ATOMIC_ACQUIRE);
	int i;

	for (i = 0; i < GNA_SLOTS; i++) {
		struct gna_slot *s = &ring.head->slot[i];

		if (s->nonce && __atomic_load_n(&s->lease, __ATOMIC_ACQUIRE) >= now &&
		    wpos - __atomic_load_n(&s->rpos, __ATOMIC_ACQUIRE) > ring.size / 2)
			return true;
	}
	return false;
}

void ring_pace(uint32_t *budget_ms)
{
	while (*budget_ms && reader_behind()) {
		sys_sleep_ms(1);
		(*budget_ms)--;
	}
}

bool ring_begin(struct ring_writer *w, const void *head, size_t n)
{
	if (!ring_lock()) {
		ring_drop();
		return false;
	}
	w->pos = ring.head->wpos;
	w->len = 0;
	w->full = false;
	ring_put(w, head, n);
	return true;
}

void ring_put(struct ring_writer *w, const void *p, size_t n)
{
	uint64_t end = w->pos + w->len + n;

	/* an eighth of the ring keeps one record from pushing everything else out */
	if (w->full || w->len + n > ring.size / 8) {
		w->full = true;
		return;
	}
	if (end > ring.head->reserve) {
		__atomic_store_n(&ring.head->reserve, end + RESERVE_STEP, __ATOMIC_RELEASE);
		/* readers must see the claim before any byte that it covers */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	memcpy(ring.data + ((w->pos + w->len) & (ring.size - 1)), p, n);
	w->len += (uint32_t)n;
}

void ring_varint(struct ring_writer *w, uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;

	while (v >= 0x80) {
		b[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	b[n++] = (uint8_t)v;
	ring_put(w, b, n);
}

bool ring_commit(struct ring_writer *w)
{
	static const uint8_t zero[8];
	struct gna_record *r;

	ring_put(w, zero, -w->len & 7);
	if (!w->full) {
		r = (struct gna_record *)(ring.data + (w->pos & (ring.size - 1)));
		r->size = w->len;
		r->seq = ring.head->seq++;
		__atomic_store_n(&ring.head->wpos, w->pos + w->len, __ATOMIC_RELEASE);
	}
	ring_unlock();
	return !w->full;
}

bool ring_record(const void *head, size_t n, const void *tail, size_t m)
{
	struct ring_writer w;

	if (!ring_begin(&w, head, n))
		return false;
	ring_put(&w, tail, m);
	if (ring_commit(&w))
		return true;
	ring_drop();
	return false;
}

void ring_drop(void)
{
	__atomic_add_fetch(&ring.head->dropped, 1, __ATOMIC_RELAXED);
}

void record_init(struct gna_record *r, enum gna_type type, uint16_t flags)
{
	r->type = (uint16_t)type;
	r->flags = flags;
	r->time = sys_now();
}
