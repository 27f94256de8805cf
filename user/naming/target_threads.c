/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a target: what they are called in its file, and what becomes of them. */
#include "naming/target_int.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/tasks.h"
#include "jfr/vitals.h"
#include "jvm/threads.h"
#include "naming/publisher.h"
#include "naming/tables.h"
#include "naming/vitals.h"
#include "naming/vthreads.h"
#include "target/usage.h"

#define MEET_THREADS 500 /* looking at so many takes some 10 ms */

int target_java_thread(void *ctx, pid_t tid, uint64_t since, struct resolved_thread *java)
{
	struct target *t = ctx;
	int rc = target_is_blind(t) ? -ENOENT : resolver_thread(t->names, tid, since, java);

	if (!t->env->tables)
		return rc;
	if (java->thread)
		tables_java_thread(t->env->tables, t->tgid, tid, java->thread);
	if (rc)
		return rc;
	target_locks_meet(t, tid, java);
	if (java->carrier &&
	    !tables_carrier(t->env->tables, t->tgid, tid, resolver_vm(t->names), java->carrier))
		t->env->cfg.on_tables(t->env->cfg.ctx);
	return 0;
}

/* Lets the thread through the thread filter if either of its names is wanted. */
static void thread_offer(struct target *t, struct member *m)
{
	const struct target_config *cfg = &t->env->cfg;

	if (!cfg->wants_thread)
		return;
	if (!m->java || !cfg->wants_thread(cfg->ctx, t->tgid, m->tid, m->java))
		cfg->wants_thread(cfg->ctx, t->tgid, m->tid, roster_comm(t->threads, m));
}

/*
 * Asks for the Java names of all threads there are, since with a thread filter names decide who is
 * sampled. By the way it is found which of them carry virtual threads, and which JavaThread each
 * is. They are heard of at one time, so that memory that was read for one is as good for others.
 */
void target_threads_ask(struct target *t)
{
	uint64_t now = now_ns();
	pid_t *tids = NULL;
	size_t n = 0;

	if (tasks_read(t->tgid, &tids, &n))
		return;
	for (size_t i = 0; i < n; i++) {
		struct member *m = roster_meet(t->threads, tids[i], now);

		if (!m || m->java)
			continue;
		roster_ask(t->threads, m);
		thread_offer(t, m);
	}
	free(tids);
}

void target_threads_offer(struct target *t)
{
	if (t->env->cfg.wants_thread)
		target_threads_ask(t);
}

/*
 * Looks at the threads before the first sample, for what the unwinder needs to know of them. If
 * there are many that is worth the time only for a JVM that has virtual threads, for their
 * carriers.
 */
void target_threads_meet(struct target *t)
{
	struct gn_vthreads layout;
	struct vm *vm = resolver_vm(t->names);

	if (vm && (tasks_count(t->tgid) <= MEET_THREADS || !vm_vthreads(vm, &layout)))
		target_threads_ask(t);
}

static uint32_t thread_jfr(struct target *t, struct member *m)
{
	if (m->jfr)
		return m->jfr;
	roster_ask(t->threads, m);
	m->jfr = jfrw_thread(t->out, &(struct jfrw_thread){
					     .os_name = roster_comm(t->threads, m),
					     .os_tid = (uint64_t)m->tid,
					     .java_name = m->java,
					     .java_tid = m->java_id,
					     .groups = m->groups,
				     });
	return m->jfr;
}

/* The thread that the sample is of: a carrier's samples are of the virtual thread that it ran. */
uint32_t target_sample_thread(struct target *t, const struct gn_sample *s, struct member *m)
{
	if (!m)
		return 0;
	return s->vthread ? vthreads_jfr(t->vthreads, t->out, s->vthread, m) : thread_jfr(t, m);
}

uint32_t target_thread_of(struct target *t, pid_t tid, uint64_t time)
{
	struct member *m = tid ? roster_living(t->threads, tid, time) : NULL;

	return m ? thread_jfr(t, m) : 0;
}

/* ---- what threads use ---- */

/* It runs: what it has used so far is known from its first sample on. */
void target_load_begin(struct target *t, struct member *m)
{
	if (!t->vitals || !m)
		return;
	m->load.ran = true;
	if (!m->load.known)
		m->load.known =
			!thread_usage_read(t->tgid, m->tid, &m->load.user_ns, &m->load.system_ns);
}

static float share_of(uint64_t now, uint64_t was, uint64_t all)
{
	return now > was ? (float)((double)(now - was) / (double)all) : 0;
}

void target_load_write(void *ctx, struct member *m)
{
	struct target *t = ctx;
	struct thread_load was = m->load, *is = &m->load;

	if (!was.ran || m->ended_ns)
		return;
	is->ran = false;
	is->known = !thread_usage_read(t->tgid, m->tid, &is->user_ns, &is->system_ns);
	if (!was.known || !is->known || !t->machine_ns)
		return;
	jfrw_event(t->out, JFR_THREAD_CPU_LOAD, now_ns(),
		   &(struct jfr_thread_cpu_load){
			   .thread = thread_jfr(t, m),
			   .user = share_of(is->user_ns, was.user_ns, t->machine_ns),
			   .system = share_of(is->system_ns, was.system_ns, t->machine_ns),
		   });
}

/* ---- what its threads do ---- */

void target_exec(struct target *t, uint64_t time)
{
	/* the record may come late: the JVM that was told of may be the new program already */
	t->jvm_told &= t->jvm_ns > time;
	target_locks_exec(t, time);
	upkeep_exec(&t->tables, resolver_exec(t->names, time), time);
	publisher_exec(t->publisher);
	t->env->cfg.on_epoch(t->env->cfg.ctx);
	if (t->vitals)
		vitals_exec(t->vitals);
}

static uint32_t lifespan_thread(void *ctx, struct member *m)
{
	return thread_jfr(ctx, m);
}

void target_lifespans_tell(struct target *t, uint64_t now)
{
	target_ids_check(t);
	lifespans_write(&t->lifespans, t->out, t->threads, lifespan_thread, t, now);
}

static void lifespan_note(struct target *t, pid_t tid, uint64_t time, bool end)
{
	if (lifespans_full(&t->lifespans))
		target_lifespans_tell(t, UINT64_MAX);
	lifespans_note(&t->lifespans, tid, time, end);
}

void target_hear(struct target *t, const struct gn_rec *rec)
{
	roster_hear(t->threads, (pid_t)rec->tid, rec->time);
}

static void thread_end(struct target *t, pid_t tid, uint64_t time)
{
	roster_ended(t->threads, tid, time);
	target_locks_part(t, tid);
}

void target_task(struct target *t, const struct gn_task_rec *rec)
{
	pid_t tid = (pid_t)rec->h.tid;
	struct member *m = NULL;

	if (t->vitals && (rec->h.type == GN_REC_FORK || rec->h.type == GN_REC_EXIT))
		lifespan_note(t, tid, rec->h.time, rec->h.type == GN_REC_EXIT);
	if (rec->h.type == GN_REC_FORK)
		m = roster_born(t->threads, tid, rec->h.time, rec->comm);
	else if (rec->h.type == GN_REC_COMM)
		m = roster_named(t->threads, tid, rec->h.time, rec->comm);
	else if (rec->h.type == GN_REC_FOUND)
		roster_found(t->threads, tid, rec->h.time, rec->comm);
	else if (rec->h.type == GN_REC_EXIT)
		thread_end(t, tid, rec->h.time);
	else if (!target_is_blind(t))
		target_exec(t, rec->h.time);
	if (m && !target_is_blind(t))
		thread_offer(t, m);
}

void target_vthread(struct target *t, const struct gn_vthread_rec *rec)
{
	char name[VTHREAD_NAME_LEN];
	size_t len = rec->len < GN_VTHREAD_NAME ? rec->len : GN_VTHREAD_NAME;

	java_string_decode(rec->name, len, rec->wide != 0, name, sizeof(name));
	/* others were forgotten for it, and have to be sent again */
	if (vthreads_add(t->vthreads, rec->id, name, rec->len > GN_VTHREAD_NAME))
		t->env->cfg.on_epoch(t->env->cfg.ctx);
}
