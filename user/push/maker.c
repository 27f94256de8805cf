/* SPDX-License-Identifier: Apache-2.0 */
#include "push/maker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rights.h"
#include "base/utf8.h"
#include "push/source.h"

_Static_assert(sizeof(struct maker_told) <= PIPE_BUF, "it is written whole");

/* ---- in the process -------------------------------------------------------------------------- */

static void chunk_take(const struct window_form *f, const struct finished *m, int fd,
		       struct maker_told *t)
{
	struct jfr_part part = {
		.path = m->path,
		.offset = m->from,
		.size = m->end - m->from,
		.opened = true,
		.fd = fd,
	};
	struct stretch s = {
		.path = m->path,
		.parts = &part,
		.n = 1,
		.known = true,
		.cut = true,
		.part = true,
	};
	struct error e = {0};

	t->rc = window_push(f, &s, &t->counts, &e);
	snprintf(t->words, sizeof(t->words), "%.159s", e.msg);
}

static void run(const char *dir, const struct window_form *f, const struct finished *const *v,
		size_t n, int out)
{
	int fds[MAKER_MOST];

	for (size_t i = 0; i < n; i++)
		fds[i] = source_open(dir, v[i]->path);
	rights_bound(MAKER_CPU_S, MAKER_BYTES);
	if (rights_drop(SENDER_UID, SENDER_UID))
		return;
	for (size_t i = 0; i < n; i++) {
		struct maker_told t = {.rc = fds[i] < 0 ? fds[i] : 0, .gone = fds[i] == -ENOENT};

		if (fds[i] >= 0)
			chunk_take(f, v[i], fds[i], &t);
		else
			snprintf(t.words, sizeof(t.words), "%s", strerror(-fds[i]));
		if (write(out, &t, sizeof(t)) != sizeof(t))
			return;
	}
}

/* ---- for others ------------------------------------------------------------------------------ */

int maker_start(struct maker *m, const char *dir, const struct window_form *f,
		const struct finished *const *v, size_t n)
{
	int p[2];

	m->n = m->done = 0;
	if (pipe2(p, O_CLOEXEC))
		return -errno;
	m->out = p[0];
	m->pid = fork();
	if (!m->pid) {
		prctl(PR_SET_NAME, "gnomon-window");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(p[0]);
		run(dir, f, v, n, p[1]);
		_exit(0);
	}
	close(p[1]);
	if (m->pid > 0) {
		m->n = n;
		return 0;
	}
	m->pid = 0;
	close(m->out);
	m->out = -1;
	return -EAGAIN;
}

bool maker_listen(struct maker *m, struct maker_told *t)
{
	ssize_t n;

	do
		n = read(m->out, t, sizeof(*t));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(*t))
		return false;
	t->words[sizeof(t->words) - 1] = '\0';
	utf8_clean(t->words, strlen(t->words), false);
	m->done++;
	return true;
}

void maker_end(struct maker *m)
{
	if (m->out >= 0)
		close(m->out);
	m->out = -1;
	if (m->pid > 0) {
		kill(m->pid, SIGKILL);
		waitpid(m->pid, NULL, 0);
	}
	m->pid = 0;
}
