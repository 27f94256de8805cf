/* SPDX-License-Identifier: Apache-2.0 */
#include "run/census.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/clock.h"
#include "base/utf8.h"

#define LATELY_NS 10000000000ull
#define COMING_NS 60000000000ull /* between its name and its first figures, at most */

struct figures {
	uint64_t at_ns, cpu, cpu_ns, lost;
};

struct jvm {
	pid_t pid;
	struct control_jvm c;
	struct figures now, before, earlier; /* `before` is 10 s older, if it is so old */
	uint64_t named_ns;
	bool seen, disk_seen;
	UT_hash_handle hh;
};

struct census {
	pthread_mutex_t lock;
	struct jvm *jvms;
	struct control_state state;
};

struct census *census_new(void)
{
	struct census *c = calloc(1, sizeof(*c));

	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

static void jvm_drop(struct census *c, struct jvm *j)
{
	HASH_DEL(c->jvms, j);
	free(j);
}

void census_free(struct census *c)
{
	struct jvm *j, *tmp;

	if (!c)
		return;
	HASH_ITER(hh, c->jvms, j, tmp)
		jvm_drop(c, j);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct jvm *jvm_find(struct census *c, pid_t pid)
{
	struct jvm *j;

	HASH_FIND_INT(c->jvms, &pid, j);
	return j;
}

static struct jvm *jvm_get(struct census *c, pid_t pid)
{
	struct jvm *j = jvm_find(c, pid);

	if (j)
		return j;
	j = calloc(1, sizeof(*j));
	if (!j)
		return NULL;
	j->pid = pid;
	HASH_ADD_INT(c->jvms, pid, j);
	return j;
}

/* As much as there is room for. */
static void text_set(char *to, size_t cap, const char *from)
{
	size_t n = strlen(from);

	n = n < cap ? n : cap - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

void census_jvm(struct census *c, const struct jvm_proc *p, const char *dir)
{
	char container[CONTAINER_NAME_LEN];
	struct jvm *j;

	container_label(&p->container, container, sizeof(container));
	pthread_mutex_lock(&c->lock);
	j = jvm_get(c, p->id.pid);
	if (j) {
		j->c = (struct control_jvm){
			.pid = p->id.pid,
			.start = p->id.start,
			.start_ns = clock_ns(CLOCK_REALTIME) - p->uptime_ns,
		};
		text_set(j->c.name, sizeof(j->c.name), p->cmd.main[0] ? p->cmd.main : p->comm);
		text_set(j->c.container, sizeof(j->c.container), container);
		text_set(j->c.user, sizeof(j->c.user), p->user);
		text_set(j->c.dir, sizeof(j->c.dir), dir);
		j->now = j->before = j->earlier = (struct figures){0};
		j->named_ns = now_ns();
	}
	pthread_mutex_unlock(&c->lock);
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void lately_set(struct jvm *j, uint64_t now)
{
	j->now = (struct figures){now, j->c.totals.cpu_samples, j->c.totals.cpu_ns,
				  totals_lost(&j->c.totals)};
	if (!j->before.at_ns)
		j->before = j->earlier = j->now;
	if (now - j->earlier.at_ns >= LATELY_NS) {
		j->before = j->earlier;
		j->earlier = j->now;
	}
	j->c.lately_ns = now - j->before.at_ns;
	j->c.lately_cpu = grown(j->now.cpu, j->before.cpu);
	j->c.lately_cpu_ns = grown(j->now.cpu_ns, j->before.cpu_ns);
	j->c.lately_lost = grown(j->now.lost, j->before.lost);
}

static void text_clean(char *s, size_t size)
{
	s[size - 1] = '\0';
	utf8_clean(s, strlen(s), false);
}

/* A process that names wrote it, and may have been taken over: it goes to logs and to commands. */
static void words_clean(struct watch *w)
{
	text_clean(w->circle, sizeof(w->circle));
	for (int i = 0; i < WATCH_METHODS; i++)
		text_clean(w->v[i].thread, sizeof(w->v[i].thread));
}

void census_target(struct census *c, pid_t pid, const struct totals *t, uint64_t now)
{
	struct jvm *j;

	pthread_mutex_lock(&c->lock);
	j = jvm_find(c, pid);
	if (j) {
		j->c.totals = *t;
		words_clean(&j->c.totals.watch);
		j->seen = true;
		lately_set(j, now);
	}
	pthread_mutex_unlock(&c->lock);
}

void census_second(struct census *c, const struct control_state *s, uint64_t now)
{
	struct jvm *j, *tmp;

	pthread_mutex_lock(&c->lock);
	c->state = *s;
	HASH_ITER(hh, c->jvms, j, tmp) {
		if (!j->seen && (j->now.at_ns || now - j->named_ns > COMING_NS))
			jvm_drop(c, j);
		else
			j->seen = false;
	}
	pthread_mutex_unlock(&c->lock);
}

void census_disk(struct census *c, const char *name, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	for (struct jvm *j = c->jvms; j; j = j->hh.next) {
		const char *slash = strrchr(j->c.dir, '/');

		if (!slash || strcmp(slash + 1, name))
			continue;
		j->c.disk_bytes = bytes;
		j->disk_seen = true;
	}
	pthread_mutex_unlock(&c->lock);
}

void census_disk_end(struct census *c)
{
	pthread_mutex_lock(&c->lock);
	for (struct jvm *j = c->jvms; j; j = j->hh.next) {
		if (!j->disk_seen)
			j->c.disk_bytes = 0;
		j->disk_seen = false;
	}
	pthread_mutex_unlock(&c->lock);
}

int census_take(struct census *c, struct control_answer *a)
{
	struct jvm *j;

	pthread_mutex_lock(&c->lock);
	a->state = c->state;
	a->state.njvms = 0;
	a->jvms = calloc(CONTROL_JVM_MAX, sizeof(*a->jvms));
	for (j = c->jvms; j && a->jvms && a->state.njvms < CONTROL_JVM_MAX; j = j->hh.next)
		if (j->now.at_ns)
			a->jvms[a->state.njvms++] = j->c;
	pthread_mutex_unlock(&c->lock);
	return a->jvms ? 0 : -ENOMEM;
}
