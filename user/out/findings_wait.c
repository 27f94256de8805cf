/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that threads waited for, and pools without a free thread. */
#include <stdlib.h>
#include <string.h>

#include "out/findings_int.h"
#include "out/format.h"

#define HOT_THREADS 3	/* at one place */
#define HOT_SHARE   0.5 /* of a thread, on average, that waits there */
#define POOL_IDLE   0.01
#define POOLS	    5 /* told of; a recording may have thousands of names */

/* ---- a wait for a lock ---- */

static bool state_is(const struct profile *p, const struct prof_cell *c, const char *name)
{
	return !strcmp(names_get(&p->names, p->states[c->state].name), name);
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* What only takes a lock; a condition's await() and a semaphore are other things. */
static bool is_acquire(const char *name)
{
	static const char *const known[] = {
		"java.util.concurrent.locks.ReentrantLock.lock",
		"java.util.concurrent.locks.ReentrantLock$Sync.lock",
		"java.util.concurrent.locks.ReentrantReadWriteLock$ReadLock.lock",
		"java.util.concurrent.locks.ReentrantReadWriteLock$WriteLock.lock",
		"java.util.concurrent.locks.StampedLock.readLock",
		"java.util.concurrent.locks.StampedLock.writeLock",
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (begins(name, known[i]))
			return true;
	return false;
}

uint32_t find_lock_place(const struct profile *p, const struct prof_cell *c)
{
	bool monitor = state_is(p, c, "BLOCKED"), lock = monitor;
	uint32_t n;

	if ((!monitor && !state_is(p, c, "PARKED")) || find_cell_is_jvms(p, c))
		return NAME_NONE;
	for (n = profile_node_java(p, c->node); n != NODE_ROOT; n = p->nodes[n].parent) {
		const char *name = profile_frame_name(p, p->nodes[n].frame);

		lock |= is_acquire(name);
		if (!begins(name, "java.util.concurrent.locks.") &&
		    !begins(name, "jdk.internal.misc.Unsafe.park") &&
		    !begins(name, "sun.misc.Unsafe.park") && !begins(name, "java.lang.Object.wait"))
			break;
	}
	return lock && n != NODE_ROOT ? p->frames[p->nodes[n].frame].name : NAME_NONE;
}

/* ---- blocked throughout ---- */

static bool is_throughout(const struct find *x, const struct find_self *s)
{
	return s->samples >= 10 && find_share(s->wall_ns, x->recorded_ns) >= FIND_THROUGHOUT;
}

static bool is_blocked(const struct find *x, const struct find_self *s)
{
	return is_throughout(x, s) && find_share(s->lock_ns, s->wall_ns) >= FIND_THROUGHOUT;
}

void find_blocked(struct find *x)
{
	const struct profile *p = x->p;
	const struct find_self *first = NULL;
	const char *name, *place;
	char link[64], owner[2048];
	uint32_t n = 0, same = 0;

	for (uint32_t i = 0; i < p->nselves && find_knows_threads(x); i++) {
		const struct find_self *s = &x->selves[i];

		if (!is_blocked(x, s))
			continue;
		n++;
		first = first ? first : s;
		same += s->lock_place == first->lock_place;
	}
	if (!n)
		return;
	name = names_get(&p->names, p->threads[first->thread].name);
	place = names_get(&p->names, first->lock_place);
	if (n == 1) {
		uint32_t self = p->threads[first->thread].self;
		bool known = find_lock_owner(x, first->lock_place, self, owner, sizeof(owner));

		snprintf(link, sizeof(link), "d=wall&t=%u", self);
		find_add(x, "blocked", link,
			 "The thread '%s' was blocked throughout: it waited for a lock in %s for "
			 "%.0f%% of the time.%s%s",
			 name, place, find_percent(first->lock_ns, first->wall_ns),
			 known ? " " : "", known ? owner : "");
		return;
	}
	if (p->blame.nrows) {
		find_add(x, "blocked", "d=wall&s=BLOCKED,PARKED",
			 "%u threads, '%s' among them, waited for a lock throughout: %u of them in "
			 "%s. For whom, 'gnomon render --causes' shows.",
			 n, name, same, place);
		return;
	}
	find_add(x, "blocked", "d=wall&s=BLOCKED,PARKED",
		 "%u threads, '%s' among them, waited for a lock throughout: %u of them in %s. If "
		 "they wait for each other this is a deadlock; the recording does not say who "
		 "holds a lock, 'jcmd %lld Thread.print' does.",
		 n, name, same, place, (long long)p->facts.pid);
}

/* ---- one place where many wait ---- */

struct wait {
	uint32_t place, self;
	uint64_t ns;
};

static int wait_order(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return (x->self > y->self) - (x->self < y->self);
}

static size_t waits_gather(const struct profile *p, struct wait *v)
{
	size_t n = 0;

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];
		uint32_t place = c->dims & 1 << DIM_WALL ? find_lock_place(p, c) : NAME_NONE;

		if (place != NAME_NONE)
			v[n++] = (struct wait){place, p->threads[c->thread].self, c->ns};
	}
	qsort(v, n, sizeof(*v), wait_order);
	return n;
}

/* The place with the most waiting of those where many threads waited. */
static struct wait hottest(const struct wait *v, size_t n, uint32_t *threads)
{
	struct wait best = {.place = NAME_NONE};

	for (size_t i = 0; i < n;) {
		struct wait sum = {.place = v[i].place};
		uint32_t selves = 0;

		for (; i < n && v[i].place == sum.place; i++) {
			selves += !selves || v[i].self != v[i - 1].self;
			sum.ns += v[i].ns;
		}
		if (selves >= HOT_THREADS && sum.ns > best.ns) {
			best = sum;
			*threads = selves;
		}
	}
	return best;
}

void find_hot_lock(struct find *x)
{
	const struct profile *p = x->p;
	struct wait *v = malloc(sizeof(*v) * ((size_t)p->ncells + 1));
	struct buffer link = BUFFER_INIT;
	const char *place;
	char owner[2048];
	uint32_t threads = 0;
	struct wait w;

	x->failed |= !v;
	if (!v)
		return;
	w = hottest(v, waits_gather(p, v), &threads);
	free(v);
	if (w.place == NAME_NONE || find_share(w.ns, x->recorded_ns) < HOT_SHARE)
		return;
	place = names_get(&p->names, w.place);
	if (!find_lock_owner(x, w.place, UINT32_MAX, owner, sizeof(owner)))
		snprintf(owner, sizeof(owner), "Who held it the recording does not say.");
	buffer_printf(&link, "d=wall&s=BLOCKED,PARKED&q=");
	find_encode(&link, place, true);
	buffer_byte(&link, 0);
	find_add(x, "hot lock", link.failed ? "" : (char *)link.data,
		 "%u threads waited for a lock in %s, %s together: %.1f of them at a time, on "
		 "average. %s",
		 threads, place, format_ns(w.ns).s, find_share(w.ns, x->recorded_ns), owner);
	buffer_free(&link);
}

/* ---- pools ---- */

struct pool {
	uint32_t name, threads;
	uint64_t wall_ns, idle_ns;
	bool mixed; /* some thread of that name is no worker, or came and went */
};

static int pool_order(const void *a, const void *b)
{
	const struct pool *x = a, *y = b;

	return (x->name > y->name) - (x->name < y->name);
}

/* One of each thread; then of each name. Returns how many. */
static size_t pools_gather(const struct find *x, struct pool *v)
{
	const struct profile *p = x->p;
	size_t k = 0;

	for (uint32_t i = 0; i < p->nselves; i++) {
		const struct find_self *s = &x->selves[i];

		v[i] = (struct pool){.name = p->threads[s->thread].group,
				     .threads = 1,
				     .wall_ns = s->wall_ns,
				     .idle_ns = s->idle_ns,
				     .mixed = !s->pooled || !is_throughout(x, s)};
	}
	qsort(v, p->nselves, sizeof(*v), pool_order);
	for (uint32_t i = 1; i < p->nselves; i++) {
		if (v[i].name != v[k].name) {
			v[++k] = v[i];
			continue;
		}
		v[k].threads++;
		v[k].wall_ns += v[i].wall_ns;
		v[k].idle_ns += v[i].idle_ns;
		v[k].mixed |= v[i].mixed;
	}
	return p->nselves ? k + 1 : 0;
}

/* The state that its threads were in most, other than idle. */
static uint64_t pool_state(const struct find *x, uint32_t group, const char **state)
{
	const struct profile *p = x->p;
	uint64_t ns[16] = {0};
	uint32_t most = 0;

	for (uint32_t i = 0; i < p->ncells; i++) {
		const struct prof_cell *c = &p->cells[i];

		if (c->dims & 1 << DIM_WALL && p->threads[c->thread].group == group &&
		    c->state < 16 && c->state != x->idle)
			ns[c->state] += c->ns;
	}
	for (uint32_t i = 1; i < 16; i++)
		if (ns[i] > ns[most])
			most = i;
	*state = names_get(&p->names, p->states[most].name);
	return ns[most];
}

static void pool_say(struct find *x, const struct pool *k)
{
	const char *name = names_get(&x->p->names, k->name), *state = "";
	uint64_t ns = pool_state(x, k->name, &state);
	struct buffer link = BUFFER_INIT;

	buffer_printf(&link, "d=wall&g=");
	find_encode(&link, name, false);
	buffer_byte(&link, 0);
	find_add(x, "pool", link.failed ? "" : (char *)link.data,
		 "All %u threads of '%s' were busy throughout: they waited for work %.1f%% of the "
		 "time, and were %s for %.0f%% of it. None was free for another task.",
		 k->threads, name, find_percent(k->idle_ns, k->wall_ns), state,
		 find_percent(ns, k->wall_ns));
	buffer_free(&link);
}

static int pool_size_order(const void *a, const void *b)
{
	const struct pool *x = a, *y = b;

	if (x->threads != y->threads)
		return x->threads < y->threads ? 1 : -1;
	return pool_order(a, b);
}

/* Moves those without a free thread to the front, the largest first. Returns how many. */
static size_t pools_exhausted(struct pool *v, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (!v[i].mixed && v[i].threads > 1 &&
		    find_share(v[i].idle_ns, v[i].wall_ns) <= POOL_IDLE)
			v[k++] = v[i];
	qsort(v, k, sizeof(*v), pool_size_order);
	return k;
}

void find_pools(struct find *x)
{
	struct pool *v = malloc(sizeof(*v) * ((size_t)x->p->nselves + 1));
	size_t n = 0;

	x->failed |= !v;
	if (!v)
		return;
	if (find_knows_threads(x))
		n = pools_exhausted(v, pools_gather(x, v));
	for (size_t i = 0; i < n && i < POOLS; i++)
		pool_say(x, &v[i]);
	if (n > POOLS)
		find_add(x, "pool", "d=wall&p=group",
			 "%zu smaller pools had no free thread throughout, either.", n - POOLS);
	free(v);
}
