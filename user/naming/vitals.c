/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/vitals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "jfr/vitals.h"
#include "jfr/write.h"
#include "jvm/codecache.h"
#include "jvm/collections.h"
#include "model/live.h"
#include "model/pulse.h"
#include "naming/causes.h"
#include "naming/jvmsetup.h"
#include "naming/processes.h"
#include "target/container.h"
#include "target/usage.h"

#define LOOK_NS	   100000000ull /* for collections */
#define RETRY_NS   500000000ull /* while the counters are not there yet */
#define RETRIES	   60
#define LAST_TRIES 10
#define SECOND_NS  1000000000ull
#define SLOW_NS	   10000000000ull /* for what changes slowly */
#define SHARED_NS  500000000ull	  /* the machine is not looked at more often */
#define WAIT_NS	   10000000ull	  /* shorter waits are no events */
#define MANY	   10		  /* JVMs that are looked at each second */
#define THREADS	   1000		  /* in a JVM that is looked at each second */
#define IO_NS	   50000000ull	  /* what was read then is of now */
#define IO_MANY	   128		  /* processes of which that is asked at a time */

struct vitals_host {
	struct host_usage now;
	struct processes *processes;
	uint64_t time_ns; /* of the look; 0: none yet */
	struct vitals *users;
	unsigned int nusers;
};

/* Sums as they were, for differences. */
struct look {
	uint64_t time_ns;
	struct host_usage host;
	struct proc_usage proc;
	struct group_usage group;
	bool group_looked; /* else it is of the look before */
	uint64_t safepoints, safepoint_ns, sync_ns;
};

struct vitals {
	pid_t pid;
	struct jfrw *out;
	struct vitals_host *host;
	bool environment;
	uint64_t stop_ns; /* the recording's end; 0: not known yet */

	struct counters *counters;
	struct collections gc;
	uint64_t looked_ns, retry_ns;
	unsigned int retries;
	bool given_up; /* there are no counters, and it was said */
	bool set_up;   /* what is written once was */
	bool flags_told;
	uint64_t heap_max, live_max;
	struct live live;
	struct codecache_use code;
	uint64_t meta_used, meta_committed; /* as last told */

	struct group group;
	bool contained;
	struct look second, slow;  /* the last of each */
	struct host_usage threads; /* at the last vitals_threads_due() */
	uint64_t threads_ns;
	struct jfr_java_threads java_threads;
	struct jfr_class_loading classes;
	uint64_t stat_rss; /* as that file had it */
	struct proc_io io;
	uint64_t io_ns;	     /* when that was read; 0: not yet */
	struct vitals *next; /* of the host's */
};

/* ---- the machine ------------------------------------------------------------------------------
 */

struct vitals_host *vitals_host_new(void)
{
	struct vitals_host *h = calloc(1, sizeof(*h));

	if (h)
		h->processes = processes_new();
	if (h && !h->processes) {
		free(h);
		return NULL;
	}
	return h;
}

void vitals_host_free(struct vitals_host *h)
{
	if (h)
		processes_free(h->processes);
	free(h);
}

/* `memory`: that, too. */
static const struct host_usage *host_look(struct vitals_host *h, uint64_t now, bool memory)
{
	if (!h->time_ns || now - h->time_ns >= SHARED_NS) {
		host_usage_read(&h->now);
		h->time_ns = now;
	}
	if (memory && !h->now.memory)
		host_memory_read(&h->now);
	return &h->now;
}

/*
 * Where there are many JVMs, each is looked at less often: a hundred cost what ten do. And so is
 * one with many threads, over all of which the kernel adds up what is asked for.
 */
uint64_t vitals_interval(size_t jvms, uint64_t threads)
{
	uint64_t by_jvms = jvms / MANY, by_threads = threads / THREADS;
	uint64_t more = by_jvms > by_threads ? by_jvms : by_threads;

	return SECOND_NS * (more ? more : 1);
}

static uint64_t since(uint64_t now, uint64_t was)
{
	return now > was ? now - was : 0;
}

static bool is_due(const struct vitals *v, uint64_t now)
{
	uint64_t least = vitals_interval(v->host->nusers, v->second.proc.threads);

	return !v->second.time_ns || since(now, v->second.time_ns) >= least;
}

static float share(uint64_t part, uint64_t whole)
{
	return !whole ? 0 : part < whole ? (float)((double)part / (double)whole) : 1;
}

/* ---- collections ------------------------------------------------------------------------------
 */

static struct jfr_metaspace_sizes metaspace(uint64_t committed, uint64_t used, uint64_t reserved)
{
	return (struct jfr_metaspace_sizes){committed, used, reserved};
}

/* It stays as it is through most collections: then it is not told again. */
static bool metaspace_changed(struct vitals *v, const struct heap_use *h)
{
	bool changed = h->meta_used != v->meta_used || h->meta_committed != v->meta_committed;

	v->meta_used = h->meta_used;
	v->meta_committed = h->meta_committed;
	return changed;
}

static void heap_write(struct vitals *v, uint64_t time, uint32_t id, const char *when,
		       const struct heap_use *h)
{
	uint32_t word = jfrw_name(v->out, JFR_GC_WHEN, when);
	struct jfr_gc_heap_summary heap = {
		.id = id,
		.when = word,
		.heap = {.committed = h->committed, .reserved = v->heap_max},
		.used = h->used,
	};
	struct jfr_metaspace_summary meta = {
		.id = id,
		.when = word,
		.all = metaspace(h->meta_committed, h->meta_used, h->meta_reserved),
		.classes = metaspace(h->class_committed, h->class_used, h->class_reserved),
	};

	meta.data = metaspace(since(h->meta_committed, h->class_committed),
			      since(h->meta_used, h->class_used),
			      since(h->meta_reserved, h->class_reserved));
	jfrw_event(v->out, JFR_GC_HEAP_SUMMARY, time, &heap);
	if (metaspace_changed(v, h))
		jfrw_event(v->out, JFR_METASPACE_SUMMARY, time, &meta);
}

/*
 * A pause of a concurrent collection of old objects is neither: what is in the heap after it may be
 * garbage.
 */
static void kind_write(struct vitals *v, const struct collection *c)
{
	if (c->kind == COLLECTION_YOUNG || !strcmp(c->name, "ZGC Minor"))
		jfrw_event(v->out, JFR_YOUNG_COLLECTION, c->start_ns,
			   &(struct jfr_young_collection){.duration = c->duration_ns, .id = c->id});
	else if (c->kind == COLLECTION_FULL)
		jfrw_event(v->out, JFR_OLD_COLLECTION, c->start_ns,
			   &(struct jfr_old_collection){.duration = c->duration_ns, .id = c->id});
}

static bool is_later(const struct vitals *v, uint64_t start_ns)
{
	return v->stop_ns && start_ns > v->stop_ns;
}

static void on_collection(void *ctx, const struct collection *c)
{
	struct vitals *v = ctx;

	if (is_later(v, c->start_ns))
		return;
	if (c->heap_known)
		heap_write(v, c->start_ns, c->id, "Before GC", &c->before);
	jfrw_event(v->out, JFR_GARBAGE_COLLECTION, c->start_ns,
		   &(struct jfr_garbage_collection){
			   .duration = c->duration_ns,
			   .id = c->id,
			   .name = jfrw_name(v->out, JFR_GC_NAME, c->name),
			   .cause = jfrw_name(v->out, JFR_GC_CAUSE, c->cause),
			   .pauses = c->duration_ns,
			   .longest = c->duration_ns,
		   });
	kind_write(v, c);
	live_collection(&v->live, c->id, c->name);
	jfrw_event(v->out, JFR_GC_PAUSE, c->start_ns,
		   &(struct jfr_gc_pause){
			   .duration = c->duration_ns,
			   .id = c->id,
			   .name = c->pause,
		   });
	if (!c->heap_known)
		return;
	heap_write(v, c->start_ns + c->duration_ns, c->id, "After GC", &c->after);
	live_after(&v->live, c->id, c->start_ns + c->duration_ns, c->after.used);
}

/* What the heap holds then nobody tells: the counters have it as of the last pause. */
static void on_whole(void *ctx, const struct collections_whole *w)
{
	struct vitals *v = ctx;

	if (is_later(v, w->start_ns))
		return;
	jfrw_event(v->out, JFR_OLD_COLLECTION, w->start_ns,
		   &(struct jfr_old_collection){.duration = w->duration_ns, .id = w->id});
}

/*
 * Where gnomon comes late to a recording's end, what the period has beyond it is said: some of
 * these may have begun there.
 */
static void on_gap(void *ctx, const struct collections_gap *g)
{
	struct vitals *v = ctx;

	if (is_later(v, g->from_ns))
		return;
	jfrw_event(v->out, JFR_COLLECTIONS_UNSEEN, g->until_ns,
		   &(struct jfr_collections_unseen){
			   .period_ns = since(g->until_ns, g->from_ns),
			   .late_ns = is_later(v, g->until_ns) ? g->until_ns - v->stop_ns : 0,
			   .collector = g->name,
			   .count = g->count,
			   .pauses_ns = g->sum_ns,
		   });
}

static void said(struct vitals *v, uint64_t now, const char *text)
{
	jfrw_active_setting(v->out, now,
			    &(struct jfr_active_setting){.id = JFR_ACTIVE_RECORDING,
							 .name = "gnomon.vitals",
							 .value = text});
}

static void counters_lost(struct vitals *v)
{
	counters_close(v->counters);
	v->counters = NULL;
	v->gc = (struct collections)COLLECTIONS_INIT;
	v->live = (struct live){0};
}

static void give_up(struct vitals *v, uint64_t now, int rc)
{
	char text[128];

	v->given_up = true;
	snprintf(text, sizeof(text), "no performance counters: %s", counters_why(rc));
	log_info("process %d: %s", v->pid, text);
	said(v, now, text);
}

/* A JVM that is starting has them soon. */
static void counters_find(struct vitals *v, struct vm *vm, uint64_t now)
{
	int rc;

	if (v->given_up || now < v->retry_ns)
		return;
	v->retry_ns = now + RETRY_NS;
	rc = counters_open(&v->counters, v->pid, vm);
	if (!rc)
		said(v, now, "performance counters");
	else if (rc == -ENODATA || rc == -ESTALE || rc == -EBADMSG || ++v->retries == RETRIES)
		give_up(v, now, rc);
}

/* `all`: not for collections alone. */
static int collections_tell(struct vitals *v, bool all)
{
	const struct collections_fns fns = {on_collection, on_gap, on_whole, v};

	return all ? collections_look(&v->gc, v->counters, &fns)
		   : collections_glance(&v->gc, v->counters, &fns);
}

/* What changes all the time now is told at the next look; `last`: there is none. */
static void counters_look(struct vitals *v, struct vm *vm, uint64_t now, bool all, bool last)
{
	int rc;

	if (!v->counters)
		counters_find(v, vm, now);
	if (!v->counters)
		return;
	rc = collections_tell(v, all);
	for (int i = 1; last && rc == -EAGAIN && i < LAST_TRIES; i++)
		rc = collections_tell(v, all);
	if (rc && rc != -EAGAIN)
		counters_lost(v);
}

/* ---- what is written once ---------------------------------------------------------------------
 */

static void set_up(struct vitals *v, struct vm *vm, uint64_t now)
{
	struct container c;

	if (vm && !v->flags_told) {
		v->heap_max = jvmsetup_flags(v->out, now, vm, &v->live_max);
		v->flags_told = true;
	}
	if (v->set_up || !(v->counters || v->given_up))
		return;
	v->set_up = true;
	jvmsetup_properties(v->out, now, v->pid, v->counters);
	if (v->environment)
		jvmsetup_environment(v->out, now, v->pid);
	processes_write(v->host->processes, v->out, now, v->pid);
	group_find(v->pid, &v->group);
	v->slow.time_ns = 0; /* its files have not been looked at */
	v->contained = v->group.quota || v->group.memory_limit ||
		       (!container_read(v->pid, &c) && c.kind != CONTAINER_NONE);
}

/* ---- each second ------------------------------------------------------------------------------
 */

/* The machine may not have been looked at since: then there is no time of which to tell a share. */
static void load_write(struct vitals *v, const struct look *was, const struct look *is)
{
	uint64_t all = since(is->host.all_ns, was->host.all_ns);
	uint64_t user = since(is->proc.user_ns, was->proc.user_ns);
	uint64_t system = since(is->proc.system_ns, was->proc.system_ns);
	uint64_t busy = since(is->host.busy_ns, was->host.busy_ns);

	if (all)
		jfrw_event(v->out, JFR_CPU_LOAD, is->time_ns,
			   &(struct jfr_cpu_load){.jvm_user = share(user, all),
						  .jvm_system = share(system, all),
						  .machine = share(busy, all)});
	if (is->proc.rss != was->proc.rss || is->proc.rss_peak != was->proc.rss_peak)
		jfrw_event(v->out, JFR_RESIDENT_SET, is->time_ns,
			   &(struct jfr_resident_set){is->proc.rss, is->proc.rss_peak});
}

/* What it was as of the last event, too, is told now and then. */
static void jvm_write(struct vitals *v, uint64_t now, bool slow)
{
	const struct counters *k = v->counters;
	struct jfr_java_threads t = {
		.active = (int64_t)counter_value(k, CTR_THREADS_LIVE),
		.daemon = (int64_t)counter_value(k, CTR_THREADS_DAEMON),
		.started = (int64_t)counter_value(k, CTR_THREADS_STARTED),
		.peak = (int64_t)counter_value(k, CTR_THREADS_PEAK),
	};
	struct jfr_class_loading c = {
		.loaded = (int64_t)(counter_value(k, CTR_LOADED) +
				    counter_value(k, CTR_LOADED_SHARED)),
		.unloaded = (int64_t)(counter_value(k, CTR_UNLOADED) +
				      counter_value(k, CTR_UNLOADED_SHARED)),
	};

	if (slow || memcmp(&t, &v->java_threads, sizeof(t)))
		jfrw_event(v->out, JFR_JAVA_THREADS, now, &t);
	if (slow || memcmp(&c, &v->classes, sizeof(c)))
		jfrw_event(v->out, JFR_CLASS_LOADING, now, &c);
	v->java_threads = t;
	v->classes = c;
}

static void has_text(const struct vitals *v, const struct look *is, char *text, size_t cap)
{
	unsigned int has = is->group_looked ? is->group.has : 0;

	snprintf(text, cap, "process%s%s%s%s%s%s", has & GROUP_CPU ? " cpu" : "",
		 has & GROUP_THROTTLING ? " throttling" : "", has & GROUP_MEMORY ? " memory" : "",
		 has & GROUP_PRESSURE	     ? " pressure"
		 : has & GROUP_HOST_PRESSURE ? " machine-pressure"
					     : "",
		 v->counters ? " jvm" : "", v->contained ? " container" : "");
}

static void own_write(struct vitals *v, const struct look *was, const struct look *is)
{
	const struct group_usage *g = &is->group, *h = was->group.has ? &was->group : g;
	const struct proc_usage *p = &is->proc, *q = &was->proc;
	uint64_t error = vmclock_error(&v->gc.clock);
	char has[96];
	struct jfr_vitals e = {
		.period_ns = since(is->time_ns, was->time_ns),
		.has = has,
		.minor_faults = since(p->minor_faults, q->minor_faults),
		.major_faults = since(p->major_faults, q->major_faults),
		.read_bytes = since(p->io.read, q->io.read),
		.written_bytes = since(p->io.written, q->io.written),
		.io_wait_ns = since(p->io_wait_ns, q->io_wait_ns),
		.cgroup_cpu_ns = since(g->cpu_ns, h->cpu_ns),
		.throttled_ns = since(g->throttled_ns, h->throttled_ns),
		.throttled_slices = since(g->throttled_slices, h->throttled_slices),
		.memory = g->memory,
		.memory_limit = g->memory_limit,
		.limit_hits = since(g->limit_hits, h->limit_hits),
		.oom_kills = since(g->oom_kills, h->oom_kills),
		.cpu_some_ns = since(g->cpu_some_ns, h->cpu_some_ns),
		.memory_some_ns = since(g->memory_some_ns, h->memory_some_ns),
		.memory_full_ns = since(g->memory_full_ns, h->memory_full_ns),
		.io_some_ns = since(g->io_some_ns, h->io_some_ns),
		.io_full_ns = since(g->io_full_ns, h->io_full_ns),
		.stolen_ns = since(is->host.stolen_ns, was->host.stolen_ns),
		.safepoints = since(is->safepoints, was->safepoints),
		.safepoint_ns = since(is->safepoint_ns, was->safepoint_ns),
		.to_safepoint_ns = since(is->sync_ns, was->sync_ns),
		.heap_used = v->gc.heap.used,
		.heap_committed = v->gc.heap.committed,
		.heap_max = v->heap_max,
		.code_used = v->code.used,
		.code_max = v->code.reserved,
		.clock_error_ns = error == UINT64_MAX ? 0 : error,
	};

	has_text(v, is, has, sizeof(has));
	jfrw_event(v->out, JFR_VITALS, is->time_ns, &e);
}

/* Reads it for all that are looked at now, since the question takes longer than the reading. */
static void io_look(struct vitals *v, uint64_t now, bool last)
{
	struct vitals *due[IO_MANY];
	struct proc_io io[IO_MANY];
	pid_t pids[IO_MANY];
	size_t n = 0;

	if (v->io_ns && since(now, v->io_ns) < IO_NS)
		return;
	due[n++] = v;
	for (struct vitals *u = v->host->users; u && n < IO_MANY; u = u->next)
		if (u != v && (last || is_due(u, now)))
			due[n++] = u;
	for (size_t i = 0; i < n; i++)
		pids[i] = due[i]->pid;
	proc_io_read(pids, n, io);
	for (size_t i = 0; i < n; i++) {
		due[i]->io = io[i];
		due[i]->io_ns = now;
	}
}

/*
 * Most of it /proc/PID/stat has. What stands in other files, each of which costs as much, is looked
 * at where that one has changed: who has used no CPU has neither read nor written, and who has
 * touched no new page has not grown.
 */
static int proc_look(struct vitals *v, uint64_t now, bool slow, bool last, struct proc_usage *p)
{
	const struct proc_usage *was = &v->second.proc;
	int rc = proc_usage_read(v->pid, p);

	if (rc)
		return rc;
	if (slow || p->user_ns != was->user_ns || p->system_ns != was->system_ns)
		io_look(v, now, last);
	p->io = v->io;
	if (slow || p->minor_faults != was->minor_faults || p->rss != v->stat_rss) {
		v->stat_rss = p->rss;
		proc_memory_read(v->pid, p);
	} else {
		p->rss = was->rss;
		p->rss_peak = was->rss_peak;
	}
	return 0;
}

static int look_take(struct vitals *v, uint64_t now, bool slow, bool last, struct look *l)
{
	int rc = proc_look(v, now, slow, last, &l->proc);

	if (rc)
		return rc;
	l->time_ns = now;
	l->host = *host_look(v->host, now, slow);
	l->group = v->second.group;
	l->group_looked = slow || v->contained;
	if (slow)
		group_usage_read(&v->group, &l->group);
	else if (v->contained)
		group_usage_glance(&v->group, &l->group);
	if (!v->counters)
		return 0;
	l->safepoints = counter_value(v->counters, CTR_SAFEPOINTS);
	l->safepoint_ns =
		vmclock_span(&v->gc.clock, counter_value(v->counters, CTR_SAFEPOINT_TIME));
	l->sync_ns = vmclock_span(&v->gc.clock, counter_value(v->counters, CTR_SAFEPOINT_SYNC));
	return 0;
}

static void slow_write(struct vitals *v, const struct look *was, const struct look *is)
{
	uint64_t ns = since(is->time_ns, was->time_ns);

	jfrw_event(v->out, JFR_PHYSICAL_MEMORY, is->time_ns,
		   &(struct jfr_physical_memory){is->host.memory, is->host.memory_used});
	if (was->time_ns && ns && is->host.all_ns > was->host.all_ns)
		jfrw_event(v->out, JFR_SWITCH_RATE, is->time_ns,
			   &(struct jfr_switch_rate){
				   (float)((double)since(is->host.switches, was->host.switches) *
					   1e9 / (double)ns)});
	if (!v->contained)
		return;
	if (is->group.has & GROUP_CPU)
		jfrw_event(v->out, JFR_CONTAINER_CPU_USAGE, is->time_ns,
			   &(struct jfr_container_cpu_usage){is->group.cpu_ns, is->group.user_ns,
							     is->group.system_ns});
	if (is->group.has & GROUP_MEMORY)
		jfrw_event(v->out, JFR_CONTAINER_MEMORY_USAGE, is->time_ns,
			   &(struct jfr_container_memory_usage){
				   is->group.limit_hits, is->group.memory, is->group.memory_swap});
}

static void second_look(struct vitals *v, struct vm *vm, uint64_t now, bool last)
{
	bool slow = last || !v->slow.time_ns || since(now, v->slow.time_ns) >= SLOW_NS;
	struct look is = {0};

	if (look_take(v, now, slow, last, &is))
		return; /* it has ended */
	if (slow && vm)
		codecache_use(vm, &v->code);
	if (v->second.time_ns) {
		load_write(v, &v->second, &is);
		own_write(v, &v->second, &is);
	}
	if (v->counters)
		jvm_write(v, now, slow);
	if (slow) {
		slow_write(v, &v->slow, &is);
		v->slow = is;
	}
	v->second = is;
}

/* ---- for others -------------------------------------------------------------------------------
 */

struct vitals *vitals_new(pid_t pid, struct jfrw *out, struct vitals_host *host, bool environment)
{
	struct vitals *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	v->pid = pid;
	v->out = out;
	v->host = host;
	v->next = host->users;
	host->users = v;
	host->nusers++;
	v->environment = environment;
	v->gc = (struct collections)COLLECTIONS_INIT;
	return v;
}

void vitals_free(struct vitals *v)
{
	struct vitals **at;

	if (!v)
		return;
	for (at = &v->host->users; *at != v; at = &(*at)->next)
		;
	*at = v->next;
	v->host->nusers--;
	counters_close(v->counters);
	free(v);
}

static void pulse_collectors(const struct vitals *v, struct pulse *p)
{
	for (unsigned int i = 0; i < COUNTERS_COLLECTORS; i++) {
		enum collection_kind kind;
		uint64_t count, ticks;
		enum pulse_collector as;

		if (!collections_sum(&v->gc, v->counters, i, &kind, &count, &ticks))
			continue;
		as = kind == COLLECTION_YOUNG  ? PULSE_YOUNG
		     : kind == COLLECTION_FULL ? PULSE_FULL
					       : PULSE_CONCURRENT;
		p->collections[as] += count;
		p->pause_ns[as] += vmclock_span(&v->gc.clock, ticks);
	}
}

/* The JVM's counters are as they were polled. */
static void pulse_jvm(const struct vitals *v, struct pulse *p)
{
	p->threads = (uint32_t)v->java_threads.active;
	p->classes = since((uint64_t)v->classes.loaded, (uint64_t)v->classes.unloaded);
	p->safepoints = v->second.safepoints;
	p->safepoint_ns = v->second.safepoint_ns;
	p->to_safepoint_ns = v->second.sync_ns;
	p->heap_used = v->gc.heap.used;
	p->heap_committed = v->gc.heap.committed;
	p->heap_max = v->heap_max;
	p->live = v->live.last.bytes;
	p->live_max = v->live_max;
	p->live_ns = v->live.last.at_ns;
	p->metaspace = v->gc.heap.meta_used;
	pulse_collectors(v, p);
}

void vitals_pulse(const struct vitals *v, struct pulse *out)
{
	const struct group_usage *g = &v->second.group;

	*out = (struct pulse){0};
	if (!v->second.time_ns)
		return;
	*out = (struct pulse){
		.has = PULSE_PROCESS | (v->counters ? PULSE_JVM : 0) |
		       (g->has & GROUP_THROTTLING ? PULSE_THROTTLING : 0) |
		       (g->has & GROUP_MEMORY ? PULSE_MEMORY : 0),
		.cpu_ns = v->second.proc.user_ns + v->second.proc.system_ns,
		.rss = v->second.proc.rss,
		.slices = g->slices,
		.throttled_slices = g->throttled_slices,
		.throttled_ns = g->throttled_ns,
		.memory = g->memory,
		.memory_limit = g->memory_limit,
		.oom_kills = g->oom_kills,
	};
	if (v->counters)
		pulse_jvm(v, out);
}

void vitals_stop(struct vitals *v, uint64_t stop_ns)
{
	v->stop_ns = stop_ns;
}

void vitals_exec(struct vitals *v)
{
	counters_lost(v);
	v->given_up = v->set_up = v->flags_told = false;
	v->retries = 0;
	v->retry_ns = 0;
}

void vitals_poll(struct vitals *v, struct vm *vm, uint64_t now, bool last)
{
	bool second = last || is_due(v, now);

	if (second || since(now, v->looked_ns) >= LOOK_NS - LOOK_NS / 10) {
		v->looked_ns = now;
		counters_look(v, vm, now, second, last);
	}
	if (second) {
		processes_rest(v->host->processes, now);
		set_up(v, vm, now);
		second_look(v, vm, now, last);
	}
}

bool vitals_threads_due(struct vitals *v, uint64_t now, uint64_t *machine_ns)
{
	const struct host_usage *host;

	if (v->threads_ns && since(now, v->threads_ns) < SLOW_NS)
		return false;
	host = host_look(v->host, now, false);
	*machine_ns = v->threads_ns ? since(host->all_ns, v->threads.all_ns) : 0;
	v->threads = *host;
	v->threads_ns = now;
	return true;
}

/* ---- waits ------------------------------------------------------------------------------------
 */

/*
 * It began in the interval before its first tick, and lasted until one after its last: in the
 * middle of what that leaves.
 */
static uint64_t wait_start(uint64_t first, uint32_t ticks, uint64_t wall_ns, uint64_t span_ns)
{
	uint64_t last = first + (ticks ? ticks - 1 : 0) * wall_ns;
	uint64_t least = since(first, wall_ns), most = first;

	if (last > span_ns && last - span_ns > least)
		least = last - span_ns;
	if (last + wall_ns > span_ns && last + wall_ns - span_ns < most)
		most = last + wall_ns - span_ns;
	return least < most ? least + (most - least) / 2 : first;
}

void vitals_wait_io(struct jfrw *out, uint32_t thread, uint32_t stack,
		    const struct cause_place *place, uint64_t time_ns, uint32_t ticks,
		    uint64_t wall_ns, uint64_t span_ns)
{
	uint64_t start = wait_start(time_ns, ticks, wall_ns, span_ns);

	if (span_ns < WAIT_NS)
		return;
	if (place->socket)
		jfrw_event(out, place->writes ? JFR_SOCKET_WRITE : JFR_SOCKET_READ, start,
			   &(struct jfr_socket_io){.duration = span_ns,
						   .thread = thread,
						   .stack = stack,
						   .host = "",
						   .address = place->name,
						   .port = place->port});
	else
		jfrw_event(out, place->writes ? JFR_FILE_WRITE : JFR_FILE_READ, start,
			   &(struct jfr_file_io){.duration = span_ns,
						 .thread = thread,
						 .stack = stack,
						 .path = place->name});
}

void vitals_wait(struct jfrw *out, uint32_t thread, uint32_t stack, uint32_t state,
		 uint64_t time_ns, uint32_t ticks, uint64_t wall_ns, uint64_t span_ns)
{
	uint64_t start;

	if (span_ns < WAIT_NS)
		return;
	start = wait_start(time_ns, ticks, wall_ns, span_ns);
	if (state == JFR_STATE_PARKED || state == JFR_STATE_PARKED_TIMED)
		jfrw_event(out, JFR_THREAD_PARK, start,
			   &(struct jfr_thread_park){.duration = span_ns,
						     .thread = thread,
						     .stack = stack,
						     .timeout_ns = INT64_MIN,
						     .until_ms = INT64_MIN});
	else if (state == JFR_STATE_SLEEPING)
		jfrw_event(out, JFR_THREAD_SLEEP, start,
			   &(struct jfr_thread_sleep){.duration = span_ns,
						      .thread = thread,
						      .stack = stack,
						      .time_ns = (int64_t)span_ns});
	else if (state == JFR_STATE_BLOCKED)
		jfrw_event(out, JFR_MONITOR_ENTER, start,
			   &(struct jfr_monitor_enter){.duration = span_ns,
						       .thread = thread,
						       .stack = stack,
						       /* JMC's rules need one */
						       .klass = jfrw_class(out, NULL)});
	else if (state == JFR_STATE_WAITING || state == JFR_STATE_WAITING_TIMED)
		jfrw_event(out, JFR_MONITOR_WAIT, start,
			   &(struct jfr_monitor_wait){.duration = span_ns,
						      .thread = thread,
						      .stack = stack,
						      .klass = jfrw_class(out, NULL)});
}
