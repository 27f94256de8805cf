/* SPDX-License-Identifier: Apache-2.0 */
#include "model/roster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/clock.h"
#include "model/thread.h"

/* a new thread usually names itself some 100 us after its birth */
#define NAMELESS_NS 50000000ull
/* ended threads are kept so long, since records of them may come late */
#define KEEP_NS	  10000000000ull
#define EXPIRE_NS 1000000000ull
#define AGAIN_NS  50000000ull /* between two questions to a JVM that cannot tell yet */
/* what a JVM tells may be so old: of many threads it is read at once */
#define RECENT_NS 50000000ull
/* names that were read before their turn are kept for so many at a time */
#define AHEAD_MAX 4096

/* What the JVM said of a thread. */
struct called {
	char *java, *groups; /* as struct member's */
	int64_t java_id;
	uint64_t asked_ns; /* it had been read then */
	bool again;
};

/* A name that was given, and is not that of the member yet. */
struct renaming {
	uint64_t time_ns;
	struct called called;
	bool doubted; /* the thread named itself again before its name was read */
	struct renaming *prev, *next;
};

/* Those of one thread, in the order in which their turn comes. */
struct ahead {
	pid_t tid;
	struct renaming *names; /* never NULL */
	UT_hash_handle hh;
};

struct roster {
	pid_t tgid;
	roster_comm_fn comm;
	roster_java_fn java;
	roster_member_fn gone;
	void *ctx;
	struct member *members;
	uint64_t count, expired_ns;
	size_t ended; /* how many members have ended */
	struct ahead *ahead;
	size_t nahead; /* names read ahead of their turn */
};

struct roster *roster_new(pid_t tgid, roster_comm_fn comm, roster_java_fn java,
			  roster_member_fn gone, void *ctx)
{
	struct roster *r = calloc(1, sizeof(*r));

	if (r)
		*r = (struct roster){
			.tgid = tgid, .comm = comm, .java = java, .gone = gone, .ctx = ctx};
	return r;
}

static void java_set(struct member *m, struct called c)
{
	free(m->java);
	free(m->groups);
	m->java = c.java;
	m->groups = c.groups;
	m->java_id = c.java_id;
	m->asked_ns = c.asked_ns;
	m->again = c.again;
}

static void java_forget(struct member *m)
{
	java_set(m, (struct called){0});
}

static void member_drop(struct roster *r, struct member *m)
{
	r->gone(r->ctx, m);
	r->ended -= m->ended_ns != 0;
	HASH_DEL(r->members, m);
	java_forget(m);
	free(m);
}

static struct ahead *ahead_find(const struct roster *r, pid_t tid)
{
	struct ahead *a;

	HASH_FIND_INT(r->ahead, &tid, a);
	return a;
}

/* Takes the name whose turn it is; what was read of it is for who calls. */
static struct called ahead_pop(struct roster *r, struct ahead *a)
{
	struct renaming *first = a->names;
	struct called c = first->called;

	r->nahead -= c.java != NULL;
	DL_DELETE(a->names, first);
	free(first);
	if (!a->names) {
		HASH_DEL(r->ahead, a);
		free(a);
	}
	return c;
}

static void called_free(struct called *c)
{
	free(c->java);
	free(c->groups);
	c->java = c->groups = NULL;
}

void roster_free(struct roster *r)
{
	struct member *m, *tmp;

	if (!r)
		return;
	while (r->ahead) {
		struct called c = ahead_pop(r, r->ahead);

		called_free(&c);
	}
	HASH_ITER(hh, r->members, m, tmp)
		member_drop(r, m);
	free(r);
}

static void comm_set(struct member *m, const char *comm)
{
	m->unread = false;
	snprintf(m->comm, sizeof(m->comm), "%.*s", (int)sizeof(m->comm) - 1, comm);
}

/* False: there is no such thread. */
static bool comm_read(const struct roster *r, struct member *m)
{
	char comm[sizeof(m->comm) + 1]; /* with a newline */

	m->unread = false;
	if (r->comm(r->tgid, m->tid, comm, sizeof(comm)))
		return false;
	comm_set(m, comm);
	return true;
}

struct member *roster_find(struct roster *r, pid_t tid)
{
	struct member *m;

	HASH_FIND_INT(r->members, &tid, m);
	return m;
}

static struct member *member_new(pid_t tid, uint64_t time)
{
	struct member *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->tid = tid;
	m->seen_ns = time;
	m->unread = true;
	return m;
}

static struct member *member_put(struct roster *r, struct member *m)
{
	HASH_ADD_INT(r->members, tid, m);
	r->count++;
	return m;
}

struct member *roster_meet(struct roster *r, pid_t tid, uint64_t time)
{
	struct member *m = roster_find(r, tid);

	if (m)
		return m;
	m = member_new(tid, time);
	return m ? member_put(r, m) : NULL;
}

const char *roster_comm(const struct roster *r, struct member *m)
{
	if (m->unread && !m->ended_ns)
		comm_read(r, m);
	return m->comm;
}

void roster_found(struct roster *r, pid_t tid, uint64_t time, const char *comm)
{
	struct member *m = roster_meet(r, tid, time);

	if (m && m->unread)
		comm_set(m, comm);
}

struct member *roster_get(struct roster *r, pid_t tid, uint64_t time)
{
	struct member *m = roster_meet(r, tid, time);

	if (m)
		roster_comm(r, m);
	return m;
}

struct member *roster_living(struct roster *r, pid_t tid, uint64_t time)
{
	struct member *m;

	if (roster_find(r, tid))
		return roster_get(r, tid, time);
	m = member_new(tid, time);
	if (!m)
		return NULL;
	if (!comm_read(r, m)) {
		free(m);
		return NULL;
	}
	return member_put(r, m);
}

struct member *roster_born(struct roster *r, pid_t tid, uint64_t time, const char *comm)
{
	struct member *m = roster_find(r, tid);

	/* something newer was heard of this tid: the member is the new thread already */
	if (m && m->seen_ns >= time) {
		if (!roster_comm(r, m)[0]) {
			comm_set(m, comm);
			m->born_ns = time;
		}
		return m;
	}
	if (m)
		member_drop(r, m);
	m = roster_get(r, tid, time);
	if (!m)
		return NULL;
	m->born_ns = time;
	if (!m->comm[0])
		comm_set(m, comm);
	roster_ask(r, m);
	return m;
}

/* ---- Java names ---- */

/* Copies a list of strings, each with its terminator and "" at the end; NULL if it is empty. */
static char *list_dup(const char *list)
{
	const char *end = list;
	char *copy;

	while (*end)
		end += strlen(end) + 1;
	copy = *list ? malloc((size_t)(end - list) + 1) : NULL;
	return copy ? memcpy(copy, list, (size_t)(end - list) + 1) : NULL;
}

static struct called java_read(const struct roster *r, pid_t tid, uint64_t since)
{
	struct resolved_thread java = {0};
	struct called c = {0};
	int rc = r->java(r->ctx, tid, since, &java);

	c.again = rc == -EAGAIN;
	if (!rc && java.name[0]) {
		c.java = strdup(java.name);
		c.groups = list_dup(java.groups);
		c.java_id = java.java_id;
	}
	c.asked_ns = now_ns();
	return c;
}

static uint64_t latest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void ask(struct roster *r, struct member *m, uint64_t since)
{
	/* what it is called now is one of the names whose turn is still to come */
	if (!m->java && !ahead_find(r, m->tid))
		java_set(m, java_read(r, m->tid, latest(since, now_ns() - RECENT_NS)));
}

/* It has this name since then at the latest; who did not know it is asked for something newer. */
void roster_ask(struct roster *r, struct member *m)
{
	ask(r, m, latest(m->asked_ns, latest(m->named_ns, m->seen_ns)));
}

/* What was read later than `time`, when it got another name, may be that. */
static void names_doubt(struct roster *r, struct ahead *a, struct member *m, uint64_t time)
{
	struct renaming *n = a->names ? a->names->prev : NULL;

	while (n && !n->doubted && n->called.asked_ns >= time) {
		r->nahead -= n->called.java != NULL;
		called_free(&n->called);
		n->doubted = true;
		n = n == a->names ? NULL : n->prev;
	}
	if (m && m->java && m->asked_ns >= time && m->named_ns < time) {
		java_forget(m);
		m->jfr = 0;
	}
}

static struct ahead *ahead_get(struct roster *r, pid_t tid)
{
	struct ahead *a = ahead_find(r, tid);

	if (a)
		return a;
	a = calloc(1, sizeof(*a));
	if (!a)
		return NULL;
	a->tid = tid;
	HASH_ADD_INT(r->ahead, tid, a);
	return a;
}

void roster_hear(struct roster *r, pid_t tid, uint64_t time)
{
	struct renaming *n = calloc(1, sizeof(*n));
	struct ahead *a = n ? ahead_get(r, tid) : NULL;

	if (!a) {
		free(n);
		return;
	}
	names_doubt(r, a, roster_find(r, tid), time);
	n->time_ns = time;
	DL_APPEND(a->names, n);
	if (r->nahead < AHEAD_MAX)
		n->called = java_read(r, tid, time);
	r->nahead += n->called.java != NULL;
}

struct member *roster_named(struct roster *r, pid_t tid, uint64_t time, const char *comm)
{
	struct member *m = roster_get(r, tid, time);
	struct ahead *a = ahead_find(r, tid);
	struct called c = {0};

	if (a && a->names->time_ns == time)
		c = ahead_pop(r, a);
	if (!m || time < m->named_ns) { /* a later one came by another ring, and before */
		called_free(&c);
		return m;
	}
	comm_set(m, comm);
	m->born_ns = 0;
	m->named_ns = time;
	m->jfr = 0;
	java_set(m, c);
	roster_ask(r, m);
	return m;
}

void roster_ended(struct roster *r, pid_t tid, uint64_t time)
{
	struct member *m =
		roster_get(r, tid, time); /* its birth may come by another ring, and later */

	if (!m || m->seen_ns > time)
		return;
	r->ended += !m->ended_ns;
	m->ended_ns = time;
}

void roster_reread(struct roster *r, uint64_t now_ns)
{
	struct member *m, *tmp;

	HASH_ITER(hh, r->members, m, tmp) {
		if (m->ended_ns)
			continue;
		if (!comm_read(r, m)) {
			roster_ended(r, m->tid, now_ns);
			continue;
		}
		m->jfr = 0;
		java_forget(m);
		ask(r, m, now_ns);
	}
}

void roster_expire(struct roster *r, uint64_t now_ns)
{
	struct member *m, *tmp;

	if (!r->ended || now_ns - r->expired_ns < EXPIRE_NS)
		return;
	r->expired_ns = now_ns;
	HASH_ITER(hh, r->members, m, tmp) {
		if (m->ended_ns && now_ns > m->ended_ns + KEEP_NS)
			member_drop(r, m);
	}
}

static bool is_to_ask(const struct member *m)
{
	return !m->java && (!m->asked_ns || (m->again && now_ns() - m->asked_ns >= AGAIN_NS));
}

bool roster_learn(struct roster *r, struct member *m, uint64_t time, uint64_t heard_ns)
{
	if (is_to_ask(m))
		roster_ask(r, m);
	if (m->java)
		return heard_ns && time < m->asked_ns && heard_ns < m->asked_ns;
	return m->again || !m->comm[0] || (m->born_ns && time < m->born_ns + NAMELESS_NS);
}

void roster_each(struct roster *r, roster_member_fn fn, void *ctx)
{
	struct member *m, *tmp;

	HASH_ITER(hh, r->members, m, tmp)
		fn(ctx, m);
}

void roster_forget_ids(struct roster *r)
{
	struct member *m, *tmp;

	HASH_ITER(hh, r->members, m, tmp)
		m->jfr = 0;
}

uint64_t roster_count(const struct roster *r)
{
	return r->count;
}
