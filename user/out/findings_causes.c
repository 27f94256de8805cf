/* SPDX-License-Identifier: Apache-2.0 */
/* Peers, files and pipes that threads waited for most, of a profile loaded with causes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "out/findings_int.h"
#include "out/format.h"

#define CAUSES	    3	 /* told of */
#define CAUSE_SHARE 0.05 /* of the time off the CPU, below which none stands out */

struct caused {
	uint32_t name, place; /* the cause; the method of the program that waits */
	uint64_t ns;
};

static int by_name_and_place(const void *a, const void *b)
{
	const struct caused *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

static int by_time(const void *a, const void *b)
{
	const struct caused *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return by_name_and_place(a, b);
}

/* Waits with a cause, but those that are idle. *off_ns: all time off the CPU that is not. */
static size_t causes_gather(const struct find *x, struct caused *v, uint64_t *off_ns)
{
	const struct profile *p = x->p;
	size_t n = 0;

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		const struct prof_frame *leaf = &p->frames[p->nodes[c->node].frame];

		if (!(c->dims & 1 << DIM_OFF) || c->state == x->idle)
			continue;
		*off_ns += c->ns;
		if (leaf->type == PROF_CAUSE)
			v[n++] = (struct caused){leaf->name, profile_node_place(p, c->node), c->ns};
	}
	qsort(v, n, sizeof(*v), by_name_and_place);
	return n;
}

/* Makes one of each cause, with the place that waited for it longest. */
static size_t causes_join(struct caused *v, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n;) {
		struct caused sum = {v[i].name, v[i].place, 0};
		uint64_t most = 0;

		while (i < n && v[i].name == sum.name) {
			struct caused at = {v[i].name, v[i].place, 0};

			for (; i < n && v[i].name == at.name && v[i].place == at.place; i++)
				at.ns += v[i].ns;
			sum.ns += at.ns;
			sum.place = at.ns > most ? at.place : sum.place;
			most = at.ns > most ? at.ns : most;
		}
		v[k++] = sum;
	}
	qsort(v, k, sizeof(*v), by_time);
	return k;
}

static bool has_kind(const struct profile *p, uint32_t cause, const char *kind)
{
	return !strncmp(names_get(&p->names, cause), kind, strlen(kind));
}

/*
 * "; 'writer' had it for 90% of that, most of it in Store.flush": who had the lock for longest, or
 * woke threads after the longest waits.
 */
static void owner_text(const struct profile *p, const struct caused *c, char *to, size_t size)
{
	const struct blame_row *most = NULL;
	double all = 0, ns = (double)p->period_ns[JFR_SOURCE_WALL], of = 0;

	to[0] = '\0';
	for (size_t i = 0; i < p->blame.nrows; i++) {
		const struct blame_row *r = &p->blame.rows[i];

		if (r->cause == c->name && (!most || r->ticks > most->ticks))
			most = r;
	}
	for (size_t i = 0; most && i < p->blame.nrows; i++) {
		const struct blame_row *r = &p->blame.rows[i];

		if (r->cause == c->name && r->owner == most->owner)
			all += r->ticks;
	}
	of = all * ns;
	if (most)
		snprintf(to, size, "; '%s' %s it for %.0f%% of that%s%s",
			 names_get(&p->names, most->owner),
			 has_kind(p, c->name, "(wake-up) ") ? "did" : "had",
			 find_percent((uint64_t)of, c->ns),
			 most->place == NAME_NONE ? "" : ", most of it in ",
			 most->place == NAME_NONE ? "" : names_get(&p->names, most->place));
}

bool find_cell_is_jvms(const struct profile *p, const struct prof_cell *c)
{
	const struct prof_frame *leaf = &p->frames[p->nodes[c->node].frame];

	return leaf->type == PROF_CAUSE && has_kind(p, leaf->name, "(JVM) ");
}

/* Waits for locks at `place`, with a cause, of one thread or of all (UINT32_MAX). */
static size_t locks_gather(const struct profile *p, uint32_t place, uint32_t self, struct caused *v)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		const struct prof_frame *leaf = &p->frames[p->nodes[c->node].frame];

		if (leaf->type == PROF_CAUSE && c->dims & 1 << DIM_WALL &&
		    (self == UINT32_MAX || p->threads[c->thread].self == self) &&
		    find_lock_place(p, c) == place)
			v[n++] = (struct caused){leaf->name, NAME_NONE, c->ns};
	}
	qsort(v, n, sizeof(*v), by_name_and_place);
	return causes_join(v, n);
}

bool find_lock_owner(struct find *x, uint32_t place, uint32_t self, char *to, size_t size)
{
	const struct profile *p = x->p;
	struct caused *v = malloc(sizeof(*v) * ((size_t)p->ncells + 1));
	char owner[1024] = "";

	x->failed |= !v;
	if (v && locks_gather(p, place, self, v))
		owner_text(p, &v[0], owner, sizeof(owner));
	if (*owner)
		snprintf(to, size, "Most of it was for %s%s.", names_get(&p->names, v[0].name),
			 owner);
	free(v);
	return *owner;
}

static void cause_say(struct find *x, const struct caused *c, uint64_t off_ns)
{
	const struct profile *p = x->p;
	char owner[1024];
	struct buffer link = BUFFER_INIT;

	owner_text(p, c, owner, sizeof(owner));
	buffer_printf(&link, "d=off&q=");
	find_encode(&link, names_get(&p->names, c->name), true);
	buffer_byte(&link, 0);
	find_add(x, "wait", link.failed ? "" : (char *)link.data,
		 "%.0f%% of the time off the CPU (%s; idle threads left out) was waiting for "
		 "%s%s%s%s.",
		 find_percent(c->ns, off_ns), format_ns(c->ns).s, names_get(&p->names, c->name),
		 c->place == NAME_NONE ? "" : ", most of it in ",
		 c->place == NAME_NONE ? "" : names_get(&p->names, c->place), owner);
	buffer_free(&link);
}

void find_causes(struct find *x)
{
	struct caused *v = malloc(sizeof(*v) * ((size_t)x->p->ncells + 1));
	uint64_t off_ns = 0;
	size_t n;

	x->failed |= !v;
	if (!v)
		return;
	n = causes_join(v, causes_gather(x, v, &off_ns));
	for (size_t i = 0; i < n && i < CAUSES && find_share(v[i].ns, off_ns) >= CAUSE_SHARE; i++)
		cause_say(x, &v[i], off_ns);
	free(v);
}

/* ---- threads that wait for each other in a circle -------------------------------------------- */

#define CIRCLE_TICKS 3 /* as many of each of its threads */
/* a process may take few of the ticks (gnomon.RateChange), and then the last one was before the end
 */
#define CIRCLE_END_NS 100000000

static void circle_say(struct find *x, const struct blame_circle *c)
{
	const struct names *names = &x->p->names;
	struct buffer b = BUFFER_INIT;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct blame_link *v = &c->v[i];

		buffer_printf(&b, "%s'%s' waits", i ? "; " : "", names_get(names, v->thread));
		if (v->place != NAME_NONE)
			buffer_printf(&b, " in %s", names_get(names, v->place));
		buffer_printf(&b, " for %s, which '%s' has", names_get(names, v->cause),
			      names_get(names, c->v[(i + 1) % c->n].thread));
	}
	buffer_byte(&b, 0);
	x->failed |= b.failed;
	if (!b.failed)
		find_add(x, "deadlock", "", "Deadlock of %u threads: %s.", c->n, (char *)b.data);
	buffer_free(&b);
}

/*
 * One that did not last to the end was none: somebody gave up (tryLock() with a timeout). Of
 * several recordings each has an end of its own, which is not known here.
 */
void find_deadlocks(struct find *x)
{
	const struct blame *b = &x->p->blame;
	int64_t lasts = CIRCLE_TICKS * (int64_t)x->p->period_ns[JFR_SOURCE_WALL];
	int64_t end = b->last_ns - (lasts > CIRCLE_END_NS ? lasts : CIRCLE_END_NS);

	for (size_t i = 0; x->one && i < b->ncircles; i++)
		if (b->circles[i].ticks >= (uint64_t)CIRCLE_TICKS * b->circles[i].n &&
		    b->circles[i].last_ns >= end)
			circle_say(x, &b->circles[i]);
}
