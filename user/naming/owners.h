/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose the locks of one target were, tick by tick, as the kernel side tells it (gn_owner_rec). A
 * record comes for each tick at which a lock was read; where none came, the owner is not known.
 * Locks are told apart by the ids of causes (gn_cause_rec).
 */
#ifndef GNOMON_NAMING_OWNERS_H
#define GNOMON_NAMING_OWNERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "kern/abi.h"

#define OWNERS_KEEP_TICKS 6000 /* of one lock; who sleeps is accounted for each minute at least */

struct owners;

struct owners *owners_new(void); /* NULL: no memory */
void owners_free(struct owners *o);

/* ---- threads ---- */

/* A thread of Java as monitors refer to it. */
struct owners_thread {
	pid_t tid;
	uint64_t thread;    /* its JavaThread */
	uint64_t id;	    /* Thread.threadId() */
	uint64_t low, high; /* its stack; 0, 0: not known */
	uint64_t met_ns;    /* when this was read */
};

/* What was known of a thread with that tid before is forgotten. */
void owners_meet(struct owners *o, const struct owners_thread *t);
void owners_part(struct owners *o, pid_t tid);

/*
 * The process became another program at time_ns: who was met before is forgotten. The record of it
 * may come when threads of that program have been met.
 */
void owners_exec(struct owners *o, uint64_t time_ns);

/* Who that is, as a record of that kind says it; NULL: nobody that is known. */
const struct owners_thread *owners_who(const struct owners *o, enum gn_owner_kind kind,
				       uint64_t owner);

/* The first for which fn says so; NULL: for none. */
const struct owners_thread *owners_search(const struct owners *o,
					  bool (*fn)(void *ctx, const struct owners_thread *t),
					  void *ctx);

/* ---- locks ---- */

/* Consecutive ticks at which a lock was found to be the same one's. */
struct owners_run {
	uint64_t first, last;
	uint64_t owner;
	enum gn_owner_kind kind;
	pid_t tid; /* who that is; 0: not known, or nobody */
};

/*
 * Takes note of a record. The run it belongs to, whose `tid` is the caller's to set; NULL: there is
 * no memory, or it is of a tick that others were told of before. Valid until the next call.
 */
struct owners_run *owners_note(struct owners *o, const struct gn_owner_rec *rec);

/*
 * What is known of the lock from `tick` on: the run that tick is in. NULL: nothing; then *until is
 * the first tick after it of which something is known, or UINT64_MAX.
 */
const struct owners_run *owners_at(const struct owners *o, uint64_t cause, uint64_t tick,
				   uint64_t *until);

/* Forgets what is older. */
void owners_expire(struct owners *o, uint64_t tick);

#endif
