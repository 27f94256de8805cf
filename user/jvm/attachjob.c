/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/attachjob.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fdmsg.h"
#include "jvm/agentfile.h"
#include "jvm/attach.h"
#include "jvm/jproc.h"

#define STOP_TIMEOUT_MS 1000
#define GRACE_MS	5000 /* for what has time limits of its own: files, the JVM's own facts */

static int timeout_ms(const struct attachjob *job)
{
	if (job->kind == ATTACHJOB_STOP)
		return STOP_TIMEOUT_MS;
	return job->timeout_ms ? job->timeout_ms : ATTACH_TIMEOUT_MS;
}

int attachjob_limit_ms(const struct attachjob *job)
{
	int ms = timeout_ms(job);

	if (job->kind == ATTACHJOB_STOP)
		return ms + GRACE_MS;
	/* the library that is there is asked, then another one is put there, which may wait */
	return 2 * ms + AGENTFILE_BUSY_MS + GRACE_MS;
}

/* ---- answers ---- */

/* `fd` goes with it unless it is -1. */
static void answer_send(int to, const struct attachjob_answer *a, int fd)
{
	fdmsg_send(to, &(struct iovec){(void *)a, sizeof(*a)}, 1, &fd, fd >= 0, 0);
}

static void stream_send(int to, const struct agentstream *s)
{
	struct attachjob_answer a = {
		.kind = ATTACHJOB_STREAM,
		.slot = s->slot,
		.ring_size = s->ring_size,
		.rpos = s->rpos,
	};

	memcpy(a.path, s->path, sizeof(a.path));
	answer_send(to, &a, s->fd);
}

static int stream_take(const struct attachjob_answer *a, int fd, struct agentstream *s)
{
	if (fd < 0)
		return -EBADMSG;
	agentstream_close(s);
	*s = (struct agentstream){
		.fd = fd, .slot = a->slot, .ring_size = a->ring_size, .rpos = a->rpos};
	memcpy(s->path, a->path, sizeof(s->path));
	return 1;
}

int attachjob_take(int from, struct attachjob_answer *a, struct agentstream *s)
{
	struct fdmsg with;
	ssize_t n = fdmsg_take(from, &(struct iovec){a, sizeof(*a)}, 1, &with, MSG_DONTWAIT);
	int fd = fdmsg_only(&with);

	if (n < 0)
		return n == -EAGAIN ? 0 : (int)n;
	a->path[sizeof(a->path) - 1] = '\0';
	if (n == sizeof(*a) && a->kind == ATTACHJOB_STREAM)
		return stream_take(a, fd, s);
	if (fd >= 0)
		close(fd);
	return n == sizeof(*a) && a->kind == ATTACHJOB_DONE ? 1 : -EBADMSG;
}

/* ---- loading: on a thread of its own, since the stream is looked for meanwhile ---- */

struct load {
	struct jproc proc; /* a copy, since attaching updates it */
	const char *path;
	char options[GNA_PATH_MAX + 128];
	int timeout_ms;
	struct error error;
	int rc;
	atomic_bool done;
};

static void *load_main(void *arg)
{
	struct load *l = arg;

	l->rc = attach_load(&l->proc, l->path, l->options, l->timeout_ms, &l->error);
	atomic_store(&l->done, true);
	return NULL;
}

static void load_init(struct load *l, const struct attachjob *job, const struct jproc *p,
		      const char *path)
{
	memset(l, 0, sizeof(*l));
	l->proc = *p;
	l->path = path;
	l->timeout_ms = timeout_ms(job);
	snprintf(l->options, sizeof(l->options), "session=%llx,ring=%llx,perfmap=%d,path=%s",
		 (unsigned long long)job->nonce,
		 (unsigned long long)(job->ring_bytes ? job->ring_bytes : GNA_RING_DEFAULT),
		 job->perfmap != 0, path);
}

/* Looking through the descriptors takes time, so it is done less and less often. */
static void stream_find(const struct attachjob *job, struct load *l, int answers)
{
	struct agentstream s = {.fd = -1};
	unsigned int pause = 1000;
	bool done;

	do {
		done = atomic_load(&l->done);
		if (s.fd < 0 && !agentstream_open(&s, &l->proc, job->nonce)) {
			stream_send(answers, &s);
			agentstream_close(&s);
			return;
		}
		usleep(pause);
		pause = pause < 50000 ? pause * 2 : 50000;
	} while (!done);
}

static int load(const struct attachjob *job, const struct jproc *p, const char *path, int answers,
		struct error *e)
{
	struct load l;
	pthread_t t;

	load_init(&l, job, p, path);
	if (pthread_create(&t, NULL, load_main, &l))
		return error_set(e, -EAGAIN, EXIT_INTERNAL, "cannot start a thread");
	stream_find(job, &l, answers);
	pthread_join(t, NULL);
	if (l.rc && e)
		*e = l.error;
	return l.rc;
}

static int load_new(const struct attachjob *job, struct jproc *p, int answers, struct error *e)
{
	struct agentfile file;
	int rc = agentfile_place(&file, p, e);

	if (rc)
		return rc;
	rc = load(job, p, file.path, answers, e);
	agentfile_remove(&file, p);
	return rc;
}

/* By the library that the JVM has loaded already. -ENOENT: none that can be asked for. */
static int load_again(const struct attachjob *job, struct jproc *p, int answers, struct error *e)
{
	struct agentstream old;
	int rc = -ENOENT;

	if (agentstream_open(&old, p, 0))
		return rc;
	if (old.path[0] == '/')
		rc = load(job, p, old.path, answers, e);
	if (!rc)
		agentfile_sweep(p, old.path);
	agentstream_close(&old);
	return rc;
}

/*
 * If the library is loaded already it is asked for by the name it was loaded under: the dynamic
 * linker knows it by that name even though the file has gone. Where it does not (musl) another copy
 * is loaded. A JVM that has not answered in time has that request still, and gets no second one.
 */
static void load_do(const struct attachjob *job, struct jproc *p, int answers,
		    struct attachjob_answer *a)
{
	a->rc = load_again(job, p, answers, &a->error);
	a->reused = !a->rc;
	if (!a->rc || a->rc == -ETIMEDOUT)
		return;
	a->error = (struct error){0};
	a->rc = load_new(job, p, answers, &a->error);
}

/* By the name that the JVM has of it, and not by one that who asks may have made up. */
static void stop_do(const struct attachjob *job, struct jproc *p)
{
	struct agentstream is;
	char options[64];
	struct attach_status st;

	if (agentstream_open(&is, p, 0))
		return;
	snprintf(options, sizeof(options), "stop=%llx", (unsigned long long)job->nonce);
	if (is.path[0] == '/' && attach_check_jproc(p, &st) == ATTACH_OK && st.listening)
		attach_load(p, is.path, options, timeout_ms(job), NULL);
	agentstream_close(&is);
}

void attachjob_do(const struct attachjob *job, int answers)
{
	struct attachjob_answer a = {.kind = ATTACHJOB_DONE};
	struct jproc p;

	a.rc = jproc_open(&p, job->pid, &a.error);
	if (!a.rc) {
		if (job->kind == ATTACHJOB_LOAD)
			load_do(job, &p, answers, &a);
		else
			stop_do(job, &p);
		jproc_close(&p);
	}
	answer_send(answers, &a, -1);
}
