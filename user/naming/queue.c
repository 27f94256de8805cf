/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/queue.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/shared.h"

#define ALIGN8(n) (((n) + 7) & ~(size_t)7)
#define AGAIN	  65536		    /* an empty queue begins anew after so many bytes */
#define KEEP	  ((size_t)1 << 20) /* so many bytes stay in memory then */
#define PAGE	  4096

/*
 * What both sides share. head and tail only grow; position base is the ring's first byte. Only the
 * producer moves base, and only while the consumer has nothing to read: the consumer looks at base
 * after head has told it that there is more.
 */
struct shared {
	_Atomic size_t head; /* written up to here */
	_Atomic size_t tail; /* read up to here */
	_Atomic size_t base; /* valid for the consumer while head != tail */
	_Atomic uint32_t wakes;
	atomic_bool ended;
};

/*
 * A ring of bytes. No record is split at the wrap: a filler of type 0 covers the rest of the ring.
 * An empty queue soon begins anew at the ring's first byte, so that a queue that is mostly empty
 * uses little of its memory. Where the consumer is another process, which may write anything into
 * what is shared, the producer believes it nothing but the tail: a wrong one spoils what is in the
 * queue, and nothing else.
 */
struct queue {
	struct shared *shared;
	unsigned char *data;
	size_t cap;
	/* the producer's */
	size_t head, base;
	size_t high; /* how far it has written since memory was given back */
	/* the consumer's */
	size_t taken;  /* bytes of the record handed out last */
	size_t peeked; /* it has looked at records up to here */
};

/* In memory that is shared, which goes where it fails. */
static struct queue *queue_in(unsigned char *p, size_t bytes)
{
	struct queue *q = calloc(1, sizeof(*q));

	_Static_assert(sizeof(struct shared) <= PAGE, "the ring begins at the second page");
	if (!q) {
		munmap(p, PAGE + bytes);
		return NULL;
	}
	q->cap = bytes;
	q->shared = (struct shared *)p;
	q->data = p + PAGE;
	return q;
}

struct queue *queue_new(size_t bytes)
{
	void *p = mmap(NULL, PAGE + bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : queue_in(p, bytes);
}

int queue_new_shared(size_t bytes, struct queue **out)
{
	void *p;
	int fd = shared_new("gnomon-queue", PAGE + bytes, &p);

	if (fd < 0)
		return fd;
	*out = queue_in(p, bytes);
	if (*out)
		return fd;
	close(fd);
	return -ENOMEM;
}

struct queue *queue_of(int fd, size_t bytes)
{
	void *p = shared_map(fd, PAGE + bytes);

	return p ? queue_in(p, bytes) : NULL;
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	munmap(q->shared, PAGE + q->cap);
	free(q);
}

/* Gives back the memory that a jam used: nobody reads what lies there any more. */
static void memory_give_back(struct queue *q)
{
	if (q->high > KEEP)
		madvise(q->data + KEEP, q->cap - KEEP, MADV_REMOVE);
	q->high = 0;
}

static size_t offset(const struct queue *q, size_t position, size_t base)
{
	return (position - base) & (q->cap - 1);
}

bool queue_push(struct queue *q, const struct gn_rec *rec)
{
	size_t size = ALIGN8(rec->size), head = q->head, tail = q->shared->tail, at, fill;

	if (head == tail && offset(q, head, q->base) >= AGAIN) {
		memory_give_back(q);
		q->base = head;
		q->shared->base = head;
	}
	at = offset(q, head, q->base);
	fill = at + size > q->cap ? q->cap - at : 0;
	if (size > q->cap || head + fill + size - tail > q->cap)
		return false;
	if (fill) {
		struct gn_rec none = {.type = 0, .size = (__u32)fill};

		/* at least 8 bytes are left, enough for the type and the size */
		memcpy(q->data + at, &none, 8);
		head += fill;
		at = 0;
	}
	memcpy(q->data + at, rec, rec->size);
	if (at + size > q->high)
		q->high = at + size;
	q->head = head + size;
	q->shared->head = q->head;
	return true;
}

/* By a futex, which works between threads and between processes. */
void queue_wake(struct queue *q)
{
	q->shared->wakes++;
	syscall(SYS_futex, &q->shared->wakes, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void queue_end(struct queue *q)
{
	q->shared->ended = true;
	queue_wake(q);
}

/* A wake after the look at it ends the wait at once. */
static void wait_for_more(struct queue *q, int timeout_ms)
{
	struct timespec most = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
	uint32_t wakes = q->shared->wakes;

	if (q->shared->head == q->shared->tail && !q->shared->ended)
		syscall(SYS_futex, &q->shared->wakes, FUTEX_WAIT, wakes, &most, NULL, 0);
}

static const struct gn_rec *record_at(const struct queue *q, size_t position)
{
	return (const struct gn_rec *)(q->data + offset(q, position, q->shared->base));
}

const struct gn_rec *queue_pop(struct queue *q, int timeout_ms, bool *ended)
{
	struct shared *sh = q->shared;
	const struct gn_rec *rec;
	bool last;

	sh->tail += q->taken;
	q->taken = 0;
	if (sh->head == sh->tail && timeout_ms > 0)
		wait_for_more(q, timeout_ms);
	last = sh->ended; /* it is read before head, so what was pushed before the end is seen */
	if (sh->head == sh->tail) {
		*ended = last;
		return NULL;
	}
	rec = record_at(q, sh->tail);
	if (!rec->type) {
		sh->tail += rec->size;
		rec = record_at(q, sh->tail);
	}
	q->taken = ALIGN8(rec->size);
	*ended = false;
	return rec;
}

const struct gn_rec *queue_peek(struct queue *q)
{
	const struct gn_rec *rec;
	/* tail is the position of the record handed out last */
	size_t head = q->shared->head, tail = q->shared->tail;

	if ((ptrdiff_t)(q->peeked - tail) < 0)
		q->peeked = tail;
	if (q->peeked == head)
		return NULL;
	rec = record_at(q, q->peeked);
	if (!rec->type) { /* a filler is never the last: a record follows it */
		q->peeked += rec->size;
		rec = record_at(q, q->peeked);
	}
	q->peeked += ALIGN8(rec->size);
	return rec;
}

size_t queue_used(const struct queue *q)
{
	return q->shared->head - q->shared->tail;
}
