/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ALIGN8(n) (((n) + 7) & ~(size_t)7)
#define AGAIN	  65536		    /* an empty queue begins anew after so many bytes */
#define KEEP	  ((size_t)1 << 20) /* so many bytes stay in memory then */

/*
 * A ring of bytes. head and tail only grow; position base is the ring's first byte. No record is
 * split at the wrap: a filler of type 0 covers the rest of the ring. The lock guards sleeping only.
 * An empty queue soon begins anew at the ring's first byte, so that a queue that is mostly empty
 * uses little of its memory. Only the producer moves base, and only while the consumer has nothing
 * to read: the consumer looks at base after head has told it that there is more.
 */
struct queue {
	size_t cap;
	_Atomic size_t head; /* written up to here */
	_Atomic size_t tail; /* read up to here */
	size_t base;   /* written by the producer; valid for the consumer while head != tail */
	size_t taken;  /* bytes of the record handed out last */
	size_t peeked; /* the consumer has looked at records up to here */
	atomic_bool ended;
	pthread_mutex_t lock;
	pthread_cond_t more;
	size_t high; /* how far the producer has written since memory was given back */
	unsigned char *data;
};

struct queue *queue_new(size_t bytes)
{
	struct queue *q = calloc(1, sizeof(*q));
	pthread_condattr_t attr;

	if (!q)
		return NULL;
	q->cap = bytes;
	q->data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (q->data == MAP_FAILED) {
		free(q);
		return NULL;
	}
	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->more, &attr);
	pthread_condattr_destroy(&attr);
	return q;
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	pthread_cond_destroy(&q->more);
	pthread_mutex_destroy(&q->lock);
	munmap(q->data, q->cap);
	free(q);
}

/* Gives back the memory that a jam used: nobody reads what lies there any more. */
static void memory_give_back(struct queue *q)
{
	if (q->high > KEEP)
		madvise(q->data + KEEP, q->cap - KEEP, MADV_DONTNEED);
	q->high = 0;
}

static size_t offset(const struct queue *q, size_t position)
{
	return (position - q->base) & (q->cap - 1);
}

bool queue_push(struct queue *q, const struct gn_rec *rec)
{
	size_t size = ALIGN8(rec->size), head = q->head, tail = q->tail, at, fill;

	if (head == tail && offset(q, head) >= AGAIN) {
		memory_give_back(q);
		q->base = head;
	}
	at = offset(q, head);
	fill = at + size > q->cap ? q->cap - at : 0;
	if (head + fill + size - tail > q->cap)
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
	return true;
}

void queue_wake(struct queue *q)
{
	pthread_mutex_lock(&q->lock);
	pthread_cond_signal(&q->more);
	pthread_mutex_unlock(&q->lock);
}

void queue_end(struct queue *q)
{
	q->ended = true;
	queue_wake(q);
}

static void wait_for_more(struct queue *q, int timeout_ms)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&q->lock);
	if (q->head == q->tail && !q->ended)
		pthread_cond_timedwait(&q->more, &q->lock, &until);
	pthread_mutex_unlock(&q->lock);
}

const struct gn_rec *queue_pop(struct queue *q, int timeout_ms, bool *ended)
{
	const struct gn_rec *rec;
	bool last;

	q->tail += q->taken;
	q->taken = 0;
	if (q->head == q->tail && timeout_ms > 0)
		wait_for_more(q, timeout_ms);
	last = q->ended; /* it is read before head, so what was pushed before the end is seen */
	if (q->head == q->tail) {
		*ended = last;
		return NULL;
	}
	rec = (const struct gn_rec *)(q->data + offset(q, q->tail));
	if (!rec->type) {
		q->tail += rec->size;
		rec = (const struct gn_rec *)(q->data + offset(q, q->tail));
	}
	q->taken = ALIGN8(rec->size);
	*ended = false;
	return rec;
}

const struct gn_rec *queue_peek(struct queue *q)
{
	const struct gn_rec *rec;
	size_t head = q->head,
	       tail = q->tail; /* tail is the position of the record handed out last */

	if ((ptrdiff_t)(q->peeked - tail) < 0)
		q->peeked = tail;
	if (q->peeked == head)
		return NULL;
	rec = (const struct gn_rec *)(q->data + offset(q, q->peeked));
	if (!rec->type) { /* a filler is never the last: a record follows it */
		q->peeked += rec->size;
		rec = (const struct gn_rec *)(q->data + offset(q, q->peeked));
	}
	q->peeked += ALIGN8(rec->size);
	return rec;
}

size_t queue_used(const struct queue *q)
{
	return q->head - q->tail;
}
