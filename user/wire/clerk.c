/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/clerk.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bucket.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "wire/ask.h"
#include "wire/desk.h"
#include "wire/scrutiny.h"

#define BUDGET_ONCE   2000000000ull
#define BUDGET_SECOND 50000000ull
/* what makes work for all may be asked so often at once and a second */
#define STIRS_ONCE   1000
#define STIRS_SECOND 50
#define SLOW_LOOKS   500 /* of 10 ms: it is not waited for any longer */
#define SLOW_LOOK_MS 10

struct clerk {
	int fd;
	struct bucket_size budget;
	struct bucket spent, stirs;
	uint64_t freed; /* what it was told of last */
	_Atomic uint64_t slowed;
	const struct unwinder *unwinder;
	struct clerk_duties duties;
	pthread_t thread;
	_Atomic uint64_t refused;
};

static bool is_recorded(const struct clerk *c, pid_t tgid)
{
	return tgid > 0 && c->duties.is_recorded(c->duties.whose, tgid);
}

static bool is_ours(const struct clerk *c, pid_t tgid)
{
	return tgid > 0 && (!c->duties.is_ours || c->duties.is_ours(c->duties.whose, tgid));
}

/* A thread of a process that is recorded. */
static bool thread_is_recorded(const struct clerk *c, pid_t tgid, pid_t tid)
{
	char path[64];

	if (tid <= 0 || !is_recorded(c, tgid))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/task/%d", tgid, tid);
	return !access(path, F_OK);
}

/* ---- the unwinder ---- */

/* The key of a file's table, with whose word it is by. Its length, 0: it is none. */
static size_t key_of(const struct clerk *c, const struct ask *ask, uint8_t key[UNWIND_KEY_MAX])
{
	size_t n = c->duties.domain ? sizeof(c->duties.domain) : 0;

	if (ask->key_len + n > UNWIND_KEY_MAX)
		return 0;
	memcpy(key, &c->duties.domain, n);
	memcpy(key + n, ask->key, ask->key_len);
	return n + ask->key_len;
}

static uint32_t file_find(const struct clerk *c, const struct ask *ask)
{
	uint8_t key[UNWIND_KEY_MAX];
	size_t n = key_of(c, ask, key);

	return n ? c->unwinder->file_find(c->unwinder->ctx, key, n) : UNWIND_NO_FILE;
}

static int file_add(struct clerk *c, const struct ask *ask, const struct ask_body *body,
		    struct answer *a)
{
	const struct unwinder *u = c->unwinder;
	uint8_t key[UNWIND_KEY_MAX];
	size_t n = key_of(c, ask, key);

	if (!is_recorded(c, ask->tgid))
		return -ESRCH;
	if (!n || scrutiny_table(&body->table))
		return -EPROTO;
	return u->file_add(u->ctx, ask->tgid, key, n, &body->table, &a->file, &a->refused);
}

static int proc_set(struct clerk *c, const struct ask *ask, const struct ask_body *body)
{
	const struct unwinder *u = c->unwinder;

	if (!is_recorded(c, ask->tgid))
		return -ESRCH;
	if (scrutiny_mappings(body->mappings, ask->nmappings))
		return -EPROTO;
	return u->proc_set(u->ctx, ask->tgid, body->mappings, ask->nmappings, now_ns());
}

static int jvm_set(struct clerk *c, const struct ask *ask, const struct ask_body *body)
{
	const struct unwinder *u = c->unwinder;

	if (!is_recorded(c, ask->tgid))
		return -ESRCH;
	if (scrutiny_jvm(&body->jvm, ask->tgid))
		return -EPROTO;
	return u->jvm_set(u->ctx, &body->jvm);
}

/* A thread that has ended meanwhile is nothing to wonder about. */
static int java_thread(struct clerk *c, const struct ask *ask)
{
	const struct unwinder *u = c->unwinder;

	if (!thread_is_recorded(c, ask->tgid, ask->tid))
		return -ESRCH;
	return u->java_thread(u->ctx, ask->tgid, ask->tid, ask->thread);
}

static int carrier(struct clerk *c, const struct ask *ask)
{
	const struct unwinder *u = c->unwinder;

	if (!is_recorded(c, ask->tgid))
		return -ESRCH;
	if (scrutiny_layout(&ask->layout))
		return -EPROTO;
	if (!thread_is_recorded(c, ask->tgid, ask->tid))
		return -ESRCH;
	return u->carrier(u->ctx, ask->tgid, ask->tid, &ask->carrier, &ask->layout);
}

static int contexts(struct clerk *c, const struct ask *ask)
{
	const struct unwinder *u = c->unwinder;

	if (!is_recorded(c, ask->tgid))
		return -ESRCH;
	if (scrutiny_places(&ask->places))
		return -EPROTO;
	return u->contexts(u->ctx, ask->tgid, &ask->places);
}

static int locks(struct clerk *c, const struct ask *ask)
{
	const struct unwinder *u = c->unwinder;

	if (!is_recorded(c, ask->tgid))
		return -ESRCH;
	if (scrutiny_locks(&ask->locks))
		return -EPROTO;
	return u->locks(u->ctx, ask->tgid, &ask->locks);
}

static int proc_drop(struct clerk *c, const struct ask *ask)
{
	const struct unwinder *u = c->unwinder;

	if (!is_ours(c, ask->tgid))
		return -ESRCH;
	u->proc_drop(u->ctx, ask->tgid, now_ns());
	return 0;
}

static int coders_met(struct clerk *c, const struct ask *ask)
{
	const struct unwinder *u = c->unwinder;

	return is_ours(c, ask->tgid) ? u->coders_met(u->ctx, ask->tgid) : -ESRCH;
}

static bool freed(struct clerk *c)
{
	bool news = c->unwinder->freed(c->unwinder->ctx, now_ns());

	return c->duties.desk ? desk_freed(c->duties.desk, news, &c->freed) : news;
}

/* ---- the rest ---- */

/* What makes work for all may be asked now and then. 0, or -EAGAIN. */
static int stir(struct clerk *c)
{
	static const struct bucket_size size = {STIRS_ONCE, STIRS_SECOND};
	uint64_t now = now_ns();

	if (!bucket_has(&c->stirs, &size, now))
		return -EAGAIN;
	bucket_take(&c->stirs, &size, now, 1);
	return 0;
}

static int all_stir(struct clerk *c, void (*on)(void *ctx))
{
	int rc = stir(c);

	if (!rc)
		on(c->duties.ctx);
	return rc;
}

static int programs(struct clerk *c, const struct ask *ask, struct answer *a)
{
	const struct unwinder *u = c->unwinder;

	a->program = ask->program;
	a->link = ask->link;
	return u->programs(u->ctx, &a->program, &a->link);
}

static int chunk_end(struct clerk *c, const struct ask *ask)
{
	int rc = is_recorded(c, ask->tgid) ? stir(c) : -ESRCH;

	if (!rc)
		c->duties.on_chunk_end(c->duties.ctx, ask->tgid);
	return rc;
}

static int thread_wanted(struct clerk *c, const struct ask *ask, const struct ask_body *body,
			 struct answer *a)
{
	if (!c->duties.wants_thread)
		return -EPROTO;
	if (!thread_is_recorded(c, ask->tgid, ask->tid))
		return -ESRCH;
	a->flag = c->duties.wants_thread(c->duties.ctx, ask->tgid, ask->tid, body->name);
	return 0;
}

static int ask_do(struct clerk *c, const struct ask *ask, const struct ask_body *body,
		  struct answer *a)
{
	switch (ask->kind) {
	case ASK_FILE_FIND:
		a->file = file_find(c, ask);
		return 0;
	case ASK_FILE_ADD:
		return file_add(c, ask, body, a);
	case ASK_PROC_SET:
		return proc_set(c, ask, body);
	case ASK_PROC_DROP:
		return proc_drop(c, ask);
	case ASK_FREED:
		a->flag = freed(c);
		return 0;
	case ASK_JVM_SET:
		return jvm_set(c, ask, body);
	case ASK_CODERS_MET:
		return coders_met(c, ask);
	case ASK_JAVA_THREAD:
		return java_thread(c, ask);
	case ASK_CARRIER:
		return carrier(c, ask);
	case ASK_CONTEXTS:
		return contexts(c, ask);
	case ASK_LOCKS:
		return locks(c, ask);
	case ASK_PROGRAMS:
		return programs(c, ask, a);
	case ASK_EPOCH:
		return all_stir(c, c->duties.on_epoch);
	case ASK_TABLES:
		return all_stir(c, c->duties.on_tables);
	case ASK_CHUNK_END:
		return chunk_end(c, ask);
	case ASK_THREAD:
		return thread_wanted(c, ask, body, a);
	default:
		return -EBADMSG;
	}
}

/* Waits until there is some of it left, or nobody asks any more. */
static void budget_await(struct clerk *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

	if (bucket_has(&c->spent, &c->budget, now_ns()))
		return;
	if (!c->slowed++)
		log_warn("naming asks for more than its share of CPU time: its answers are slowed "
			 "down");
	for (int i = 0; i < SLOW_LOOKS && !bucket_has(&c->spent, &c->budget, now_ns()); i++)
		if (poll(&p, 1, SLOW_LOOK_MS))
			return;
}

static struct bucket_size budget_of(const struct clerk_duties *d)
{
	const struct bucket_size usual = {BUDGET_ONCE, BUDGET_SECOND};

	return d->budget.second ? d->budget : usual;
}

static bool ask_serve(struct clerk *c)
{
	struct ask_body body;
	struct answer a = {0};
	struct ask ask;
	int rc = ask_read(c->fd, &ask, &body);

	if (rc == -EBADMSG) {
		c->refused++;
		log_warn("naming said what it never says, and is not listened to any more");
	}
	if (rc)
		return false;
	if (c->duties.desk)
		desk_enter(c->duties.desk);
	a.rc = ask_do(c, &ask, &body, &a);
	if (c->duties.desk)
		desk_leave(c->duties.desk);
	ask_body_free(&body);
	if (a.rc == -EPROTO && !c->refused++)
		log_warn("naming asked for what it never asks for, of process %d: it is refused",
			 ask.tgid);
	return !ask_bytes_write(c->fd, &a, sizeof(a));
}

/* False: the conversation has ended. */
static bool one_serve(struct clerk *c)
{
	uint64_t begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool more = ask_serve(c);

	bucket_take(&c->spent, &c->budget, now_ns(), clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun);
	if (more)
		budget_await(c);
	return more;
}

uint64_t clerk_serve(int fd, const struct unwinder *u, const struct clerk_duties *d)
{
	struct clerk c = {.fd = fd, .budget = budget_of(d), .unwinder = u, .duties = *d};

	while (one_serve(&c))
		;
	return c.refused;
}

/* ---- the thread ---- */

static void *run(void *arg)
{
	struct clerk *c = arg;

	while (one_serve(c))
		;
	return NULL;
}

int clerk_start(struct clerk **out, int fd, const struct unwinder *u, const struct clerk_duties *d)
{
	struct clerk *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->fd = fd;
	c->budget = budget_of(d);
	c->unwinder = u;
	c->duties = *d;
	rc = thread_start(&c->thread, 0, run, c);
	if (rc) {
		free(c);
		return rc;
	}
	*out = c;
	return 0;
}

void clerk_stop(struct clerk *c)
{
	if (!c)
		return;
	shutdown(c->fd, SHUT_RDWR);
	pthread_join(c->thread, NULL);
	free(c);
}

uint64_t clerk_refused(const struct clerk *c)
{
	return c->refused;
}

uint64_t clerk_slowed(const struct clerk *c)
{
	return c->slowed;
}
