/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/board.h"

#include <stddef.h>
#include <sys/mman.h>

#include "base/shared.h"

#define TRIES	1000
#define LOOK_AT 16 /* places in which a thread's loss may be */

struct board *board_new(void)
{
	void *p = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int board_new_shared(struct board **out)
{
	void *p;
	int fd = shared_new("gnomon-board", sizeof(struct board), &p);

	if (fd >= 0)
		*out = p;
	return fd;
}

struct board *board_of(int fd)
{
	return shared_map(fd, sizeof(struct board));
}

void board_free(struct board *b)
{
	if (b)
		munmap(b, sizeof(*b));
}

/* Its place, which is not given to another any more; NULL: there is none. */
static struct board_loss *loss_place(struct board *b, uint64_t whose)
{
	uint64_t at = whose * 0x9e3779b97f4a7c15ull >> 32;

	for (int i = 0; i < LOOK_AT; i++) {
		struct board_loss *l = &b->losses[(at + (uint64_t)i) % BOARD_LOSSES];

		if (!l->whose)
			l->whose = whose;
		if (l->whose == whose)
			return l;
	}
	return NULL;
}

void board_lose(struct board *b, pid_t tid, unsigned int reason, uint64_t count)
{
	struct board_loss *l;

	if (reason >= LOSS_MAX)
		return;
	l = tid > 0 ? loss_place(b, (uint64_t)tid * LOSS_MAX + reason) : NULL;
	atomic_fetch_add(l ? &l->count : &b->queue_lost[reason], count);
}

void board_losses(struct board *b, board_loss_fn fn, void *ctx)
{
	uint64_t lost;

	for (unsigned int i = 0; i < BOARD_LOSSES; i++) {
		struct board_loss *l = &b->losses[i];

		lost = l->whose ? atomic_exchange(&l->count, 0) : 0;
		if (lost)
			fn(ctx, (pid_t)(l->whose / LOSS_MAX), l->whose % LOSS_MAX, lost);
	}
	for (unsigned int i = 0; i < LOSS_MAX; i++) {
		lost = atomic_exchange(&b->queue_lost[i], 0);
		if (lost)
			fn(ctx, 0, i, lost);
	}
}

static void totals_write(_Atomic uint32_t *changes, struct totals *to, const struct totals *t)
{
	++*changes;
	atomic_thread_fence(memory_order_seq_cst);
	*to = *t;
	atomic_thread_fence(memory_order_seq_cst);
	++*changes;
}

/* Who writes may have ended in the middle: nobody waits for it. */
static bool totals_read(const _Atomic uint32_t *changes, const struct totals *from,
			struct totals *out)
{
	for (int i = 0; i < TRIES; i++) {
		uint32_t before = *changes;
		struct totals t;

		atomic_thread_fence(memory_order_seq_cst);
		t = *from;
		atomic_thread_fence(memory_order_seq_cst);
		if (!(before & 1) && *changes == before) {
			*out = t;
			return true;
		}
	}
	return false;
}

void board_totals_set(struct board *b, const struct totals *t)
{
	totals_write(&b->changes, &b->totals, t);
}

bool board_totals_get(const struct board *b, struct totals *out)
{
	return totals_read(&b->changes, &b->totals, out);
}

void board_target_set(struct board *b, uint32_t i, pid_t tgid, const struct totals *t)
{
	struct board_target *to;

	if (i >= BOARD_TARGETS)
		return;
	to = &b->targets[i];
	if (to->tgid != tgid)
		to->tgid = 0; /* until its figures are there */
	totals_write(&to->changes, &to->totals, t);
	to->tgid = tgid;
}

void board_targets_set(struct board *b, uint32_t n)
{
	b->ntargets = n < BOARD_TARGETS ? n : BOARD_TARGETS;
}

void board_targets(const struct board *b, board_target_fn fn, void *ctx)
{
	uint32_t n = b->ntargets;

	for (uint32_t i = 0; i < n && i < BOARD_TARGETS; i++) {
		pid_t tgid = b->targets[i].tgid;
		struct totals t;

		if (totals_read(&b->targets[i].changes, &b->targets[i].totals, &t) && tgid &&
		    b->targets[i].tgid == tgid)
			fn(ctx, tgid, &t);
	}
}
