/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/line.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fds.h"
#include "broker/grants.h"
#include "naming/board.h"
#include "naming/cell.h"
#include "naming/mould.h"
#include "naming/queue.h"
#include "sym/ksyms.h"

#define END_MS 200 /* for so long the end of one that was killed is waited for */

static int ends_open(struct ends *e, int type)
{
	int v[2];

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, v))
		return -errno;
	*e = (struct ends){v[0], v[1]};
	return 0;
}

static const struct line unopened = {
	.replies = {-1, -1}, .gifts = {-1, -1}, .asks = {-1, -1}, .files = {-1, -1}};

static int sockets_open(struct line *l)
{
	int rc = ends_open(&l->replies, SOCK_SEQPACKET);

	if (!rc)
		rc = ends_open(&l->gifts, SOCK_SEQPACKET);
	if (!rc)
		rc = ends_open(&l->files, SOCK_SEQPACKET);
	return rc ? rc : ends_open(&l->asks, SOCK_STREAM);
}

int line_open(struct line *l, size_t queue_bytes)
{
	*l = unopened;
	l->queue = queue_new(queue_bytes);
	l->board = board_new();
	return l->queue && l->board ? sockets_open(l) : -ENOMEM;
}

/* What it shares with its process. */
static void shared_free(struct line *l)
{
	queue_free(l->queue);
	board_free(l->board);
	l->queue = NULL;
	l->board = NULL;
}

/* ---- what it may ask about ---- */

/* Before it is handed anything. */
static int asker_bind(struct line *l)
{
	l->asker = cell_pid(l->cell);
	return grants_bind(l->asker);
}

static void asker_unbind(struct line *l)
{
	if (l->asker)
		grants_unbind(l->asker);
	l->asker = 0;
}

int line_give(struct line *l, pid_t tgid, uint32_t uid)
{
	return l->asker ? grants_give(l->asker, tgid, uid) : 0;
}

void line_take(struct line *l, pid_t tgid)
{
	if (l->asker)
		grants_take(l->asker, tgid);
}

/* ---- its end ---- */

void line_close(struct line *l)
{
	if (l->cell)
		cell_free(l->cell);
	l->cell = NULL;
	asker_unbind(l);
	shared_free(l);
	for (struct ends *e = &l->replies; e <= &l->files; e++) {
		fd_close(&e->ours);
		fd_close(&e->theirs);
	}
}

/* ---- the process ---- */

enum { QUEUE, BOARD, REPLIES, GIFTS, ASKS, FILES, KSYMS };

static struct signs signs_of(const struct line *l)
{
	return (struct signs){
		.steps = l->board ? l->board->beats.steps : 0,
		.ours = l->board ? l->board->beats.ours : 0,
		.delay_ns = l->cell ? cell_delay_ns(l->cell) : 0,
	};
}

/* A descriptor in any case: where there are no such symbols nothing is read. */
static int ksyms_give(void)
{
	int fd = ksyms_source();

	return fd < 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : fd;
}

static int copy_begin(struct line *l, int queue, int board, struct mould *m)
{
	int ksyms = ksyms_give(), rc = ksyms < 0 ? -errno : 0;
	const int fds[MOULD_FDS] = {
		[QUEUE] = queue,	   [BOARD] = board,	    [REPLIES] = l->replies.theirs,
		[GIFTS] = l->gifts.theirs, [ASKS] = l->asks.theirs, [FILES] = l->files.theirs,
		[KSYMS] = ksyms,
	};

	if (!rc)
		rc = mould_copy(m, fds, &l->cell);
	if (!rc)
		rc = asker_bind(l);
	fd_close(&ksyms);
	fd_close(&l->replies.theirs);
	fd_close(&l->gifts.theirs);
	fd_close(&l->asks.theirs);
	fd_close(&l->files.theirs);
	return rc;
}

int line_begin(struct line *l, size_t queue_bytes, struct mould *m, uint64_t now)
{
	int queue, board, rc;
	struct signs s;

	*l = unopened;
	queue = queue_new_shared(queue_bytes, &l->queue);
	board = board_new_shared(&l->board);
	rc = queue < 0 ? queue : board < 0 ? board : sockets_open(l);
	if (!rc)
		rc = copy_begin(l, queue, board, m);
	fd_close(&queue);
	fd_close(&board);
	s = signs_of(l);
	if (!rc)
		patience_begin(&l->patience, &s, now);
	l->gone = rc != 0;
	return rc;
}

int line_of(struct line *l, size_t queue_bytes, const int *fds)
{
	*l = unopened;
	l->queue = queue_of(fds[QUEUE], queue_bytes);
	l->board = board_of(fds[BOARD]);
	l->replies.theirs = fds[REPLIES];
	l->gifts.theirs = fds[GIFTS];
	l->asks.theirs = fds[ASKS];
	l->files.theirs = fds[FILES];
	ksyms_from(fds[KSYMS]);
	close(fds[QUEUE]);
	close(fds[BOARD]);
	return l->queue && l->board ? 0 : -ENOMEM;
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

/* Once it is reaped another process may have its number, which is bound for itself. */
bool line_kill(struct line *l)
{
	l->gone = true;
	if (l->cell) {
		cell_kill(l->cell);
		if (!cell_wait(l->cell, END_MS))
			return false;
	}
	asker_unbind(l);
	return true;
}
