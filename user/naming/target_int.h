/* SPDX-License-Identifier: Apache-2.0 */
/* What the files target*.c share about a target. Not for others. */
#ifndef GNOMON_NAMING_TARGET_INT_H
#define GNOMON_NAMING_TARGET_INT_H

#include "base/bucket.h"
#include "jfr/write.h"
#include "model/roster.h"
#include "naming/lifespans.h"
#include "naming/quality.h"
#include "naming/stacks.h"
#include "naming/target.h"
#include "naming/upkeep.h"

/* What a target may make us do, as far as it is counted here; see target_budget.c. */
struct budget {
	struct bucket bytes, cpu_ns; /* for new stacks */
	uint64_t stacks;	     /* that were not named, and were not told of yet */
	uint64_t addresses;	     /* that have addresses for names, likewise */
	uint64_t unread, rules;	     /* told of */
};

struct target {
	pid_t tgid;
	struct target_env *env;
	struct resolver *names;
	struct roster *threads;
	struct vthreads *vthreads;
	struct causes *causes;
	struct requests *requests;
	struct publisher *publisher;
	struct locks *locks;	   /* target_locks.c */
	struct virtuals *virtuals; /* target_virtuals.c */
	struct jfrw *out;
	uint64_t start_ns; /* CLOCK_MONOTONIC, when its file begins */
	bool continues;	   /* a file that was begun by another process that names */
	bool untried;	   /* struct target_file's */
	uint64_t cpu_settled, wall_settled; /* as the board was told */
	char path[TARGET_PATH_LEN];
	struct stacks *stacks;
	struct upkeep tables;
	struct late_sample *late; /* oldest first */
	size_t nlate;
	struct quality cpu, wall;
	struct vitals *vitals; /* NULL: not wanted */
	struct lifespans lifespans;
	uint64_t machine_ns; /* while threads' loads are written: what they are shares of */
	uint64_t throttling_ns;
	uint64_t looked_ns, pause_ns; /* when the process was last asked; between two times */
	uint64_t jvm_ns;	      /* when we last looked whether it is a JVM */
	bool waiting_told;	      /* the user heard that it holds up who looks */
	bool jvm_told;		      /* the events that say which JVM it is were written */
	uint32_t chunk;		      /* that was told what this is, with form.segments */
	uint64_t flushed_ns;
	uint64_t chunk_told_ns; /* when the session was told that its chunk ends soon */
	uint64_t file_dropped;	/* events that the writer dropped, of which the totals know */
	uint64_t file_over;	/* likewise that it left out, since the file is large enough */
	bool reread, exec_lost; /* records of what its threads did were lost */
	uint64_t reread_ns;	/* when its threads were last looked at for that */
	uint64_t watched_ns;	/* what triggers want to know was looked at */
	struct budget budget;
	struct totals totals;
};

/* Tells when it was, by the recording's clock (kern/abi.h). */
static inline uint64_t target_tick_time(const struct target *t, uint64_t tick)
{
	return t->env->cfg.start_ns + gn_tick_time(tick, t->env->cfg.wall_ns);
}

/* A sample whose stack or name has not come yet. */
struct late_sample {
	struct gn_sample s;
	/* when it came; its own time is the beginning of a sleep, perhaps long ago */
	uint64_t came_ns;
};

/* ---- target.c ---- */

/* To be called before ids of the file are used: forgets those that are no longer valid. */
void target_ids_check(struct target *t);

/* Nothing is asked of the process any more, or ever: it may hold us up. */
bool target_is_blind(const struct target *t);

/* ---- target_budget.c ---- */

/* Names a new stack, or leaves it unnamed where the target has had too many of them named. */
void target_stack_add(struct target *t, const struct gn_stack *rec);

/* Its file has so many bytes. */
void target_bytes_note(struct target *t, uint64_t bytes);

/* Tells of what was over its budget since the last time. */
void target_budget_tell(struct target *t, uint64_t now);

/* ---- target_threads.c ---- */

/* Tells the roster and the unwinder which thread of the JVM it is. */
int target_java_thread(void *ctx, pid_t tid, uint64_t since, struct resolved_thread *java);

/* With a thread filter: lets those threads through whose names are wanted. */
void target_threads_offer(struct target *t);

/* Looks at the threads there are, for what the unwinder needs to know of them. */
void target_threads_meet(struct target *t);

/* Ids in the file; 0: none. */
uint32_t target_thread_of(struct target *t, pid_t tid, uint64_t time);
uint32_t target_sample_thread(struct target *t, const struct gn_sample *s, struct member *m);

/* It became another program at `time`. */
void target_exec(struct target *t, uint64_t time);

/* The CPU time of a thread that ran is known from target_load_begin() on, and written. */
void target_load_begin(struct target *t, struct member *m);
void target_load_write(void *ctx, struct member *m);

void target_lifespans_tell(struct target *t, uint64_t now);

/* Asks which Java threads there are. */
void target_threads_ask(struct target *t);

/* ---- target_locks.c ---- */

struct cause_wait;
struct resolved_thread;

struct locks *target_locks_new(void); /* NULL: no memory */
void target_locks_free(struct locks *l);

/* Tells the kernel side how this JVM's threads wait for each other, once it can be told. */
void target_locks_follow(struct target *t);
void target_locks_exec(struct target *t, uint64_t time);

/* A thread of Java was met; one has ended. */
void target_locks_meet(struct target *t, pid_t tid, const struct resolved_thread *java);
void target_locks_part(struct target *t, pid_t tid);

/*
 * What the VM thread did (model/vmop.h), at `n` ticks or near one, and who ran of the threads of
 * Java: naming/vmline.h.
 */
void target_vm_note(struct target *t, pid_t tid, uint64_t tick, uint32_t n, uint8_t op);
void target_vm_near(struct target *t, pid_t tid, uint64_t tick, uint8_t op);
void target_vm_ran(struct target *t, pid_t tid, uint64_t time_ns);

/* A wait for a lock, or for the VM thread: its cause is noted when its owners are known. */
void target_locks_hold(struct target *t, const struct cause_wait *w);
/* Notes those that have waited for long enough; `all`, before ids of the file become others. */
void target_locks_settle(struct target *t, uint64_t now, bool all);

/* ---- target_virtuals.c ---- */

struct virtuals *target_virtuals_new(void); /* NULL: no memory */
void target_virtuals_free(struct virtuals *v);

/*
 * Looks at its unmounted virtual threads, once a second; `last`: if there was some time
 * since the last look.
 */
void target_virtuals_poll(struct target *t, uint64_t now, bool last);

/* Returns the thread that had the lock at that tick; 0: not known, or none. */
pid_t target_locks_owner(const struct target *t, uint64_t cause, uint64_t tick);

/* ---- target_watch.c ---- */

/* Of a CPU sample; of any sample of a thread that is known. */
struct watching_sample;
void target_watch_cpu(struct target *t, const struct stack *st, uint64_t ns);
void target_watch_thread(struct target *t, struct member *m, const struct watching_sample *s);

/* Each second, and more often. */
void target_watch_look(struct target *t, uint64_t now);

/* ---- target_samples.c ---- */

/* Writes the ticks of the thread's wait that are not written yet. */
void target_wait_write(void *ctx, struct member *m);
struct cause_waker;
void target_waker(void *ctx, const struct cause_waker *by, uint64_t last_ns, uint32_t *thread,
		  uint32_t *stack); /* causes_waker_fn */

/* Samples that wait for their stack or their thread's name; `last`: they wait no longer. */
void target_late_retry(struct target *t, uint64_t now, bool last);

#endif
