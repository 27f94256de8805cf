/* SPDX-License-Identifier: Apache-2.0 */
#include "jvm/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/beat.h"
#include "base/clock.h"
#include "base/log.h"
#include "jvm/agentfile.h"
#include "jvm/agentstream.h"
#include "jvm/agenttids.h"
#include "jvm/attach.h"
#include "jvm/attacher.h"
#include "jvm/attachjob.h"
#include "jvm/jproc.h"
#include "target/procfs.h"

#define RENEW_NS     1000000000ULL
#define MARK_WAIT_MS 500
#define GIVE_UP_MS   1000 /* whoever does a job has ended so long before it is given up */
/* Between two times that everything is sent again, at least; then twice as long, and so on. */
#define AGAIN_MIN_NS 10000000000ULL
#define AGAIN_MAX_NS 640000000000ULL

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
	uint64_t again_ns, again_wait_ns; /* when everything was sent again, and the pause then */
	uint64_t losses;		  /* that there were by then */
	int64_t time_shift; /* the target's CLOCK_MONOTONIC minus ours (time namespaces) */
};

/* ---- attaching, by somebody else: the ring must be read while the agent fills it ---------------
 */

static struct attachjob job_of(const struct agent *a, enum attachjob_kind kind)
{
	return (struct attachjob){
		.kind = kind,
		.pid = a->proc.pid,
		.nonce = a->nonce,
		.ring_bytes = a->cfg.ring_bytes,
		.perfmap = a->cfg.perfmap,
		.timeout_ms = a->cfg.timeout_ms,
	};
}

static bool is_hasty(const struct agent *a)
{
	return a->cfg.haste && *a->cfg.haste;
}

/*
 * What there is of its stream is read until it is done. -ECANCELED: the recording has no time left;
 * -ETIMEDOUT: it has not ended by `until_ns`, as it should have, since it hangs in a file system.
 */
static int job_follow(struct agent *a, int from, uint64_t until_ns, struct attachjob_answer *done)
{
	int rc;

	while (!(rc = attachjob_take(from, done, &a->stream)) ||
	       (rc > 0 && done->kind == ATTACHJOB_STREAM)) {
		if (is_hasty(a))
			return -ECANCELED;
		if (now_ns() >= until_ns)
			return -ETIMEDOUT;
		agent_poll(a);
		beat_step();
		usleep(500);
	}
	return rc < 0 ? rc : 0;
}

/*
 * Waits for the agent's mark, which is written by now since the attach has returned; reading it
 * takes another round or two.
 */
static void mark_wait(struct agent *a)
{
	int i;

	for (i = 0; i < MARK_WAIT_MS && agentindex_marked(a->index) != a->nonce && !is_hasty(a);
	     i++) {
		agent_poll(a);
		usleep(1000);
	}
	a->stats.complete = agentindex_marked(a->index) == a->nonce;
}

static int job_failed(const struct agent *a, int rc, struct error *e)
{
	if (rc == -ECANCELED)
		return error_set(e, rc, EXIT_INTERNAL,
				 "the JVM had not answered when the recording ended");
	if (rc != -ETIMEDOUT)
		return error_set(e, rc, EXIT_INTERNAL, "who attaches has ended");
	error_set(e, rc, EXIT_TARGET, "attaching to process %d hangs", a->proc.pid);
	return error_hint(e, "see whether the file system of its '/tmp' answers, or use --jvm "
			     "vmstructs");
}

static int job_do(struct agent *a, enum attachjob_kind kind, struct attachjob_answer *done,
		  struct error *e)
{
	struct attachjob job = job_of(a, kind);
	uint64_t ms = (uint64_t)attachjob_limit_ms(&job) + GIVE_UP_MS;
	struct attacher_run *run;
	int rc, from;

	rc = attacher_run(&run, &job, &from);
	if (rc)
		return error_set(e, rc, EXIT_INTERNAL, "cannot attach: %s", strerror(-rc));
	rc = job_follow(a, from, now_ns() + ms * 1000000, done);
	if (rc == -ETIMEDOUT)
		attacher_leave(run);
	else
		attacher_end(run);
	if (rc)
		return job_failed(a, rc, e);
	if (done->rc && e)
		*e = done->error;
	return done->rc;
}

static int agent_attach(struct agent *a, struct error *e)
{
	uint64_t start = now_ns();
	struct attachjob_answer done = {0};
	int rc = job_do(a, ATTACHJOB_LOAD, &done, e);

	a->stats.reused = !rc && done.reused;
	if (!rc && a->stream.fd < 0) {
		error_set(e, -ENOENT, EXIT_TARGET,
			  "the agent in process %d has no stream that this gnomon can read",
			  a->proc.pid);
		rc = error_hint(e, "use --jvm vmstructs");
	}
	if (!rc)
		mark_wait(a);
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
	agentindex_resume(a->index);
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
	struct attachjob_answer done = {0};

	if (!a)
		return;
	agentstream_leave(&a->stream);
	if (a->stream.path[0] == '/')
		job_do(a, ATTACHJOB_STOP, &done, NULL);
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

/* What an ended thread was called is no name of another one, which has its number now. */
static bool is_reused(struct agent *a, pid_t tid, uint32_t inner)
{
	uint64_t ended = agentindex_thread_ended(a->index, inner);

	return ended && agenttids_is_younger(a->tids, tid, ended - (uint64_t)a->time_shift);
}

const char *agent_thread_name(struct agent *a, pid_t tid)
{
	uint32_t inner = agenttids_inner(a->tids, tid);

	return inner && !is_reused(a, tid, inner) ? agentindex_thread_by_tid(a->index, inner)
						  : NULL;
}

void agent_stats(const struct agent *a, struct agent_stats *s)
{
	*s = a->stats;
	agentindex_stats(a->index, &s->index);
}

/* ---- having everything sent again ------------------------------------------------------------ */

/* Records that never came: an address may have the name of what lay there before. */
static uint64_t losses_count(const struct agent *a)
{
	struct agentindex_stats s;

	agentindex_stats(a->index, &s);
	return a->stats.overtaken + s.lost;
}

static bool is_due(const struct agent *a, uint64_t now)
{
	return now >= a->again_ns + a->again_wait_ns;
}

/*
 * How long it is not done again: it costs the JVM, so it is done less and less often where it has
 * failed or has not helped for long.
 */
static uint64_t pause_next(const struct agent *a, uint64_t now)
{
	uint64_t wait = a->again_wait_ns;

	if (!wait || now - a->again_ns >= 2 * wait)
		return AGAIN_MIN_NS;
	return wait < AGAIN_MAX_NS / 2 ? 2 * wait : AGAIN_MAX_NS;
}

static void send_again(struct agent *a, uint64_t now)
{
	uint64_t start = now_ns();
	struct error why = {0};

	a->again_wait_ns = pause_next(a, now);
	a->losses = losses_count(a);
	if (agent_resync(a, &why))
		log_warn("the agent in process %d does not answer any more: %s%s%s", a->proc.pid,
			 why.msg, why.hint[0] ? "; " : "", why.hint);
	a->again_ns = now + (now_ns() - start);
}

int64_t agent_follow(struct agent *a, uint64_t now)
{
	int64_t n = agent_poll(a);

	if (n == -ESTALE || (n >= 0 && losses_count(a) != a->losses))
		if (is_due(a, now))
			send_again(a, now);
	return n;
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
