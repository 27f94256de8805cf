/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of a daemon while it runs, over a Unix socket: one request a connection, one reply.
 * Both are structs of fixed widths and lengths, between two gnomons of one build: whoever has
 * another says so. Asked by root, by the daemon's own user, and by who is in its group.
 *
 *	struct control_answer a;
 *	int rc = control_ask(path, &(struct control_request){.what = CONTROL_STATUS}, &a, &err);
 *
 *	for (uint32_t i = 0; !rc && i < a.state.njvms; i++)
 *		... a.jvms[i] ...
 *	control_answer_free(&a);
 */
#ifndef GNOMON_RUN_CONTROL_H
#define GNOMON_RUN_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kern/abi.h"
#include "model/cost.h"
#include "model/delivery.h"
#include "model/totals.h"
#include "run/rates.h"
#include "run/retention.h"
#include "run/trigger.h"

#define CONTROL_PATH	"/run/gnomon/gnomon.sock"
#define CONTROL_JVM_MAX GN_MAX_PROCS

enum control_what {
	CONTROL_STATUS = 1,
	CONTROL_START, /* record the process `pid`, whatever the rules say; the status follows */
	CONTROL_STOP,  /* do not record it, likewise */
	CONTROL_SET,   /* sample it as often as `cpu_ns` and so on say, likewise */
};

struct control_request {
	uint32_t magic, version; /* set by control_ask() */
	uint32_t what;
	int32_t pid;
	/* CONTROL_SET; none of them set: as it was before it was first set */
	uint32_t has_cpu, has_wall;
	uint64_t cpu_ns, wall_ns; /* intervals, 0: no such samples */
	uint64_t for_ns;	  /* 0: until it ends */
};

/* Strings are never without their end. Times are since 1970, or spans in ns. */
struct control_jvm {
	int32_t pid;
	uint32_t by_command; /* recorded since somebody asked for it */
	uint64_t start;	     /* of the JVM, in clock ticks since boot, as in struct proc_id */
	uint64_t start_ns;
	struct totals totals;
	/* some ten seconds up to now: CPU samples, lost ones, and how long that is */
	uint64_t lately_cpu, lately_lost, lately_ns;
	uint64_t lately_cpu_ns; /* that those samples stand for */
	/* intervals in force, 0: no such samples; who wants it so, for how long, and why */
	uint64_t cpu_ns, wall_ns, for_ns;
	uint32_t by, step; /* enum rate_by, enum rate_step */
	char reason[160];
	char name[128], container[64], user[40];
	char dir[512];	     /* of its files */
	uint64_t disk_bytes; /* that these take; some seconds old */
};

/* What a trigger of the configuration did. */
struct control_trigger {
	char name[48];
	char when[TRIGGER_WORDS];  /* as the configuration has it */
	uint64_t fired, held_back; /* by its limits */
	uint64_t failed;	   /* of `fired`: not all could be done */
	uint64_t last_ns;	   /* since 1970; 0: never */
};

struct control_state {
	int32_t pid;
	uint32_t njvms, cpus;
	uint32_t disk_failed; /* the directory could not be looked at when that was last tried */
	uint64_t elapsed_ns;
	uint64_t cpu_ns, wall_ns;  /* usual intervals; 0: no such samples */
	double cost_share, budget; /* of all CPUs, 0..1: of the last second; 0: there is none */
	double jvm_budget;
	uint64_t tick_ns;     /* what one of wall_samples stands for */
	struct totals totals; /* of all, those that have ended too */
	struct overhead_cost cost;
	struct retention_look disk; /* some seconds old */
	struct retention_policy keep;
	struct delivery delivery; /* n 0: nothing is sent */
	uint32_t ntriggers, pad;
	struct control_trigger triggers[TRIGGERS_MAX];
	char directory[512];
	char version[32];
};

struct control_answer {
	struct control_state state;
	struct control_jvm *jvms;
};

/* EXIT_TARGET where no daemon listens, EXIT_PERMISSION where it does not listen to us. */
int control_ask(const char *path, const struct control_request *request, struct control_answer *a,
		struct error *e);
void control_answer_free(struct control_answer *a);

/* Pure: an answer out of the bytes of a reply, or the error that it is. EXIT_INTERNAL: it is none.
 */
int control_parse(const void *data, size_t len, struct control_answer *a, struct error *e);

/* ---- the daemon's end ---- */

struct control;

struct control_config {
	const char *path;
	uint32_t gid; /* whose members may ask; (uint32_t)-1: nobody but root and ourselves */
	/* On a thread of its own. Not 0, with *e: that is the reply. `a` is filled in else. */
	int (*answer)(void *ctx, const struct control_request *r, struct control_answer *a,
		      struct error *e);
	void *ctx;
};

/* Listens. EXIT_OUTPUT: it cannot there, or another daemon does. The directory is made. */
int control_open(struct control **out, const struct control_config *cfg, struct error *e);
/* From now on it answers. */
int control_start(struct control *c, struct error *e);
void control_stop(struct control *c); /* NULL is fine */

#endif
