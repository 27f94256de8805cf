/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/lifespans.h"

#include <stdlib.h>

#include "jfr/vitals.h"
#include "jfr/write.h"
#include "model/roster.h"

#define ROOM   8192
#define AGE_NS 100000000ull

void lifespans_note(struct lifespans *l, pid_t tid, uint64_t time_ns, bool end)
{
	if (!l->v)
		l->v = calloc(ROOM, sizeof(*l->v));
	if (l->v && l->n < ROOM)
		l->v[l->n++] = (struct lifespan){tid, end, time_ns};
}

bool lifespans_full(const struct lifespans *l)
{
	return l->n == ROOM;
}

static void one_write(const struct lifespan *s, struct jfrw *out, struct roster *threads,
		      lifespan_thread_fn thread, void *ctx)
{
	struct member *m = roster_find(threads, s->tid);
	uint32_t id;

	/* another thread may have the number by now */
	if (!m || (s->end ? m->ended_ns != s->time_ns : m->seen_ns < s->time_ns))
		return;
	if (!s->end)
		roster_ask(threads, m);
	if (!m->java && m->born_ns)
		return; /* it carries its creator's name */
	id = thread(ctx, m);
	if (s->end)
		jfrw_event(out, JFR_THREAD_END, s->time_ns,
			   &(struct jfr_thread_end){.event_thread = id, .thread = id});
	else
		jfrw_event(out, JFR_THREAD_START, s->time_ns,
			   &(struct jfr_thread_start){.event_thread = id, .thread = id});
}

void lifespans_write(struct lifespans *l, struct jfrw *out, struct roster *threads,
		     lifespan_thread_fn thread, void *ctx, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct lifespan s = l->v[i];

		if (now != UINT64_MAX && s.time_ns + AGE_NS > now)
			l->v[kept++] = s;
		else
			one_write(&s, out, threads, thread, ctx);
	}
	l->n = kept;
}

void lifespans_free(struct lifespans *l)
{
	free(l->v);
	*l = (struct lifespans){0};
}
