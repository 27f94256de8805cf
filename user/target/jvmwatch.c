/* SPDX-License-Identifier: Apache-2.0 */
#include "target/jvmwatch.h"

#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#define S	 1000000000ull
#define YOUNG_NS (10 * S) /* a process may still be on its way to being a JVM */
#define STAT_NS	 (5 * S)
#define MAPS_NS	 (30 * S)
#define LATER_NS (60 * S) /* what was put off is told again */

struct sighting {
	pid_t pid;
	uint64_t start; /* clock ticks since boot, as in struct proc_id */
	char comm[PROC_COMM_LEN];
	uint64_t first_ns, stat_ns, maps_ns; /* when it was first, last, last closely looked at */
	uint64_t look;			     /* the number of the last look that saw it */
	bool kernel, told;
	uint64_t later_ns; /* it was put off until then, for the reason `key`; 0: it was not */
	uint64_t key;
	UT_hash_handle hh;
};

struct jvmwatch {
	struct sighting *seen;
	uint64_t now;
	struct jvmwatch_stats stats;
	bool tried; /* in this look, one of those that were put off */
	jvmwatch_fn cb;
	void *arg;
};

struct jvmwatch *jvmwatch_new(void)
{
	return calloc(1, sizeof(struct jvmwatch));
}

void jvmwatch_free(struct jvmwatch *w)
{
	struct sighting *s, *tmp;

	if (!w)
		return;
	HASH_ITER(hh, w->seen, s, tmp) {
		HASH_DEL(w->seen, s);
		free(s);
	}
	free(w);
}

static struct sighting *seen_get(struct jvmwatch *w, pid_t pid)
{
	struct sighting *s;

	HASH_FIND_INT(w->seen, &pid, s);
	if (s)
		return s;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->pid = pid;
	HASH_ADD_INT(w->seen, pid, s);
	return s;
}

/* Processes known for long take turns, by pid, so that no look has them all. */
static bool stat_due(const struct sighting *s, uint64_t now)
{
	if (!s->stat_ns || now - s->first_ns < YOUNG_NS)
		return true;
	return now - s->stat_ns >= STAT_NS - (uint64_t)s->pid % 4 * S;
}

static void again(struct sighting *s)
{
	s->told = false;
	s->maps_ns = s->stat_ns = s->later_ns = 0;
}

/* Those that were put off for long enough are tried one by one. */
static void later_try(struct jvmwatch *w, struct sighting *s)
{
	if (!s->later_ns || w->now < s->later_ns || w->tried)
		return;
	w->tried = true;
	again(s);
}

/*
 * Whether its maps are to be read now; they are at once if it is another process with this number,
 * or another program.
 */
static bool maps_due(struct jvmwatch *w, struct sighting *s, const struct proc_stat *st)
{
	if (s->start != st->start) {
		s->first_ns = w->now;
		again(s);
	}
	later_try(w, s);
	if (s->start != st->start || strcmp(s->comm, st->comm)) {
		s->start = st->start;
		memcpy(s->comm, st->comm, sizeof(s->comm));
		return !s->told;
	}
	if (s->told || st->state == 'Z')
		return false;
	return w->now - s->first_ns < YOUNG_NS || w->now - s->maps_ns >= MAPS_NS;
}

static int process_look(pid_t pid, void *arg)
{
	struct jvmwatch *w = arg;
	struct sighting *s = seen_get(w, pid);
	struct proc_stat st;
	struct jvm_proc j;

	if (!s)
		return 0;
	s->look = w->stats.looks;
	if (s->kernel || !stat_due(s, w->now))
		return 0;
	w->stats.stats++;
	if (proc_leader_read(pid, &st))
		return 0;
	s->stat_ns = w->now;
	s->kernel = st.flags & PROC_PF_KTHREAD;
	if (s->kernel || !maps_due(w, s, &st))
		return 0;
	s->maps_ns = w->now;
	w->stats.maps++;
	if (jvm_proc_read(pid, &j) || j.id.start != s->start)
		return 0;
	s->told = w->cb(&j, w->arg);
	return 0;
}

int jvmwatch_look(struct jvmwatch *w, uint64_t now_ns, jvmwatch_fn cb, void *arg)
{
	struct sighting *s, *tmp;
	int rc;

	w->now = now_ns;
	w->cb = cb;
	w->arg = arg;
	w->tried = false;
	w->stats.looks++;
	rc = proc_each(process_look, w);
	HASH_ITER(hh, w->seen, s, tmp) {
		if (s->look == w->stats.looks)
			continue;
		HASH_DEL(w->seen, s);
		free(s);
	}
	return rc;
}

void jvmwatch_put_off(struct jvmwatch *w, pid_t pid, uint64_t key)
{
	struct sighting *s;

	HASH_FIND_INT(w->seen, &pid, s);
	if (!s)
		return;
	s->told = true;
	s->later_ns = w->now + LATER_NS;
	s->key = key;
}

void jvmwatch_room(struct jvmwatch *w, uint64_t key)
{
	for (struct sighting *s = w->seen; s; s = s->hh.next) {
		if (!s->later_ns || s->key != key)
			continue;
		again(s);
		return;
	}
}

void jvmwatch_again_all(struct jvmwatch *w)
{
	for (struct sighting *s = w->seen; s; s = s->hh.next) {
		if (s->told) /* others were no JVMs lately, and are looked at in their turn */
			again(s);
	}
}

void jvmwatch_stats(const struct jvmwatch *w, struct jvmwatch_stats *out)
{
	*out = w->stats;
	out->known = HASH_COUNT(w->seen);
}
