/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One that names, all that it is handed and all that it says: a crew names the processes of one
 * trust domain (naming/recorder.h), and what becomes of it is nobody else's matter. It is a process
 * of its own, in place of which others go on when it is lost, or a thread of this one. All
 * functions are for the session's thread, unless they say otherwise.
 */
#ifndef GNOMON_NAMING_CREW_H
#define GNOMON_NAMING_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "naming/outcome.h"
#include "naming/records.h"
#include "naming/target.h"

struct crew;
struct desk;
struct latest;
struct mould;
struct neighbours;
struct seats;
struct unwinder;

/* Files of targets that have ended, in the order of their ends. */
struct recorded_list {
	struct recorded_file *v;
	size_t n;
};

/* What crews share; it outlives them. */
struct crew_shared {
	struct target_config target;
	struct mould *mould; /* NULL: the one crew is a thread */
	bool spareless;	     /* it has ended: no more processes can be made */
	struct seats *seats; /* likewise */
	struct recorded_list files;
	struct latest *settings;       /* which a crew that begins is told */
	const struct rec_watch *watch; /* likewise; its number 0: nothing is watched for */
	/* with a mould, what the clerks go by, as soon as there is an unwinder */
	const struct unwinder *unwinder; /* NULL: not yet */
	struct desk *desk;
	bool (*is_recorded)(void *whose, pid_t tgid);
	void *whose;
	uint64_t start_ns, stop_ns; /* of the recording; 0: not yet */
};

size_t crew_queue_bytes(const struct crew_shared *shared);

/* `number`: its own, not 0 and never used again. 0, or what is the matter. */
int crew_new(struct crew **out, struct crew_shared *shared, uint32_t number, struct error *e);
void crew_close(struct crew *c, bool keep); /* as recorder_close(); NULL is fine */

uint32_t crew_number(const struct crew *c);
bool crew_is_idle(const struct crew *c); /* it has no file that is not finished */

/* Closes one that is a process and idle, and waits for nothing that it may still have to do. */
void crew_let_go(struct crew *c);

/* As recorder_NAME(), for its own targets. */
int crew_target(struct crew *c, pid_t tgid, uint32_t uid, const char *path, bool overwrite,
		bool alone, struct error *e);
int crew_add(struct crew *c, pid_t tgid, uint32_t uid, const char *path);
bool crew_added(struct crew *c, struct recorder_added *out);
int crew_end(struct crew *c, pid_t tgid);
bool crew_push(struct crew *c, const struct gn_rec *rec);
void crew_lost(struct crew *c, pid_t tid, unsigned int reason, uint64_t count);
void crew_wake(struct crew *c);
void crew_drained(struct crew *c, uint64_t ns);
void crew_choice(struct crew *c, const struct rec_choice *choice);
bool crew_rate(struct crew *c, const struct rec_rate *rate);
void crew_cpus(struct crew *c, const struct neighbours *cpus);
bool crew_hurries(const struct crew *c, uint64_t now);
void crew_totals(struct crew *c, struct totals *out);
void crew_targets(struct crew *c, recorder_target_fn fn, void *ctx);
uint64_t crew_cpu_ns(const struct crew *c);
uint64_t crew_memory(const struct crew *c);

/* The recording ends, or has ended, at shared->stop_ns. */
void crew_stop(struct crew *c);

/*
 * What is asked at the start: that tables are made, that the recording begins. First all crews are
 * asked, then they are awaited: 0, or what is the matter. One that gives no sign of life is awaited
 * for CREW_QUIET_NS only where it is not alone: it becomes ready later, or never.
 */
#define CREW_QUIET_NS 3000000000ull
int crew_tables(struct crew *c, struct error *e);
int crew_start(struct crew *c, struct error *e);
int crew_ready(struct crew *c, bool alone, struct error *e);

/* Has an eye on it: whether it works, or what is the matter. */
int crew_error(struct crew *c, struct error *e);
bool crew_failed(const struct crew *c, struct error *why); /* the same without a look */

/*
 * As recorder_finish(): first all are told that the end has come, then each is asked again and
 * again whether it has, which takes some ms of waiting each time.
 */
void crew_ends(struct crew *c);
bool crew_has_ended(struct crew *c, recorder_enough_fn enough, void *ctx);

#endif
