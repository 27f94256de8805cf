/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting for threads that stay off the CPU. */
#include <sched.h>
#include <time.h>

#include "capture/capture_int.h"
#include "capture/iterator.h"

void capture_slices_end(struct capture *c)
{
	if (c->slices)
		iterator_close(c->slices_fd, &c->slices);
}

#define ACCOUNT_LAST  4u /* with CAPTURE_AGAIN and CAPTURE_PATIENT: gn_last_run */
#define ACCOUNT_TURNS 20 /* of capture_account_all(), and between two: */
#define ACCOUNT_NS    10000000

/* Threads at rest whose stack was missed are looked for, and some of them read at each tick. */
static void stackless_read(struct capture *c)
{
	if (c->skel->bss->gn_stackless)
		c->remote_due = true;
	c->skel->bss->gn_stackless = 0;
}

/*
 * The lock keeps to one accounting at a time, since the tick thread accounts, too, when it changes
 * the engine. tgid 0: for all targets.
 */
static int account(struct capture *c, unsigned int how, pid_t tgid, uint32_t *left)
{
	struct gnomon *s = c->skel;
	int rc;

	pthread_mutex_lock(&c->accounting);
	if (!(how & CAPTURE_AGAIN)) {
		s->bss->gn_round++;
		s->bss->gn_awaited = 0;
	}
	s->bss->gn_patient = (how & CAPTURE_PATIENT) != 0;
	s->bss->gn_last_run = (how & ACCOUNT_LAST) != 0;
	s->bss->gn_unaccounted = 0;
	rc = iterator_of(s->progs.wall_account, c->can_pick ? tgid : 0);
	*left = s->bss->gn_unaccounted;
	stackless_read(c);
	pthread_mutex_unlock(&c->accounting);
	return rc;
}

int capture_account(struct capture *c, unsigned int how)
{
	uint32_t left;
	int rc;

	if (!c->skel->rodata->gn_wall_ns && !c->skel->bss->gn_cpu_clocks_only)
		return 0;
	rc = account(c, how, 0, &left);
	if (!rc && left)
		c->crowded = sched_getcpu() + 1;
	return rc ? rc : left > 0;
}

/* The next threads of an accounting in slices; as iterator_run(). */
static int slice(struct capture *c, size_t threads)
{
	struct gnomon *s = c->skel;
	int rc;

	s->bss->gn_patient = 0;
	s->bss->gn_last_run = 0;
	s->bss->gn_unaccounted = 0;
	if (!c->slices) {
		c->slices_fd = iterator_open(s->progs.wall_account, 0, &c->slices);
		if (c->slices_fd < 0)
			return c->slices_fd;
	}
	rc = iterator_run(c->slices_fd, threads);
	c->slices_left += s->bss->gn_unaccounted;
	stackless_read(c);
	if (rc != 1)
		capture_slices_end(c);
	return rc;
}

int capture_account_some(struct capture *c, bool first, size_t threads)
{
	int rc;

	pthread_mutex_lock(&c->accounting);
	if (first) {
		capture_slices_end(c);
		c->skel->bss->gn_round++;
		c->slices_left = 0;
	}
	rc = slice(c, threads);
	if (!rc && c->slices_left) { /* once more, for those for whom the rings were too full */
		c->slices_left = 0;
		rc = 1;
	}
	pthread_mutex_unlock(&c->accounting);
	return rc;
}

bool capture_awaits(const struct capture *c)
{
	return c->skel->bss->gn_awaited > 0;
}

int capture_account_of(struct capture *c, pid_t tgid)
{
	uint32_t left;

	capture_make_room(c);
	return account(c, ACCOUNT_LAST, tgid, &left);
}

int capture_account_all(struct capture *c)
{
	const struct timespec turn = {.tv_nsec = ACCOUNT_NS};
	uint32_t left;
	int rc = account(c, 0, 0, &left);

	for (int i = 0; !rc && left && i < ACCOUNT_TURNS; i++) {
		nanosleep(&turn, NULL);
		rc = account(c, CAPTURE_AGAIN | (i + 1 == ACCOUNT_TURNS ? ACCOUNT_LAST : 0), 0,
			     &left);
	}
	return rc;
}
