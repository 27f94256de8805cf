/* SPDX-License-Identifier: Apache-2.0 */
#include "push/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "push/maker.h"
#include "push/round.h"
#include "push/source.h"

#define QUEUE_MOST    65536 /* chunks that wait; the oldest go, unread */
#define TELLINGS_MOST 5
#define RESTART_NS    5000000000ull /* a sender that ended is started again after so long */
#define AGAIN_NS      1000000000ull /* a process that could not be made is tried again, */
#define TRIES_MOST    10	    /* at the end so often */

/* A destination, and who sends there. */
struct lane {
	const struct follower_to *to;
	struct sender sender;
	uint64_t restart_ns; /* 0: it runs */
	bool ended;
};

struct follow {
	const struct follower_config *cfg;
	struct delivery *shared, now;
	struct window_to to[DELIVERY_MOST];
	struct window_form form;
	struct lane lanes[DELIVERY_MOST];
	int in; /* -1: it has ended */
	struct buffer text;
	struct finished **queue; /* first come, first read; memory of each as its path is long */
	size_t n, cap;
	struct maker maker;
	struct podwatch pods;
	struct finished *making[MAKER_MOST];
	struct round round; /* when what waits is to be read */
	uint64_t again_ns;  /* it could not be read, and is to be then; 0: it could */
	unsigned int failures;
	unsigned int tellings;
};

/* ---- what is published ----------------------------------------------------------------------- */

static void sent_add(struct delivery_to *d, const struct sender_counts *c)
{
	d->sent += c->sent;
	d->bytes += c->sent_bytes;
	d->samples += c->sent_samples;
	d->request_ns += c->sent_ns;
	d->refused[REFUSED_SERVER] += c->refused;
	d->refused[REFUSED_OLD] += c->old;
}

static void publish(struct follow *f)
{
	struct delivery d = f->now;

	d.waiting = f->n + (f->maker.pid > 0 ? f->maker.n - f->maker.done : 0);
	for (size_t i = 0; i < f->cfg->n; i++) {
		sent_add(&d.to[i], &f->lanes[i].sender.counts);
	}
	delivery_publish(f->shared, &d);
}

static void held_look(struct follow *f)
{
	for (size_t i = 0; i < f->cfg->n; i++)
		spool_held(f->cfg->to[i].spool, &f->now.to[i].spooled, &f->now.to[i].spooled_bytes);
}

/* ---- chunks that wait ------------------------------------------------------------------------ */

static void unread(struct follow *f, const char *path, const char *why)
{
	char name[256];

	f->now.unreadable++;
	utf8_printable(path, name, sizeof(name));
	if (f->tellings++ < TELLINGS_MOST)
		log_warn("what is in '%s' is not sent: %s", name, why);
}

static void queue_add(struct follow *f, const struct finished *m)
{
	size_t size = offsetof(struct finished, path) + strlen(m->path) + 1;
	struct finished *mine = malloc(size), **v;
	size_t cap = f->cap ? f->cap * 2 : 64;

	if (f->n == QUEUE_MOST) {
		unread(f, f->queue[0]->path, "too many recordings wait");
		free(f->queue[0]);
		memmove(f->queue, f->queue + 1, --f->n * sizeof(*f->queue));
	}
	if (mine && f->n == f->cap) {
		v = reallocarray(f->queue, cap, sizeof(*v));
		if (v) {
			f->queue = v;
			f->cap = cap;
		}
	}
	if (!mine || f->n == f->cap) {
		free(mine);
		unread(f, m->path, "out of memory");
		return;
	}
	memcpy(mine, m, size);
	f->queue[f->n++] = mine;
}

static void messages_take(struct follow *f)
{
	struct finished m;
	size_t at = 0, n;

	while ((n = finished_take(f->text.data + at, f->text.len - at, &m))) {
		if (source_is_ours(f->cfg->dir, m.path))
			queue_add(f, &m);
		else
			unread(f, m.path, "it is no recording of ours");
		at += n;
	}
	if (at)
		memmove(f->text.data, f->text.data + at, f->text.len - at);
	f->text.len -= at;
}

static void input_take(struct follow *f)
{
	void *to = buffer_reserve(&f->text, 16 * FINISHED_MOST);
	ssize_t n = to ? read(f->in, to, 16 * FINISHED_MOST) : -1;

	if (n > 0) {
		f->text.len += (size_t)n;
		messages_take(f);
	} else if (!n) {
		close(f->in);
		f->in = -1;
	}
}

/* ---- payloads -------------------------------------------------------------------------------- */

static void making_drop(struct follow *f)
{
	for (size_t i = 0; i < f->maker.n; i++)
		free(f->making[i]);
	f->maker.n = 0;
}

/* What was to be read waits for another try; at the end not for ever. */
static void making_failed(struct follow *f, int rc)
{
	if (!f->failures++)
		log_warn("no process can be made that reads what is to be sent: %s", strerror(-rc));
	f->again_ns = now_ns() + AGAIN_NS;
	if (f->in >= 0 || f->failures < TRIES_MOST)
		return;
	for (size_t i = 0; i < f->n; i++) {
		unread(f, f->queue[i]->path, "no process could be made");
		free(f->queue[i]);
	}
	f->n = 0;
}

static void making_begin(struct follow *f)
{
	size_t n = f->n < MAKER_MOST ? f->n : MAKER_MOST;
	const struct finished *v[MAKER_MOST];
	int rc;

	for (size_t i = 0; i < n; i++)
		v[i] = f->making[i] = f->queue[i];
	rc = maker_start(&f->maker, f->cfg->dir, &f->form, v, n);
	if (rc) {
		making_failed(f, rc);
		return;
	}
	memmove(f->queue, f->queue + n, (f->n -= n) * sizeof(*f->queue));
	f->again_ns = 0;
	f->failures = 0;
}

static void wake_all(struct follow *f)
{
	for (size_t i = 0; i < f->cfg->n; i++)
		sender_wake(&f->lanes[i].sender);
}

static void made_count(struct follow *f, const struct maker_told *t)
{
	for (size_t i = 0; i < f->cfg->n; i++) {
		struct delivery_to *d = &f->now.to[i];

		d->made += t->counts.made[i];
		d->refused[REFUSED_LARGE] += t->counts.large[i];
		d->refused[REFUSED_NO_ROOM] += t->counts.no_room[i];
	}
}

/* The chunk at which it ended is left out; those behind it are read by another one. */
static void making_end(struct follow *f)
{
	struct maker *m = &f->maker;

	maker_end(m);
	if (m->done < m->n)
		unread(f, f->making[m->done]->path, "reading it failed badly");
	for (size_t i = m->done + 1; i < m->n; i++)
		queue_add(f, f->making[i]);
	making_drop(f);
	held_look(f);
}

static void maker_take(struct follow *f)
{
	struct maker_told t;
	const char *path = f->maker.done < f->maker.n ? f->making[f->maker.done]->path : "";

	if (!maker_listen(&f->maker, &t)) {
		making_end(f);
		return;
	}
	f->now.windows++;
	made_count(f, &t);
	if (t.rc)
		unread(f, path, t.gone ? "it was removed before" : t.words);
	else if (t.words[0] && f->tellings++ < TELLINGS_MOST)
		log_warn("%s", t.words);
	wake_all(f);
}

/* ---- senders --------------------------------------------------------------------------------- */

static void lane_start(struct lane *l, uint64_t now)
{
	struct error e = {0};

	l->restart_ns = 0;
	if (!sender_start(&l->sender, l->to->spool, l->to->destination, &e))
		return;
	log_warn("%s", e.msg);
	l->restart_ns = now + RESTART_NS;
}

static void lane_listen(struct follow *f, struct lane *l)
{
	if (sender_listen(&l->sender, false))
		return;
	sent_add(&f->now.to[l - f->lanes], &l->sender.counts);
	sender_end(&l->sender);
	l->sender.counts = (struct sender_counts){0};
	l->ended = f->in < 0;
	if (!l->ended)
		log_warn("who sends to '%s' has ended; another one is started",
			 l->to->destination->url);
	l->restart_ns = l->ended ? 0 : now_ns() + RESTART_NS;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool idle(const struct follow *f)
{
	return f->maker.pid <= 0 && !f->n;
}

static bool all_ended(const struct follow *f)
{
	for (size_t i = 0; i < f->cfg->n; i++)
		if (!f->lanes[i].ended)
			return false;
	return true;
}

static void round_look(struct follow *f)
{
	bool due;

	if (!podwatch_is_ready(&f->pods))
		return;
	due = round_is_due(&f->round, clock_ns(CLOCK_REALTIME)) || f->in < 0 || f->again_ns;
	if (now_ns() < f->again_ns)
		return;
	if (due)
		held_look(f);
	if (f->maker.pid <= 0 && f->n && (due || f->maker.done))
		making_begin(f);
	if (!f->n && f->maker.pid <= 0)
		f->maker.done = 0; /* the round is over */
}

static void restarts_look(struct follow *f)
{
	uint64_t now = now_ns();

	for (size_t i = 0; i < f->cfg->n; i++) {
		struct lane *l = &f->lanes[i];

		if (l->restart_ns && f->in < 0 && idle(f))
			l->ended = true;
		else if (l->restart_ns && now >= l->restart_ns)
			lane_start(l, now);
		if (f->in < 0 && idle(f) && !l->restart_ns)
			sender_finish(&l->sender);
	}
}

static void turn(struct follow *f)
{
	struct pollfd fds[3 + DELIVERY_MOST] = {
		{.fd = f->in, .events = POLLIN},
		{.fd = f->maker.pid > 0 ? f->maker.out : -1, .events = POLLIN},
	};

	for (size_t i = 0; i < f->cfg->n; i++)
		fds[2 + i] = (struct pollfd){
			.fd = f->lanes[i].ended || f->lanes[i].restart_ns ? -1
									  : f->lanes[i].sender.out,
			.events = POLLIN,
		};
	fds[2 + f->cfg->n] = (struct pollfd){.fd = f->pods.out, .events = POLLIN};
	if (poll(fds, 3 + (nfds_t)f->cfg->n, 1000) < 0)
		return;
	if (fds[0].revents)
		input_take(f);
	if (fds[1].revents)
		maker_take(f);
	for (size_t i = 0; i < f->cfg->n; i++)
		if (fds[2 + i].revents)
			lane_listen(f, &f->lanes[i]);
	if (fds[2 + f->cfg->n].revents)
		podwatch_take(&f->pods);
	podwatch_look(&f->pods, now_ns());
	round_look(f);
	restarts_look(f);
	publish(f);
}

static void follow_begin(struct follow *f)
{
	uint64_t now = now_ns(), chance = 0;

	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
		chance = now;
	round_begin(&f->round, f->cfg->window_ns, chance, clock_ns(CLOCK_REALTIME));
	f->maker.out = -1;
	podwatch_init(&f->pods, f->cfg->pods);
	podwatch_look(&f->pods, now);
	delivery_read(f->shared, &f->now);
	f->now.unreadable += f->now.waiting; /* of one before, which was lost with them */
	f->now.waiting = 0;
	f->now.n = f->cfg->n;
	f->form = (struct window_form){.to = f->to,
				       .n = f->cfg->n,
				       .label = f->cfg->label,
				       .ctx = f->cfg->ctx,
				       .links = f->cfg->links,
				       .pods = &f->pods.table};
	for (size_t i = 0; i < f->cfg->n; i++) {
		struct lane *l = &f->lanes[i];

		l->to = &f->cfg->to[i];
		f->to[i] = (struct window_to){l->to->protocol, l->to->spool};
		f->form.files |= l->to->protocol->files;
		snprintf(f->now.to[i].to, sizeof(f->now.to[i].to), "%s", l->to->destination->url);
		l->sender = (struct sender){.in = -1, .out = -1};
		lane_start(l, now);
	}
}

int follow(const struct follower_config *cfg, int in, struct delivery *shared)
{
	struct follow *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->cfg = cfg;
	f->in = in;
	f->shared = shared;
	follow_begin(f);
	while (f->in >= 0 || !idle(f) || !all_ended(f))
		turn(f);
	held_look(f);
	publish(f);
	podwatch_free(&f->pods);
	buffer_free(&f->text);
	free(f->queue);
	free(f);
	return 0;
}
