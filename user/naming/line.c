/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/line.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "naming/board.h"
#include "naming/cell.h"
#include "naming/queue.h"

#define END_MS 200 /* for so long the end of one that was killed is waited for */

static int ends_open(struct ends *e, int type)
{
	int v[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, v))
		return -errno;
	*e = (struct ends){v[0], v[1]};
	return 0;
}

static void end_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int line_open(struct line *l, size_t queue_bytes)
{
	int rc;

	*l = (struct line){.replies = {-1, -1}, .gifts = {-1, -1}, .asks = {-1, -1}};
	l->queue = queue_new(queue_bytes);
	l->board = board_new();
	if (!l->queue || !l->board)
		return -ENOMEM;
	rc = ends_open(&l->replies, SOCK_SEQPACKET);
	if (!rc)
		rc = ends_open(&l->gifts, SOCK_SEQPACKET);
	return rc ? rc : ends_open(&l->asks, SOCK_STREAM);
}

/* What it shares with its process. */
static void shared_free(struct line *l)
{
	queue_free(l->queue);
	board_free(l->board);
	l->queue = NULL;
	l->board = NULL;
}

void line_close(struct line *l)
{
	if (l->cell)
		cell_free(l->cell);
	l->cell = NULL;
	shared_free(l);
	for (struct ends *e = &l->replies; e <= &l->asks; e++) {
		end_close(&e->ours);
		end_close(&e->theirs);
	}
}

/* ---- the process ---- */

struct start {
	struct line *line, *others;
	size_t nothers;
	void (*main)(void *arg);
	void *arg;
};

/* The others' memory would be ours to write otherwise. */
static void start(void *arg)
{
	struct start *s = arg;

	for (size_t i = 0; i < s->nothers; i++)
		if (&s->others[i] != s->line)
			shared_free(&s->others[i]);
	s->main(s->arg);
}

int line_fork(struct line *l, void (*main)(void *arg), void *arg, const int keep[LINE_KEEP],
	      struct line *others, size_t nothers)
{
	struct start s = {l, others, nothers, main, arg};
	int fds[3 + LINE_KEEP] = {l->replies.theirs, l->gifts.theirs, l->asks.theirs};
	size_t n = 3;
	int rc;

	for (size_t i = 0; i < LINE_KEEP; i++)
		if (keep[i] > 0)
			fds[n++] = keep[i];
	rc = cell_start(&l->cell, start, &s, fds, n);
	if (rc)
		return rc;
	end_close(&l->replies.theirs);
	end_close(&l->gifts.theirs);
	end_close(&l->asks.theirs);
	return 0;
}

static struct signs signs_of(const struct line *l)
{
	return (struct signs){
		.steps = l->board->beats.steps,
		.ours = l->board->beats.ours,
		.delay_ns = l->cell ? cell_delay_ns(l->cell) : 0,
	};
}

void line_go(struct line *l, uint64_t now)
{
	struct signs s = signs_of(l);
	char go = 1;

	patience_begin(&l->patience, &s, now);
	if (send(l->replies.ours, &go, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		l->gone = true;
}

bool line_await(const struct line *l)
{
	ssize_t n;
	char go;

	do
		n = recv(l->replies.theirs, &go, 1, 0);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

void line_look(struct line *l, uint64_t now)
{
	struct signs s = signs_of(l);

	patience_look(&l->patience, &s, now);
}

void line_end(struct line *l, uint64_t now, uint64_t spent_ns)
{
	struct signs s = signs_of(l);

	patience_end(&l->patience, &s, now, spent_ns);
}

bool line_kill(struct line *l)
{
	l->gone = true;
	cell_kill(l->cell);
	return cell_wait(l->cell, END_MS);
}
