/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "jvm/agentfile.h"
#include "jvm/agentstream.h"
#include "jvm/agenttids.h"
#include "jvm/attach.h"
#include "jvm/jproc.h"
#include "target/procfs.h"

#define RENEW_NS	1000000000ULL
#define MARK_WAIT_MS	500
#define STOP_TIMEOUT_MS 1000

struct agent {
	struct jproc proc;
	struct agentstream stream;
	struct agentindex *index;
	struct agenttids *tids;
	struct buffer pending; /* bytes of a record that is not whole yet */
	struct agent_config cfg;
	struct agent_stats stats;
	uint64_t nonce;
	uint64_t renewed;
	int64_t time_shift; /* the target's CLOCK_MONOTONIC minus ours (time namespaces) */
};

/* ---- attaching, on a thread of its own: the ring must be read while the agent fills it ---------
 */

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

static void load_init(struct load *l, const struct agent *a, const char *path)
{
	memset(l, 0, sizeof(*l));
	l->proc = a->proc;
	l->path = path;
	l->timeout_ms = a->cfg.timeout_ms ? a->cfg.timeout_ms : ATTACH_TIMEOUT_MS;
	snprintf(l->options, sizeof(l->options), "session=%llx,ring=%llx,perfmap=%d,path=%s",
		 (unsigned long long)a->nonce,
		 (unsigned long long)(a->cfg.ring_bytes ? a->cfg.ring_bytes : GNA_RING_DEFAULT),
		 a->cfg.perfmap, path);
}

static void load_follow(struct agent *a, struct load *l)
{
	unsigned int pause = 1000;
	bool done;

	do {
		done = atomic_load(&l->done);
		if (a->stream.fd < 0 && agentstream_open(&a->stream, &a->proc, a->nonce)) {
			/*
			 * looking through the descriptors takes time, so it is done less and less
			 * often
			 */
			usleep(pause);
			pause = pause < 50000 ? pause * 2 : 50000;
			continue;
		}
		agent_poll(a);
		usleep(500);
	} while (!done);
}

/*
 * Waits for the agent's mark, which is written by now since the attach has returned; reading it
 * takes another round or two.
 */
static void mark_wait(struct agent *a)
{
	int i;

	for (i = 0; i < MARK_WAIT_MS && agentindex_marked(a->index) != a->nonce; i++) {
		agent_poll(a);
		usleep(1000);
	}
	a->stats.complete = agentindex_marked(a->index) == a->nonce;
}

static int agent_load(struct agent *a, const char *path, struct error *e)
{
	struct load l;
	pthread_t t;

	load_init(&l, a, path);
	if (pthread_create(&t, NULL, load_main, &l))
		return error_set(e, -EAGAIN, EXIT_INTERNAL, "cannot start a thread");
	load_follow(a, &l);
	pthread_join(t, NULL);
	if (l.rc) {
		if (e)
			*e = l.error;
		return l.rc;
	}
	if (a->stream.fd < 0) {
		error_set(e, -ENOENT, EXIT_TARGET,
			  "the agent in process %d has no stream that this gnomon can read",
			  a->proc.pid);
		return error_hint(e, "use --jvm vmstructs");
	}
	mark_wait(a);
	return 0;
}

static int agent_load_new(struct agent *a, struct error *e)
{
	struct agentfile file;
	int rc = agentfile_place(&file, &a->proc, e);

	if (rc)
		return rc;
	rc = agent_load(a, file.path, e);
	agentfile_remove(&file, &a->proc);
	return rc;
}

/*
 * If the library is loaded already it is asked for by the name it was loaded under: the dynamic
 * linker knows it by that name even though the file has gone. Where it does not (musl) another copy
 * is loaded.
 */
static int agent_attach(struct agent *a, struct error *e)
{
	uint64_t start = now_ns();
	struct agentstream old;
	int rc = -ENOENT;

	if (!agentstream_open(&old, &a->proc, 0)) {
		if (old.path[0] == '/')
			rc = agent_load(a, old.path, NULL);
		if (!rc)
			agentfile_sweep(&a->proc, old.path);
		agentstream_close(&old);
	}
	a->stats.reused = !rc;
	if (rc)
		rc = agent_load_new(a, e);
	a->stats.attach_ns = now_ns() - start;
	return rc;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The target's offset of CLOCK_MONOTONIC; 0 where the kernel has no time namespaces. */
static int64_t time_offset(const struct jproc *p)
{
	struct buffer b = BUFFER_INIT;
	int64_t shift = 0;

	if (!jproc_read(p, "timens_offsets", &b, 4096))
		proc_timens_parse((const char *)b.data, b.len, &shift);
	buffer_free(&b);
	return shift;
}

static int64_t time_shift(const struct jproc *p)
{
	struct jproc self;
	int64_t shift;

	if (jproc_open(&self, getpid(), NULL))
		return 0;
	shift = time_offset(p) - time_offset(&self);
	jproc_close(&self);
	return shift;
}

static void nonce_new(struct agent *a)
{
	do {
		if (getrandom(&a->nonce, sizeof(a->nonce), 0) != sizeof(a->nonce))
			a->nonce = now_ns() ^ (uint64_t)getpid() << 40;
	} while (!a->nonce);
}

static void agent_free(struct agent *a)
{
	agentstream_close(&a->stream);
	agentindex_free(a->index);
	agenttids_free(a->tids);
	buffer_free(&a->pending);
	jproc_close(&a->proc);
	free(a);
}

int agent_start(struct agent **out, pid_t pid, const struct agent_config *cfg, struct error *e)
{
	struct agent *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	a->stream.fd = -1;
	a->proc.dir = a->proc.root = -1;
	if (cfg)
		a->cfg = *cfg;
	rc = jproc_open(&a->proc, pid, e);
	if (rc) {
		free(a);
		return rc;
	}
	a->time_shift = time_shift(&a->proc);
	a->index = agentindex_new(a->cfg.max_bytes);
	a->tids = agenttids_new(&a->proc);
	nonce_new(a);
	rc = a->index && a->tids ? agent_attach(a, e)
				 : error_set(e, -ENOMEM, EXIT_INTERNAL, "out of memory");
	if (rc) {
		agentstream_leave(&a->stream);
		agent_free(a);
		return rc;
	}
	agenttids_calibrate(a->tids, a->index);
	*out = a;
	return 0;
}

int agent_resync(struct agent *a, struct error *e)
{
	int rc;

	if (jproc_refresh(&a->proc))
		return error_set(e, -ESRCH, EXIT_TARGET, "process %d has ended", a->proc.pid);
	agentstream_leave(&a->stream);
	agentstream_close(&a->stream);
	buffer_clear(&a->pending);
	nonce_new(a);
	rc = agent_attach(a, e);
	if (!rc)
		agenttids_calibrate(a->tids, a->index);
	return rc;
}

/*
 * Whether or not the JVM answers, our slot in the ring is free, and the agent stops at its next
 * event.
 */
void agent_stop(struct agent *a)
{
	char options[64];
	struct attach_status st;

	if (!a)
		return;
	agentstream_leave(&a->stream);
	snprintf(options, sizeof(options), "stop=%llx", (unsigned long long)a->nonce);
	if (a->stream.path[0] == '/' && attach_check_jproc(&a->proc, &st) == ATTACH_OK &&
	    st.listening)
		attach_load(&a->proc, a->stream.path, options, STOP_TIMEOUT_MS, NULL);
	agent_free(a);
}

/* ---- following ------------------------------------------------------------------------------- */

static int feed_pending(struct agent *a)
{
	int64_t used = agentindex_feed(a->index, a->pending.data, a->pending.len);

	if (used < 0) {
		/* the next record cannot be found: go on as if the ring had been overtaken */
		buffer_clear(&a->pending);
		a->stats.overtaken++;
		return (int)used;
	}
	memmove(a->pending.data, a->pending.data + used, a->pending.len - (size_t)used);
	a->pending.len -= (size_t)used;
	return 0;
}

static void lease_keep(struct agent *a)
{
	uint64_t now = now_ns();

	if (now - a->renewed < RENEW_NS)
		return;
	agentstream_renew(&a->stream);
	a->renewed = now;
}

int64_t agent_poll(struct agent *a)
{
	int64_t n;

	if (a->stream.fd < 0)
		return -ESTALE;
	lease_keep(a);
	n = agentstream_read(&a->stream, &a->pending);
	if (n == -EOVERFLOW) {
		buffer_clear(&a->pending);
		a->stats.overtaken++;
		return 0;
	}
	if (n > 0) {
		feed_pending(a);
		agenttids_learn(a->tids, a->index);
	}
	if (n <= 0 && jproc_refresh(&a->proc))
		return -ESRCH;
	return n;
}

int agent_lookup(struct agent *a, uint64_t pc, uint64_t time_ns, struct frame_name *out, int max)
{
	return agentindex_lookup(a->index, pc, time_ns + (uint64_t)a->time_shift, out, max);
}

bool agent_range(struct agent *a, uint64_t pc, uint64_t time_ns, uint64_t *start, uint32_t *size)
{
	return agentindex_range(a->index, pc, time_ns + (uint64_t)a->time_shift, start, size);
}

const char *agent_thread_name(struct agent *a, pid_t tid)
{
	uint32_t inner = agenttids_inner(a->tids, tid);

	return inner ? agentindex_thread_by_tid(a->index, inner) : NULL;
}

void agent_stats(const struct agent *a, struct agent_stats *s)
{
	*s = a->stats;
	agentindex_stats(a->index, &s->index);
}

/* ---- the standard perf map ------------------------------------------------------------------- */

int agent_write_perfmap(pid_t pid, int timeout_ms, struct error *e)
{
	struct agentstream old = {.fd = -1};
	struct agentfile file = {.dir = -1};
	struct jproc p;
	int rc = jproc_open(&p, pid, e);

	if (rc)
		return rc;
	if (!timeout_ms)
		timeout_ms = ATTACH_TIMEOUT_MS;
	rc = -ENOENT;
	if (!agentstream_open(&old, &p, 0) && old.path[0] == '/')
		rc = attach_load(&p, old.path, "perfmap=1", timeout_ms, NULL);
	if (!rc)
		agentfile_sweep(&p, old.path);
	else
		rc = agentfile_place(&file, &p, e);
	if (file.dir >= 0) {
		char options[sizeof(file.path) + 32];

		snprintf(options, sizeof(options), "perfmap=1,path=%s", file.path);
		rc = attach_load(&p, file.path, options, timeout_ms, e);
		agentfile_remove(&file, &p);
	}
	agentstream_close(&old);
	jproc_close(&p);
	return rc;
}
