/* SPDX-License-Identifier: Apache-2.0 */
#include "run/runner.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/inherit.h"
#include "run/command.h"

#define ANSWER_MS 20000 /* a configuration may lie on a disk that is slow */
#define LOOK_MS	  1000	/* at commands that run */
#define AGAIN_MS  1000	/* before another one is made in place of one that was lost */

enum runner_what { RUNNER_RUN = 1, RUNNER_RELOAD };

/* Between two copies of one program. */
struct runner_ask {
	uint32_t number, what;
	struct runner_order order;
};

struct runner_answer {
	uint32_t number;
	int32_t rc;
	struct error e;
};

struct runner {
	pid_t parent;
	int fd;
	uint32_t asked;
};

/* ---- in its process -------------------------------------------------------------------------- */

struct work {
	struct runner_config cfg;
	struct triggers triggers;
	struct commands commands;
	int fd;
};

#define END(s) ((s)[sizeof(s) - 1] = '\0')

static const struct trigger *trigger_find(const struct triggers *t, const char *label)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strncmp(t->v[i].whom.label, label,
			     sizeof(((struct runner_order *)0)->trigger) - 1))
			return &t->v[i];
	return NULL;
}

static int order_do(struct work *w, struct runner_order *o)
{
	const struct command_facts facts = {
		.trigger = o->trigger,
		.pid = o->pid,
		.name = o->name,
		.container = o->container,
		.dir = o->dir,
		.words = o->words,
		.file = o->file,
	};
	const struct trigger *t;

	END(o->trigger);
	END(o->name);
	END(o->container);
	END(o->dir);
	END(o->words);
	END(o->file);
	t = trigger_find(&w->triggers, o->trigger);
	if (!t || !t->argv[0])
		return -ENOENT;
	return command_start(&w->commands, t->argv, t->uid, t->gid, &facts, now_ns());
}

static int triggers_renew(struct work *w, struct error *e)
{
	struct triggers newer = {0};
	int rc = w->cfg.reload(w->cfg.ctx, &newer, e);

	if (rc)
		return rc;
	triggers_free(&w->triggers);
	w->triggers = newer;
	return 0;
}

/* False: nobody asks any more. */
static bool ask_answer(struct work *w)
{
	struct runner_ask ask;
	struct runner_answer a = {0};
	ssize_t n = recv(w->fd, &ask, sizeof(ask), 0);

	if (n < 0)
		return errno == EINTR;
	if (n != sizeof(ask))
		return n > 0;
	a.number = ask.number;
	a.rc = ask.what == RUNNER_RUN	   ? order_do(w, &ask.order)
	       : ask.what == RUNNER_RELOAD ? triggers_renew(w, &a.e)
					   : -EINVAL;
	return send(w->fd, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a);
}

static void work_do(struct work *w)
{
	struct pollfd on = {.fd = w->fd, .events = POLLIN};

	for (;;) {
		poll(&on, 1, commands_are_done(&w->commands) ? -1 : LOOK_MS);
		if (on.revents && !ask_answer(w))
			_exit(0);
		commands_look(&w->commands, now_ns());
	}
}

/* ---- its parent ------------------------------------------------------------------------------ */

/* One that follows does not have what the one before had read again. */
static void worker_main(struct work *w, bool first)
{
	struct error e;

	if (!first)
		triggers_renew(w, &e);
	work_do(w);
}

/* All ends when whoever made us closes its socket. */
static void parent_main(struct work *w)
{
	int status;

	inherit_begin("gnomon-runner", &w->fd, 1);
	for (bool first = true;; first = false) {
		pid_t pid = fork();

		if (!pid)
			worker_main(w, first);
		if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status))
			_exit(0);
		poll(NULL, 0, AGAIN_MS);
	}
}

/* ---- for who asks ---------------------------------------------------------------------------- */

static int failed(struct runner *r, int err, struct error *e)
{
	free(r);
	return error_set(e, -err, EXIT_INTERNAL, "cannot make the process that runs commands: %s",
			 strerror(err));
}

int runner_start(struct runner **out, const struct triggers *now, const struct runner_config *cfg,
		 struct error *e)
{
	struct runner *r = calloc(1, sizeof(*r));
	int ends[2], err;

	if (!r || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return failed(r, r ? errno : ENOMEM, e);
	r->parent = fork();
	if (!r->parent)
		parent_main(&(struct work){.cfg = *cfg, .triggers = *now, .fd = ends[1]});
	err = errno;
	close(ends[1]);
	if (r->parent < 0) {
		close(ends[0]);
		return failed(r, err, e);
	}
	r->fd = ends[0];
	*out = r;
	return 0;
}

/* Answers to what nobody waited for any more are passed over. */
static int answer_await(struct runner *r, struct runner_answer *a)
{
	struct pollfd on = {.fd = r->fd, .events = POLLIN};
	uint64_t until = now_ns() + ANSWER_MS * 1000000ull, now;

	while ((now = now_ns()) < until) {
		ssize_t n;

		if (poll(&on, 1, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		n = recv(r->fd, a, sizeof(*a), MSG_DONTWAIT);
		if (!n)
			return -EPIPE;
		if (n == sizeof(*a) && a->number == r->asked)
			return a->rc;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -ETIMEDOUT;
}

static int ask(struct runner *r, const struct runner_ask *what, struct runner_answer *a)
{
	struct runner_ask ask = *what;

	ask.number = ++r->asked;
	if (send(r->fd, &ask, sizeof(ask), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(ask))
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return answer_await(r, a);
}

int runner_reload(struct runner *r, struct error *e)
{
	struct runner_answer a = {0};
	int rc = ask(r, &(struct runner_ask){.what = RUNNER_RELOAD}, &a);

	if (!rc)
		return 0;
	if (a.e.rc)
		*e = a.e;
	else
		error_set(e, rc, EXIT_INTERNAL, "the process that runs commands: %s",
			  strerror(-rc));
	return rc;
}

int runner_run(struct runner *r, const struct runner_order *o)
{
	struct runner_answer a;

	return ask(r, &(struct runner_ask){.what = RUNNER_RUN, .order = *o}, &a);
}

void runner_stop(struct runner *r)
{
	if (!r)
		return;
	close(r->fd);
	waitpid(r->parent, NULL, 0);
	free(r);
}
