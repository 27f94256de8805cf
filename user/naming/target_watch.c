/* SPDX-License-Identifier: Apache-2.0 */
/* What triggers want to know of a target that its samples tell (model/watch.h). */
#include "naming/target_int.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "naming/watching.h"

#define LOOK_NS 1000000000ull

static bool is_wanted(const struct target *t)
{
	return t->env->watch.n || t->env->watch.locks;
}

void target_watch_orders(struct target *t)
{
	t->totals.watch = (struct watch){.number = t->env->watch.number};
}

void target_watch_cpu(struct target *t, const struct stack *st, uint64_t ns)
{
	if (!is_wanted(t) || !st || st->watch != t->env->watch.number)
		return;
	for (uint32_t i = 0; i < t->env->watch.n; i++)
		if (st->watched >> i & 1)
			t->totals.watch.v[i].cpu_ns += ns;
}

void target_watch_thread(struct target *t, struct member *m, const struct watching_sample *s)
{
	if (is_wanted(t) && m)
		watching_note(&m->hold, s);
}

/* ---- each second ----------------------------------------------------------------------------- */

static void thread_name(const struct member *m, char *out, size_t cap)
{
	utf8_printable(m->java ? m->java : m->comm, out, cap);
}

struct look {
	struct target *t;
	uint64_t now;
	struct watch *to;
};

static void held_look(void *ctx, struct member *m)
{
	const struct look *l = ctx;
	uint64_t held = m->ended_ns ? 0 : watching_held(&m->hold, l->now);

	if (!held || m->hold.watch != l->to->number)
		return;
	for (uint32_t i = 0; i < l->t->env->watch.n; i++) {
		struct watch_method *w = &l->to->v[i];

		if (!(m->hold.watched >> i & 1) || held <= w->held_ns)
			continue;
		w->held_ns = held;
		w->tid = m->tid;
		thread_name(m, w->thread, sizeof(w->thread));
	}
}

/* Whose its lock is, as far as has been heard. */
static void owner_look(void *ctx, struct member *m)
{
	const struct look *l = ctx;
	pid_t owner = m->hold.cause ? target_locks_owner(l->t, m->hold.cause, m->hold.tick) : 0;

	if (owner)
		m->hold.owner = owner;
}

static const struct hold *next_of(void *ctx, const struct hold *h)
{
	const struct look *l = ctx;
	struct member *m = h->owner ? roster_find(l->t->threads, h->owner) : NULL;

	return m && !m->ended_ns && m->hold.cause ? &m->hold : NULL;
}

static void circle_look(void *ctx, struct member *m)
{
	struct look *l = ctx;
	char name[36];
	size_t len;

	if (m->ended_ns || !m->hold.cause || !watching_circle(&m->hold, next_of, l))
		return;
	l->to->locked++;
	thread_name(m, name, sizeof(name));
	len = strlen(l->to->circle);
	if (len + strlen(name) + sizeof(", ''") <= sizeof(l->to->circle))
		snprintf(l->to->circle + len, sizeof(l->to->circle) - len, "%s'%s'",
			 len ? ", " : "", name);
}

void target_watch_look(struct target *t, uint64_t now)
{
	struct look l = {.t = t, .now = now, .to = &t->totals.watch};

	if (!is_wanted(t) || now - t->watched_ns < LOOK_NS)
		return;
	t->watched_ns = now;
	for (uint32_t i = 0; i < WATCH_METHODS; i++)
		l.to->v[i] = (struct watch_method){.cpu_ns = l.to->v[i].cpu_ns};
	if (t->env->watch.n)
		roster_each(t->threads, held_look, &l);
	l.to->locked = 0;
	l.to->circle[0] = '\0';
	if (!t->env->watch.locks)
		return;
	roster_each(t->threads, owner_look, &l);
	roster_each(t->threads, circle_look, &l);
}
