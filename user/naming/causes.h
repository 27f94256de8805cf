/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the threads of one target wait for. The kernel tells the content of a cause once
 * (gn_cause_rec), samples have its id; in the file a gnomon.WaitCause stands for all samples since
 * the last flush of one thread, stack, state and cause. A cause whose content was lost on its way
 * is written as one that is not known.
 */
#ifndef GNOMON_NAMING_CAUSES_H
#define GNOMON_NAMING_CAUSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jfr/write.h"
#include "model/jvmwait.h"
#include "model/vmop.h"
#include "naming/causewords.h"

/* The record may hold anything; what is written is UTF-8 without control characters. */
void cause_words(const struct gn_cause_rec *rec, struct cause_words *out);

/* A synchronizer's or monitor's class, "" not known; as Java names it. */
void cause_words_lock(const struct gn_cause_rec *rec, const char *klass, struct cause_words *out);

enum cause_owner {
	CAUSE_OWNER_NONE = 0, /* it is nothing that has an owner */
	CAUSE_OWNER_THREAD,
	CAUSE_OWNER_NOBODY,
	CAUSE_OWNER_UNKNOWN,
	CAUSE_OWNER_LATER, /* the content is still to come: that of who serves it, if any does */
};

/* Wall samples, or one joined wait, with a cause. Of a lock their ticks are consecutive. */
struct cause_wait {
	uint64_t cause;		/* id, not 0 */
	uint32_t thread, stack; /* ids in the file */
	uint32_t state;		/* enum jfr_state */
	uint32_t samples;
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC, the first and the last sample */
	uint64_t span_ns;
	uint64_t tick;	/* number of the first sample's tick */
	uint32_t level; /* of which the samples are, kern/abi.h */
	enum cause_owner whose;
	uint32_t owner; /* id in the file, with CAUSE_OWNER_THREAD */
};

/* A cause as the JDK's events of sockets and files have it. */
struct cause_place {
	bool socket, writes; /* a TCP connection, else a file; written to, else read from */
	const char *name;    /* the peer's address, or the path */
	uint16_t port;
};

/* Who woke a thread, or serves it. */
struct cause_waker {
	pid_t tid;
	uint64_t stack;	  /* as the kernel side has it; 0 not known */
	uint64_t time_ns; /* when it did that first: later than the ticks of that wait; 0 then */
};

struct causes;

/*
 * What no sample has had for keep_ns, nor was told, may be forgotten: longer than a thread that
 * waits is not accounted for. NULL: no memory.
 */
struct causes *causes_new(uint64_t keep_ns);
void causes_free(struct causes *c);

/*
 * Keeps the content of a cause; `klass`: its class, if it is an object. True: there were many and
 * others were forgotten, so they have to be told again.
 */
bool causes_add(struct causes *c, const struct gn_cause_rec *rec, const char *klass);

/* Tells whether the cause is a lock that a thread has, or may have. */
bool causes_has_owner(struct causes *c, uint64_t cause);

/*
 * Tells whether a thread in that state may wait for the cause. A thread names its blocker before it
 * parks and until after that: it may wait for something else then.
 */
bool causes_fits(struct causes *c, uint64_t cause, uint32_t state);

/* Each CPU tells in order what it has; what another one tells of the same wait may be later. */
bool causes_is_known(struct causes *c, uint64_t cause);

/* The thread of its own process that serves it, at the other end; 0: none, or not known. */
pid_t causes_server(struct causes *c, uint64_t cause);

/*
 * Tells whether a wait of which `cause` was told (0: nothing) as long as it lasted may have `last`
 * told at its end: who served it, or who woke it.
 */
bool causes_completes(struct causes *c, uint64_t cause, uint64_t last);

/*
 * The id of a wait within the JVM (model/jvmwait.h) while its VM thread was in `op` (model/vmop.h;
 * 0 none, or not known), which is known from now on, and was used at time_ns.
 */
uint64_t causes_jvm(struct causes *c, uint8_t wait, uint8_t op, uint64_t time_ns);

static inline bool causes_are_jvm(uint64_t cause)
{
	return cause && !(cause & 1) && cause >> 1 < JVMWAIT_MAX * VMOP_MAX;
}

/* It is one that ends when the VM thread lets it. */
static inline bool causes_are_vm(uint64_t cause)
{
	return causes_are_jvm(cause) && jvmwait_is_vm((uint8_t)(cause >> 1));
}

/* False: it is something else, or its content is not known (yet). Valid until the next call. */
bool causes_place(struct causes *c, uint64_t cause, struct cause_place *out);

/*
 * Asked, as an event is written, for the ids in the file of a thread that woke another one, or
 * serves it, and of where it was; `last_ns`: of the last sample. Before, its name may not have
 * come.
 */
typedef void (*causes_waker_fn)(void *ctx, const struct cause_waker *by, uint64_t last_ns,
				uint32_t *thread, uint32_t *stack);
void causes_on_waker(struct causes *c, causes_waker_fn fn, void *ctx);

/* Writes what was noted before where there is no more room. */
void causes_note(struct causes *c, const struct cause_wait *w, struct jfrw *out);

#define CAUSES_ALL UINT64_MAX

/*
 * Writes what was noted, by `now`; but long waits, which come in pieces, are kept for a minute, so
 * that they are one event. CAUSES_ALL: these, too, before ids of the file become others.
 */
void causes_write(struct causes *c, struct jfrw *out, uint64_t now);

#endif
