/* SPDX-License-Identifier: Apache-2.0 */
#include "model/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/thread.h"

/* a new thread usually names itself some 100 us after its birth */
#define NAMELESS_NS 50000000ull
/* ended threads are kept so long, since records of them may come late */
#define KEEP_NS	  10000000000ull
#define EXPIRE_NS 1000000000ull

struct roster {
	pid_t tgid;
	roster_java_fn java;
	roster_member_fn gone;
	void *ctx;
	struct member *members;
	uint64_t count, expired_ns;
	size_t ended; /* how many members have ended */
};

struct roster *roster_new(pid_t tgid, roster_java_fn java, roster_member_fn gone, void *ctx)
{
	struct roster *r = calloc(1, sizeof(*r));

	if (r)
		*r = (struct roster){.tgid = tgid, .java = java, .gone = gone, .ctx = ctx};
	return r;
}

static void java_forget(struct member *m)
{
	free(m->java);
	free(m->groups);
	m->java = m->groups = NULL;
}

static void member_drop(struct roster *r, struct member *m)
{
	r->gone(r->ctx, m);
	r->ended -= m->ended_ns != 0;
	HASH_DEL(r->members, m);
	java_forget(m);
	free(m);
}

void roster_free(struct roster *r)
{
	struct member *m, *tmp;

	if (!r)
		return;
	HASH_ITER(hh, r->members, m, tmp)
		member_drop(r, m);
	free(r);
}

static void comm_set(struct member *m, const char *comm)
{
	snprintf(m->comm, sizeof(m->comm), "%.*s", (int)sizeof(m->comm) - 1, comm);
}

/* False: there is no such thread. */
static bool comm_read(const struct roster *r, struct member *m)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", r->tgid, m->tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(m->comm, sizeof(m->comm), f))
		m->comm[strcspn(m->comm, "\n")] = '\0';
	fclose(f);
	return true;
}

struct member *roster_find(struct roster *r, pid_t tid)
{
	struct member *m;

	HASH_FIND_INT(r->members, &tid, m);
	return m;
}

static struct member *member_add(struct roster *r, pid_t tid, uint64_t time)
{
	struct member *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->tid = tid;
	m->seen_ns = time;
	comm_read(r, m);
	HASH_ADD_INT(r->members, tid, m);
	r->count++;
	return m;
}

struct member *roster_get(struct roster *r, pid_t tid, uint64_t time)
{
	struct member *m = roster_find(r, tid);

	return m ? m : member_add(r, tid, time);
}

struct member *roster_born(struct roster *r, pid_t tid, uint64_t time, const char *comm)
{
	struct member *m = roster_find(r, tid);

	/* something newer was heard of this tid: the member is the new thread already */
	if (m && m->seen_ns >= time)
		return m;
	if (m)
		member_drop(r, m);
	m = member_add(r, tid, time);
	if (!m)
		return NULL;
	m->born_ns = time;
	if (!m->comm[0])
		comm_set(m, comm);
	roster_ask(r, m);
	return m;
}

struct member *roster_named(struct roster *r, pid_t tid, uint64_t time, const char *comm)
{
	struct member *m = roster_get(r, tid, time);

	if (!m)
		return NULL;
	comm_set(m, comm);
	m->born_ns = 0;
	m->jfr = 0;
	java_forget(m);
	roster_ask(r, m);
	return m;
}

void roster_ended(struct roster *r, pid_t tid, uint64_t time)
{
	struct member *m = roster_find(r, tid);

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
		roster_ask(r, m);
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

bool roster_waits(const struct member *m, uint64_t time)
{
	if (m->java)
		return false;
	return !m->comm[0] || (m->born_ns && time < m->born_ns + NAMELESS_NS);
}

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

void roster_ask(struct roster *r, struct member *m)
{
	struct resolved_thread java = {0};

	if (m->java || r->java(r->ctx, m->tid, &java) || !java.name[0])
		return;
	m->java = strdup(java.name);
	m->groups = list_dup(java.groups);
	m->java_id = java.java_id;
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
