/* SPDX-License-Identifier: Apache-2.0 */
/* Making findings: shared by findings*.c only. */
#ifndef GNOMON_OUT_FINDINGS_INT_H
#define GNOMON_OUT_FINDINGS_INT_H

#include "out/findings.h"

/* A thread, under whatever names. */
struct find_self {
	uint32_t thread; /* one of its names */
	uint64_t samples, cpu_ns, wall_ns, idle_ns;
	uint64_t lock_ns;    /* waited for a lock */
	uint64_t place_ns;   /* of that, at the place where it waited longest */
	uint32_t lock_place; /* name of the method, NAME_NONE if there is none */
	bool pooled;	     /* a pool's worker */
};

struct find {
	const struct profile *p;
	struct findings *out;
	uint64_t recorded_ns;	  /* what is shown, of all recordings */
	uint32_t idle;		  /* state, or NODE_NONE */
	struct find_self *selves; /* p->nselves */
	uint8_t *node;		  /* by node: FIND_WORKER where a pool's worker is on the stack */
	bool one;		  /* recording: several may be of several JVMs */
	bool part;		  /* of the time: what is known of all of it is not of this */
	bool failed;		  /* out of memory */
};

#define FIND_WORKER 1

/* Shorter ones prove nothing about what lasts. */
#define FIND_LEAST_NS 1000000000ull

/* Of the time recorded, so much is all of it: samples are counted, and the ends are not. */
#define FIND_THROUGHOUT 0.95

void find_add(struct find *x, const char *kind, const char *link, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * What each thread did throughout: what is sampled in part may have been otherwise in between, and
 * of several recordings no thread has to be in all.
 */
bool find_knows_threads(const struct find *x);

/* 'text' as it may stand in a link: "%2e" and so on; with `exact` as a pattern of just that. */
void find_encode(struct buffer *b, const char *text, bool exact);

static inline double find_share(uint64_t part, uint64_t of)
{
	return of ? (double)part / (double)of : 0;
}

/* Where a part cannot be more than all: samples may count one interval too many. */
static inline double find_percent(uint64_t part, uint64_t of)
{
	return part < of ? 100 * find_share(part, of) : of ? 100 : 0;
}

/* findings_cpu.c */
void find_starved(struct find *x);
void find_throttled(struct find *x);
void find_stolen(struct find *x);
void find_collections(struct find *x);
void find_pauses(struct find *x);
void find_bound(struct find *x);
void find_losses(struct find *x);

/* findings_causes.c */
void find_causes(struct find *x);
void find_deadlocks(struct find *x);

/* It waits for something within the JVM: some of that has the state of a wait for a lock. */
bool find_cell_is_jvms(const struct profile *p, const struct prof_cell *c);

/*
 * A sentence on the lock that was waited for longest at that place, by one thread or by all
 * (UINT32_MAX), and who had it. False: that is not known.
 */
bool find_lock_owner(struct find *x, uint32_t place, uint32_t self, char *to, size_t size);

/* findings_memory.c */
void find_live(struct find *x);
void find_full(struct find *x);
void find_killed(struct find *x);

/*
 * findings_wait.c. The name of the method in which a cell waits for a lock; NAME_NONE where it does
 * not: a monitor by its state, a lock of java.util.concurrent by its frames.
 */
uint32_t find_lock_place(const struct profile *p, const struct prof_cell *c);
void find_blocked(struct find *x);
void find_hot_lock(struct find *x);
void find_pools(struct find *x);

#endif
